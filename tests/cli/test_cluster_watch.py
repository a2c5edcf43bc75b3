"""Watching the cluster, on a terminal (pty) and through pipes, over a stand-in for the backend."""
import os
import re
import select
import signal
import subprocess
import threading
import time

import pytest

from cli_program import CLUSTAT, DEADLINE_S, LIBRARY, environment, scenario
from pty_terminal import ENTER, Terminal, restored
from stand_in import NO_WAIT, Node, StandIn, error, gpu, silence

NOT_RUNNING = rb'clustat-backend is not running: systemctl status clustat-client'


@pytest.fixture
def backend(tmp_path):
    started = []

    def start(nodes=(), **more):
        started.append(StandIn(tmp_path / 'client.sock', nodes, **more))
        return started[-1]
    yield start
    for stand_in in started:
        stand_in.stop()


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def start(args, name='clustat', rows=30, columns=120, **more):
        env = environment(**dict({'CLUSTAT_NVML_LIB': None, 'CLUSTAT_BACKEND_SOCKET': tmp_path / 'client.sock'}, **more))
        opened.append(Terminal(args, env, name, rows, columns))
        return opened[-1]
    yield start
    for t in opened:
        t.close()


def screen(t):
    """What stands on the terminal, line by line: positions, text, erasing; nothing else may occur."""
    rows = {}
    row = 0
    body = t.output[t.output.rindex(ENTER):].decode()
    for part in re.finditer(r'\x1b\[(\d+);1H|\x1b\[([JK])|\x1b\[[0-9;]*m|\x1b\[\?\d+[hl]|\x1b\[\d+;0;0t|([^\x1b]+)', body):
        if part.group(1):
            row = int(part.group(1))
            new = True
        elif part.group(2) == 'J':
            for other in [r for r in rows if r >= row]:
                del rows[other]
        elif part.group(3):
            rows[row] = ('' if new else rows.get(row, '')) + part.group(3)
            new = False
    return [rows.get(r, '') for r in range(1, max(rows, default=0) + 1)]


def leave(t):
    t.send(b'q')
    assert t.end() == 0
    assert restored(t)


def test_nodes_are_watched_on_one_connection(backend, terminal):
    stand_in = backend([Node('gpu10'), Node('gpu2')])
    t = terminal(['-i', '0.05'])
    t.wait_for(rb'gpu2.*gpu10')
    while len(stand_in.queries) < 8:
        t.read(0.05)
    assert len(stand_in.connections) == 1
    assert {q.interval_us for q in stand_in.queries} == {50000}
    assert all(q.flags & NO_WAIT for q in stand_in.queries)
    leave(t)


def test_what_does_not_change_is_not_written(backend, terminal):
    now = 1800000000000000
    nodes = [Node('gpu%d' % i, delay=None, taken=now) for i in range(4)]
    stand_in = backend(nodes)
    t = terminal(['-i', '0.05'])
    t.wait_for(rb'gpu3.*MB \|')
    asked = len(stand_in.queries)
    at = len(t.output)
    while len(stand_in.queries) < asked + 10:
        t.read(0.05)
    assert t.output[at:] == b''
    nodes[2].gpus = [gpu(0, temp=77)]
    t.wait_for(rb'77', at)
    changed = t.output[at:]
    assert changed.count(b'\x1b[6;1H') == 1 and b'NVIDIA' in changed and b'gpu' not in changed
    assert b'\x1b[2J' not in t.output
    leave(t)


def test_20_pictures_a_second(backend, terminal):
    """At 50 ms every picture has an answer of its own, and one is asked for per picture."""
    count = [0]

    def answer(stand_in, query, request_id):
        count[0] += 1
        stand_in.nodes = [Node('gpu1', [gpu(0, util=count[0] % 100)], taken=1800000000000000, delay=None)]
        return StandIn.usual(stand_in, query, request_id)
    backend([Node('gpu1')], answer=answer)
    t = terminal(['-i', '0.05'])
    t.wait_for(rb'\[0\]')
    start, before = time.monotonic(), count[0]
    while time.monotonic() < start + 2:
        t.read(0.01)
    assert 24 <= count[0] - before <= 42
    drawn = sum(1 for when, _ in t.reads if start < when < start + 2)
    assert drawn >= 0.8 * (count[0] - before) - 2
    leave(t)


def test_the_terminals_height_is_told_in_nodes(backend, terminal):
    backend([Node('gpu%d' % i, delay=None) for i in range(20)] + [Node('other')], left_out=3)
    t = terminal(['-i', '0.1', '-n', 'gpu'], rows=10)
    t.wait_for(rb'not shown: 1 node \(-n gpu\); 3 nodes \(connecting\.max_connections is reached\)')
    lines = screen(t)
    assert len(lines) == 10
    assert lines[8] == '... 16 more nodes (terminal height)'
    assert lines[9].startswith('not shown: 1 node')
    t.resize(9, 120)
    t.wait_for(rb'\.\.\. 1 more line, 16 more nodes \(terminal height\)')
    t.resize(50, 120)
    t.wait_for(rb'gpu19')
    assert 'more nodes' not in '\n'.join(screen(t)[:-1])
    leave(t)


def test_a_terminal_lower_than_the_footer(backend, terminal):
    backend([Node('gpu1'), Node('gpu2'), Node('x')])
    t = terminal(['-i', '0.1', '-n', 'gpu'], rows=1, columns=30)
    t.wait_for(rb'\.\.\. \d+ more lines')
    leave(t)


def test_under_the_name_gpustat_there_is_no_footer(backend, terminal):
    backend([Node('gpu%d' % i) for i in range(8)] + [Node('other')])
    t = terminal(['-i', '0.1', '-n', 'gpu'], 'gpustat', rows=5)
    t.wait_for(rb'\.\.\. 12 more lines')
    assert b'not shown' not in t.output and b'delay=' not in t.output
    leave(t)


def test_a_failing_backend_is_told_and_asked_again(backend, terminal, tmp_path):
    stand_in = backend([Node('gpu1'), Node('gpu2')])
    t = terminal(['-i', '0.1'])
    t.wait_for(rb'gpu2.*MB \|')
    stand_in.stop()
    t.wait_for(NOT_RUNNING)
    lines = screen(t)
    assert lines[0].startswith('gpu1') and 'not running' in lines[4]  # the rows stay, and grow old
    t.wait_for(rb'stale \d\.\ds')
    at = len(t.output)
    backend([Node('gpu1'), Node('gpu3')])
    t.wait_for(rb'gpu3', at)
    end = time.monotonic() + DEADLINE_S
    while 'not running' in '\n'.join(screen(t)) or 'stale' in '\n'.join(screen(t)):
        assert time.monotonic() < end
        t.read(0.1)
    leave(t)


def test_a_backend_that_hangs_up_is_asked_again_at_once(backend, terminal):
    stand_in = backend([Node('gpu1')])
    t = terminal(['-i', '0.1'])
    t.wait_for(rb'gpu1')
    stand_in.hang_up()
    asked = len(stand_in.queries)
    while len(stand_in.queries) < asked + 3:
        t.read(0.05)
    assert t.popen.poll() is None
    leave(t)


def test_a_backend_that_falls_silent(backend, terminal):
    stand_in = backend([Node('gpu1')])
    t = terminal(['-i', '0.1'])
    t.wait_for(rb'gpu1')
    stand_in.answer = silence
    t.wait_for(rb'clustat-backend does not answer \(waited \d\.\d s\)')
    assert len(stand_in.queries) < 60  # nobody is asked again while an answer is due
    at = len(t.output)
    stand_in.answer = StandIn.usual
    stand_in.nodes = [Node('gpu7')]
    t.wait_for(rb'gpu7', at)
    leave(t)


def test_keys_act_while_the_backend_is_silent(backend, terminal):
    stand_in = backend([Node('gpu1')])
    t = terminal(['-i', '0.05'])
    t.wait_for(rb'gpu1')
    stand_in.answer = silence
    asked = len(stand_in.queries)
    while len(stand_in.queries) == asked:
        t.read(0.05)
    started = time.monotonic()
    leave(t)
    assert time.monotonic() - started < 1


def test_slow_answers_make_no_backlog(backend, terminal):
    """An answer that takes longer than the interval: the old picture stays, the next question waits."""
    busy, overlaps = threading.Lock(), []

    def answer(stand_in, query, request_id):
        if not busy.acquire(blocking=False):
            overlaps.append(1)
            return None
        time.sleep(0.2)
        busy.release()
        return StandIn.usual(stand_in, query, request_id)
    stand_in = backend([Node('gpu1')], answer=answer)
    t = terminal(['-i', '0.05'])
    t.wait_for(rb'gpu1')
    while len(stand_in.queries) < 6:
        t.read(0.05)
    assert not overlaps and len(stand_in.connections) == 1
    leave(t)


def test_a_refusal_is_shown_and_the_watch_goes_on(backend, terminal):
    stand_in = backend([Node('gpu1')])
    t = terminal(['-i', '0.1'])
    t.wait_for(rb'gpu1')
    stand_in.answer = error(3, 'too many questions of your user')
    t.wait_for(rb'clustat-backend: too many questions of your user')
    stand_in.answer = StandIn.usual
    end = time.monotonic() + DEADLINE_S
    while 'too many' in '\n'.join(screen(t)):
        assert time.monotonic() < end
        t.read(0.1)
    leave(t)


def test_nodes_appear_and_go(backend, terminal):
    stand_in = backend([])
    t = terminal(['-i', '0.1'])
    t.wait_for(rb'no node is known')
    stand_in.nodes = [Node('gpu1'), Node('gpu2')]
    t.wait_for(rb'gpu1.*gpu2')
    stand_in.nodes = [Node('gpu2')]
    end = time.monotonic() + DEADLINE_S
    while 'gpu1' in '\n'.join(screen(t)) or len(screen(t)) != 2:
        assert time.monotonic() < end
        t.read(0.1)
    leave(t)


def test_this_machine_stands_in_until_there_are_nodes(backend, terminal, tmp_path):
    config = tmp_path / 'client.toml'
    config.write_text('[runtime]\nnvml_lib_path = "%s"\n' % LIBRARY)
    stand_in = backend([])
    t = terminal(['-i', '0.1'], CLUSTAT_CONFIG=config, FAKE_NVML_SCENARIO=scenario(tmp_path / 's.json'))
    t.wait_for(rb"NVIDIA Test 2.*clustat-backend knows no node; this machine's own GPUs are shown")
    t.resize(4, 100)
    t.wait_for(rb'\.\.\. 2 more lines \(terminal height\)')
    t.resize(30, 100)
    stand_in.nodes = [Node('gpu1'), Node('gpu2')]
    t.wait_for(rb'gpu1.*gpu2')
    assert not any('Test' in line.replace('NVIDIA Test |', '') or 'knows no node' in line for line in screen(t)[:4])
    stand_in.nodes = []
    t.wait_for(rb'NVIDIA Test 2.*knows no node', len(t.output))
    leave(t)


def test_certain_nodes_are_waited_for(backend, terminal):
    stand_in = backend([])
    t = terminal(['-i', '0.1', '-n', 'gpu1'])
    t.wait_for(rb'no node is known')
    stand_in.nodes = [Node('gpu1'), Node('gpu2')]
    t.wait_for(rb'gpu1.*not shown: 1 node')
    leave(t)


def test_users_are_filtered_in_every_picture(backend, terminal):
    stand_in = backend([Node('gpu1', [gpu(0, [(65534, 7, 'x', 5)])]), Node('gpu2')])
    t = terminal(['-i', '0.1', '-user', 'nobody'])
    t.wait_for(rb'not shown: 1 node without a process of nobody')
    stand_in.nodes[1].gpus = [gpu(0, [(65534, 8, 'y', 6)])]
    t.wait_for(rb'gpu2.*nobody.*\(')
    leave(t)


def test_the_list_of_nodes_is_watched(backend, terminal):
    stand_in = backend([Node('gpu1'), Node('gpu2')])
    t = terminal(['nodes', '-i', '0.1'])
    t.wait_for(rb'NODE +STATE.*gpu1.*gpu2')
    stand_in.nodes[0].state = 'stale'
    t.wait_for(rb'stale')
    leave(t)


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGHUP])
def test_signals_restore_the_terminal(backend, terminal, number):
    backend([Node('gpu1')])
    t = terminal(['-i', '0.1'])
    t.wait_for(rb'gpu1')
    t.popen.send_signal(number)
    assert t.end() == -number
    assert restored(t)


def test_piped(backend, tmp_path):
    stand_in = backend([Node('gpu1'), Node('gpu2')])
    popen = subprocess.Popen([CLUSTAT, '-i', '0.05'], env=environment(CLUSTAT_NVML_LIB=None, CLUSTAT_BACKEND_SOCKET=stand_in.path),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, end = b'', time.monotonic() + DEADLINE_S

    def read_until(enough):
        nonlocal out
        while not enough():
            assert time.monotonic() < end, out
            if select.select([popen.stdout], [], [], 0.1)[0]:
                out += os.read(popen.stdout.fileno(), 65536)
    read_until(lambda: out.count(b'gpu2') >= 3)
    assert b'\x1b' not in out
    stand_in.stop()
    read_until(lambda: b'stale' in out)  # it goes on, and says how old it is
    again = backend([Node('gpu9')])
    read_until(lambda: b'gpu9' in out)
    popen.send_signal(signal.SIGINT)
    _, err = popen.communicate(timeout=DEADLINE_S)
    assert popen.returncode == 0
    lines = err.decode().rstrip('\n').split('\n')
    assert 1 <= len(lines) <= 2 and all('clustat-backend' in line for line in lines), err  # not one per picture
    assert again.queries
