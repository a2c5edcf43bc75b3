"""Single calls: what they answer, the bytes they write, and how strict they are."""
import ctypes

import pytest

from fake_runner import device, scenario
from nvml_reader import (ATTRIBUTES, BAR1, FUNCTION_NOT_FOUND, INSUFFICIENT_SIZE, INVALID_ARGUMENT, MEMORY, MEMORY_V2,
                         NOT_FOUND, NOT_SUPPORTED, PCI_INFO, PCI_INFO_EXT, PCI_INFO_OLD, SUCCESS, TEMPERATURE_V,
                         UTILIZATION, VERSION_MISMATCH)

FULL = device(
    name='NVIDIA H200', serial='1320623012345', minor=5, index=2, pci='0000000A:3B:1F.1', pci_id='0x233510DE',
    subsystem_id='0x18be10de', bar1={'total': 4096, 'used': 96}, temperature=-12,
    thresholds={'shutdown': 95, 'slowdown': 90, 'mem_max': 105, 'gpu_max': 87}, fan=130, fans=2, power_mw=123456,
    power_limit_mw=700000, energy_mj=2 ** 40 + 1,
    utilization={'gpu': 97, 'memory': 31, 'enc': 1, 'dec': 2, 'jpg': 3, 'ofa': 4, 'period_us': 1000},
    clocks={'graphics': 1, 'sm': 2, 'mem': 3, 'video': 4}, max_clocks={'graphics': 11, 'sm': 12, 'mem': 13, 'video': 14},
    pstate=2, compute_mode=3, persistence=1, display_active=1, throttle=0x8000000000000104,
    ecc={'mode': [1, 0], 'volatile_corrected': 1, 'volatile_uncorrected': 2, 'aggregate_corrected': 3,
         'aggregate_uncorrected': 2 ** 33}, remapped_rows=[1, 2, 0, 1],
    pcie={'gen': 4, 'width': 8, 'max_gen': 5, 'max_width': 16, 'tx_kbs': 100, 'rx_kbs': 200},
    architecture=9, brand=14, numa_node=1, compute_capability=[9, 0],
    field_values={'82': 61, '83': 2 ** 40, '230': {'rc': 3}, '198': {'steps': [[0, 7]]}, '60': 2 ** 31})

UNSIGNED = {
    'nvmlDeviceGetIndex': 2, 'nvmlDeviceGetMinorNumber': 5, 'nvmlDeviceGetFanSpeed': 130, 'nvmlDeviceGetNumFans': 2,
    'nvmlDeviceGetPowerUsage': 123456, 'nvmlDeviceGetEnforcedPowerLimit': 700000,
    'nvmlDeviceGetPowerManagementLimit': 700000, 'nvmlDeviceGetPerformanceState': 2, 'nvmlDeviceGetComputeMode': 3,
    'nvmlDeviceGetPersistenceMode': 1, 'nvmlDeviceGetDisplayActive': 1, 'nvmlDeviceGetCurrPcieLinkGeneration': 4,
    'nvmlDeviceGetCurrPcieLinkWidth': 8, 'nvmlDeviceGetMaxPcieLinkGeneration': 5, 'nvmlDeviceGetMaxPcieLinkWidth': 16,
    'nvmlDeviceGetArchitecture': 9, 'nvmlDeviceGetBrand': 14, 'nvmlDeviceGetNumaNodeId': 1,
    'nvmlDeviceGetMaxMigDeviceCount': 0, 'nvmlDeviceIsMigDeviceHandle': 0,
}
WIDE = {
    'nvmlDeviceGetTotalEnergyConsumption': 2 ** 40 + 1, 'nvmlDeviceGetCurrentClocksThrottleReasons': 0x8000000000000104,
    'nvmlDeviceGetCurrentClocksEventReasons': 0x8000000000000104, 'nvmlDeviceGetSupportedEventTypes': 0x10B,
}
# What a device without any optional key still answers.
ALWAYS = {'nvmlDeviceGetIndex', 'nvmlDeviceGetMinorNumber', 'nvmlDeviceGetNumFans', 'nvmlDeviceGetMaxMigDeviceCount',
          'nvmlDeviceIsMigDeviceHandle', 'nvmlDeviceGetSupportedEventTypes'}


def with_device(fake, body, keys=None, **env):
    """Runs body(nvml, handle) on an initialised library with one device."""
    def work(nvml):
        with nvml.initialised():
            return body(nvml, nvml.device(0))
    one = fake(scenario(keys or FULL), **env)
    result = one.run(work)
    assert one.stderr() == ''
    return result


def test_numbers(fake):
    def body(nvml, gpu):
        for name, number in UNSIGNED.items():
            assert nvml.number(name, gpu) == (SUCCESS, number), name
        for name, number in WIDE.items():
            assert nvml.number(name, gpu, kind=ctypes.c_ulonglong) == (SUCCESS, number), name
    with_device(fake, body)


def test_absent_keys_are_not_supported_and_write_nothing(fake):
    def body(nvml, gpu):
        for name in (set(UNSIGNED) | set(WIDE)) - ALWAYS:
            assert nvml.number(name, gpu, kind=ctypes.c_ulonglong) == (NOT_SUPPORTED, None), name
        assert nvml.number('nvmlDeviceGetNumFans', gpu) == (SUCCESS, 0)
        assert nvml.number('nvmlDeviceGetTemperature', gpu, 0) == (NOT_SUPPORTED, None)
        assert nvml.string('nvmlDeviceGetSerial', gpu) == (NOT_SUPPORTED, None)
        for name, layout in [('nvmlDeviceGetUtilizationRates', UTILIZATION), ('nvmlDeviceGetBAR1MemoryInfo', BAR1),
                             ('nvmlDeviceGetTemperatureV', TEMPERATURE_V), ('nvmlDeviceGetAttributes_v2', ATTRIBUTES)]:
            rc, _, written = nvml.written(name, layout, gpu)
            assert (rc, written) == (NOT_SUPPORTED, set()), name
        for name, count in [('nvmlDeviceGetEccMode', 2), ('nvmlDeviceGetRemappedRows', 4), ('nvmlDeviceGetMigMode', 2),
                            ('nvmlDeviceGetCudaComputeCapability', 2), ('nvmlDeviceGetEncoderUtilization', 2),
                            ('nvmlDeviceGetDecoderUtilization', 2), ('nvmlDeviceGetJpgUtilization', 2),
                            ('nvmlDeviceGetOfaUtilization', 2)]:
            assert nvml.numbers(name, gpu, count) == (NOT_SUPPORTED, [0xA5A5A5A5] * count), name
        for kind in range(4):
            assert nvml.number('nvmlDeviceGetTemperatureThreshold', gpu, kind) == (NOT_SUPPORTED, None)
            assert nvml.number('nvmlDeviceGetClockInfo', gpu, kind) == (NOT_SUPPORTED, None)
        assert nvml.number('nvmlDeviceGetTotalEccErrors', gpu, 0, 0) == (NOT_SUPPORTED, None)
        assert nvml.fields(gpu, [82])[0] == NOT_SUPPORTED
    with_device(fake, body, device())


def test_null_addresses(fake):
    def body(nvml, gpu):
        for name in list(UNSIGNED) + list(WIDE):
            assert nvml.call(name, gpu, None) == INVALID_ARGUMENT, name
        for name in ['nvmlDeviceGetUtilizationRates', 'nvmlDeviceGetMemoryInfo', 'nvmlDeviceGetMemoryInfo_v2',
                     'nvmlDeviceGetPciInfo', 'nvmlDeviceGetPciInfo_v2', 'nvmlDeviceGetPciInfo_v3',
                     'nvmlDeviceGetPciInfoExt', 'nvmlDeviceGetTemperatureV', 'nvmlDeviceGetBAR1MemoryInfo',
                     'nvmlDeviceGetRunningProcessDetailList', 'nvmlDeviceGetProcessesUtilizationInfo']:
            assert nvml.call(name, gpu, None) == INVALID_ARGUMENT, name
        number = ctypes.c_uint()
        for name in ['nvmlDeviceGetEccMode', 'nvmlDeviceGetEncoderUtilization', 'nvmlDeviceGetCudaComputeCapability']:
            assert nvml.call(name, gpu, ctypes.byref(number), None) == INVALID_ARGUMENT, name
            assert nvml.call(name, gpu, None, ctypes.byref(number)) == INVALID_ARGUMENT, name
        assert nvml.call('nvmlDeviceGetName', gpu, None, 96) == INVALID_ARGUMENT
        assert nvml.call('nvmlDeviceGetCount_v2', None) == INVALID_ARGUMENT
        assert nvml.call('nvmlDeviceGetHandleByIndex_v2', 0, None) == INVALID_ARGUMENT
        assert nvml.call('nvmlDeviceGetFieldValues', gpu, 1, None) == INVALID_ARGUMENT
        assert nvml.call('nvmlEventSetCreate', None) == INVALID_ARGUMENT
        assert nvml.call('nvmlSystemGetCudaDriverVersion_v2', None) == INVALID_ARGUMENT
    with_device(fake, body)


@pytest.mark.parametrize('bad', [None, 1, 0xDEAD, 0x4E56 << 48, (0x4E56 << 48) | 1 << 16 | 1 << 8])
def test_bad_handles(fake, bad):
    def body(nvml, gpu):
        del gpu
        for name in list(UNSIGNED) + list(WIDE):
            assert nvml.number(name, ctypes.c_void_p(bad), kind=ctypes.c_ulonglong) == (INVALID_ARGUMENT, None), name
    with_device(fake, body)


def test_temperature(fake):
    def body(nvml, gpu):
        assert nvml.number('nvmlDeviceGetTemperature', gpu, 0, kind=ctypes.c_int) == (SUCCESS, -12)
        assert nvml.number('nvmlDeviceGetTemperature', gpu, 1) == (INVALID_ARGUMENT, None)
        rc, data, written = nvml.written('nvmlDeviceGetTemperatureV', TEMPERATURE_V, gpu)
        assert rc == SUCCESS and TEMPERATURE_V.unpack(data)['temperature'] == -12
        assert written == set(range(8, 12))
        for version in (0, 1, 12, 0x0200000C, 0x0100000D):
            rc, _, written = nvml.written('nvmlDeviceGetTemperatureV', TEMPERATURE_V, gpu, version=version)
            assert (rc, written) == (VERSION_MISMATCH, set())
        for kind, degrees in enumerate([95, 90, 105, 87]):
            assert nvml.number('nvmlDeviceGetTemperatureThreshold', gpu, kind) == (SUCCESS, degrees)
        assert nvml.number('nvmlDeviceGetTemperatureThreshold', gpu, 99) == (INVALID_ARGUMENT, None)
    with_device(fake, body)


def test_memory(fake):
    def body(nvml, gpu):
        rc, data, written = nvml.written('nvmlDeviceGetMemoryInfo', MEMORY, gpu)
        assert rc == SUCCESS and written == set(range(24))
        assert MEMORY.unpack(data) == {'total': 1000, 'free': 650, 'used': 350}
        rc, data, written = nvml.written('nvmlDeviceGetMemoryInfo_v2', MEMORY_V2, gpu)
        assert rc == SUCCESS and written == set(range(8, 40))
        assert MEMORY_V2.unpack(data) == {'version': 0x02000028, 'total': 1000, 'reserved': 50, 'free': 650, 'used': 300}
        for version in (0, 2, 40, 0x01000028, 0x02000018):
            rc, _, written = nvml.written('nvmlDeviceGetMemoryInfo_v2', MEMORY_V2, gpu, version=version)
            assert (rc, written) == (FUNCTION_NOT_FOUND, set())
        assert nvml.struct('nvmlDeviceGetBAR1MemoryInfo', BAR1, gpu) == (
            SUCCESS, {'total': 4096, 'free': 4000, 'used': 96})
    with_device(fake, body)


@pytest.mark.parametrize('memory, figures', [
    ({'total': 100, 'used': 90, 'reserved': 20}, (100, 20, 0, 90, 110)),
    ({'total': 100, 'used': 101}, (100, 0, 0, 101, 101)),
    ({'total': 0, 'used': 0}, (0, 0, 0, 0, 0)),
    ({'total': 2 ** 64 - 1, 'used': 2 ** 64 - 2, 'reserved': 1}, (2 ** 64 - 1, 1, 0, 2 ** 64 - 2, 2 ** 64 - 1)),
    ({'total': 2 ** 64 - 1, 'used': 2 ** 64 - 1, 'reserved': 7}, (2 ** 64 - 1, 7, 0, 2 ** 64 - 1, 2 ** 64 - 1)),
    ({'total': 18014398509481985, 'used': 1}, (18014398509481985, 0, 18014398509481984, 1, 1)),
])
def test_memory_edges(fake, memory, figures):
    total, reserved, free, used, used_with_reserved = figures

    def body(nvml, gpu):
        assert nvml.struct('nvmlDeviceGetMemoryInfo_v2', MEMORY_V2, gpu)[1] == {
            'version': 0x02000028, 'total': total, 'reserved': reserved, 'free': free, 'used': used}
        assert nvml.struct('nvmlDeviceGetMemoryInfo', MEMORY, gpu)[1] == {
            'total': total, 'free': free, 'used': used_with_reserved}
    with_device(fake, body, device(memory=memory))


@pytest.mark.parametrize('memory', [{'rc': 4}, {'total': {'rc': 4}, 'used': 1}, {'total': 1, 'used': {'rc': 4}},
                                    {'total': 1, 'used': 1, 'reserved': {'rc': 4}}])
def test_memory_rc(fake, memory):
    def body(nvml, gpu):
        assert nvml.written('nvmlDeviceGetMemoryInfo', MEMORY, gpu)[::2] == (4, set())
        assert nvml.written('nvmlDeviceGetMemoryInfo_v2', MEMORY_V2, gpu)[::2] == (4, set())
    with_device(fake, body, device(memory=memory))


def test_pci_info(fake):
    def body(nvml, gpu):
        common = {'domain': 10, 'bus': 0x3B, 'device': 0x1F, 'pciDeviceId': 0x233510DE, 'pciSubSystemId': 0x18BE10DE}
        rc, data, written = nvml.written('nvmlDeviceGetPciInfo_v3', PCI_INFO, gpu)
        assert rc == SUCCESS and written == set(range(68))
        assert PCI_INFO.unpack(data) == {'busIdLegacy': '000A:3B:1F.1', 'busId': '0000000A:3B:1F.1', **common}
        for name in ('nvmlDeviceGetPciInfo', 'nvmlDeviceGetPciInfo_v2'):
            rc, data, written = nvml.written(name, PCI_INFO_OLD, gpu)
            assert rc == SUCCESS and written == set(range(52))
            assert PCI_INFO_OLD.unpack(data) == {'busId': '000A:3B:1F.1', 'reserved': '', **common}
        rc, data, written = nvml.written('nvmlDeviceGetPciInfoExt', PCI_INFO_EXT, gpu)
        assert rc == SUCCESS and written == set(range(4, 64))
        assert PCI_INFO_EXT.unpack(data) == {'version': 0x01000040, 'baseClass': 3, 'subClass': 2,
                                             'busId': '0000000A:3B:1F.1', **common}
        assert nvml.written('nvmlDeviceGetPciInfoExt', PCI_INFO_EXT, gpu, version=64)[::2] == (VERSION_MISMATCH, set())
    with_device(fake, body)


def test_pci_defaults(fake):
    def body(nvml):
        with nvml.initialised():
            infos = [nvml.struct('nvmlDeviceGetPciInfo_v3', PCI_INFO, nvml.device(i))[1] for i in (0, 1, 63)]
        assert [i['busId'] for i in infos] == ['00000000:10:00.0', '00000000:11:00.0', '00000000:4F:00.0']
        assert infos[0]['pciDeviceId'] == 0x233010DE and infos[0]['pciSubSystemId'] == 0
    fake(scenario(*[device(i) for i in range(64)])).run(body)


def test_long_pci_domain(fake):
    def body(nvml, gpu):
        info = nvml.struct('nvmlDeviceGetPciInfo_v3', PCI_INFO, gpu)[1]
        assert info['busId'] == 'FEDCBA98:3B:00.0' and info['domain'] == 0xFEDCBA98
        assert info['busIdLegacy'] == 'FEDCBA98:3B:00.'  # no room for more with the NUL
    with_device(fake, body, device(pci='FEDCBA98:3B:00.0'))


def test_texts(fake):
    def body(nvml, gpu):
        assert nvml.string('nvmlDeviceGetName', gpu) == (SUCCESS, 'NVIDIA H200')
        assert nvml.string('nvmlDeviceGetSerial', gpu) == (SUCCESS, '1320623012345')
        assert nvml.string('nvmlDeviceGetUUID', gpu)[0] == SUCCESS
        assert nvml.string('nvmlDeviceGetName', gpu, size=12) == (SUCCESS, 'NVIDIA H200')
        for size in (11, 1, 0):
            assert nvml.string('nvmlDeviceGetName', gpu, size=size) == (INSUFFICIENT_SIZE, None)
        assert nvml.string('nvmlSystemGetDriverVersion') == (SUCCESS, '580.95.05')
        assert nvml.string('nvmlSystemGetDriverVersion', size=9) == (INSUFFICIENT_SIZE, None)
        assert nvml.string('nvmlSystemGetNVMLVersion') == (SUCCESS, '13.580.95.05')
        assert nvml.number('nvmlSystemGetCudaDriverVersion') == (SUCCESS, 13000)
        assert nvml.number('nvmlSystemGetCudaDriverVersion_v2') == (SUCCESS, 13000)
    with_device(fake, body)


def test_text_escapes(fake):
    name = 'a"\\/\b\f\n\r\t\x1b é \u20ac \U0001f600'

    def body(nvml, gpu):
        assert nvml.string('nvmlDeviceGetName', gpu) == (SUCCESS, name)
    with_device(fake, body, device(name=name))  # json.dumps escapes all beyond ASCII
    raw = ('{"version": 1, "devices": [{"id": "g0", "name": "é € \U0001f600 \\/", "uuid": "u", "memory": {"rc": 3}}]}')
    one = fake(raw.encode())

    def body_raw(nvml):
        with nvml.initialised():
            return nvml.string('nvmlDeviceGetName', nvml.device(0))
    assert one.run(body_raw) == (SUCCESS, 'é € \U0001f600 /')


def test_engines_clocks_ecc(fake):
    def body(nvml, gpu):
        assert nvml.struct('nvmlDeviceGetUtilizationRates', UTILIZATION, gpu) == (SUCCESS, {'gpu': 97, 'memory': 31})
        for number, name in enumerate(['Encoder', 'Decoder', 'Jpg', 'Ofa'], 1):
            assert nvml.numbers(f'nvmlDeviceGet{name}Utilization', gpu, 2) == (SUCCESS, [number, 1000])
        for kind in range(4):
            assert nvml.number('nvmlDeviceGetClockInfo', gpu, kind) == (SUCCESS, kind + 1)
            assert nvml.number('nvmlDeviceGetMaxClockInfo', gpu, kind) == (SUCCESS, kind + 11)
        assert nvml.number('nvmlDeviceGetClockInfo', gpu, 4) == (INVALID_ARGUMENT, None)
        assert nvml.numbers('nvmlDeviceGetEccMode', gpu, 2) == (SUCCESS, [1, 0])
        totals = {(0, 0): 1, (1, 0): 2, (0, 1): 3, (1, 1): 2 ** 33}
        for (kind, counter), number in totals.items():
            assert nvml.number('nvmlDeviceGetTotalEccErrors', gpu, kind, counter, kind=ctypes.c_ulonglong) == (
                SUCCESS, number)
        assert nvml.number('nvmlDeviceGetTotalEccErrors', gpu, 2, 0) == (INVALID_ARGUMENT, None)
        assert nvml.number('nvmlDeviceGetTotalEccErrors', gpu, 0, 2) == (INVALID_ARGUMENT, None)
        assert nvml.numbers('nvmlDeviceGetRemappedRows', gpu, 4) == (SUCCESS, [1, 2, 0, 1])
        assert nvml.numbers('nvmlDeviceGetCudaComputeCapability', gpu, 2) == (SUCCESS, [9, 0])
    with_device(fake, body)


def test_utilization_rc_and_parts(fake):
    def rates(keys):
        return with_device(fake, lambda nvml, gpu: nvml.struct('nvmlDeviceGetUtilizationRates', UTILIZATION, gpu),
                           device(utilization=keys))
    assert rates({'gpu': 5}) == (SUCCESS, {'gpu': 5, 'memory': 0})
    assert rates({'memory': 5}) == (NOT_SUPPORTED, None)
    assert rates({'gpu': 5, 'memory': {'rc': 15}}) == (15, None)
    assert rates({'gpu': {'rc': 16}, 'memory': 5}) == (16, None)
    assert rates({'rc': 17}) == (17, None)

    def all_engines(nvml, gpu):
        return [nvml.numbers(f'nvmlDeviceGet{name}Utilization', gpu, 2)[0] for name in
                ('Encoder', 'Decoder', 'Jpg', 'Ofa')]
    assert with_device(fake, all_engines, device(utilization={'rc': 17})) == [17] * 4
    assert with_device(fake, lambda nvml, gpu: nvml.numbers('nvmlDeviceGetEncoderUtilization', gpu, 2),
                       device(utilization={'enc': 9})) == (SUCCESS, [9, 166667])


@pytest.mark.parametrize('keys, fans, speeds', [
    ({}, 0, {0: NOT_SUPPORTED}),
    ({'fan': {'rc': 999}}, 0, {0: 999}),
    ({'fan': 30}, 1, {0: 30, 1: INVALID_ARGUMENT}),
    ({'fan': {'steps': [[0, {'rc': 999}]]}}, 1, {0: 999, 1: INVALID_ARGUMENT}),
    ({'fan': 30, 'fans': 3}, 3, {2: 30, 3: INVALID_ARGUMENT}),
])
def test_fans(fake, keys, fans, speeds):
    def body(nvml, gpu):
        assert nvml.number('nvmlDeviceGetNumFans', gpu) == (SUCCESS, fans)
        for fan, want in speeds.items():
            rc, speed = nvml.number('nvmlDeviceGetFanSpeed_v2', gpu, fan)
            assert (speed if rc == SUCCESS else rc) == want
    with_device(fake, body, device(**keys))


def test_field_values(fake):
    def body(nvml, gpu):
        rc, rows = nvml.fields(gpu, [82, 83, 230, 198, 60, 1])
        assert rc == SUCCESS
        assert {k: (r['nvmlReturn'], r['valueType'], r['value']) for k, r in rows.items()} == {
            82: (0, 1, 61), 83: (0, 3, 2 ** 40), 198: (0, 3, 7), 60: (0, 1, 2 ** 31),
            230: (3, -1, 0xA5A5A5A5A5A5A5A5), 1: (3, -1, 0xA5A5A5A5A5A5A5A5)}
        assert rows[82]['timestamp'] > 1600000000000000 and rows[230]['timestamp'] == -1
        assert nvml.fields(gpu, [230, 1])[0] == NOT_SUPPORTED
        buffer = ctypes.create_string_buffer(40)
        assert nvml.call('nvmlDeviceGetFieldValues', gpu, 0, buffer) == INVALID_ARGUMENT
    with_device(fake, body)


def test_lookups(fake):
    devices = [device(0, index=7, handle={'rc': 4}), device(1, pci='0000000A:3B:00.0'), device(2, uuid={'rc': 15})]

    def body(nvml):
        with nvml.initialised():
            for name in ('nvmlDeviceGetCount', 'nvmlDeviceGetCount_v2'):
                assert nvml.number(name) == (SUCCESS, 3)
            second = nvml.device(1)
            for name in ('nvmlDeviceGetHandleByIndex', 'nvmlDeviceGetHandleByIndex_v2'):
                assert nvml.handle(name, 0)[0] == 4
                assert nvml.handle(name, 1)[1].value == second.value
                assert nvml.handle(name, 3)[0] == INVALID_ARGUMENT
            for name in ('nvmlDeviceGetHandleByPciBusId', 'nvmlDeviceGetHandleByPciBusId_v2'):
                for address in (b'0000000A:3B:00.0', b'000a:3b:00.0', b'0000000a:3B:00.0'):
                    assert nvml.handle(name, address)[1].value == second.value
                assert nvml.handle(name, b'0000:3B:00.0')[0] == NOT_FOUND
                assert nvml.handle(name, b'000A:3B:00.1')[0] == NOT_FOUND
                assert nvml.handle(name, b'00000000:10:00.0')[0] == 4
                for wrong in (b'', b'3B:00.0', b'000A:3B:00', b'000A:3B:00.0 ', b'0xA:3B:00.0', None):
                    assert nvml.handle(name, wrong)[0] == INVALID_ARGUMENT, wrong
            uuid = 'nvmlDeviceGetHandleByUUID'
            assert nvml.handle(uuid, devices[1]['uuid'].encode())[1].value == second.value
            assert nvml.handle(uuid, devices[0]['uuid'].encode())[0] == 4
            assert nvml.handle(uuid, b'GPU-none')[0] == NOT_FOUND
            assert nvml.handle(uuid, None)[0] == INVALID_ARGUMENT
            assert nvml.string('nvmlDeviceGetUUID', nvml.device(2)) == (15, None)
    fake(scenario(*devices)).run(body)


def test_error_strings(fake):
    texts = {0: 'Success', 1: 'Uninitialized', 2: 'Invalid Argument', 3: 'Not Supported', 4: 'Insufficient Permissions',
             5: 'Already Initialized', 6: 'Not Found', 7: 'Insufficient Size', 8: 'Insufficient External Power',
             9: 'Driver Not Loaded', 10: 'Timeout', 11: 'Interrupt Request Issue', 12: 'NVML Shared Library Not Found',
             13: 'Function Not Found', 14: 'Corrupted infoROM', 15: 'GPU is lost', 16: 'GPU requires restart',
             17: 'The operating system has blocked the request.', 18: 'Driver/library version mismatch',
             20: 'Insufficient Memory'}

    def body(nvml):
        for rc in list(range(-2, 40)) + [998, 999, 1000, -2 ** 31, 2 ** 31 - 1]:
            assert nvml.error_string(rc) == texts.get(rc, 'Unknown Error')
    fake(None).run(body)


def test_unsupported_calls(fake):
    def body(nvml, gpu):
        for name in ('nvmlDeviceGetSamples', 'nvmlDeviceGetMemoryErrorCounter', 'nvmlDeviceGetNvLinkState',
                     'nvmlDeviceGetNvLinkVersion', 'nvmlDeviceGetTopologyCommonAncestor', 'nvmlDeviceGetCpuAffinity',
                     'nvmlDeviceGetMemoryAffinity', 'nvmlDeviceGetVirtualizationMode',
                     'nvmlDeviceGetConfComputeMemSizeInfo', 'nvmlDeviceGetDriverModel_v2'):
            assert nvml.call(name, gpu, 0, 0, 0, 0, 0) == NOT_SUPPORTED, name
            assert nvml.call(name, None, 0, 0, 0, 0, 0) == INVALID_ARGUMENT, name
    with_device(fake, body)
