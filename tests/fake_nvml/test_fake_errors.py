"""Wrong scenarios: each is one line on stderr that starts with `fake-nvml: `, and 999 from every init call."""
import json

import pytest

from fake_runner import device, scenario
from nvml_reader import DRIVER_NOT_LOADED, UNKNOWN

INITS = ['nvmlInit', 'nvmlInit_v2', 'nvmlInitWithFlags', 'nvmlInit_v2']


def with_device(**keys):
    return scenario(device(**keys))


def mig(**keys):
    one = {'index': 0, 'gi': 1, 'ci': 0, 'uuid': 'MIG-0', 'memory': {'total': 1, 'used': 1}, **keys}
    return with_device(mig={'mode': [1, 1], 'devices': [{k: v for k, v in one.items() if v is not None}]})


def fault(**keys):
    return scenario(faults=[keys])


def process(**keys):
    one = {'pid': 1, 'mem': 1, **keys}
    return with_device(processes=[{k: v for k, v in one.items() if v is not None}])


def event(**keys):
    one = {'at_s': 1, 'device': 'g0', 'type': 8, **keys}
    return scenario(events=[{k: v for k, v in one.items() if v is not None}])


WRONG = {
    # JSON
    'empty': b'',
    'blank': b' \n',
    'no object': b'[]',
    'cut': b'{"version": 1, "devices": [',
    'second value': b'{"version": 1, "devices": []} {}',
    'trailing comma': b'{"version": 1, "devices": [],}',
    'comment': b'{"version": 1, "devices": [] /* none */}',
    'single quotes': b"{'version': 1, 'devices': []}",
    'byte order mark': b'\xef\xbb\xbf{"version": 1, "devices": []}',
    'NUL byte': b'{"version": 1, "devices": []}\0',
    'leading zero': b'{"version": 01, "devices": []}',
    'plus sign': b'{"version": +1, "devices": []}',
    'no digit after the point': b'{"version": 1., "devices": []}',
    'no digit in the exponent': b'{"version": 1e, "devices": []}',
    'not a number': b'{"version": NaN, "devices": []}',
    'number out of range': b'{"version": 1e999, "devices": []}',
    'repeated key': b'{"version": 1, "devices": [], "devices": []}',
    'key repeated by an escape': b'{"version": 1, "devices": [], "devic\\u0065s": []}',
    'unknown escape': b'{"version": 1, "devices": [], "profile": "r58\\x30"}',
    'lone surrogate': b'{"version": 1, "devices": [], "profile": "\\ud800"}',
    'lone low surrogate': b'{"version": 1, "devices": [], "profile": "\\udc00"}',
    'escaped NUL': b'{"version": 1, "devices": [], "profile": "r580\\u0000"}',
    'raw newline in a text': b'{"version": 1, "devices": [], "profile": "r580\n"}',
    'open text': b'{"version": 1, "devices": [], "profile": "r580',
    'not UTF-8': b'{"version": 1, "devices": [], "profile": "\xff"}',
    'overlong UTF-8': b'{"version": 1, "devices": [], "profile": "\xc0\xaf"}',
    'surrogate in UTF-8': b'{"version": 1, "devices": [], "profile": "\xed\xa0\x80"}',
    'cut UTF-8': b'{"version": 1, "devices": [], "profile": "\xe2\x82"}',
    'deep nesting': b'{"version": 1, "devices": ' + b'[' * 100 + b']' * 100 + b'}',
    # top level
    'no version': {'devices': []},
    'no devices': {'version': 1},
    'version 2': {'version': 2, 'devices': []},
    'version as text': {'version': '1', 'devices': []},
    'version as fraction': {'version': 1.25, 'devices': []},
    'unknown key': {'version': 1, 'devices': [], 'device': []},
    'devices as object': {'version': 1, 'devices': {}},
    'null device': {'version': 1, 'devices': [None]},
    '65 devices': scenario(*[device(i) for i in range(65)]),
    'unknown profile': scenario(profile='r999'),
    'other profile': scenario(profile='r470'),
    'profile as number': scenario(profile=580),
    'driver as text': scenario(driver='580'),
    'unknown driver key': scenario(driver={'versions': '1'}),
    'driver version as number': scenario(driver={'version': 580}),
    'nvml with steps': scenario(driver={'nvml': {'steps': [[0, '1']]}}),
    'init_rc too great': scenario(driver={'init_rc': 1000}),
    'init_rc negative': scenario(driver={'init_rc': -1}),
    'init_ms negative': scenario(driver={'init_ms': -1}),
    'cuda as text': scenario(driver={'cuda': '13'}),
    # a device
    'no id': {'version': 1, 'devices': [{k: v for k, v in device().items() if k != 'id'}]},
    'no name': {'version': 1, 'devices': [{k: v for k, v in device().items() if k != 'name'}]},
    'no uuid': {'version': 1, 'devices': [{k: v for k, v in device().items() if k != 'uuid'}]},
    'no memory': {'version': 1, 'devices': [{k: v for k, v in device().items() if k != 'memory'}]},
    'repeated id': scenario(device(0), device(0)),
    'unknown device key': with_device(temprature=1),
    'id as number': with_device(id=1),
    'name as number': with_device(name=1),
    'name as wave': with_device(name={'wave': {'base': 1, 'amp': 1, 'period_s': 1}}),
    'number as text': with_device(temperature='40'),
    'number as bool': with_device(temperature=True),
    'number as null': with_device(temperature=None),
    'number as list': with_device(temperature=[1]),
    'temperature out of range': with_device(temperature=3e9),
    'u32 out of range': with_device(fan=2 ** 32),
    'u64 out of range': with_device(energy_mj=2 ** 64),
    'handle 1': with_device(handle=1),
    'handle as wave': with_device(handle={'wave': {'base': 1, 'amp': 1, 'period_s': 1}}),
    'rc 0': with_device(fan={'rc': 0}),
    'rc 1000': with_device(fan={'rc': 1000}),
    'rc as text': with_device(fan={'rc': '3'}),
    'rc as fraction': with_device(fan={'rc': 3.5}),
    'rc with another key': with_device(fan={'rc': 3, 'x': 1}),
    'unknown form': with_device(fan={'value': 3}),
    'empty form': with_device(fan={}),
    'two forms': with_device(fan={'steps': [[0, 1]], 'wave': {'base': 1, 'amp': 1, 'period_s': 1}}),
    'no steps': with_device(fan={'steps': []}),
    'short step': with_device(fan={'steps': [[0]]}),
    'long step': with_device(fan={'steps': [[0, 1, 2]]}),
    'falling step': with_device(fan={'steps': [[0, 1], [5, 1], [4, 1]]}),
    'step at a text': with_device(fan={'steps': [['0', 1]]}),
    'nested steps': with_device(fan={'steps': [[0, {'steps': [[0, 1]]}]]}),
    'wave in a step': with_device(fan={'steps': [[0, {'wave': {'base': 1, 'amp': 1, 'period_s': 1}}]]}),
    'text in a step': with_device(fan={'steps': [[0, 'x']]}),
    'number in a text step': with_device(name={'steps': [[0, 1]]}),
    'wave without base': with_device(fan={'wave': {'amp': 1, 'period_s': 1}}),
    'wave without amp': with_device(fan={'wave': {'base': 1, 'period_s': 1}}),
    'wave without period': with_device(fan={'wave': {'base': 1, 'amp': 1}}),
    'wave with period 0': with_device(fan={'wave': {'base': 1, 'amp': 1, 'period_s': 0}}),
    'unknown wave key': with_device(fan={'wave': {'base': 1, 'amp': 1, 'period_s': 1, 'x': 1}}),
    'pci in small hex': with_device(pci='0000000a:3b:00.0'),
    'pci with a short domain': with_device(pci='0000:3B:00.0'),
    'pci with a tail': with_device(pci='00000000:3B:00.00'),
    'pci_id without 0x': with_device(pci_id='233010DE'),
    'pci_id too short': with_device(pci_id='0x2330'),
    'subsystem_id as number': with_device(subsystem_id=1),
    'memory as number': with_device(memory=1),
    'memory without total': with_device(memory={'used': 1}),
    'memory without used': with_device(memory={'total': 1}),
    'unknown memory key': with_device(memory={'total': 1, 'used': 1, 'free': 0}),
    'sum with another key': with_device(memory={'total': 1, 'used': {'sum_of_processes': 1, 'x': 1}}),
    'bar1 without used': with_device(bar1={'total': 1}),
    'unknown threshold': with_device(thresholds={'max': 1}),
    'fans negative': with_device(fans=-1),
    'fans with steps': with_device(fans={'steps': [[0, 1]]}),
    'utilization as number': with_device(utilization=5),
    'unknown utilization key': with_device(utilization={'sm': 5}),
    'unknown clock': with_device(clocks={'memory': 1}),
    'ecc without mode': with_device(ecc={'volatile_corrected': 1}),
    'ecc mode of one': with_device(ecc={'mode': [1]}),
    'three remapped rows': with_device(remapped_rows=[0, 0, 0]),
    'unknown pcie key': with_device(pcie={'speed': 1}),
    'compute capability of one': with_device(compute_capability=[9]),
    'field id in hex': with_device(field_values={'0x52': 1}),
    'field id with a leading zero': with_device(field_values={'082': 1}),
    'field id out of range': with_device(field_values={'4294967296': 1}),
    'field value out of range': with_device(field_values={'82': 2 ** 32}),
    'process_rc of 3': with_device(process_rc={'compute': 3}),
    'unknown process_rc': with_device(process_rc={'all': {'rc': 3}}),
    # processes
    'process without pid': process(pid=None),
    'process without mem': process(mem=None),
    'pid negative': process(pid=-1),
    'pid as fraction': process(pid=1.5),
    'pid as text': process(pid='1'),
    'pid of an unset variable': process(pid='env:FAKE_TEST_UNSET'),
    'pid of a variable with text': process(pid='env:PATH'),
    'mem as other text': process(mem='n/a'),
    'unknown type': process(types=['X']),
    'types as text': process(types='C'),
    'unknown process key': process(name='python'),
    'from_s as text': process(from_s='1'),
    'gi out of range': process(gi=2 ** 32),
    # MIG
    'mig without mode': with_device(mig={'devices': []}),
    'mig mode of one': with_device(mig={'mode': [1]}),
    'unknown mig key': with_device(mig={'mode': [1, 1], 'count': 1}),
    'mig device without index': mig(index=None),
    'mig device without gi': mig(gi=None),
    'mig device without uuid': mig(uuid=None),
    'mig device without memory': mig(memory=None),
    'mig index past max': mig(index=7),
    'unknown mig device key': mig(slices=1),
    'repeated mig index': with_device(mig={'mode': [1, 1], 'devices': [
        {'index': 1, 'gi': 1, 'ci': i, 'uuid': f'MIG-{i}', 'memory': {'rc': 3}} for i in range(2)]}),
    # faults and events
    'fault without kind': fault(fn='*'),
    'fault with two kinds': fault(rc=3, latency_us=1),
    'fault rc 0': fault(rc=0),
    'fault with unknown device': fault(rc=3, device='g9'),
    'fault with device as number': fault(rc=3, device=0),
    'negative latency': fault(latency_us=-1),
    'unknown hang': fault(hang='never'),
    'hang without number': fault(hang='ms:'),
    'hang with fraction': fault(hang='ms:1.5'),
    'unknown fault key': fault(rc=3, function='*'),
    'fn as number': fault(rc=3, fn=1),
    'event without time': event(at_s=None),
    'event without device': event(device=None),
    'event without type': event(type=None),
    'event of two bits': event(type=9),
    'event of no bit': event(type=0),
    'event on an unknown device': event(device='g9'),
    'unknown event key': event(xid=79),
    'events as object': scenario(events={}),
}


def init_all(nvml):
    return [nvml.call(name, *([0] if name.endswith('Flags') else [])) for name in INITS]


@pytest.mark.parametrize('name', list(WRONG))
def test_wrong(fake, name):
    one = fake(WRONG[name])
    assert one.run(init_all) == [UNKNOWN] * len(INITS)
    assert one.stderr().startswith('fake-nvml: '), one.stderr()
    assert one.stderr().count('\n') == 1 and one.stderr().endswith('\n')


@pytest.mark.parametrize('content, words', [
    (with_device(memory={'used': 1}), 'devices[0].memory: the key "total" is required'),
    (scenario(device(0), device(1, fan={'rc': 0})), 'devices[1].fan.rc: is out of range'),
    (b'{"version": 1,\n "devices": [],\n x}', 'line 3: '),
    (scenario(profile='r470'), 'profile: the scenario is for profile r470, this library is r580'),
])
def test_the_line_names_the_place(fake, content, words):
    one = fake(content)
    one.run(init_all)
    assert words in one.stderr()
    assert str(one.path) in one.stderr()


def test_a_key_with_a_newline_stays_one_line(fake):
    one = fake({'version': 1, 'devices': [], 'a\nfake-nvml: b\x7f': 1})
    assert set(one.run(init_all)) == {UNKNOWN}
    assert one.stderr().count('\n') == 1


def test_no_scenario(fake):
    one = fake(None)
    assert set(one.run(init_all)) == {DRIVER_NOT_LOADED}
    assert one.stderr() == ''


@pytest.mark.parametrize('path', ['/nonexistent/scenario.json', '/', ''])
def test_unreadable_file(fake, path):
    one = fake(None, FAKE_NVML_SCENARIO=path)
    assert set(one.run(init_all)) == {UNKNOWN}
    assert one.stderr().startswith('fake-nvml: ') and one.stderr().count('\n') == 1


@pytest.mark.parametrize('env', [{'FAKE_NVML_EPOCH_NS': 'now'}, {'FAKE_NVML_EPOCH_NS': ''},
                                 {'FAKE_NVML_LOG': '/nonexistent/log'}])
def test_wrong_environment(fake, env):
    one = fake(scenario(), **env)
    assert set(one.run(init_all)) == {UNKNOWN}
    assert list(env)[0] in one.stderr()


def test_64_devices_are_right(fake):
    one = fake(scenario(*[device(i) for i in range(64)]))
    assert set(one.run(init_all)) == {0}


def test_every_cut_of_a_scenario_is_wrong(fake):
    """No prefix of a file is a scenario, and none crashes the reader."""
    content = json.dumps(scenario(device(name='\u00e9\U0001f600"\\'), faults=[{'rc': 3}])).encode()
    for length in range(0, len(content), 7):
        assert fake(content[:length]).run(lambda nvml: nvml.call('nvmlInit_v2')) == UNKNOWN
