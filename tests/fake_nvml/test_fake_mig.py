"""MIG devices: look-ups with holes, what their handles answer, and what they do not."""
import ctypes
import time

from fake_runner import device, scenario
from nvml_reader import (ATTRIBUTES, BAR1, INVALID_ARGUMENT, MEMORY, MEMORY_V2, NOT_FOUND, NOT_SUPPORTED, PROCESS_24,
                         SUCCESS, UTILIZATION)

BY_INDEX = 'nvmlDeviceGetMigDeviceHandleByIndex'
PARENT = device(
    name='NVIDIA A100', temperature=40, fan=30, architecture=9, utilization={'gpu': 5},
    processes=[{'pid': 10, 'mem': 100, 'gi': 7, 'ci': 0}, {'pid': 11, 'mem': 200, 'gi': 8, 'ci': 0},
               {'pid': 12, 'mem': 400, 'gi': 7, 'ci': 0, 'types': ['G']}],
    mig={'mode': [1, 0], 'max': 5, 'devices': [
        {'index': 3, 'gi': 7, 'ci': 0, 'uuid': 'MIG-a', 'sms': 14, 'gi_slices': 2, 'ci_slices': 1,
         'memory': {'total': 10 << 30, 'used': {'sum_of_processes': 1}, 'reserved': 5}, 'bar1': {'total': 9, 'used': 4}},
        {'index': 1, 'gi': 8, 'ci': 0, 'uuid': 'MIG-b', 'memory': {'rc': 4}, 'profile': '2g.20gb'},
        {'index': 0, 'gi': 9, 'ci': 2, 'uuid': {'rc': 15}, 'memory': {'rc': 4}, 'name': 'slice'}]})


def on_mig(fake, body, content=None, **env):
    def work(nvml):
        with nvml.initialised():
            return body(nvml, nvml.device(0))
    return fake(content or scenario(PARENT), **env).run(work)


def child(nvml, gpu, index):
    rc, found = nvml.handle(BY_INDEX, gpu, index)
    assert rc == SUCCESS
    return found


def test_lookup_and_holes(fake):
    def body(nvml, gpu):
        assert nvml.numbers('nvmlDeviceGetMigMode', gpu, 2) == (SUCCESS, [1, 0])
        assert nvml.number('nvmlDeviceGetMaxMigDeviceCount', gpu) == (SUCCESS, 5)
        assert [nvml.handle(BY_INDEX, gpu, i)[0] for i in range(6)] == [0, 0, NOT_FOUND, 0, NOT_FOUND, INVALID_ARGUMENT]
        assert nvml.handle('nvmlDeviceGetHandleByUUID', b'MIG-a')[1].value == child(nvml, gpu, 3).value
        rc, parent = nvml.handle('nvmlDeviceGetDeviceHandleFromMigDeviceHandle', child(nvml, gpu, 3))
        assert (rc, parent.value) == (SUCCESS, gpu.value)
        assert nvml.handle(BY_INDEX, child(nvml, gpu, 3), 0)[0] == NOT_SUPPORTED
        assert nvml.call(BY_INDEX, gpu, 3, None) == INVALID_ARGUMENT
    on_mig(fake, body)


def test_what_a_handle_answers(fake):
    def body(nvml, gpu):
        a, b, c = child(nvml, gpu, 3), child(nvml, gpu, 1), child(nvml, gpu, 0)
        assert nvml.string('nvmlDeviceGetName', a) == (SUCCESS, 'NVIDIA A100 MIG 1g.10gb')
        assert nvml.string('nvmlDeviceGetName', b) == (SUCCESS, 'NVIDIA A100 MIG 2g.20gb')
        assert nvml.string('nvmlDeviceGetName', c) == (SUCCESS, 'slice')
        assert nvml.string('nvmlDeviceGetUUID', a) == (SUCCESS, 'MIG-a')
        assert nvml.string('nvmlDeviceGetUUID', c) == (15, None)
        assert nvml.number('nvmlDeviceGetIndex', a) == (SUCCESS, 3)
        assert nvml.number('nvmlDeviceGetGpuInstanceId', a) == (SUCCESS, 7)
        assert nvml.number('nvmlDeviceGetComputeInstanceId', c) == (SUCCESS, 2)
        assert nvml.number('nvmlDeviceIsMigDeviceHandle', a) == (SUCCESS, 1)
        assert nvml.number('nvmlDeviceIsMigDeviceHandle', gpu) == (SUCCESS, 0)
        memory = nvml.struct('nvmlDeviceGetMemoryInfo_v2', MEMORY_V2, a)[1]
        assert (memory['used'], memory['reserved'], memory['total']) == (501, 5, 10 << 30)
        assert nvml.struct('nvmlDeviceGetMemoryInfo', MEMORY, a)[1]['used'] == 506
        assert nvml.struct('nvmlDeviceGetMemoryInfo', MEMORY, b)[0] == 4
        assert nvml.struct('nvmlDeviceGetBAR1MemoryInfo', BAR1, a) == (SUCCESS, {'total': 9, 'free': 5, 'used': 4})
        assert nvml.struct('nvmlDeviceGetBAR1MemoryInfo', BAR1, b)[0] == NOT_SUPPORTED
        rc, data, written = nvml.written('nvmlDeviceGetAttributes_v2', ATTRIBUTES, a)
        assert rc == SUCCESS and written == set(range(40))
        assert ATTRIBUTES.unpack(data) == {'sms': 14, 'copy': 0, 'dec': 0, 'enc': 0, 'jpg': 0, 'ofa': 0, 'giSlices': 2,
                                           'ciSlices': 1, 'memoryMB': 10240}
    on_mig(fake, body)


def test_process_lists(fake):
    def body(nvml, gpu):
        def pids(handle, kind):
            return [e['pid'] for e in nvml.processes(f'nvmlDeviceGet{kind}RunningProcesses_v3', handle, PROCESS_24)[2]]
        assert pids(gpu, 'Compute') == [10, 11] and pids(gpu, 'Graphics') == [12]
        assert pids(child(nvml, gpu, 3), 'Compute') == [10] and pids(child(nvml, gpu, 3), 'Graphics') == [12]
        assert pids(child(nvml, gpu, 1), 'Compute') == [11]
        assert pids(child(nvml, gpu, 0), 'Compute') == []
        assert [row['pid'] for row in nvml.detail_list(child(nvml, gpu, 3), 3)[2]] == [10, 12]
    on_mig(fake, body)


def test_all_else_is_not_supported(fake):
    def body(nvml, gpu):
        a = child(nvml, gpu, 3)
        for name in ('nvmlDeviceGetFanSpeed', 'nvmlDeviceGetMinorNumber', 'nvmlDeviceGetPowerUsage',
                     'nvmlDeviceGetArchitecture', 'nvmlDeviceGetMaxMigDeviceCount', 'nvmlDeviceGetNumFans'):
            assert nvml.number(name, a) == (NOT_SUPPORTED, None), name
        assert nvml.number('nvmlDeviceGetTemperature', a, 0) == (NOT_SUPPORTED, None)
        assert nvml.struct('nvmlDeviceGetUtilizationRates', UTILIZATION, a) == (NOT_SUPPORTED, None)
        assert nvml.numbers('nvmlDeviceGetMigMode', a, 2)[0] == NOT_SUPPORTED
        assert nvml.string('nvmlDeviceGetSerial', a) == (NOT_SUPPORTED, None)
        assert nvml.utilization_rows(a)[0] == NOT_SUPPORTED
        assert nvml.number('nvmlDeviceGetSupportedEventTypes', a, kind=ctypes.c_ulonglong) == (NOT_SUPPORTED, None)
        for name in ('nvmlDeviceGetGpuInstanceId', 'nvmlDeviceGetComputeInstanceId'):
            assert nvml.number(name, gpu) == (NOT_SUPPORTED, None)
        # The parent's own fields do not change by MIG mode.
        assert nvml.number('nvmlDeviceGetFanSpeed', gpu) == (SUCCESS, 30)
    on_mig(fake, body)


def test_off_and_absent(fake):
    off = {**PARENT, 'mig': {**PARENT['mig'], 'mode': [0, 1]}}

    def body(nvml, gpu):
        assert nvml.numbers('nvmlDeviceGetMigMode', gpu, 2) == (SUCCESS, [0, 1])
        assert nvml.number('nvmlDeviceGetMaxMigDeviceCount', gpu) == (SUCCESS, 0)
        assert [nvml.handle(BY_INDEX, gpu, i)[0] for i in (0, 3, 99)] == [NOT_FOUND] * 3
        assert nvml.handle('nvmlDeviceGetHandleByUUID', b'MIG-a')[0] == NOT_FOUND
    on_mig(fake, body, scenario(off))

    def absent(nvml, gpu):
        assert nvml.numbers('nvmlDeviceGetMigMode', gpu, 2)[0] == NOT_SUPPORTED
        assert nvml.number('nvmlDeviceGetMaxMigDeviceCount', gpu) == (SUCCESS, 0)
        assert nvml.handle(BY_INDEX, gpu, 0)[0] == NOT_SUPPORTED
    on_mig(fake, absent, scenario(device()))


def test_mode_may_change(fake):
    changing = {**PARENT, 'mig': {**PARENT['mig'], 'mode': [{'steps': [[0, 0], [100, 1]]}, 1]}}

    def body(nvml, gpu):
        return nvml.numbers('nvmlDeviceGetMigMode', gpu, 2)[1][0], nvml.handle(BY_INDEX, gpu, 3)[0]
    assert on_mig(fake, body, scenario(changing)) == (0, NOT_FOUND)
    later = str(time.monotonic_ns() - 101 * 10 ** 9)
    assert on_mig(fake, body, scenario(changing), FAKE_NVML_EPOCH_NS=later) == (1, SUCCESS)


def test_faults_of_the_parent_apply(fake):
    content = scenario(PARENT, device(1), faults=[{'rc': 15, 'device': 'g0', 'fn': 'nvmlDeviceGetName'}])

    def body(nvml, gpu):
        assert nvml.string('nvmlDeviceGetName', child(nvml, gpu, 3))[0] == 15
        assert nvml.string('nvmlDeviceGetName', nvml.device(1))[0] == SUCCESS
    on_mig(fake, body, content)
