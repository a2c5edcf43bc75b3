"""Values over time, and that fake-nvml-dump says what the library answers."""
import math
import pathlib
import re
import subprocess
import time

import pytest

from fake_runner import BUILD, TOP, device, scenario
from nvml_reader import MEMORY, MEMORY_V2, PROCESS_16, SUCCESS, UTILIZATION

GOLDEN = sorted((TOP / 'tests' / 'cli' / 'golden').glob('*/scenario.json'))


def value_at(fake, value, t, key='energy_mj'):
    return fake(scenario(device(**{key: value}))).dump(t)['devices'][0][key]


@pytest.mark.parametrize('value, number', [
    (0, 0), (0.4, 0), (0.5, 1), (1.5, 2), (2.5, 3), (0.49999999999999994, 0), (-0.5, 0), (-3, 0), (1e3, 1000),
    (1.005e2, 101), (2 ** 64 - 1, 2 ** 64 - 1), (2 ** 53 + 1, 2 ** 53 + 1), (1e-300, 0), (-5e9, 0),
])
def test_rounding(fake, value, number):
    assert value_at(fake, value, 0) == number


@pytest.mark.parametrize('value, number', [(-0.5, -1), (-1.5, -2), (-0.4, 0), (-40, -40), (2.5, 3)])
def test_rounding_of_temperatures(fake, value, number):
    assert value_at(fake, value, 0, 'temperature') == number


@pytest.mark.parametrize('literal, number', [
    ('18446744073709551615', 2 ** 64 - 1), ('1.8446744073709551615e19', 2 ** 64 - 1), ('100.5', 101), ('1005e-1', 101),
    ('0.0000000000000000000000000000000000000005', 0), ('-0', 0), ('-0.0', 0), ('1E+2', 100), ('1.50', 2),
])
def test_number_literals(fake, literal, number):
    text = ('{"version": 1, "devices": [{"id": "a", "name": "a", "uuid": "a", "memory": {"rc": 3}, "energy_mj": %s}]}'
            % literal)
    assert fake(text.encode()).dump(0)['devices'][0]['energy_mj'] == number


def test_steps(fake):
    steps = {'steps': [[2, 10], [5, 97], [5, 98], [9.5, {'rc': 15}], [11, 4.5]]}
    want = {-1: 10, 0: 10, 2: 10, 4.999: 10, 5: 98, 9.4: 98, 9.5: {'rc': 15}, 10: {'rc': 15}, 11: 5, 1e9: 5}
    assert {t: value_at(fake, steps, t) for t in want} == want
    names = {'steps': [[0, 'old'], [3, {'rc': 999}], [4, 'new']]}
    assert [value_at(fake, names, t, 'name') for t in (0, 3, 4)] == ['old', {'rc': 999}, 'new']


def test_wave(fake):
    base, amp, period, phase = 40.3, 60, 7, 1.5
    wave = {'wave': {'base': base, 'amp': amp, 'period_s': period, 'phase_s': phase}}
    for t in [0, 0.1, 1, 1.75, 3.5, 5, 6.99, 7, 1000, 123456.789]:
        exact = base + amp * math.sin(2 * math.pi * (t + phase) / period)
        want = max(0, math.floor(exact + 0.5))
        assert abs(exact + 0.5 - round(exact + 0.5)) > 1e-6, 'choose a time that is no borderline case'
        assert value_at(fake, wave, t) == want
    assert value_at(fake, {'wave': {'base': 10, 'amp': 10, 'period_s': 4}}, 1) == 20
    assert value_at(fake, {'wave': {'base': 10, 'amp': 10, 'period_s': 4}}, 3) == 0
    cold = {'wave': {'base': 0, 'amp': 10, 'period_s': 4}}
    assert value_at(fake, cold, 3, 'temperature') == -10 and value_at(fake, cold, 3) == 0
    assert value_at(fake, {'wave': {'base': 0, 'amp': 1e30, 'period_s': 4}}, 1) == 2 ** 64 - 1
    assert value_at(fake, {'wave': {'base': 0, 'amp': 1e30, 'period_s': 4}}, 1, 'fan') == 2 ** 32 - 1


RICH = scenario(
    device(0, name={'steps': [[0, 'first'], [50, 'second']]}, temperature={'wave': {'base': -2, 'amp': 30, 'period_s': 1e7}},
           memory={'total': 2 ** 37, 'used': {'sum_of_processes': 5}, 'reserved': {'steps': [[0, 7], [50, 8]]}},
           utilization={'gpu': {'steps': [[0, 10], [50, 97]]}, 'memory': 3}, fan={'rc': 999},
           processes=[{'pid': 1, 'mem': 100, 'to_s': 50}, {'pid': 2, 'mem': {'steps': [[0, 1], [50, {'rc': 4}]]}},
                      {'pid': 3, 'mem': 'na', 'types': ['C', 'G']}]),
    device(1, memory={'rc': 4}, handle=0, utilization={'rc': 17}, process_rc={'compute': {'rc': 4}}),
    device(2, temperature=20, fan=40, power_mw={'steps': [[0, 5.5], [50, {'rc': 3}]]}, serial='s'))


def answers(nvml, gpu):
    """What the calls say, in the form of the dump."""
    def number(name, *more):
        rc, value = nvml.number(name, gpu, *more)
        return value if rc == SUCCESS else {'rc': rc}

    def rate(key):
        rc, rates = nvml.struct('nvmlDeviceGetUtilizationRates', UTILIZATION, gpu)
        return rates[key] if rc == SUCCESS else {'rc': rc}

    def text(name):
        rc, value = nvml.string(name, gpu)
        return value if rc == SUCCESS else {'rc': rc}

    def listed(name):
        rc, _, entries = nvml.processes(name, gpu, PROCESS_16)
        if rc != SUCCESS:
            return {'rc': rc}
        return [(e['pid'], None if e['mem'] == 2 ** 64 - 1 else e['mem']) for e in entries]
    def memory(name, layout, keys):
        if not nvml.has(name):
            return None
        rc, figures = nvml.struct(name, layout, gpu)
        return [figures[k] for k in keys] if rc == SUCCESS else {'rc': rc}
    temperature = number('nvmlDeviceGetTemperature', 0)
    if isinstance(temperature, int) and temperature >= 2 ** 31:
        temperature -= 2 ** 32
    return {'name': text('nvmlDeviceGetName'), 'uuid': text('nvmlDeviceGetUUID'), 'serial': text('nvmlDeviceGetSerial'),
            'temperature': temperature, 'fan': number('nvmlDeviceGetFanSpeed'),
            'power_mw': number('nvmlDeviceGetPowerUsage'), 'gpu': rate('gpu'), 'memory_rate': rate('memory'),
            'memory': memory('nvmlDeviceGetMemoryInfo', MEMORY, ('total', 'free', 'used')),
            'memory_v2': memory('nvmlDeviceGetMemoryInfo_v2', MEMORY_V2, ('total', 'free', 'used', 'reserved')),
            'compute': listed('nvmlDeviceGetComputeRunningProcesses'),
            'graphics': listed('nvmlDeviceGetGraphicsRunningProcesses')}


def of_dump(entry, has_v2=True):
    """The same parts of a device in the dump."""
    def memory(*keys):
        return entry['memory'] if 'rc' in entry['memory'] else [entry['memory'][k] for k in keys]

    def listed(part):
        return part if isinstance(part, dict) else [(p['pid'], p['mem']) for p in part]
    rates = entry['utilization']
    parts = {key: entry[key] for key in ('name', 'uuid', 'serial', 'temperature', 'fan', 'power_mw')}
    return {**parts, 'gpu': rates['gpu'], 'memory_rate': rates['memory'],
            'memory': memory('total', 'free', 'used_with_reserved'),
            'memory_v2': memory('total', 'free', 'used', 'reserved') if has_v2 else None,
            'compute': listed(entry['processes']['compute']), 'graphics': listed(entry['processes']['graphics'])}


def library_says(nvml):
    if nvml.call('nvmlInit_v2') != SUCCESS:
        return None
    rc, count = nvml.number('nvmlDeviceGetCount_v2')
    if rc != SUCCESS:
        return None
    found = [nvml.handle('nvmlDeviceGetHandleByIndex_v2', i) for i in range(count)]
    return [answers(nvml, gpu) if rc == SUCCESS else {'rc': rc} for rc, gpu in found]


@pytest.mark.parametrize('t', [1, 60])
def test_dump_says_what_the_library_answers(fake, t):
    """No value changes within 40 s of `t`, so that the time between the two does not matter."""
    one = fake(RICH, FAKE_NVML_EPOCH_NS=str(time.monotonic_ns() - t * 10 ** 9))
    dump = one.dump(t)
    says = one.run(library_says)
    assert says == [of_dump(entry) for entry in dump['devices']]
    assert says[0]['name'] == ('first' if t == 1 else 'second')


@pytest.mark.parametrize('path', GOLDEN, ids=[p.parent.name for p in GOLDEN])
def test_golden_scenarios(fake, path):
    """Each loads, and the library answers what the dump says."""
    content = path.read_bytes()
    pids = {name.decode(): str(1000 + i) for i, name in enumerate(re.findall(rb'env:(\w+)', content))}
    profile = re.search(rb'"profile": "(\w+)"', content)
    one = fake(content, profile.group(1).decode() if profile else 'r580', **pids)
    dump = one.dump(0)
    says = one.run(library_says)
    assert one.stderr() == ''
    if dump['driver']['init_rc'] or dump['faults']:
        return
    has_v2 = one.profile not in ('r418', 'r450_51', 'r470')
    want = [of_dump(d, has_v2) if d['handle'] == 0 else d['handle'] for d in dump['devices']]
    assert says == want


def test_golden_scenarios_are_there():
    assert len(GOLDEN) > 50


def test_dump_of_events_and_faults(fake):
    events = [{'at_s': 5, 'device': 'g0', 'type': 8, 'data': 79}, {'at_s': 3, 'device': 'g0', 'type': 256, 'gi': 1}]
    one = fake(scenario(events=events, faults=[{'rc': 1}, {'rc': 2, 'at_s': 4}, {'rc': 3, 'until_s': 4}]))
    assert one.dump(3.5)['faults'] == [0, 2] and one.dump(4)['faults'] == [0, 1]
    assert [e['type'] for e in one.dump(5)['events']] == [256, 8]
    assert one.dump(4)['events'] == [{'at_s': 3, 'device': 'g0', 'type': 256, 'data': 0, 'gi': 1, 'ci': 2 ** 32 - 1}]


@pytest.mark.parametrize('words', [[], ['a'], ['a', '--at'], ['a', '--at', 'x'], ['a', '--at', ''], ['a', '-t', '1']])
def test_dump_usage(words):
    done = subprocess.run([BUILD / 'fake-nvml-dump', *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stdout) == (2, b'') and b'usage' in done.stderr


def test_dump_of_a_wrong_scenario(tmp_path):
    path = pathlib.Path(tmp_path, 'wrong.json')
    path.write_text('{}')
    done = subprocess.run([BUILD / 'fake-nvml-dump', path, '--at', '0'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    assert (done.returncode, done.stdout) == (1, b'') and done.stderr.startswith(b'fake-nvml: ')
