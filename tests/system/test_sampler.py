"""The sampler process and its parent's handle, on the fake NVML, in real time."""
import os
import pathlib
import signal
import socket
import time

import pytest

from probe import (FAULT_HUNG, FAULT_INIT, FAULT_LIBRARY_MISSING, FAULT_MISMATCH, PROCESS_RUNNING, Probe, STATE_FAULT, STATE_OK,
                   device, parent_of, read_log, sampler_pids, state_of, wait_until, write_scenario)

LONGEST_MS = 100  # no function of the handle may take longer; the machine may be busy


def end_line(lines):
    assert lines[-1]['event'] == 'end'
    return lines[-1]


def test_first_picture_is_complete(tmp_path):
    scenario = write_scenario(tmp_path, [device('a', processes=[{'pid': os.getpid(), 'mem': 1 << 20}]), device('b')])
    with Probe('--complete', '--seconds=10', scenario=scenario) as probe:
        lines = probe.finish()
    snapshot = lines[-2]
    assert snapshot['complete'] and snapshot['fault'] == 0 and snapshot['pending'] is None
    assert [d['uuid'] for d in snapshot['devices']] == ['GPU-a', 'GPU-b']
    for entry in snapshot['devices']:
        assert entry['util'] == 10 and entry['mem_used'] == 1 << 30 and entry['temp'] == 40 and entry['fan'] == 30
        assert all(age is not None and age < 5000 for age in entry['age_ms'].values())
    process = snapshot['devices'][0]['entries'][0]
    assert process['comm'] == pathlib.Path('/proc/self/comm').read_text().strip()
    assert process['uid'] == os.getuid() and process['state'] == PROCESS_RUNNING
    assert end_line(lines)['longest_ms'] < LONGEST_MS


def test_library_missing_is_said(tmp_path):
    with Probe('--complete', '--seconds=10', library=tmp_path / 'none.so') as probe:
        snapshot = probe.finish()[-2]
    assert snapshot['fault'] == FAULT_LIBRARY_MISSING and str(tmp_path / 'none.so') in snapshot['fault_text']


def test_child_holds_nothing_of_others(tmp_path):
    scenario = write_scenario(tmp_path, [device('a')])
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / 'socket'))
    listener.listen()
    os.dup2(listener.fileno(), 77)
    try:
        with Probe('--interest-ms=200', scenario=scenario, env={'NOTIFY_SOCKET': '/run/none'}, pass_fds=[77]) as probe:
            probe.wait_snapshot()
            child, = probe.samplers()
            assert os.readlink('/proc/%d/fd/77' % probe.child.pid).startswith('socket:'), 'the program has it'
            descriptors = {int(f): os.readlink('/proc/%d/fd/%s' % (child, f)) for f in os.listdir('/proc/%d/fd' % child)}
            assert [descriptors.pop(n) for n in (0, 1, 2)] == ['/dev/null'] * 3
            assert descriptors.pop(3).startswith('socket:')
            assert descriptors.pop(4).startswith('/memfd:clustat-call')
            assert set(descriptors.values()) <= {'/proc'}, 'the process table keeps one of /proc'
            assert os.getsid(child) == child, 'no signal of the terminal reaches it'
            environment = pathlib.Path('/proc/%d/environ' % child).read_bytes()
            assert b'NOTIFY_SOCKET' not in environment
            command = pathlib.Path('/proc/%d/cmdline' % child).read_bytes().split(b'\0')
            assert command[0] == b'clustat-sampler'
    finally:
        os.close(77)
        listener.close()


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM])
def test_child_goes_with_its_parent(tmp_path, number):
    scenario = write_scenario(tmp_path, [device('a')])
    with Probe('--interest-ms=50', scenario=scenario) as probe:
        probe.wait_snapshot()
        child, = probe.samplers()
        probe.child.send_signal(number)
        probe.child.wait(5)
        wait_until(lambda: state_of(child) in ('', 'Z'), 2, 'the sampler leaves')


def test_killed_child_is_replaced_and_reaped(tmp_path):
    scenario = write_scenario(tmp_path, [device('a')])
    with Probe('--interest-ms=50', scenario=scenario) as probe:
        _, number = probe.wait_snapshot()
        for _ in range(3):
            child, = probe.samplers()
            os.kill(child, signal.SIGKILL)
            _, number = probe.wait_for(lambda l: l['event'] == 'ended', 5, number)
            _, number = probe.wait_snapshot(after=number, seconds=5)
            wait_until(lambda: state_of(child) == '', 3, 'the dead child is reaped')
        assert len(probe.samplers()) == 1


def test_no_backlog_after_a_stopped_parent(tmp_path):
    scenario = write_scenario(tmp_path, [device('a')])
    with Probe('--interest-ms=50', scenario=scenario) as probe:
        probe.wait_snapshot()
        probe.child.send_signal(signal.SIGSTOP)
        time.sleep(1.5)  # the time that a stopped terminal job stands still
        seen = len(probe.lines)
        probe.child.send_signal(signal.SIGCONT)
        first, _ = probe.wait_snapshot(after=seen)
        assert first['devices'][0]['age_ms']['hot'] < 500
        assert first['sequence'] > probe.lines[seen - 1]['sequence'] + 10


def test_faulty_scenario_is_retried_not_left(tmp_path):
    with Probe('--interest-ms=100', '--seconds=4', scenario=tmp_path / 'none.json') as probe:
        lines = probe.finish()
    faults = [l for l in lines if l['event'] == 'snapshot']
    assert faults and all(l['fault'] == FAULT_INIT and l['fault_code'] == 999 for l in faults)


def test_initialisation_takes_time(tmp_path):
    scenario = write_scenario(tmp_path, [device('a')], driver={'init_ms': 1500})
    with Probe('--interest-ms=100', '--complete', scenario=scenario) as probe:
        lines = probe.finish()
    calls = [l for l in lines if l['event'] == 'call' and l['name'].startswith('nvmlInit')]
    assert calls and calls[0]['device'] == -1
    snapshots = [l for l in lines if l['event'] == 'snapshot']
    assert snapshots[0]['complete'] and snapshots[0]['ms'] > 1400, 'nothing is said of a library that still starts'
    assert end_line(lines)['longest_ms'] < LONGEST_MS


def test_initialisation_hangs(tmp_path):
    scenario = write_scenario(tmp_path, [device('a')], driver={'init_ms': 3000})
    with Probe('--interest-ms=100', '--stuck-ms=1000', '--seconds=6', scenario=scenario) as probe:
        hung, number = probe.wait_snapshot(lambda s: s['fault'] == FAULT_HUNG, 3)
        assert 'nvmlInit' in hung['fault_text'] and 1000 <= hung['pending_ms'] < 2500
        assert len(probe.samplers()) == 1, 'another one would hang too'
        well, _ = probe.wait_snapshot(after=number)
        assert well['fault'] == 0 and well['devices'][0]['state'] == STATE_OK


def test_hang_in_the_first_round_shows_what_was_read(tmp_path):
    scenario = write_scenario(tmp_path, [device('a'), device('b'), device('c')], faults=[
        {'device': 'b', 'fn': 'nvmlDeviceGetTemperature*', 'hang': 'forever'}])
    with Probe('--stuck-ms=4000', '--seconds=3', scenario=scenario) as probe:
        snapshot, _ = probe.wait_snapshot(lambda s: s['pending'], 1)
        lines = probe.finish()
    assert snapshot['pending'].startswith('nvmlDeviceGetTemperature') and snapshot['pending_device'] == 1
    assert not snapshot['complete']
    assert [d['util'] for d in snapshot['devices']] == [10, 10, 10]
    assert [d['temp'] for d in snapshot['devices']] == [40, None, None]
    call = [l for l in lines if l['event'] == 'call'][-1]
    assert call['name'] == snapshot['pending'] and call['device'] == 1
    assert end_line(lines)['longest_ms'] < LONGEST_MS


def test_hang_while_listing_shows_the_devices_before(tmp_path):
    scenario = write_scenario(tmp_path, [device('a'), device('b')], faults=[
        {'device': 'b', 'fn': 'nvmlDeviceGetName', 'hang': 'forever'}])
    with Probe('--stuck-ms=4000', '--seconds=2', scenario=scenario) as probe:
        snapshot, _ = probe.wait_snapshot(lambda s: s['pending'], 1)
        probe.finish()
    assert snapshot['pending'] == 'nvmlDeviceGetName' and snapshot['pending_device'] == 1
    assert snapshot['devices'][0]['uuid'] == 'GPU-a'


def test_hang_later_ages_the_others(tmp_path):
    scenario = write_scenario(tmp_path, [device('a'), device('b'), device('c')], faults=[
        {'at_s': 1, 'device': 'b', 'hang': 'forever'}])
    with Probe('--interest-ms=50', '--stuck-ms=4000', '--seconds=3', scenario=scenario) as probe:
        snapshot, _ = probe.wait_snapshot(lambda s: s['pending'] and s['pending_ms'] > 1000, 4)
        lines = probe.finish()
    assert snapshot['pending_device'] == 1 and snapshot['pending'].startswith('nvml')
    for row in snapshot['devices']:
        assert row['util'] == 10 and row['age_ms']['hot'] > 900, 'last values, with their age'
    assert end_line(lines)['longest_ms'] < LONGEST_MS


def test_replacement_leaves_the_device_out_until_the_call_returns(tmp_path):
    scenario = write_scenario(tmp_path, [device('a'), device('b'), device('c')], faults=[
        {'at_s': 1, 'until_s': 1.5, 'device': 'b', 'hang': 'ms:4000'}])
    with Probe('--interest-ms=50', '--stuck-ms=1000', scenario=scenario) as probe:
        first, = wait_until_one(probe)
        replaced, number = probe.wait_snapshot(lambda s: s['devices'][1:] and s['devices'][1]['state'] == 3, 5)
        assert len(probe.samplers()) == 2
        stuck, _ = probe.wait_for(lambda l: l['event'] == 'call' and l['stuck'] == 1)
        assert stuck['device'] == 1
        # The others are live.
        live, number = probe.wait_snapshot(lambda s: s['ms'] > replaced['ms'] + 500, 3, number)
        assert live['devices'][0]['age_ms']['hot'] < 500 and live['devices'][2]['age_ms']['hot'] < 500
        # The call returns at about 5 s.
        _, number = probe.wait_for(lambda l: l['event'] == 'call' and l['stuck'] == 0, 5, number)
        back, _ = probe.wait_snapshot(lambda s: s['devices'][1]['state'] == STATE_OK and
                                      s['devices'][1]['age_ms']['hot'] < 500, 5, number)
        assert back['devices'][0]['age_ms']['hot'] < 1000
        wait_until(lambda: probe.samplers() == [first], 5, 'the replacement leaves')


def wait_until_one(probe):
    probe.wait_snapshot()
    return probe.samplers()


def test_stuck_child_that_dies_gives_the_device_back(tmp_path):
    scenario = write_scenario(tmp_path, [device('a'), device('b')], faults=[
        {'at_s': 1, 'until_s': 1.5, 'device': 'b', 'hang': 'forever'}])
    with Probe('--interest-ms=50', '--stuck-ms=1000', '--seconds=30', scenario=scenario,
               env={'FAKE_NVML_EPOCH_NS': str(time.clock_gettime_ns(time.CLOCK_MONOTONIC))}) as probe:
        first, = wait_until_one(probe)
        _, number = probe.wait_snapshot(lambda s: s['devices'][1:] and s['devices'][1]['state'] == 3, 5)
        os.kill(first, signal.SIGKILL)
        back, _ = probe.wait_snapshot(lambda s: s['devices'][1]['state'] == STATE_OK, 5, number)
        wait_until(lambda: len(probe.samplers()) == 1 and first not in probe.samplers(), 5, 'one sampler, a new one')


def test_sleeping_orphans_do_not_lock_anybody_out(tmp_path):
    """They end by themselves; only what the kernel does not let go is counted (test_sampler_frozen.py)."""
    scenario = write_scenario(tmp_path, [device('a')], faults=[{'at_s': 0.2, 'device': 'a', 'hang': 'forever'}])
    for _ in range(4):
        with Probe('--interest-ms=50', '--stuck-ms=5000', scenario=scenario) as probe:
            probe.wait_snapshot(lambda s: s['pending'], 5)


def test_orphan_leaves_after_the_stuck_time(tmp_path):
    scenario = write_scenario(tmp_path, [device('a')], faults=[{'at_s': 0.3, 'device': 'a', 'hang': 'forever'}])
    with Probe('--interest-ms=50', '--stuck-ms=1500', scenario=scenario) as probe:
        probe.wait_snapshot(lambda s: s['pending'], 5)
        child, = probe.samplers()
    assert state_of(child) not in ('', 'Z'), 'never killed in the call before its time'
    wait_until(lambda: state_of(child) in ('', 'Z'), 4, 'the orphan ends itself')


def test_all_calls_answer_mismatch(tmp_path):
    """The library was replaced: every call answers 18; a fresh process works again."""
    scenario = write_scenario(tmp_path, [device('a')], faults=[{'at_s': 1.5, 'rc': 18}])
    with Probe('--interest-ms=50', '--seconds=5', scenario=scenario) as probe:
        _, number = probe.wait_snapshot()
        fault, number = probe.wait_snapshot(lambda s: s['fault'] == FAULT_MISMATCH, 5, number)
        ended, number = probe.wait_for(lambda l: l['event'] == 'ended', 5, number)
        well, _ = probe.wait_snapshot(lambda s: s['complete'] and s['fault'] == 0, 5, number)
        assert well['ms'] - ended['ms'] < 2000
        lines = probe.finish()
    assert end_line(lines)['longest_ms'] < LONGEST_MS


def test_mismatch_that_stays_is_tried_ever_again(tmp_path):
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    scenario = write_scenario(tmp_path, [device('a')], faults=[{'until_s': 6, 'rc': 18}])
    with Probe('--interest-ms=100', '--seconds=12', scenario=scenario, env={'FAKE_NVML_EPOCH_NS': str(now)}) as probe:
        probe.wait_snapshot(lambda s: s['fault'] == FAULT_MISMATCH, 3)
        # Within 2 s after the library works again, and that is some time after 6 s.
        well, _ = probe.wait_snapshot(lambda s: s['complete'] and s['fault'] == 0 and s['devices'], 9)
        assert well['ms'] < 8500


def test_lost_device_comes_back(tmp_path):
    scenario = write_scenario(tmp_path, [device('a'), device('b'), device('c')], faults=[
        {'at_s': 1, 'until_s': 3, 'device': 'b', 'rc': 15}])
    with Probe('--interest-ms=50', scenario=scenario) as probe:
        first, number = probe.wait_snapshot()
        lost, number = probe.wait_snapshot(lambda s: s['devices'][1]['state'] == STATE_FAULT, 4, number)
        assert lost['devices'][1]['fault'] == 15 and lost['devices'][0]['state'] == STATE_OK
        assert lost['ms'] < first['ms'] + 3000
        back, _ = probe.wait_snapshot(lambda s: s['devices'][1]['state'] == STATE_OK and s['devices'][1]['temp'] == 40 and
                                      s['devices'][1]['age_ms']['processes'] < 1500, 5, number)
        assert back['ms'] < first['ms'] + 5000


def test_nobody_watching(tmp_path):
    scenario, log = write_scenario(tmp_path, [device('a'), device('b')]), tmp_path / 'log'
    with Probe('--seconds=12', scenario=scenario, log=log) as probe:
        lines = probe.finish(20)
    calls = read_log(log)
    hot = [c.start for c in calls if c.name == 'nvmlDeviceGetUtilizationRates' and c.device == 0]
    gaps = [(b - a) / 1e9 for a, b in zip(hot, hot[1:])]
    assert len(gaps) >= 1 and all(4.9 < gap < 10.5 for gap in gaps[1:]), gaps
    assert len(hot) <= 4
    # Pictures keep coming all the same.
    assert 3 <= len([l for l in lines if l['event'] == 'snapshot']) <= 5


def test_interest_after_a_pause_is_answered_at_once(tmp_path):
    scenario = write_scenario(tmp_path, [device('a'), device('b')])
    with Probe('--seconds=10', scenario=scenario) as probe:
        _, number = probe.wait_snapshot()
        time.sleep(2)
        number = len(probe.lines)
        asked = time.monotonic()
        probe.say('interest 0')
        fresh, _ = probe.wait_snapshot(after=number)
        assert time.monotonic() - asked < 0.3
        assert all(row['age_ms']['hot'] < 50 for row in fresh['devices'])


def rss_kib(pid):
    for line in pathlib.Path('/proc/%d/status' % pid).read_text().splitlines():
        if line.startswith('VmRSS:'):
            return int(line.split()[1])
    return 0


def flat_over(tmp_path, snapshots, seconds):
    mine = [{'pid': os.getpid(), 'mem': 1 << 20}, {'pid': os.getppid(), 'mem': 1 << 21}]
    scenario = write_scenario(tmp_path, [device(c, processes=mine) for c in 'abcdefgh'])
    with Probe('--tick-ms=1', '--interest-ms=1', '--ppm=1000000', scenario=scenario) as probe:
        probe.wait_snapshot(lambda s: s['sequence'] > snapshots // 4, seconds)
        child, = probe.samplers()
        before = rss_kib(child), rss_kib(probe.child.pid), len(os.listdir('/proc/%d/fd' % child))
        probe.wait_snapshot(lambda s: s['sequence'] > snapshots, seconds)
        after = rss_kib(child), rss_kib(probe.child.pid), len(os.listdir('/proc/%d/fd' % child))
    assert after[0] - before[0] <= 256 and after[1] - before[1] <= 256 and after[2] == before[2], (before, after)


def test_memory_is_flat(tmp_path):
    flat_over(tmp_path, 2000, 30)


@pytest.mark.slow
def test_memory_is_flat_over_10000_pictures(tmp_path):
    flat_over(tmp_path, 10000, 120)


def test_memory_of_both_processes_is_small(tmp_path):
    scenario = write_scenario(tmp_path, [device(c, processes=[{'pid': os.getpid(), 'mem': 1}]) for c in 'abcdefgh'])
    with Probe('--interest-ms=50', scenario=scenario) as probe:
        probe.wait_snapshot()
        child, = probe.samplers()
        peak = 0
        for pid in (child, probe.child.pid):
            status = pathlib.Path('/proc/%d/status' % pid).read_text()
            peak += int(status.split('VmHWM:')[1].split()[0])
    assert peak <= 8 * 1024


def test_unified_memory_is_the_systems(tmp_path):
    listed = [{'pid': os.getpid(), 'mem': 1 << 30, 'types': ['C', 'G']}, {'pid': os.getppid(), 'mem': 1 << 20}]
    scenario = write_scenario(tmp_path, [device('a', memory={'rc': 3}, processes=listed), device('b')])
    with Probe('--complete', scenario=scenario) as probe:
        row, other = probe.finish()[-2]['devices']
    assert row['flags'] == 1 and other['flags'] == 0
    total = int(pathlib.Path('/proc/meminfo').read_text().split('MemTotal:')[1].split()[0]) * 1024
    assert row['mem_total'] == total
    assert row['mem_used'] == (1 << 30) + (1 << 20), 'each process once'


def worker(name):
    """A child process of this name that waits to be ended."""
    pid = os.fork()
    if pid == 0:
        try:
            pathlib.Path('/proc/self/comm').write_text(name)
            signal.pause()
        finally:
            os._exit(0)
    return pid


def test_short_lived_processes_have_their_own_names(tmp_path):
    """A thousand processes in 10 s, each listed for a moment and ended right after: right names, and nothing is kept."""
    count = 1000
    workers = {worker('job-%d' % i): 'job-%d' % i for i in range(count)}
    try:
        processes = [{'pid': pid, 'mem': 1 << 20, 'from_s': 0.5 + i * 0.01, 'to_s': 0.5 + i * 0.01 + 0.3}
                     for i, pid in enumerate(workers)]
        scenario = write_scenario(tmp_path, [device('a', processes=processes)])
        seen, ended, number = set(), 0, 0
        with Probe('--interest-ms=50', '--seconds=13', '--ppm=200000', '--tick-ms=20', scenario=scenario) as probe:
            probe.wait_snapshot()
            child, = probe.samplers()
            before = len(os.listdir('/proc/%d/fd' % child))
            pids = list(workers)
            began = time.monotonic()
            while ended < count:
                line, number = probe.wait_snapshot(lambda s: True, 5, number)
                number += 1
                for entry in line['devices'][0]['entries']:
                    if entry.get('state') == PROCESS_RUNNING:
                        assert entry['comm'] == workers[entry['pid']]
                        seen.add(entry['pid'])
                while ended < count and time.monotonic() - began > 0.4 + ended * 0.01 + 0.35:
                    os.kill(pids[ended], signal.SIGKILL)
                    os.waitpid(pids[ended], 0)
                    ended += 1
            assert len(os.listdir('/proc/%d/fd' % child)) == before
            assert rss_kib(child) < 8 * 1024
        assert len(seen) > count // 5, 'the lists are read once a second'
    finally:
        for pid in workers:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (OSError, ChildProcessError):
                pass
