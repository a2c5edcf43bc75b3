"""Event sets: what is given, once, to whom, and that waiting really waits without the lock."""
import ctypes
import threading
import time

from fake_runner import device, scenario
from nvml_reader import (EVENT_24, EVENT_32, INVALID_ARGUMENT, NO_INSTANCE, NOT_SUPPORTED, SUCCESS, TIMEOUT,
                         UNINITIALIZED)

XID, MIG_CHANGE = 0x8, 0x100


def run(fake, body, events, count=2, **env):
    def work(nvml):
        assert nvml.call('nvmlInit_v2') == SUCCESS
        return body(nvml, [nvml.device(i) for i in range(count)])
    return fake(scenario(*[device(i) for i in range(count)], events=events), **env).run(work)


def test_wait_for_an_event(fake):
    def body(nvml, gpus):
        events = nvml.event_set()
        assert nvml.register(gpus[1], XID | MIG_CHANGE, events) == SUCCESS
        start = time.monotonic()
        rc, event = nvml.wait(events, 20000)
        assert time.monotonic() - start < 15
        assert (rc, event) == (SUCCESS, {'device': gpus[1].value, 'type': XID, 'data': 79, 'gi': NO_INSTANCE,
                                         'ci': NO_INSTANCE})
        rc, event = nvml.wait(events, 20000)
        assert (rc, event['type'], event['gi'], event['ci']) == (SUCCESS, MIG_CHANGE, 3, 1)
        assert nvml.wait(events, 0)[0] == TIMEOUT
    run(fake, body, [{'at_s': 0.2, 'device': 'g1', 'type': MIG_CHANGE, 'gi': 3, 'ci': 1},
                     {'at_s': 0.1, 'device': 'g1', 'type': XID, 'data': 79},
                     {'at_s': 0.05, 'device': 'g1', 'type': 1}, {'at_s': 0.05, 'device': 'g0', 'type': XID}])


def test_event_data_sizes(fake):
    def body(nvml, gpus):
        for name, layout in (('nvmlEventSetWait', EVENT_24), ('nvmlEventSetWait_v2', EVENT_32)):
            datas = []
            for fill in (b'\xA5', b'\x5A'):
                events = nvml.event_set()
                assert nvml.register(gpus[0], XID, events) == SUCCESS
                out = ctypes.create_string_buffer(fill * 64, 64)
                assert nvml.call(name, events, out, 20000) == SUCCESS
                assert out.raw[layout.size:] == fill * (64 - layout.size)
                datas.append(out.raw[:layout.size])
            assert datas[0] == datas[1], 'a byte was not written'
            assert layout.unpack(datas[0])['data'] == 2 ** 63
    # One event per event set; each set is registered before its event.
    run(fake, body, [{'at_s': 0.1 * i, 'device': 'g0', 'type': XID, 'data': 2 ** 63} for i in range(1, 40)])


def test_timeout_really_waits(fake):
    def body(nvml, gpus):
        events = nvml.event_set()
        assert nvml.register(gpus[0], XID, events) == SUCCESS
        start = time.monotonic()
        assert nvml.wait(events, 60) == (TIMEOUT, None)
        assert time.monotonic() - start >= 0.06
    run(fake, body, [{'at_s': 1000, 'device': 'g0', 'type': XID}])


def test_waiting_holds_no_lock(fake):
    def body(nvml, gpus):
        events, answers = nvml.event_set(), []
        waiter = threading.Thread(target=lambda: answers.append(nvml.wait(events, 60000)[0]))
        waiter.start()
        # These calls would queue up for a minute behind the wait.
        for _ in range(200):
            assert nvml.number('nvmlDeviceGetIndex', gpus[1]) == (SUCCESS, 1)
        assert nvml.call('nvmlEventSetFree', events) == SUCCESS
        waiter.join(20)
        assert answers == [INVALID_ARGUMENT], 'the end of a set ends the wait for it'
        events = nvml.event_set()
        waiter = threading.Thread(target=lambda: answers.append(nvml.wait(events, 60000)[0]))
        waiter.start()
        assert nvml.call('nvmlShutdown') == SUCCESS
        waiter.join(20)
        assert answers[1] == UNINITIALIZED
    run(fake, body, [])


def test_registering_while_another_thread_waits(fake):
    def body(nvml, gpus):
        events, answers = nvml.event_set(), []
        waiter = threading.Thread(target=lambda: answers.append(nvml.wait(events, 60000)[0]))
        waiter.start()
        assert nvml.register(gpus[0], XID, events) == SUCCESS
        waiter.join(20)
        assert answers == [SUCCESS]
    run(fake, body, [{'at_s': 0.3 * i, 'device': 'g0', 'type': XID} for i in range(1, 20)])


def test_each_set_gets_an_event_once(fake):
    def body(nvml, gpus):
        sets = [nvml.event_set(), nvml.event_set()]
        for events in sets:
            assert nvml.register(gpus[0], XID, events) == SUCCESS
            assert nvml.register(gpus[0], XID | 1, events) == SUCCESS  # twice the same: still once
        for events in sets:
            assert [nvml.wait(events, 20000)[1]['data'] for _ in range(2)] == [5, 6]
            assert nvml.wait(events, 0) == (TIMEOUT, None)
    run(fake, body, [{'at_s': 0.1, 'device': 'g0', 'type': XID, 'data': 5},
                     {'at_s': 0.1, 'device': 'g0', 'type': 1, 'data': 6}])


def test_events_before_the_registration_are_not_given(fake):
    def body(nvml, gpus):
        events = nvml.event_set()
        assert nvml.register(gpus[0], XID, events) == SUCCESS
        return nvml.wait(events, 0)[0]
    content = [{'at_s': 5, 'device': 'g0', 'type': XID}]
    assert run(fake, body, content, FAKE_NVML_EPOCH_NS=str(time.monotonic_ns() - 6 * 10 ** 9)) == TIMEOUT


def test_types_and_arguments(fake):
    def body(nvml, gpus):
        assert nvml.number('nvmlDeviceGetSupportedEventTypes', gpus[0], kind=ctypes.c_ulonglong) == (SUCCESS, 0x10B)
        events = nvml.event_set()
        assert nvml.register(gpus[0], XID | 0x4, events) == NOT_SUPPORTED
        assert nvml.wait(events, 0)[0] == TIMEOUT  # and XID was not registered either
        assert nvml.register(gpus[0], XID, None) == INVALID_ARGUMENT
        assert nvml.register(None, XID, events) == INVALID_ARGUMENT
        assert nvml.call('nvmlEventSetWait_v2', events, None, 0) == INVALID_ARGUMENT
        assert nvml.wait(None, 0)[0] == INVALID_ARGUMENT
        assert nvml.wait(ctypes.c_void_p(1), 0)[0] == INVALID_ARGUMENT
        assert nvml.call('nvmlEventSetFree', events) == SUCCESS
        assert nvml.call('nvmlEventSetFree', events) == INVALID_ARGUMENT
        assert nvml.wait(events, 0)[0] == INVALID_ARGUMENT
    run(fake, body, [{'at_s': 0, 'device': 'g0', 'type': XID}])
