"""Runs the built clustat against the fake NVML: what the tests in this folder share."""
import json
import os
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get('CLUSTAT_BUILD', TOP / 'build'))
MIB = 1 << 20


def library(profile='r580'):
    return str(BUILD / 'fake-nvml' / profile / 'libnvidia-ml.so.1')


def full_device(i, pid, **changes):
    """A device of which every call has an answer; every number is distinct and not 0."""
    device = {
        'id': 'g%d' % i, 'name': 'NVIDIA H100 80GB HBM3', 'uuid': 'GPU-00000000-0000-4000-8000-%012d' % i,
        'minor': i + 4, 'serial': '16505220%05d' % i, 'memory': {'total': 81920 * MIB, 'used': (40000 + i) * MIB, 'reserved': 600 * MIB},
        'temperature': 51 + i, 'fan': 41 + i, 'power_mw': 301000 + 1000 * i, 'power_limit_mw': 700000, 'pstate': 2,
        'utilization': {'gpu': 91 + i, 'memory': 31 + i, 'enc': 21 + i, 'dec': 11 + i}, 'throttle': 4,
        'clocks': {'graphics': 1801 + i, 'sm': 1811 + i, 'mem': 2601 + i, 'video': 1501 + i},
        'max_clocks': {'graphics': 1980, 'sm': 1980, 'mem': 2619, 'video': 1575},
        'ecc': {'mode': [1, 1], 'volatile_corrected': 3 + i, 'volatile_uncorrected': 1, 'aggregate_corrected': 9,
                'aggregate_uncorrected': 2},
        'remapped_rows': [1, 2, 1, 1], 'persistence': 1, 'compute_mode': 3, 'architecture': 9, 'brand': 14,
        'compute_capability': [9, 0], 'field_values': {'230': 1}, 'display_active': 1,
        'pcie': {'gen': 4, 'width': 8, 'max_gen': 5, 'max_width': 16, 'tx_kbs': 1, 'rx_kbs': 1},
        'mig': {'mode': [0, 0]},
        'processes': [{'pid': pid, 'mem': (20000 + i) * MIB, 'sm': 71 + i, 'mem_util': 5, 'enc': 6, 'dec': 7},
                      {'pid': pid, 'types': ['G'], 'mem': 100 * MIB}],
    }
    device.update(changes)
    return device


class Program:
    """One scenario and the ways to ask about it."""

    def __init__(self, folder, scenario, profile='r580'):
        self.folder = pathlib.Path(folder)
        self.profile = profile
        self.log = self.folder / 'calls.log'
        self.write(scenario)

    def write(self, scenario):
        scenario = dict({'version': 1, 'profile': self.profile}, **scenario)
        (self.folder / 'scenario.json').write_text(json.dumps(scenario))

    def environment(self, **more):
        env = {'PATH': '/usr/bin:/bin', 'HOME': '/', 'LC_ALL': 'C.UTF-8', 'TERM': 'xterm-256color',
               'FAKE_NVML_SCENARIO': str(self.folder / 'scenario.json'), 'FAKE_NVML_LOG': str(self.log),
               'CLUSTAT_NVML_LIB': library(self.profile), 'CLUSTAT_CONFIG': str(self.folder / 'none.toml')}
        for key in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TZ'):
            if key in os.environ:
                env[key] = os.environ[key]
        env.update(more)
        return env

    def run(self, *args, env=None, timeout=30, name='clustat'):
        return subprocess.run([str(BUILD / 'clustat'), *args], executable=str(BUILD / 'clustat'),
                              env=self.environment(**(env or {})), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=timeout)

    def json(self, **options):
        """(the one node of `clustat --json`, the finished run)"""
        done = self.run('--local', '--json', **options)
        assert done.returncode == 0, (done.returncode, done.stderr)
        return json.loads(done.stdout)['nodes'][0], done

    def calls(self):
        """The fake's call log: a list of (function, device, code)."""
        rows = [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return [(row[3], int(row[4]), int(row[5])) for row in rows]
