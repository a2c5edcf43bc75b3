"""What a watching clustat shows while the driver's world changes under it. No restart of clustat in between."""
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time

import pytest

from program import BUILD, MIB, Program, full_device


class Watch:
    """`clustat -i` into a pipe, frame by frame, on the same clock as the fake's faults."""

    def __init__(self, program, *args, interval='0.1'):
        self.start = time.monotonic_ns()
        env = program.environment(FAKE_NVML_EPOCH_NS=str(self.start))
        self.child = subprocess.Popen([BUILD / 'clustat', '--local', '--no-color', '-i', interval, *args], env=env,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.set_blocking(self.child.stdout.fileno(), False)
        self.text = ''

    def seconds(self):
        return (time.monotonic_ns() - self.start) / 1e9

    def read(self, timeout):
        ready, _, _ = select.select([self.child.stdout], [], [], timeout)
        if ready:
            data = os.read(self.child.stdout.fileno(), 1 << 20)
            assert data, 'clustat ended: %s' % self.child.stderr.read()
            self.text += data.decode()

    def frame(self):
        """The lines of the newest whole frame."""
        frames = re.split(r'(?m)^(?=\S+ +\w{3} \w{3} [ \d]\d )', self.text)
        return frames[-2].splitlines() if len(frames) > 2 else []

    def until(self, wanted, deadline_s):
        """Waits for a frame that `wanted` accepts; gives the second (on the fake's clock) at which it came."""
        while True:
            frame = self.frame()
            if frame and wanted(frame):
                return self.seconds()
            assert self.seconds() < deadline_s, 'not within %s s; last frame:\n%s' % (deadline_s, '\n'.join(frame))
            self.read(0.5)


@contextlib.contextmanager
def watching(program, *args, **options):
    watch = Watch(program, *args, **options)
    try:
        yield watch
    finally:
        watch.child.send_signal(signal.SIGTERM)
        try:
            watch.child.wait(5)
        except subprocess.TimeoutExpired:
            watch.child.kill()
            watch.child.wait()
            raise
        watch.child.stdout.close()
        watch.child.stderr.close()


def row(frame, index):
    return next((line for line in frame if line.startswith('[%s]' % index)), '')


def devices(count):
    return [full_device(i, os.getpid()) for i in range(count)]


def test_a_device_is_lost_and_comes_back(tmp_path):
    scenario = {'devices': devices(3), 'faults': [{'device': 'g1', 'at_s': 1, 'until_s': 3, 'rc': 15}]}
    with watching(Program(tmp_path, scenario)) as watch:
        watch.until(lambda f: '52°C' in row(f, 1) and '53°C' in row(f, 2), 1)
        watch.until(lambda f: 'GPU is lost' in row(f, 1) and '??°C' in row(f, 1) and '53°C' in row(f, 2), 3)
        watch.until(lambda f: '52°C' in row(f, 1) and ' 92 %' in row(f, 1), 5)


def test_handles_fail_for_a_while(tmp_path):
    scenario = {'devices': devices(3)}
    scenario['devices'][2]['handle'] = {'steps': [[0, {'rc': 999}], [2, 0]]}
    with watching(Program(tmp_path, scenario)) as watch:
        watch.until(lambda f: '52°C' in row(f, 1) and '??°C' in row(f, 2), 1.5)
        watch.until(lambda f: '53°C' in row(f, 2), 4)


def test_the_library_is_replaced_under_us(tmp_path):
    """An upgrade: every call answers 18 from then on, in this process and in each new one; then a reload cures it."""
    scenario = {'devices': devices(2), 'faults': [{'at_s': 1, 'until_s': 3, 'rc': 18}]}
    with watching(Program(tmp_path, scenario)) as watch:
        watch.until(lambda f: '52°C' in row(f, 1), 1)
        watch.until(lambda f: 'versions differ' in '\n'.join(f) or 'mismatch' in '\n'.join(f), 3)
        watch.until(lambda f: '52°C' in row(f, 1) and ' 92 %' in row(f, 1), 6)


def test_devices_are_added_and_removed(tmp_path):
    """The fake reads its scenario once in a process, so the change comes with a driver that was reloaded."""
    program = Program(tmp_path, {'devices': devices(2), 'faults': [{'at_s': 1, 'rc': 9}]})
    with watching(program) as watch:
        watch.until(lambda f: '52°C' in row(f, 1), 1)
        program.write({'devices': devices(4)})
        watch.until(lambda f: all('%d°C' % (51 + i) in row(f, i) for i in range(4)), 3)


def test_the_driver_is_unloaded_and_comes_back(tmp_path):
    scenario = {'devices': devices(2), 'faults': [{'at_s': 1, 'until_s': 3, 'rc': 9}]}
    with watching(Program(tmp_path, scenario)) as watch:
        watch.until(lambda f: '52°C' in row(f, 1), 1)
        watch.until(lambda f: 'not loaded' in '\n'.join(f) and '52°C' not in row(f, 1), 3)
        watch.until(lambda f: '52°C' in row(f, 1), 5)


def test_a_hanging_device_leaves_the_others_true(tmp_path):
    """Device 1 hangs for ever: the others keep updating or say how old they are; the call and the device are named."""
    scenario = {'devices': devices(3), 'faults': [{'device': 'g1', 'at_s': 1, 'hang': 'forever'}]}
    with watching(Program(tmp_path, scenario)) as watch:
        watch.until(lambda f: '52°C' in row(f, 1), 1)
        watch.until(lambda f: 'nvmlDevice' in f[0] and re.search(r'\b1\b', f[0].split('nvmlDevice')[1]), 6)
        frame = watch.frame()
        assert '51°C' in row(frame, 0) and '53°C' in row(frame, 2)
        assert re.search(r'\d\.\ds old', '\n'.join(frame)), frame


def test_a_hang_in_the_first_round_prints_what_was_read(tmp_path):
    scenario = {'devices': devices(3), 'faults': [{'device': 'g1', 'fn': 'nvmlDeviceGetPowerUsage', 'hang': 'forever'}]}
    begin = time.monotonic()
    done = Program(tmp_path, scenario).run('--local', '--no-color')
    assert done.returncode == 0
    assert time.monotonic() - begin < 10
    lines = done.stdout.decode().splitlines()
    assert '51°C' in row(lines, 0) and ' 91 %' in row(lines, 0)
    assert '92 %' in row(lines, 1) and '40001 / 81920' in row(lines, 1)
    assert row(lines, 2).startswith('[2] NVIDIA H100')
    assert b'nvmlDeviceGetPowerUsage' in done.stderr and b'1' in done.stderr.split(b'nvmlDeviceGetPowerUsage')[1]


@pytest.mark.parametrize('seconds', [0, 2])
def test_waiting_for_a_slow_init(tmp_path, seconds):
    program = Program(tmp_path, {'devices': devices(1), 'driver': {'init_ms': 1000 * seconds}})
    begin = time.monotonic()
    node, _ = program.json()
    assert node['gres'][0]['temperature_c'] == 51
    assert time.monotonic() - begin >= seconds


def test_950_processes_on_one_device(tmp_path):
    """As many as the driver lists; most of them do not exist, and stay as rows of clustat."""
    rows = [{'pid': 20000 + i, 'mem': (i + 1) * MIB} for i in range(949)] + [{'pid': os.getpid(), 'mem': 7 * MIB}]
    node, _ = Program(tmp_path, {'devices': [full_device(0, os.getpid(), processes=rows)]}).json()
    shown = node['gres'][0]['processes']
    assert [(p['pid'], p['used_memory_mb']) for p in shown] == [(r['pid'], r['mem'] // MIB) for r in rows]
    assert shown[-1]['state'] == 'running' and shown[-1]['uid'] == os.getuid()


HOSTILE = ['\x1b[2J\x1b]0;owned\x07', 'line\nbreak\r', 'wide 漢字 and \u202e turned', '\x7f\x9b31m']


def test_hostile_text_reaches_no_terminal(tmp_path):
    """Names of devices and words of command lines with escapes, newlines, bad bytes, 128 KiB long."""
    words = [w.encode('utf-8', 'surrogateescape') for w in HOSTILE] + [b'\xff\xfe\xc3(', b'x' * 131000]
    held = subprocess.Popen([b'/opt/' + HOSTILE[0].encode() + b'evil', '-c', 'read line'] + words[1:], executable='/bin/sh',
                            stdin=subprocess.PIPE)
    try:
        scenario = {'devices': [full_device(i, held.pid, name=name) for i, name in enumerate(HOSTILE)]}
        program = Program(tmp_path, scenario)
        for args in (['-a'], ['-f'], ['-cup', '--color'], ['-f', '-F', '-e', '-P']):
            out = program.run('--local', *args).stdout.decode('utf-8')
            plain = re.sub(r'\x1b\[[0-9;]*m', '', out)
            assert not re.search(r'[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]', plain)
            rows = [line for line in plain.splitlines() if line.startswith('[')]
            assert len(rows) == len(HOSTILE)
        node = json.loads(program.run('--local', '--json').stdout)['nodes'][0]
        assert [d['name'] for d in node['gres']] == HOSTILE
        command = node['gres'][0]['processes'][0]['full_command']
        assert command[1:3] == ['-c', 'read line'] and command[3] == HOSTILE[1]
    finally:
        held.kill()
        held.wait()
