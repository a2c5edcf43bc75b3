"""Every NVML call against every return code, on one device of three; and the list of calls itself.

The calls are those that a full run writes into the fake's log, so a call that is added later is tested
without anybody remembering to.
"""
import functools
import os
import re
import signal
import subprocess
import time

import pytest

from program import BUILD, MIB, TOP, Program, full_device, library

PROFILES = ['r418', 'r450_51', 'r470', 'r510', 'r535_54', 'r535_98', 'r550', 'r580']
# The codes of field-cases.md section 6.
CODES = [1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16, 17, 18, 19, 20, 21, 25, 27, 28, 999]
# Ages, and what differs between two runs without any fault.
VOLATILE = {'age_us', 'xid_count', 'xid_last', 'xid_last_unix_us'}


def three_devices():
    return {'devices': [full_device(i, os.getpid()) for i in range(3)]}


def symbol_table():
    """src/gpu/nvml_symbols.h: short name -> (kind, names)."""
    source = (TOP / 'src/gpu/nvml_symbols.h').read_text().replace('\\\n', '')
    rows = re.findall(r'X\((\w+), (REQUIRED|OPTIONAL|SPARE), \([^"]*\),\s*((?:"\w+"[,\s]*)+)\)', source)
    return {name: (kind, re.findall(r'"(\w+)"', names)) for name, kind, names in rows}


def exported(profile):
    out = subprocess.run(['nm', '-D', '--defined-only', library(profile)], stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[-1] for line in out.stdout.splitlines()}


def watch_until(program, done, seconds=10):
    """Lets clustat watch (into a pipe) until `done()` holds."""
    watcher = subprocess.Popen([BUILD / 'clustat', '--local', '-i', '0.2'], env=program.environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + seconds
        while not done() and time.monotonic() < end:
            assert watcher.poll() is None
            time.sleep(0.05)
    finally:
        watcher.send_signal(signal.SIGTERM)
        watcher.wait(10)
    return done()


def called(program):
    return {function for function, _, _ in program.calls() if function != 'nvmlErrorString'}


def full_scenario():
    """Devices that make every function of the table be called: MIG, an old memory call, a lost and found one."""
    mig = {'mode': [1, 1], 'devices': [{'index': 1, 'gi': 3, 'ci': 0, 'uuid': 'MIG-a', 'memory': {'total': 10 * MIB, 'used': MIB}, 'sms': 14}]}
    return {
        'devices': [full_device(0, os.getpid()), full_device(1, os.getpid(), mig=mig), full_device(2, os.getpid()),
                    full_device(3, os.getpid()), full_device(4, os.getpid())],
        'faults': [{'device': 'g2', 'fn': 'nvmlDeviceGetMemoryInfo_v2', 'rc': 13},
                   {'device': 'g3', 'fn': 'nvmlDeviceGetTemperatureV', 'rc': 13},
                   {'device': 'g4', 'at_s': 0.3, 'until_s': 0.8, 'rc': 15}],
    }


@pytest.mark.parametrize('profile', PROFILES)
def test_calls_of_a_full_run_are_the_symbol_table(tmp_path, profile):
    program = Program(tmp_path, full_scenario(), profile)
    table, available = symbol_table(), exported(profile)
    assert len(table) > 40
    first = {name: next((n for n in names if n in available), None) for name, (_, names) in table.items()}
    if profile == 'r535_54':  # the third version writes too much there
        first.update((n, table[n][1][1]) for n in ('compute_processes', 'graphics_processes', 'mps_processes'))
    wanted = {n for n in first.values() if n}
    assert watch_until(program, lambda: called(program) >= wanted), wanted - called(program)
    assert called(program) == wanted
    assert not any('PcieThroughput' in n or n in ('nvmlShutdown', 'nvmlErrorString') for n in called(program))


@pytest.mark.parametrize('profile', PROFILES)
def test_profile_shows_processes_and_memory(tmp_path, profile):
    pids = [subprocess.Popen(['sleep', '60']) for _ in range(3)]
    try:
        scenario = three_devices()
        for device in scenario['devices']:
            device['processes'] = [{'pid': p.pid, 'mem': (100 + i) * MIB} for i, p in enumerate(pids)]
            device['processes'].append({'pid': pids[0].pid, 'types': ['G'], 'mem': 7 * MIB})
        node, _ = Program(tmp_path, scenario, profile).json()
        # Without the second memory call, what the driver keeps for itself counts as used.
        reserved = 600 if profile in ('r418', 'r450_51', 'r470') else 0
        for i, device in enumerate(node['gres']):
            assert device['mem_total_mb'] == 81920
            assert device['mem_used_mb'] == 40000 + i + reserved
            assert [(p['pid'], p['used_memory_mb'], p['command']) for p in device['processes']] == [
                (p.pid, 100 + n, 'sleep') for n, p in enumerate(pids)]
            assert len(device['entries']) == 4
    finally:
        for process in pids:
            process.kill()
            process.wait()


@functools.lru_cache(maxsize=None)
def device_calls(folder):
    """The device calls of a run without faults, from the fake's log."""
    program = Program(folder, three_devices())
    assert watch_until(program, lambda: 'nvmlDeviceRegisterEvents' in called(program))
    return sorted({function for function, device, _ in program.calls() if device >= 0})


def comparable(device):
    """A device's JSON without what differs from run to run; processes by pid, memory and user only."""
    rest = {k: v for k, v in device.items() if k not in VOLATILE}
    rest['processes'] = device['processes'] and [(p['pid'], p['used_memory_mb'], p['username']) for p in device['processes']]
    return rest


def check_victim(call, code, victim, sound):
    """Each value of the device that a call failed on is the right one or null, never something else."""
    if victim['state'] == 'fault':
        assert victim['fault_code'] == code and victim['fault_text']
    else:
        assert victim['state'] == 'ok'
    for key, value in victim.items():
        if key in VOLATILE or key in ('state', 'fault_code', 'fault_text', 'lists', 'entries', 'unified_memory'):
            continue
        if value is None or value == sound[key]:
            continue
        if key == 'processes':
            assert set(value) <= set(sound[key]) or {v[0] for v in value} == {v[0] for v in sound[key]}, (call, code, value)
        elif call == 'nvmlDeviceGetMemoryInfo_v2' and key.startswith('mem'):
            assert value in (sound['mem_used_mb'] + 600, sound['memory_used_bytes'] + 600 * MIB), (call, code, key, value)
        elif victim['unified_memory'] and key.startswith('mem'):
            assert value, (call, code, key, value)
        else:
            raise AssertionError('%s answering %d: %s is %r instead of %r' % (call, code, key, value, sound[key]))


@pytest.fixture(scope='module')
def calls(tmp_path_factory):
    return device_calls(tmp_path_factory.mktemp('full'))


@pytest.fixture(scope='module')
def sound(tmp_path_factory):
    node, _ = Program(tmp_path_factory.mktemp('sound'), three_devices()).json()
    return [comparable(d) for d in node['gres']]


def test_the_sound_devices_have_every_value(sound):
    absent = {'mig_index', 'fault_code', 'fault_text', 'gpu_instance_id', 'compute_instance_id', 'multiprocessor_count'}
    for device in sound:
        assert not [k for k, v in device.items() if k not in absent and v is None]
        assert [k for k, v in device.items() if v == 0 and v is not False] in (['index', 'mig_mode', 'mig_mode_pending'],
                                                                              ['mig_mode', 'mig_mode_pending'])


@pytest.mark.parametrize('code', CODES)
def test_every_call_answers_this_code_on_one_device(tmp_path, calls, sound, code):
    assert len(calls) > 30
    program = Program(tmp_path, {'devices': []})
    for call in calls:
        program.write(dict(three_devices(), faults=[{'device': 'g1', 'fn': call, 'rc': code}]))
        node, done = program.json()
        devices = [comparable(d) for d in node['gres']]
        assert len(devices) == 3, (call, code)
        assert devices[0] == sound[0], (call, code)
        assert devices[2] == sound[2], (call, code)
        check_victim(call, code, devices[1], sound[1])


@pytest.mark.parametrize('code', CODES)
def test_all_calls_answer_this_code_on_one_device(tmp_path, sound, code):
    program = Program(tmp_path, dict(three_devices(), faults=[{'device': 'g1', 'rc': code}]))
    node, _ = program.json()
    devices = [comparable(d) for d in node['gres']]
    assert (devices[0], devices[2]) == (sound[0], sound[2])
    assert devices[1]['state'] == 'fault' and devices[1]['fault_code'] == code
    text = program.run('--local', '--no-color').stdout.decode().splitlines()
    assert len(text) == 4 and text[2].startswith('[1] ((') and '??' in text[2] and ' 0 %' not in text[2]
