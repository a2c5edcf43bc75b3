"""Watch mode on a real terminal (a pty), under tmux, and through pipes."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import termios
import time

import pytest

from cli_program import CLUSTAT, DEADLINE_S, device, environment, scenario
from pty_terminal import ENTER, LEAVE, Terminal, restored


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def start(args, devices=3, name='clustat', env=None, rows=24, columns=100,
              program=CLUSTAT, **more):
        path = scenario(tmp_path / 'scenario.json', devices, **more)
        opened.append(Terminal(args, environment(path, **(env or {})), name, rows, columns, program))
        return opened[-1]
    yield start
    for t in opened:
        t.close()


@pytest.mark.parametrize('name', ['clustat', 'gpustat'])
@pytest.mark.parametrize('key', [b'q', b'\x03'])
def test_q_and_ctrl_c_leave_with_success(terminal, name, key):
    t = terminal(['-i', '0.1'], name=name)
    t.wait_for(rb'\[2\]')
    assert t.output.startswith(ENTER)
    t.send(key)
    assert t.end() == 0
    assert restored(t)


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize('name', ['clustat', 'gpustat'])
def test_signals_restore_the_terminal_and_end(terminal, name, number):
    t = terminal(['-i', '0.1'], name=name)
    t.wait_for(rb'\[2\]')
    t.popen.send_signal(number)
    assert t.end() == -number
    assert restored(t)


def test_a_crash_restores_the_terminal(terminal):
    t = terminal(['-i', '0.1'])
    t.wait_for(rb'\[2\]')
    t.popen.send_signal(signal.SIGSEGV)
    assert t.end() == -signal.SIGSEGV
    assert restored(t)


def test_keys_are_not_echoed_and_unknown_ones_ignored(terminal):
    t = terminal(['-i', '0.1'])
    t.wait_for(rb'\[2\]')
    t.send(b'xyz \x1b[A')
    at = len(t.output)
    t.wait_for(rb'\d\d:\d\d:\d\d', at)  # it goes on
    assert b'xyz' not in t.output
    t.send(b'q')
    assert t.end() == 0


def test_suspend_and_resume(terminal):
    """Under a shell with job control, as nothing else can be suspended."""
    t = terminal(['-c', 'set -m; "$0" -i 0.1; echo STOP""PED; read line; fg; echo STATUS=$?', CLUSTAT], program='/bin/sh')
    t.wait_for(rb'\[2\]')
    t.send(b'\x1a')
    t.wait_for(re.escape(LEAVE) + rb'.*STOPPED')
    assert t.settings() == t.before
    at = len(t.output)
    t.send(b'\r')
    t.wait_for(re.escape(ENTER) + rb'.*\[0\].*\[1\].*\[2\]', at)
    t.send(b'q')
    t.wait_for(rb'STATUS=0')
    assert restored(t)


def test_stopped_by_force_and_resumed(terminal):
    """After SIGSTOP the shell takes the terminal's settings back; SIGCONT takes them again."""
    t = terminal(['-i', '0.1'])
    t.wait_for(rb'\[2\]')
    t.popen.send_signal(signal.SIGSTOP)
    os.waitpid(t.popen.pid, os.WUNTRACED)
    termios.tcsetattr(t.slave, termios.TCSANOW, t.before)
    at = len(t.output)
    t.popen.send_signal(signal.SIGCONT)
    t.wait_for(rb'\[0\].*\[1\].*\[2\]', at)
    assert not t.settings()[3] & termios.ECHO
    t.send(b'q')
    assert t.end() == 0
    assert t.settings() == t.before


def test_only_changed_lines_are_written(terminal):
    devices = [device(0, temperature={'steps': [[0, 40], [1.5, 77]]}), device(1), device(2)]
    t = terminal(['-i', '0.1', '--no-header'], devices)
    t.wait_for(rb'\[2\]')
    at = len(t.output)
    t.wait_for(rb'77', at)
    changed = t.output[at:]
    assert b'NVIDIA Test 0' in changed
    assert b'NVIDIA Test 1' not in changed and b'NVIDIA Test 2' not in changed
    assert b'\x1b[2J' not in changed
    t.send(b'q')
    assert t.end() == 0


def test_a_quiet_picture_writes_nothing(terminal):
    t = terminal(['-i', '0.05', '--no-header'])
    t.wait_for(rb'\[2\]')
    at = len(t.output)
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        t.read(0.1)
    assert t.output[at:] == b''
    t.send(b'q')
    assert t.end() == 0


def test_resize_redraws_and_cuts(terminal):
    t = terminal(['-i', '0.2'], 6, columns=120, rows=20)
    t.wait_for(rb'\[5\].*MB \|')
    at = len(t.output)
    t.resize(4, 30)
    m = t.wait_for(rb'\x1b\[4;1H([^\x1b]*\.\.\. 4 more lines)', at)
    assert b'[2]' not in t.output[at:m.end()]
    at = len(t.output)
    t.resize(20, 120)
    t.wait_for(rb'\[5\].*MB', at)
    t.send(b'q')
    assert t.end() == 0


@pytest.mark.parametrize('columns', [1, 20, 80])
def test_no_line_is_wider_than_the_terminal(terminal, columns):
    t = terminal(['-i', '0.2', '-a'], columns=columns)
    t.wait_for(re.escape(b'\x1b[4;1H'))
    t.send(b'q')
    assert t.end() == 0
    body = t.output[t.output.index(ENTER):t.output.rindex(LEAVE)].decode()
    for line in re.split(r'\x1b\[\d+;1H', body)[1:]:
        assert len(re.sub(r'\x1b\[[0-9;?]*[a-zA-Z]', '', line)) <= columns


def test_a_terminal_without_a_size_counts_as_24_by_80(terminal):
    t = terminal(['-i', '0.2', '-a'], rows=0, columns=0)
    t.wait_for(re.escape(b'\x1b[4;1H') + rb'.*Test 2')
    t.send(b'q')
    assert t.end() == 0


def test_the_beat_does_not_drift(terminal):
    """50 pictures of 0.05 s apart take 2.5 s, whatever each of them costs."""
    devices = [device(0, utilization={'gpu': {'wave': {'base': 50, 'amp': 49, 'period_s': 0.731}}})]
    t = terminal(['-i', '0.05', '--no-header'], devices)
    t.wait_for(rb'\[0\]')
    start = time.monotonic()
    while time.monotonic() < start + 3:
        t.read(0.01)
    count = sum(1 for when, _ in t.reads if start < when < start + 2.5)
    assert 25 <= count <= 55
    t.send(b'q')
    assert t.end() == 0


def test_one_write_per_picture(terminal, tmp_path):
    if not shutil.which('strace'):
        pytest.skip('strace is not installed')
    log = tmp_path / 'strace'
    devices = [device(i, utilization={'gpu': {'wave': {'base': 50, 'amp': 49, 'period_s': 1.3}}}) for i in range(4)]
    t = terminal(['-qq', '-s', '9999', '-e', 'trace=write', '-o', str(log), CLUSTAT, '-i', '0.2', '--no-color'], devices, name='strace',
                 program=shutil.which('strace'), env={'ASAN_OPTIONS': 'detect_leaks=0'})  # impossible under strace
    for _ in range(4):
        t.wait_for(rb'\[3\]', len(t.output))
    t.send(b'q')
    assert t.end() == 0
    written = re.findall(r'write\(1, "(.*)"', log.read_text())
    pictures = [text for text in written if '[0]' in text or '[3]' in text]
    assert len(pictures) >= 3
    assert all('[0]' in text and '[3]' in text for text in pictures)
    assert len(written) == len(pictures) + 2  # and what enters and leaves


def test_a_hanging_call_is_named_and_the_picture_stays(terminal):
    faults = [{'at_s': 1, 'device': 'g1', 'fn': 'nvmlDeviceGetUtilizationRates', 'hang': 'forever'}]
    t = terminal(['-i', '0.2'], faults=faults)
    t.wait_for(rb'\[2\]')
    t.wait_for(rb'nvmlDeviceGetUtilizationRates')
    t.wait_for(rb'(GPU|device) 1')
    t.send(b'q')
    assert t.end() == 0
    assert restored(t)


def test_driver_gone_and_back(terminal):
    """The picture says what is wrong and goes on; under the name gpustat a failing query ends it, as there."""
    t = terminal(['-i', '0.2'], driver={'init_rc': 9})
    t.wait_for(rb'(?i)driver')
    at = len(t.output)
    t.send(b'q')
    assert t.end() == 0
    g = terminal(['-i', '0.2'], name='gpustat', driver={'init_rc': 9})
    assert g.end() == 1
    assert b'Error on querying NVIDIA devices.' in g.output and b'Driver Not Loaded' in g.output
    assert at


def test_waiting_for_the_driver_is_told(terminal):
    t = terminal(['-i', '0.2'], driver={'init_ms': 2500})
    t.wait_for(rb'waiting for the driver, \d s')
    t.wait_for(rb'\[2\]')
    t.send(b'q')
    assert t.end() == 0


def test_q_leaves_while_the_driver_hangs(terminal):
    t = terminal(['-i', '0.2'], driver={'init_ms': 60000})
    t.wait_for(rb'waiting for the driver')
    t.send(b'q')
    assert t.end() == 0
    assert restored(t)


def test_a_dumb_terminal_gets_no_escapes(terminal):
    t = terminal(['-i', '0.1', '--no-header'], env={'TERM': 'dumb'})
    t.wait_for(rb'(\[0\].*){3}')
    t.send(b'\x03')
    assert t.end() == 0
    assert b'\x1b' not in t.output


def test_stdin_gone_is_no_reason_to_end(tmp_path):
    path = scenario(tmp_path / 's.json')
    master, slave = pty.openpty()
    popen = subprocess.Popen([CLUSTAT, '-i', '0.1'], env=environment(path), stdin=subprocess.DEVNULL, stdout=slave,
                             stderr=slave, start_new_session=True)
    end = time.monotonic() + DEADLINE_S
    out = b''
    while out.count(b':') < 9:
        assert time.monotonic() < end
        if select.select([master], [], [], 0.1)[0]:
            out += os.read(master, 65536)
    assert popen.poll() is None
    popen.terminate()
    assert popen.wait(DEADLINE_S) == -signal.SIGTERM
    os.close(slave)
    os.close(master)


# ---- pipes ----

def pipe_frames(args, count, name='clustat', **more):
    """Reads piped pictures until there are `count` headers, then ends the program; gives what was read."""
    popen = subprocess.Popen([name, *args], executable=CLUSTAT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **more)
    out = b''
    end = time.monotonic() + DEADLINE_S
    while out.count(b'[0]') < count:
        assert time.monotonic() < end, out
        if select.select([popen.stdout], [], [], 0.1)[0]:
            piece = os.read(popen.stdout.fileno(), 65536)
            assert piece, out
            out += piece
    popen.send_signal(signal.SIGINT)
    status = popen.wait(DEADLINE_S)
    popen.stdout.close()
    return out, status


@pytest.mark.parametrize('name', ['clustat', 'gpustat'])
def test_piped_pictures_follow_one_another(tmp_path, name):
    out, status = pipe_frames(['-i', '0.05'], 5, name, env=environment(scenario(tmp_path / 's.json')))
    assert status == 0
    assert b'\x1b' not in out
    lines = out.decode().split('\n')[:12]
    for i, line in enumerate(lines):
        assert re.match([r'\S+ .*\d\d:\d\d:\d\d', r'\[0\] ', r'\[1\] ', r'\[2\] '][i % 4], line), lines


def test_the_reader_going_away_ends_it(tmp_path):
    run = subprocess.run(['sh', '-c', '"$0" -i 0.05 | head -n 3', CLUSTAT], env=environment(scenario(tmp_path / 's.json')),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE_S)
    assert run.stdout.count(b'\n') == 3 and run.stderr == b''


# ---- a real terminal emulator's view ----

class Tmux:
    def __init__(self, tmp_path, env, columns, rows):
        self.base = ['tmux', '-f', '/dev/null', '-S', str(tmp_path / 'tmux')]
        self.env = dict(env, TERM='xterm-256color')
        self.call('new-session', '-d', '-x', str(columns), '-y', str(rows), 'sh')
        self.call('set-option', 'status', 'off')

    def call(self, *args):
        return subprocess.run([*self.base, *args], env=self.env, stdout=subprocess.PIPE, check=True, text=True).stdout

    def screen(self):
        return self.call('capture-pane', '-p')

    def wait_for(self, pattern):
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            screen = self.screen()
            if re.search(pattern, screen, re.S):
                return screen
            time.sleep(0.05)
        raise AssertionError('%r is not on the screen:\n%s' % (pattern, screen))


@pytest.fixture
def tmux(tmp_path):
    if not shutil.which('tmux'):
        pytest.skip('tmux is not installed')
    opened = []

    def start(env, columns=90, rows=10):
        opened.append(Tmux(tmp_path, env, columns, rows))
        return opened[-1]
    yield start
    for t in opened:
        t.call('kill-server')


def test_what_a_terminal_shows(tmux, tmp_path):
    env = environment(scenario(tmp_path / 's.json', 5))
    t = tmux(env)
    t.wait_for(r'[$#]')
    t.call('send-keys', 'PS1=; clear; echo bef""ore; %s -i 0.2 --no-color; echo status=$?' % CLUSTAT, 'Enter')
    screen = t.wait_for(r'\[4\] .*MB \|')
    lines = screen.split('\n')
    assert re.match(r'\S+ +.*\d\d:\d\d:\d\d', lines[0])
    for i in range(5):
        assert lines[i + 1].startswith('[%d] NVIDIA Test %d | ' % (i, i))
    assert ''.join(lines[6:]) == ''
    t.call('resize-window', '-x', '24', '-y', '4')
    screen = t.wait_for(r'\.\.\. 3 more lines')
    lines = screen.rstrip('\n').split('\n')
    assert len(lines) == 4 and all(len(line) <= 24 for line in lines)
    t.call('resize-window', '-x', '90', '-y', '10')
    t.wait_for(r'\[4\] .*MB \|')
    t.call('send-keys', 'q')
    screen = t.wait_for(r'status=0')
    assert 'before' in screen and '[4]' not in screen
