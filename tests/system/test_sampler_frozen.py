"""A driver call that nothing can end: a write to a frozen file system, which holds the caller in state D."""
import os
import pathlib
import signal
import subprocess
import time

import pytest

from probe import Probe, device, sampler_pids, state_of, wait_until, write_scenario

EBUSY = 16


@pytest.fixture
def frozen(tmp_path):
    """A frozen file in a loop-mounted file system; thawed at the end, whatever happened."""
    if os.geteuid() != 0:
        pytest.skip('needs root: a file system has to be mounted and frozen')
    image, folder = tmp_path / 'image', tmp_path / 'frozen'
    image.write_bytes(b'\0' * (4 << 20))
    folder.mkdir()
    for command in (['mkfs.ext4', '-q', str(image)], ['mount', '-o', 'loop', str(image), str(folder)]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip('no loop-mounted file system here: %s: %s' % (command[0], done.stderr.strip()))
    try:
        (folder / 'file').write_text('x')
        subprocess.run(['fsfreeze', '-f', str(folder)], check=True)
        try:
            yield folder / 'file'
        finally:
            subprocess.run(['fsfreeze', '-u', str(folder)], capture_output=True)  # the test may have done it
    finally:
        end_holders(folder / 'file')
        for _ in range(50):
            if subprocess.run(['umount', str(folder)], capture_output=True).returncode == 0:
                break
            time.sleep(0.1)


def end_holders(file):
    """Ends the samplers that were frozen: the fake goes on sleeping when it is thawed."""
    for pid in sampler_pids():
        try:
            if str(file).encode() in pathlib.Path('/proc/%d/environ' % pid).read_bytes():
                os.kill(pid, signal.SIGKILL)
        except OSError:
            pass  # it went by itself


@pytest.fixture
def apart():
    """A command prefix that enters a network namespace: orphans are counted within one, ours stay among us."""
    holder = subprocess.Popen(['unshare', '-n', 'sleep', '300'])
    own = os.readlink('/proc/self/ns/net')
    wait_until(lambda: os.readlink('/proc/%d/ns/net' % holder.pid) != own, 5, 'the namespace')
    yield ['nsenter', '-t', str(holder.pid), '-n']
    holder.kill()
    holder.wait()


def probe_on(frozen, scenario, apart, *options):
    return Probe('--interest-ms=50', *options, scenario=scenario, prefix=apart,
                 env={'FAKE_NVML_FREEZE_FILE': str(frozen)})


def test_program_ends_beside_an_unkillable_call(tmp_path, frozen, apart):
    scenario = write_scenario(tmp_path, [device('a'), device('b')],
                              faults=[{'at_s': 0.5, 'device': 'b', 'hang': 'forever'}])
    with probe_on(frozen, scenario, apart, '--stuck-ms=1000', '--seconds=4') as probe:
        snapshot, _ = probe.wait_snapshot(lambda s: s['pending'], 4)
        assert snapshot['pending_device'] == 1
        first = probe.samplers()[0]
        wait_until(lambda: state_of(first) == 'D', 2, 'the call cannot be ended')
        # It is replaced, and the program ends when it is told to.
        probe.wait_snapshot(lambda s: s['devices'][1:] and s['devices'][1]['state'] == 3, 4)
        began = time.monotonic()
        lines = probe.finish(10)
        assert time.monotonic() - began < 5
    assert lines[-1]['event'] == 'end' and lines[-1]['longest_ms'] < 100
    assert state_of(first) == 'D'


def test_unkillable_orphans_do_not_pile_up(tmp_path, frozen, apart):
    scenario = write_scenario(tmp_path, [device('a')], faults=[{'at_s': 0.3, 'device': 'a', 'hang': 'forever'}])
    orphans = []
    for earlier in (0, 1):
        with probe_on(frozen, scenario, apart, '--stuck-ms=60000') as probe:
            probe.wait_snapshot(lambda s: s['pending'], 5)
            if earlier:
                probe.wait_for(lambda l: l['event'] == 'call' and l['stuck'] == earlier)
            orphans += probe.samplers()
        deadline = time.monotonic() + 5
        while probe_start_status(scenario, apart) == 0 and earlier and time.monotonic() < deadline:
            time.sleep(0.1)  # the orphan declares itself some 100 ms after its parent went
    assert probe_start_status(scenario, apart) == -EBUSY
    assert len(orphans) == 2 and all(state_of(pid) == 'D' for pid in orphans)
    subprocess.run(['fsfreeze', '-u', str(frozen.parent)], check=True)
    wait_until(lambda: probe_start_status(scenario, apart) == 0, 5, 'a thawed orphan does not count')


def probe_start_status(scenario, apart):
    with Probe('--snapshots=1', '--seconds=5', scenario=scenario, prefix=apart) as probe:
        line, _ = probe.wait_for(lambda l: l['event'] == 'start')
        return line['status']
