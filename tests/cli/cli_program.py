"""What the tests of the command line share: where the program is, how it is run, what options it has."""
import json
import os
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get('CLUSTAT_BUILD', TOP / 'build')).resolve()
CLUSTAT = BUILD / 'clustat'
LIBRARY = BUILD / 'fake-nvml' / 'r580' / 'libnvidia-ml.so.1'
GOLDEN = TOP / 'tests' / 'cli' / 'golden'

DEADLINE_S = 30  # of anything that is waited for; far more than it takes


def option_names():
    """All names of all options, from the help."""
    text = subprocess.run([CLUSTAT, '--help'], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = []
    for line in text.split('\n'):
        m = re.match(r'  (-.*?)(?:  |$)', line)
        if m:
            names += [part.split()[0] for part in m.group(1).split(', ')]
    assert len(names) > 40
    return names


def device(i, **more):
    return dict({'id': 'g%d' % i, 'name': 'NVIDIA Test %d' % i, 'uuid': 'GPU-%d' % i, 'temperature': 40 + i, 'fan': 30,
                 'memory': {'total': 8 << 30, 'used': (1 + i) << 30}, 'utilization': {'gpu': 10 * i, 'enc': 0, 'dec': 0},
                 'power_mw': 100000, 'power_limit_mw': 300000}, **more)


def scenario(path, devices=3, **more):
    """Writes a scenario file; `devices` is a list, or a number of plain ones."""
    if isinstance(devices, int):
        devices = [device(i) for i in range(devices)]
    path.write_text(json.dumps(dict({'version': 1, 'devices': devices}, **more)))
    return path


def environment(scenario_path=None, **more):
    """A small, fixed environment with the fake library; None as a value leaves a variable out."""
    env = {'PATH': '/usr/bin:/bin', 'HOME': '/', 'LANG': 'C.UTF-8', 'TERM': 'xterm-256color', 'TZ': 'UTC',
           'CLUSTAT_NVML_LIB': str(LIBRARY)}
    for key in ('ASAN_OPTIONS', 'UBSAN_OPTIONS'):
        if key in os.environ:
            env[key] = os.environ[key]
    if scenario_path:
        env['FAKE_NVML_SCENARIO'] = str(scenario_path)
    env.update({k: str(v) for k, v in more.items() if v is not None})
    for key in [k for k, v in more.items() if v is None]:
        env.pop(key, None)
    return env


def run(args, env, name='clustat', timeout=DEADLINE_S, **more):
    """Runs the program under a name; gives the finished process with text streams."""
    return subprocess.run([name, *args], executable=CLUSTAT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout, **more)
