"""Init and shutdown, handles, forks, faults, the lock and the call log."""
import ctypes
import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

from fake_runner import Child, device, scenario
from nvml_reader import (INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS, UNINITIALIZED, UTILIZATION)

COUNT, INDEX, FAN = 'nvmlDeviceGetCount_v2', 'nvmlDeviceGetHandleByIndex_v2', 'nvmlDeviceGetFanSpeed'
DEADLINE_S = 20


def until(condition):
    """Waits for a condition, with a deadline."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, 'it did not come to pass'
        time.sleep(0.002)


def test_before_init(fake):
    def body(nvml):
        assert nvml.number(COUNT) == (UNINITIALIZED, None)
        assert nvml.handle(INDEX, 0)[0] == UNINITIALIZED
        assert nvml.number(FAN, None) == (UNINITIALIZED, None)
        assert nvml.string('nvmlSystemGetDriverVersion') == (UNINITIALIZED, None)
        assert nvml.handle('nvmlEventSetCreate')[0] == UNINITIALIZED
        assert nvml.wait(None, 0)[0] == UNINITIALIZED
        assert nvml.call('nvmlShutdown') == UNINITIALIZED
        assert nvml.string('nvmlSystemGetNVMLVersion') == (SUCCESS, '12.1')
        assert nvml.error_string(9) == 'Driver Not Loaded'
        with nvml.initialised():
            assert nvml.number(COUNT) == (SUCCESS, 1)
        assert nvml.number(COUNT) == (UNINITIALIZED, None)
        assert nvml.call('nvmlShutdown') == UNINITIALIZED
    fake(scenario(driver={'nvml': '12.1'}, faults=[{'rc': 15, 'fn': 'nvmlDevice*', 'at_s': 1000}])).run(body)


def test_nvml_version_without_a_scenario(fake):
    assert fake(None).run(lambda nvml: nvml.string('nvmlSystemGetNVMLVersion')) == (SUCCESS, '13.580.95.05')


def test_init_is_counted_and_handles_die(fake):
    def body(nvml):
        for name in ('nvmlInit', 'nvmlInit_v2'):
            assert nvml.call(name) == SUCCESS
        assert nvml.call('nvmlInitWithFlags', 0) == SUCCESS
        gpu, events = nvml.device(0), nvml.event_set()
        assert nvml.call('nvmlShutdown') == nvml.call('nvmlShutdown') == SUCCESS
        assert nvml.number(FAN, gpu) == (SUCCESS, 30)
        assert nvml.device(0).value == gpu.value
        assert nvml.call('nvmlShutdown') == SUCCESS
        assert nvml.number(FAN, gpu) == (UNINITIALIZED, None)
        assert nvml.call('nvmlInit_v2') == SUCCESS
        assert nvml.number(FAN, gpu) == (INVALID_ARGUMENT, None)
        assert nvml.wait(events, 0)[0] == INVALID_ARGUMENT
        assert nvml.device(0).value != gpu.value
    fake(scenario(device(fan=30))).run(body)


def test_init_rc(fake):
    def body(nvml):
        return [nvml.call('nvmlInit'), nvml.call('nvmlInit_v2'), nvml.call('nvmlInitWithFlags', 0), nvml.number(COUNT)[0]]
    assert fake(scenario(driver={'init_rc': 18})).run(body) == [18, 18, 18, UNINITIALIZED]


def test_oldest_init_wants_every_device(fake):
    content = scenario(device(0), device(1, handle={'rc': 15}), device(2, handle={'rc': 4}))

    def body(nvml):
        assert nvml.call('nvmlInit') == 15
        assert nvml.number(COUNT)[0] == UNINITIALIZED
        with nvml.initialised():
            assert nvml.number(COUNT) == (SUCCESS, 3)
    fake(content).run(body)


def test_no_devices(fake):
    def body(nvml):
        with nvml.initialised('nvmlInit'):
            return nvml.number(COUNT), nvml.handle(INDEX, 0)[0]
    assert fake({'version': 1, 'devices': []}).run(body) == ((SUCCESS, 0), INVALID_ARGUMENT)


def test_init_takes_its_time(fake):
    one = fake(scenario(driver={'init_ms': 40}))

    def body(nvml):
        with nvml.initialised():
            pass
    one.run(body)
    start, end = [row[:2] for row in one.log() if row[3] == 'nvmlInit_v2'][0]
    assert end - start >= 40e6


def test_loading_is_quick(fake):
    """Less than 1 ms for eight devices; the quickest of several, as other programs run too."""
    devices = [device(i, temperature=40, fan=30, utilization={'gpu': 1}, processes=[{'pid': j, 'mem': j} for j in (1, 2)])
               for i in range(8)]
    times = []
    for _ in range(5):
        one = fake(scenario(*devices))
        one.run(lambda nvml: nvml.call('nvmlInit_v2'))
        times.append(one.log()[0][1] - one.log()[0][0])
    assert min(times) < 1e6, times


def test_opened_twice(fake):
    def body(nvml):
        again = ctypes.CDLL(nvml.lib._name)
        assert nvml.call('nvmlInit_v2') == SUCCESS
        count = ctypes.c_uint()
        assert again.nvmlDeviceGetCount_v2(ctypes.byref(count)) == SUCCESS and count.value == 1
    fake(scenario()).run(body)


def test_the_file_is_read_once(fake):
    one = fake(scenario(device(fan=1)))

    def body(nvml):
        with nvml.initialised():
            pass
        one.path.write_text('wrong')
        with nvml.initialised():
            return nvml.number(FAN, nvml.device(0))
    assert one.run(body) == (SUCCESS, 1)


def test_fork(fake):
    one = fake(scenario(device(fan=1)))

    def body(nvml):
        assert nvml.call('nvmlInit_v2') == SUCCESS
        gpu = nvml.device(0)

        def in_child():
            assert nvml.number(FAN, gpu) == (UNINITIALIZED, None)
            assert nvml.call('nvmlShutdown') == UNINITIALIZED
            assert nvml.call('nvmlInit_v2') == SUCCESS
            assert nvml.number(FAN, gpu) == (INVALID_ARGUMENT, None)
            assert nvml.number(FAN, nvml.device(0)) == (SUCCESS, 1)
            return os.getpid()
        pid = Child(in_child).join()
        assert nvml.number(FAN, gpu) == (SUCCESS, 1)
        return pid, os.getpid()
    child, parent = one.run(body)
    assert {row[2] for row in one.log()} == {child, parent}


def test_fork_while_a_call_hangs(fake):
    one = fake(scenario(device(fan=1), faults=[{'hang': 'forever', 'fn': COUNT}]))

    def body(nvml):
        assert nvml.call('nvmlInit_v2') == SUCCESS
        threading.Thread(target=nvml.number, args=(COUNT,), daemon=True).start()
        until(lambda: any(row[1] == 0 for row in one.log()))

        def in_child():
            with nvml.initialised():
                return nvml.number(FAN, nvml.device(0))
        return Child(in_child).join()
    assert one.run(body) == (SUCCESS, 1)


# Faults


def test_fault_order_and_scope(fake):
    faults = [{'rc': 15, 'device': 'g1'}, {'rc': 16, 'fn': 'nvmlDeviceGetFan*'}, {'rc': 17, 'fn': 'nvmlDeviceGet?emperature'}]

    def body(nvml):
        with nvml.initialised():
            assert nvml.number(COUNT) == (SUCCESS, 2)
            assert nvml.handle(INDEX, 1)[0] == 15
            assert nvml.handle('nvmlDeviceGetHandleByPciBusId_v2', b'0000:11:00.0')[0] == 15
            assert nvml.handle('nvmlDeviceGetHandleByUUID', device(1)['uuid'].encode())[0] == 15
            gpu = nvml.device(0)
            assert nvml.number(FAN, gpu) == (16, None)
            assert nvml.number('nvmlDeviceGetFanSpeed_v2', gpu, 0) == (16, None)
            assert nvml.number('nvmlDeviceGetTemperature', gpu, 0) == (17, None)
            assert nvml.number('nvmlDeviceGetNumFans', gpu) == (SUCCESS, 1)
    fake(scenario(device(0, fan=1, temperature=1), device(1, fan=1), faults=faults)).run(body)


def test_checks_come_in_order(fake):
    """Initialised, handle, fault, arguments."""
    def body(nvml):
        assert nvml.call(FAN, None, None) == UNINITIALIZED
        with nvml.initialised():
            assert nvml.call(FAN, None, None) == INVALID_ARGUMENT
            assert nvml.call(FAN, nvml.device(0), None) == 999
            assert nvml.call('nvmlDeviceGetTemperature', nvml.device(0), 5, None) == 999
    fake(scenario(faults=[{'rc': 999, 'fn': FAN}, {'rc': 999, 'fn': '*Temperature'}])).run(body)


def test_names_are_matched_with_their_suffix(fake):
    def body(nvml):
        with nvml.initialised():
            gpu = nvml.device(0)
            buffer = ctypes.create_string_buffer(b'\x28\0\0\2' + bytes(60))
            return [nvml.call('nvmlDeviceGetMemoryInfo' + suffix, gpu, buffer) for suffix in ('', '_v2')]
    name = 'nvmlDeviceGetMemoryInfo'
    assert fake(scenario(faults=[{'rc': 15, 'fn': name}])).run(body) == [15, 0]
    assert fake(scenario(faults=[{'rc': 15, 'fn': name + '_v?'}])).run(body)[1] == 15
    assert fake(scenario(faults=[{'rc': 15, 'fn': name + '*'}])).run(body) == [15, 15]


@pytest.mark.parametrize('glob, matches', [('*', True), ('', False), ('nvml*FanSpeed', True), ('*Fan*', True),
                                           ('**Fan**Speed**', True), ('nvmlDeviceGetFanSpee', False),
                                           ('?' * len(FAN), True), ('?' * (len(FAN) - 1), False), ('*Fan', False),
                                           ('n*e*e*e*d', True), ('nvmldevicegetfanspeed', False)])
def test_globs(fake, glob, matches):
    """The fault is bound to the device, so that init is not met; the look-up of it may be."""
    def body(nvml):
        with nvml.initialised():
            rc, gpu = nvml.handle(INDEX, 0)
            return rc or nvml.number(FAN, gpu)[0]
    content = scenario(device(fan=1), faults=[{'rc': 15, 'fn': glob, 'device': 'g0'}])
    assert fake(content).run(body) == (15 if matches else SUCCESS)


def test_faults_have_a_time(fake):
    content = scenario(device(fan=1), faults=[{'rc': 15, 'fn': FAN, 'at_s': 100, 'until_s': 200}])

    def at(seconds):
        def body(nvml):
            with nvml.initialised():
                return nvml.number(FAN, nvml.device(0))[0]
        return fake(content, FAKE_NVML_EPOCH_NS=str(time.monotonic_ns() - int(seconds * 1e9))).run(body)
    assert [at(s) for s in (50, 101, 150, 201)] == [SUCCESS, 15, 15, SUCCESS]


def test_init_faults(fake):
    def body(nvml):
        return [nvml.call('nvmlInit_v2'), nvml.call('nvmlInitWithFlags', 0), nvml.number(COUNT)[0]]
    assert fake(scenario(faults=[{'rc': 9, 'fn': 'nvmlInit_v2'}])).run(body) == [9, SUCCESS, SUCCESS]


def test_shutdown_fault_leaves_all_as_it_was(fake):
    def body(nvml):
        assert nvml.call('nvmlInit_v2') == SUCCESS
        assert nvml.call('nvmlShutdown') == 15
        return nvml.number(COUNT)[0]
    assert fake(scenario(faults=[{'rc': 15, 'fn': 'nvmlShutdown'}])).run(body) == SUCCESS


def durations(one, name):
    return sorted(row[1] - row[0] for row in one.log() if row[3] == name)


@pytest.mark.parametrize('fault, ns', [({'latency_us': 2.5}, 2500), ({'latency_us': 150}, 150000),
                                       ({'latency_us': 4500}, 4500000), ({'hang': 'ms:30'}, 30000000)])
def test_latency(fake, fault, ns):
    """Never shorter; the quickest of several calls is also not much longer, whatever else the machine does."""
    one = fake(scenario(device(fan=1), faults=[{'fn': FAN, **fault}]))

    def body(nvml):
        with nvml.initialised():
            gpu = nvml.device(0)
            for _ in range(20 if ns < 10 ** 7 else 3):
                assert nvml.number(FAN, gpu) == (SUCCESS, 1)
    one.run(body)
    taken = durations(one, FAN)
    assert ns <= taken[0] < ns + 20000 + ns // 10, taken


def test_latencies_add_up_before_the_code(fake):
    faults = [{'rc': 15, 'fn': FAN}, {'latency_us': 3000, 'fn': FAN}, {'hang': 'ms:4'}, {'rc': 16}]
    one = fake(scenario(device(fan=1), faults=[{**f, 'device': 'g0', 'fn': FAN} for f in faults]))

    def body(nvml):
        with nvml.initialised():
            return nvml.number(FAN, nvml.device(0))
    assert one.run(body) == (15, None)
    assert durations(one, FAN)[0] >= 7e6


def test_pcie_throughput_is_slow(fake):
    one = fake(scenario(device(0, pcie={'tx_kbs': 5, 'rx_kbs': 6}), device(1)))
    name = 'nvmlDeviceGetPcieThroughput'

    def body(nvml):
        with nvml.initialised():
            assert [nvml.number(name, nvml.device(0), kind) for kind in (0, 1, 2)] == [
                (SUCCESS, 5), (SUCCESS, 6), (INVALID_ARGUMENT, None)]
            assert nvml.number(name, nvml.device(1), 0) == (NOT_SUPPORTED, None)
    one.run(body)
    times = [row[1] - row[0] for row in one.log() if row[3] == name and row[4] == 0 and row[5] == 0]
    assert len(times) == 4 and min(times) >= 20e6  # number() calls twice


def test_the_lock_makes_threads_queue(fake):
    one = fake(scenario(device(fan=1), faults=[{'latency_us': 4000, 'fn': FAN}]))

    def body(nvml):
        assert nvml.call('nvmlInit_v2') == SUCCESS
        gpu, number = nvml.device(0), ctypes.c_uint()

        def calls():
            for _ in range(3):
                nvml.call(FAN, gpu, ctypes.byref(number))
        threads = [threading.Thread(target=calls) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    one.run(body)
    ends = [row[1] for row in one.log() if row[3] == FAN]
    assert len(ends) == 12 and ends == sorted(ends)
    # Each call holds the lock for its 4 ms, so no two can end nearer to each other.
    assert min(b - a for a, b in zip(ends, ends[1:])) > 3.9e6
    # Some call had to wait for another one.
    assert max(durations(one, FAN)) > 7.5e6


def test_hang_forever(fake):
    one = fake(scenario(device(0, fan=1), device(1, fan=1), faults=[{'hang': 'forever', 'fn': FAN, 'device': 'g1'}]))
    blocked = []

    def body(nvml):
        assert nvml.call('nvmlInit_v2') == SUCCESS
        gpu, other = nvml.device(1), nvml.device(0)
        assert nvml.number(FAN, other) == (SUCCESS, 1)
        threading.Thread(target=nvml.number, args=(FAN, gpu), daemon=True).start()
        until(lambda: any(row[1] == 0 for row in one.log()))
        behind = threading.Thread(target=lambda: blocked.append(nvml.number(FAN, other)), daemon=True)
        behind.start()
        behind.join(0.1)
        assert behind.is_alive() and not blocked, 'the lock is held while a call hangs'
        assert nvml.error_string(15) == 'GPU is lost'
        return os.getpid()
    pid = one.run(body)
    row = [row for row in one.log() if row[1] == 0][0]
    assert row[0] > 0 and row[2:] == (pid, FAN, 1, -1)


def test_hang_can_be_killed(fake):
    one = fake(scenario(faults=[{'hang': 'forever', 'fn': COUNT}]))
    child = one.start(lambda nvml: [nvml.call('nvmlInit_v2'), nvml.number(COUNT)])
    until(lambda: one.log_path.exists() and any(row[1] == 0 for row in one.log()))
    os.kill(child.pid, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child.pid, 0)[1]) == signal.SIGKILL
    os.close(child.pipe)


def test_freeze_file(fake, tmp_path):
    """With FAKE_NVML_FREEZE_FILE a hang writes there first; on a frozen file system that write cannot be killed."""
    frozen = tmp_path / 'frozen'
    frozen.write_bytes(b'')
    one = fake(scenario(faults=[{'hang': 'forever', 'fn': COUNT}]), FAKE_NVML_FREEZE_FILE=str(frozen))
    child = one.start(lambda nvml: [nvml.call('nvmlInit_v2'), nvml.number(COUNT)])
    until(lambda: frozen.read_bytes() == b'x')
    assert [row[1] for row in one.log()][-1] == 0
    os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    os.close(child.pipe)


@pytest.fixture
def freezable(tmp_path):
    """A mounted file system of its own, thawed and unmounted at the end; skips where that is not allowed."""
    image, folder = tmp_path / 'image', tmp_path / 'mounted'
    folder.mkdir()
    with open(image, 'wb') as file:
        file.truncate(16 << 20)
    if os.getuid() != 0 or not shutil.which('fsfreeze') or not shutil.which('mkfs.ext4'):
        pytest.skip('needs root, fsfreeze and mkfs.ext4')
    subprocess.run(['mkfs.ext4', '-q', image], check=True)
    if subprocess.run(['mount', '-o', 'loop', image, folder], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip('cannot mount here')
    yield folder
    subprocess.run(['fsfreeze', '-u', folder], stderr=subprocess.DEVNULL, check=False)
    subprocess.run(['umount', folder], check=True)


def process_state(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as file:
        return file.read().rsplit(')', 1)[1].split()[0]


@pytest.mark.root
def test_a_call_that_cannot_be_killed(fake, freezable):
    (freezable / 'file').write_bytes(b'')
    subprocess.run(['fsfreeze', '-f', freezable], check=True)
    one = fake(scenario(faults=[{'hang': 'forever', 'fn': COUNT}]), FAKE_NVML_FREEZE_FILE=str(freezable / 'file'))
    child = one.start(lambda nvml: [nvml.call('nvmlInit_v2'), nvml.number(COUNT)])
    until(lambda: process_state(child.pid) == 'D')
    os.kill(child.pid, signal.SIGKILL)
    assert os.waitpid(child.pid, os.WNOHANG) == (0, 0) and process_state(child.pid) == 'D'
    subprocess.run(['fsfreeze', '-u', freezable], check=True)
    assert os.WTERMSIG(os.waitpid(child.pid, 0)[1]) == signal.SIGKILL
    os.close(child.pipe)


# The log


def test_log_lines(fake):
    one = fake(scenario(device(0, fan=1), device(1)))

    def body(nvml):
        before = time.monotonic_ns()
        nvml.call(FAN, None, None)
        with nvml.initialised():
            number = ctypes.c_uint()
            nvml.call(COUNT, ctypes.byref(number))
            gpus = [nvml.device(0), nvml.device(1)]
            nvml.call(FAN, gpus[0], ctypes.byref(number))
            nvml.call(FAN, gpus[1], ctypes.byref(number))
            nvml.call(INDEX, 7, ctypes.byref(ctypes.c_void_p()))
            nvml.error_string(3)
        return before, time.monotonic_ns(), os.getpid()
    before, after, pid = one.run(body)
    assert [row[3:] for row in one.log()] == [
        (FAN, -1, UNINITIALIZED), ('nvmlInit_v2', -1, SUCCESS), (COUNT, -1, SUCCESS), (INDEX, 0, SUCCESS),
        (INDEX, 1, SUCCESS), (FAN, 0, SUCCESS), (FAN, 1, NOT_SUPPORTED), (INDEX, -1, INVALID_ARGUMENT),
        ('nvmlErrorString', -1, SUCCESS), ('nvmlShutdown', -1, SUCCESS)]
    times = [t for row in one.log() for t in row[:2]]
    assert times == sorted(times) and before <= times[0] and times[-1] <= after
    assert {row[2] for row in one.log()} == {pid}


def test_log_is_appended_to(fake):
    one = fake(scenario())
    one.log_path.write_text('0 0 0 before -1 0\n')
    one.run(lambda nvml: nvml.call('nvmlInit_v2'))
    one.run(lambda nvml: nvml.call('nvmlInit'))
    assert [row[3] for row in one.log()] == ['before', 'nvmlInit_v2', 'nvmlInit']


def test_every_export_is_logged_under_its_own_name(fake):
    """Also the names that are old versions of one call."""
    one = fake(scenario(device(fan=1)))
    names = ['nvmlDeviceGetCount', 'nvmlDeviceGetCount_v2', 'nvmlDeviceGetMemoryInfo',
             'nvmlDeviceGetComputeRunningProcesses', 'nvmlDeviceGetComputeRunningProcesses_v2',
             'nvmlDeviceGetComputeRunningProcesses_v3', 'nvmlDeviceGetPciInfo', 'nvmlDeviceGetPciInfo_v2',
             'nvmlDeviceGetPciInfo_v3', 'nvmlSystemGetCudaDriverVersion', 'nvmlSystemGetCudaDriverVersion_v2']
    one.run(lambda nvml: [nvml.call(name, None, None, None) for name in names])
    assert [row[3] for row in one.log()] == names


# Time


def test_time_zero_is_the_first_init(fake):
    content = scenario(device(utilization={'gpu': {'steps': [[0, 1], [0.5, 2]]}}))
    one = fake(content)

    def body(nvml):
        time.sleep(0.6)  # before the first init: must not count
        seen = []
        for _ in range(2):  # a second init does not move it
            with nvml.initialised():
                seen.append(nvml.struct('nvmlDeviceGetUtilizationRates', UTILIZATION, nvml.device(0))[1]['gpu'])
                end = time.monotonic() + 0.51
                until(lambda end=end: time.monotonic() > end)
        return seen
    assert one.run(body) == [1, 2]


def test_epoch_is_shared(fake):
    content = scenario(device(utilization={'gpu': {'steps': [[0, 1], [1000, 2]]}}))

    def body(nvml):
        with nvml.initialised():
            return nvml.struct('nvmlDeviceGetUtilizationRates', UTILIZATION, nvml.device(0))[1]['gpu']
    now = time.monotonic_ns()
    assert fake(content, FAKE_NVML_EPOCH_NS=str(now - 10 ** 12)).run(body) == 2
    assert fake(content, FAKE_NVML_EPOCH_NS=str(now)).run(body) == 1
    assert fake(content, FAKE_NVML_EPOCH_NS=str(now + 10 ** 13)).run(body) == 1  # before time zero
