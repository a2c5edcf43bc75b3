"""Drives build/sampler-probe (sampler_probe.c) on the fake NVML and reads its call log."""
import collections
import json
import os
import pathlib
import subprocess
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get('CLUSTAT_BUILD', TOP / 'build'))
PROBE = BUILD / 'tests' / 'system' / 'sampler-probe'
LIBRARY = BUILD / 'fake-nvml' / 'r580' / 'libnvidia-ml.so.1'

STATE_OK, STATE_FAULT, STATE_ASLEEP, STATE_LEFT_OUT, STATE_REMOVED = range(5)
FAULT_NONE, FAULT_LIBRARY_MISSING = 0, 1
FAULT_MISMATCH, FAULT_INIT, FAULT_HUNG = 5, 6, 8
PROCESS_RUNNING, PROCESS_ZOMBIE, PROCESS_EXITED = 0, 1, 2

Call = collections.namedtuple('Call', 'start end pid name device rc')


def device(name, **more):
    """A device of a scenario: every value there, nothing special."""
    result = {'id': name, 'name': 'NVIDIA H100 80GB HBM3', 'uuid': 'GPU-' + name,
              'memory': {'total': 85899345920, 'used': 1 << 30}, 'temperature': 40, 'fan': 30,
              'utilization': {'gpu': 10, 'memory': 3, 'enc': 0, 'dec': 0}, 'power_mw': 100000,
              'power_limit_mw': 700000, 'clocks': {'graphics': 1000, 'sm': 1000, 'mem': 1500, 'video': 900},
              'pstate': 0, 'throttle': 0, 'processes': []}
    result.update(more)
    return result


def write_scenario(folder, devices, **more):
    scenario = {'version': 1, 'devices': devices}
    scenario.update(more)
    path = pathlib.Path(folder) / 'scenario.json'
    path.write_text(json.dumps(scenario))
    return path


def read_log(path):
    calls = []
    for line in pathlib.Path(path).read_text().splitlines():
        start, end, pid, name, position, rc = line.split()
        calls.append(Call(int(start), int(end), int(pid), name, int(position), int(rc)))
    return calls


class Probe:
    """The running program; a thread collects its lines."""

    def __init__(self, *options, scenario=None, log=None, env=None, library=LIBRARY, prefix=(),
                 pass_fds=()):
        environment = dict(os.environ, **(env or {}))
        for name in ('FAKE_NVML_SCENARIO', 'FAKE_NVML_LOG'):
            environment.pop(name, None)
        if scenario:
            environment['FAKE_NVML_SCENARIO'] = str(scenario)
        if log:
            environment['FAKE_NVML_LOG'] = str(log)
        self.lines = []
        self.changed = threading.Condition()
        self.child = subprocess.Popen([*prefix, str(PROBE), '--library=%s' % library, *options], env=environment,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      pass_fds=pass_fds)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.child.stdout:
            with self.changed:
                self.lines.append(json.loads(line))
                self.changed.notify_all()
        with self.changed:
            self.lines.append({'event': 'eof'})
            self.changed.notify_all()

    def wait_for(self, condition, seconds=10, after=0):
        """The first line from number `after` on for which condition(line) holds, and its number."""
        deadline = time.monotonic() + seconds
        number = after
        with self.changed:
            while True:
                while number < len(self.lines):
                    if condition(self.lines[number]):
                        return self.lines[number], number
                    number += 1
                left = deadline - time.monotonic()
                if left <= 0 or self.lines and self.lines[-1]['event'] == 'eof':
                    raise AssertionError('not within %g s; the last lines: %s'
                                         % (seconds, json.dumps(self.lines[-3:])[:3000]))
                self.changed.wait(left)

    def wait_snapshot(self, condition=lambda s: s['complete'], seconds=10, after=0):
        return self.wait_for(lambda l: l['event'] == 'snapshot' and condition(l), seconds, after)

    def say(self, line):
        self.child.stdin.write(line + '\n')
        self.child.stdin.flush()

    def finish(self, seconds=30):
        """All lines, once the program has ended by itself."""
        assert self.child.wait(seconds) == 0
        self.reader.join(5)
        return [l for l in self.lines if l['event'] != 'eof']

    def samplers(self):
        """Pids of the sampler processes that are its children."""
        return [pid for pid in sampler_pids() if parent_of(pid) == self.child.pid]

    def stop(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.reader.join(5)
        self.child.stdin.close()
        self.child.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def stat_fields(pid):
    text = pathlib.Path('/proc/%d/stat' % pid).read_text()
    return text[text.rindex(')') + 2:].split()


def parent_of(pid):
    try:
        return int(stat_fields(pid)[1])
    except OSError:
        return -1


def state_of(pid):
    """'S', 'D', 'Z' ..., '' if there is no such process."""
    try:
        return stat_fields(pid)[0]
    except OSError:
        return ''


def sampler_pids():
    found = []
    for entry in pathlib.Path('/proc').iterdir():
        if entry.name.isdigit():
            try:
                if (entry / 'comm').read_text() == 'clustat-sampler\n':
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def wait_until(condition, seconds=10, what='condition'):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, '%s: not within %g s' % (what, seconds)
        time.sleep(0.01)
