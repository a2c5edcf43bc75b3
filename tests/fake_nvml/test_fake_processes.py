"""Process lists: which entries, of which size, and the protocol of their counts."""
import ctypes
import time

import pytest

from fake_runner import device, scenario
from nvml_reader import (INSUFFICIENT_SIZE, INVALID_ARGUMENT, MEMORY_V2, NO_INSTANCE, NO_MEMORY_FIGURE, NOT_FOUND,
                         NOT_SUPPORTED, PROCESS_16, PROCESS_24, PROCESS_32, SUCCESS, VERSION_MISMATCH)

COMPUTE, GRAPHICS, MPS = ('nvmlDeviceGetComputeRunningProcesses', 'nvmlDeviceGetGraphicsRunningProcesses',
                          'nvmlDeviceGetMPSComputeRunningProcesses')
PROCESSES = [
    {'pid': 100, 'mem': 2 ** 33},
    {'pid': 4294967295, 'mem': 'na', 'types': ['G']},
    {'pid': 100, 'mem': 7, 'types': ['C', 'G', 'M'], 'gi': 3, 'ci': 1},
    {'pid': 101, 'mem': {'rc': 4}, 'types': ['M']},
    {'pid': 102, 'mem': 0, 'types': []},
]
ALL_FORMS = [('r418', '', PROCESS_16), ('r450_51', '', PROCESS_16), ('r470', '', PROCESS_16),
             ('r470', '_v2', PROCESS_24), ('r510', '_v2', PROCESS_24), ('r510', '_v3', PROCESS_24),
             ('r535_54', '', PROCESS_16), ('r535_54', '_v2', PROCESS_24), ('r535_54', '_v3', PROCESS_32),
             ('r535_98', '_v2', PROCESS_24), ('r550', '_v3', PROCESS_24), ('r580', '', PROCESS_16),
             ('r580', '_v2', PROCESS_24), ('r580', '_v3', PROCESS_24)]


def on_device(fake, body, profile='r580', **keys):
    def work(nvml):
        with nvml.initialised():
            return body(nvml, nvml.device(0))
    return fake(scenario(device(**keys), profile=profile), profile).run(work)


@pytest.mark.parametrize('profile, suffix, layout', ALL_FORMS)
def test_lists(fake, profile, suffix, layout):
    def entry(pid, mem, gi=NO_INSTANCE, ci=NO_INSTANCE):
        return {k: v for k, v in {'pid': pid, 'mem': mem, 'gi': gi, 'ci': ci, 'protected': 0}.items()
                if k in layout.names}
    want = {COMPUTE: [entry(100, 2 ** 33), entry(100, 7, 3, 1)],
            GRAPHICS: [entry(4294967295, NO_MEMORY_FIGURE), entry(100, 7, 3, 1)],
            MPS: [entry(100, 7, 3, 1), entry(101, NO_MEMORY_FIGURE)]}

    def body(nvml, gpu):
        for name, entries in want.items():
            assert nvml.processes(name + suffix, gpu, layout) == (SUCCESS, len(entries), entries)
    on_device(fake, body, profile, processes=PROCESSES)


@pytest.mark.parametrize('suffix, layout', [('', PROCESS_16), ('_v2', PROCESS_24), ('_v3', PROCESS_24)])
def test_count_protocol(fake, suffix, layout):
    def body(nvml, gpu):
        count = ctypes.c_uint(0)
        name = COMPUTE + suffix
        assert nvml.call(name, gpu, ctypes.byref(count), None) == INSUFFICIENT_SIZE and count.value == 2
        assert nvml.processes(name, gpu, layout, room=1) == (INSUFFICIENT_SIZE, 2, [])
        assert nvml.processes(name, gpu, layout, room=0) == (INSUFFICIENT_SIZE, 2, [])
        assert nvml.processes(name, gpu, layout, room=2)[:2] == (SUCCESS, 2)
        count = ctypes.c_uint(5)
        assert nvml.call(name, gpu, ctypes.byref(count), None) == INVALID_ARGUMENT and count.value == 5
        assert nvml.call(name, gpu, None, None) == INVALID_ARGUMENT
    on_device(fake, body, processes=PROCESSES)

    def empty(nvml, gpu):
        count = ctypes.c_uint(0)
        assert nvml.call(COMPUTE + suffix, gpu, ctypes.byref(count), None) == SUCCESS and count.value == 0
        assert nvml.processes(COMPUTE + suffix, gpu, layout) == (SUCCESS, 0, [])
    on_device(fake, empty)


def test_950_processes(fake):
    def body(nvml, gpu):
        rc, count, entries = nvml.processes(COMPUTE + '_v3', gpu, PROCESS_24, room=1000)
        assert (rc, count) == (SUCCESS, 950)
        assert [e['pid'] for e in entries] == list(range(1, 951))
    on_device(fake, body, processes=[{'pid': i, 'mem': i} for i in range(1, 951)])


def test_process_rc(fake):
    def body(nvml, gpu):
        for suffix, layout in (('', PROCESS_16), ('_v2', PROCESS_24), ('_v3', PROCESS_24)):
            assert nvml.processes(COMPUTE + suffix, gpu, layout) == (4, 64, [])
            assert nvml.processes(GRAPHICS + suffix, gpu, layout)[0] == SUCCESS
            assert nvml.processes(MPS + suffix, gpu, layout)[0] == NOT_SUPPORTED
    on_device(fake, body, processes=PROCESSES,
              process_rc={'compute': {'rc': 4}, 'graphics': 0, 'mps': {'steps': [[0, {'rc': 3}], [1000, 0]]}})


def test_pids_from_the_environment(fake):
    one = fake(scenario(device(processes=[{'pid': 'env:TEST_PID_A', 'mem': 1}])), TEST_PID_A='4242')

    def body(nvml):
        with nvml.initialised():
            return nvml.processes(COMPUTE, nvml.device(0), PROCESS_16)[2]
    assert one.run(body) == [{'pid': 4242, 'mem': 1}]


def test_times_of_processes(fake):
    """Listed while from_s <= t < to_s; the clock is moved by the epoch."""
    processes = [{'pid': 1, 'mem': 1, 'to_s': 100}, {'pid': 2, 'mem': 2, 'from_s': 100}, {'pid': 3, 'mem': 4}]
    content = scenario(device(processes=processes, memory={'total': 100, 'used': {'sum_of_processes': 10}}))

    def body(nvml):
        with nvml.initialised():
            gpu = nvml.device(0)
            return ([e['pid'] for e in nvml.processes(COMPUTE, gpu, PROCESS_16)[2]],
                    nvml.struct('nvmlDeviceGetMemoryInfo_v2', MEMORY_V2, gpu)[1]['used'])
    assert fake(content).run(body) == ([1, 3], 15)
    later = str(time.monotonic_ns() - 101 * 10 ** 9)
    assert fake(content, FAKE_NVML_EPOCH_NS=later).run(body) == ([2, 3], 16)
    assert fake(content).dump(99.9)['devices'][0]['memory']['used'] == 15
    assert fake(content).dump(100)['devices'][0]['memory']['used'] == 16


def test_sum_of_processes_counts_each_entry_once(fake):
    def body(nvml, gpu):
        return nvml.struct('nvmlDeviceGetMemoryInfo_v2', MEMORY_V2, gpu)[1]['used']
    assert on_device(fake, body, processes=PROCESSES,
                     memory={'total': 2 ** 40, 'used': {'sum_of_processes': 1000}}) == 1000 + 2 ** 33 + 7


SAMPLED = [{'pid': 1, 'mem': 1, 'sm': 50, 'mem_util': 20, 'enc': 3, 'dec': 4}, {'pid': 2, 'mem': 1},
           {'pid': 3, 'mem': 1, 'sm': 0, 'types': ['G']}]


def test_process_utilization(fake):
    def body(nvml, gpu):
        assert nvml.utilization_rows(gpu, room=0)[:2] == (INSUFFICIENT_SIZE, 100)
        assert nvml.utilization_rows(gpu, room=1)[:2] == (INSUFFICIENT_SIZE, 2)
        before = time.time()
        rc, count, rows = nvml.utilization_rows(gpu)
        after = time.time()
        assert (rc, count) == (SUCCESS, 2)
        stamp = rows[0]['timeStamp']
        assert rows == [{'pid': 1, 'timeStamp': stamp, 'sm': 50, 'mem': 20, 'enc': 3, 'dec': 4},
                        {'pid': 3, 'timeStamp': stamp, 'sm': 0, 'mem': 0, 'enc': 0, 'dec': 0}]
        assert before - 0.17 < stamp / 1e6 <= after
        # A sixth of a second, in whole microseconds.
        assert stamp % 1000000 in (0, 166666, 333333, 500000, 666666, 833333)
        assert nvml.utilization_rows(gpu, last_seen=2 ** 63)[0] == NOT_FOUND
        assert nvml.utilization_rows(gpu, last_seen=stamp - 1)[0] == SUCCESS
        assert nvml.call('nvmlDeviceGetProcessUtilization', gpu, None, None, 0) == INVALID_ARGUMENT
    on_device(fake, body, processes=SAMPLED)
    assert on_device(fake, lambda nvml, gpu: nvml.utilization_rows(gpu)[0], processes=PROCESSES) == NOT_FOUND
    assert on_device(fake, lambda nvml, gpu: nvml.utilization_rows(gpu)[0],
                     processes=[{'pid': 1, 'mem': 1, 'sm': {'rc': 15}}]) == 15


def test_processes_utilization_info(fake):
    def body(nvml, gpu):
        assert nvml.utilization_info(gpu, room=0)[:2] == (INSUFFICIENT_SIZE, 100)
        assert nvml.utilization_info(gpu, room=1)[:2] == (INSUFFICIENT_SIZE, 2)
        rc, count, rows = nvml.utilization_info(gpu)
        assert (rc, count) == (SUCCESS, 2)
        assert rows[0] == {'timeStamp': rows[1]['timeStamp'], 'pid': 1, 'sm': 50, 'mem': 20, 'enc': 3, 'dec': 4,
                           'jpg': 0, 'ofa': 0}
        assert nvml.utilization_info(gpu, last_seen=2 ** 63)[0] == NOT_FOUND
        assert nvml.utilization_info(gpu, version=24)[0] == VERSION_MISMATCH
    on_device(fake, body, processes=SAMPLED)


def test_detail_list(fake):
    def body(nvml, gpu):
        assert nvml.detail_list(gpu, room=0)[:2] == (INSUFFICIENT_SIZE, 2)
        assert nvml.detail_list(gpu, version=0x01000020)[0] == VERSION_MISMATCH
        assert nvml.detail_list(gpu, mode=4)[0] == INVALID_ARGUMENT
        pids = {mode: [row['pid'] for row in nvml.detail_list(gpu, mode)[2]] for mode in range(4)}
        assert pids == {0: [100, 100], 1: [4294967295, 100], 2: [100, 101], 3: [100, 4294967295, 100, 101]}
        assert nvml.detail_list(gpu)[2][1] == {'pid': 100, 'mem': 7, 'gi': 3, 'ci': 1, 'protected': 0}
    on_device(fake, body, processes=PROCESSES, architecture=9)
    for keys in ({}, {'architecture': 8}):
        assert on_device(fake, lambda nvml, gpu: nvml.detail_list(gpu)[0], processes=PROCESSES, **keys) == NOT_SUPPORTED
