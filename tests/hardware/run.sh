#!/usr/bin/env bash
# On a machine with an NVIDIA GPU, under 3 minutes: compares every field with nvidia-smi, idle and under load,
# and records what each driver call costs. usage: tests/hardware/run.sh [OUT]
#
# OUT (default docs/measurements) receives <date>-<gpu name>.md, to be committed. Ends with
# `N passed, N failed`; status 1 if anything differs.
set -u
cd "$(dirname "$0")/../.." || exit 2
out=${1:-docs/measurements}
build=${BUILD:-build}
passed=0 failed=0

if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >/dev/null 2>&1; then
    echo "tests/hardware/run.sh: no NVIDIA driver answers here (nvidia-smi -L); nothing can be measured" >&2
    exit 1
fi
if [ ! -x "$build/clustat" ] || [ ! -x "$build/tests/hardware/nvml-latency" ]; then
    make BUILD="$build" || exit 1
fi

log=$(mktemp)
load=''
trap 'rm -f "$log"; [ -z "$load" ] || kill "$load" 2>/dev/null' EXIT
count() { # status
    if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
latency() { # heading
    printf '\n## Driver calls, %s\n\n| call | count | median us | p99 us | max us |\n|---|---|---|---|---|\n' "$1"
    "$build/tests/hardware/nvml-latency" 200 | python3 -c '
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    print("| %s | %d | %.1f | %.1f | %.1f |" % (r["call"], r["count"], r["median_ns"] / 1e3, r["p99_ns"] / 1e3, r["max_ns"] / 1e3))'
}

name=$(nvidia-smi --query-gpu=name --format=csv,noheader -i 0 | tr ' /' '--' | tr -cd 'A-Za-z0-9-')
mkdir -p "$out"
page=$out/$(date +%Y-%m-%d)-$name.md
{
    echo "# $(nvidia-smi --query-gpu=name --format=csv,noheader -i 0), driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0)"
    echo
    echo "$(nvidia-smi -L | wc -l) GPU(s), $(nproc) CPUs, kernel $(uname -r). Written by tests/hardware/run.sh."
    latency idle
} >"$page"

timeout 60 python3 tests/hardware/compare.py "$build/clustat" idle 2>&1 | tee "$log"
count "${PIPESTATUS[0]}"
printf '\n## Fields against nvidia-smi\n\n' >>"$page"
sed 's/^/    /' "$log" >>"$page"

coproc LOAD { exec python3 tests/hardware/load.py 60 2048 2>&1; }
load=$LOAD_PID
if read -r -t 30 word <&"${LOAD[0]}" && [ "$word" = ready ]; then
    timeout 60 python3 tests/hardware/compare.py "$build/clustat" load 2>&1 | tee "$log"
    count "${PIPESTATUS[0]}"
    sed 's/^/    /' "$log" >>"$page"
    latency 'GPU 0 busy' >>"$page"
else
    echo "load: the load program did not start: ${word:-no answer within 30 s}" | tee -a "$page"
    count 1
fi

printf '\n## One shot\n\n' >>"$page"
for command in "$build/clustat --local" "nvidia-smi"; do
    # shellcheck disable=SC2086
    "$build/bench/bench-oneshot" 10 $command 2>&1 | sed "s|^|    ${command##*/}: |" >>"$page"
done
echo "written: $page"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
