#!/usr/bin/python3
"""Compares every field of `clustat --json` with nvidia-smi on a machine with a GPU.

usage: compare.py CLUSTAT LABEL.  Each figure is read by nvidia-smi before and after clustat; clustat's must
lie between the two, give or take the tolerance of values that move.  Prints a line per field that differs
and, last, `N compared, N differ`; status 1 if any differs or none was compared.
"""
import csv
import json
import subprocess
import sys

# nvidia-smi's name -> clustat's key, factor from nvidia-smi's unit to ours, tolerance in our unit
FIELDS = {
    'uuid': ('uuid', None, 0),
    'name': ('name', None, 0),
    'serial': ('serial', None, 0),
    'pci.bus_id': ('pci_bus_id', None, 0),
    'temperature.gpu': ('temperature_c', 1, 2),
    'fan.speed': ('fan_percent', 1, 3),
    'utilization.gpu': ('utilization_gpu_percent', 1, 15),
    'utilization.memory': ('utilization_memory_percent', 1, 15),
    'utilization.encoder': ('utilization_encoder_percent', 1, 10),
    'utilization.decoder': ('utilization_decoder_percent', 1, 10),
    'memory.total': ('memory_total_bytes', 1 << 20, 1 << 20),
    'memory.used': ('memory_used_bytes', 1 << 20, 2 << 20),
    'memory.reserved': ('memory_reserved_bytes', 1 << 20, 1 << 20),
    'power.draw.average': ('power_mw', 1000, 30000),
    'enforced.power.limit': ('power_limit_mw', 1000, 1000),
    'clocks.gr': ('clock_graphics_mhz', 1, 200),
    'clocks.sm': ('clock_sm_mhz', 1, 200),
    'clocks.mem': ('clock_memory_mhz', 1, 100),
    'clocks.video': ('clock_video_mhz', 1, 200),
    'clocks.max.gr': ('clock_graphics_max_mhz', 1, 0),
    'clocks.max.mem': ('clock_memory_max_mhz', 1, 0),
    'pstate': ('performance_state', 'P', 0),
    'clocks_event_reasons.active': ('throttle_reasons', 'hex', 0),
    'ecc.mode.current': ('ecc_mode', 'mode', 0),
    'ecc.errors.corrected.volatile.total': ('ecc_volatile_corrected', 1, 0),
    'ecc.errors.uncorrected.volatile.total': ('ecc_volatile_uncorrected', 1, 0),
    'ecc.errors.corrected.aggregate.total': ('ecc_aggregate_corrected', 1, 0),
    'ecc.errors.uncorrected.aggregate.total': ('ecc_aggregate_uncorrected', 1, 0),
    'persistence_mode': ('persistence_mode', 'mode', 0),
    'mig.mode.current': ('mig_mode', 'mode', 0),
    'pcie.link.gen.gpucurrent': ('pcie_link_gen', 1, 0),
    'pcie.link.width.current': ('pcie_link_width', 1, 0),
    'pcie.link.gen.max': ('pcie_link_gen_max', 1, 0),
    'pcie.link.width.max': ('pcie_link_width_max', 1, 0),
}


def nvidia_smi(*query):
    out = subprocess.run(['nvidia-smi', *query, '--format=csv,noheader,nounits'], stdout=subprocess.PIPE, text=True)
    return [[cell.strip() for cell in row] for row in csv.reader(out.stdout.splitlines())] if out.returncode == 0 else None


def known_fields():
    """Those of FIELDS that this nvidia-smi knows (names change between drivers)."""
    return [name for name in FIELDS if nvidia_smi('--query-gpu=' + name) is not None]


def convert(text, how):
    if text in ('[N/A]', 'N/A', '[Not Supported]', ''):
        return None
    if how is None:
        return text
    if how == 'P':
        return int(text[1:])
    if how == 'hex':
        return int(text, 16)
    if how == 'mode':
        return {'Enabled': 1, 'Disabled': 0}.get(text)
    return float(text) * how


def agrees(ours, before, after, tolerance):
    if before is None or after is None:
        return ours is None or before != after
    if isinstance(before, str) or ours is None:
        return ours in (before, after)
    return min(before, after) - tolerance <= ours <= max(before, after) + tolerance


def main():
    clustat, label = sys.argv[1:3]
    names = known_fields()
    missing = sorted(set(FIELDS) - set(names))
    before = nvidia_smi('--query-gpu=' + ','.join(names))
    node = json.loads(subprocess.run([clustat, '--local', '--json'], stdout=subprocess.PIPE, check=True).stdout)['nodes'][0]
    after = nvidia_smi('--query-gpu=' + ','.join(names))
    compared = differ = 0
    gpus = [d for d in node['gres'] if d.get('kind', 'gpu') == 'gpu']
    for device, low, high in zip(gpus, before, after):
        for name, a, b in zip(names, low, high):
            key, how, tolerance = FIELDS[name]
            compared += 1
            if not agrees(device.get(key), convert(a, how), convert(b, how), tolerance):
                differ += 1
                print('%s: GPU %s: %s is %r here, nvidia-smi says %s then %s (%s)' % (
                    label, device['index'], key, device.get(key), a, b, name))
    apps = nvidia_smi('--query-compute-apps=pid,used_memory') or []
    ours = {(p['pid'], p['used_memory_mb']) for d in gpus for p in d['processes'] or []}
    for pid, used in apps:
        compared += 1
        if (int(pid), int(used) if used.isdigit() else None) not in ours:
            differ += 1
            print('%s: process %s with %s MiB is missing here; we have %s' % (label, pid, used, sorted(ours, key=str)))
    if missing:
        print('%s: this nvidia-smi does not know: %s' % (label, ', '.join(missing)))
    print('%s: %d compared, %d differ' % (label, compared, differ))
    return 1 if differ or not compared else 0


if __name__ == '__main__':
    sys.exit(main())
