"""The local API of clustat-backend: lines, limits, and users who mean no good."""
import json
import resource
import signal
import socket
import struct
import time

import pytest

from backend_harness import (API_ERROR, FORGET, VIEW_END, ApiError, Backend, Cursor, frame, optional_text, view_query)
from server_harness import Server, device, next_ports, wait_until


@pytest.fixture
def group():
    return next_ports()[1]


@pytest.fixture
def backend(tmp_path):
    with Backend(tmp_path) as backend:
        yield backend


@pytest.fixture
def with_node(tmp_path, group):
    (tmp_path / 'server').mkdir()
    devices = [device('gpu%d' % i) for i in range(8)]
    with Server(tmp_path / 'server', hostname='gpu1', group_port=group, devices=devices), \
            Backend(tmp_path, group_port=group) as backend:
        wait_until(lambda: backend.ask()[1]['matched'] == 1, 5, 'the node')
        yield backend


def memory_kb(backend):
    for line in open('/proc/%d/status' % backend.process.pid):
        if line.startswith('VmRSS'):
            return int(line.split()[1])


def descriptors(backend):
    import os
    return len(os.listdir('/proc/%d/fd' % backend.process.pid))


# ---- lines ----

def test_query_is_one_line_of_the_json_of_clustat(with_node):
    line = with_node.line('QUERY')
    answer = json.loads(line)
    assert answer['meta']['status'] == 'ok' and [n['hostname'] for n in answer['nodes']] == ['gpu1']
    assert len(answer['nodes'][0]['gres']) == 8
    assert json.loads(with_node.line('QUERY {"filter": "nobody"}'))['nodes'] == []
    assert json.loads(with_node.line('QUERY {"filter": "gpu[1-3]", "users": [], "wait": false}'))['nodes']


@pytest.mark.parametrize('line, says', [
    ('QUERY {"filter": 5}', 'filter must be'), ('QUERY [1]', 'takes an object'), ('QUERY {', 'QUERY, character'),
    ('QUERY {"users": ["root"]}', 'user ids'), ('QUERY {"users": [-1]}', 'user ids'), ('QUERY {"x": 1}', 'allowed are filter'),
    ('QUERY {"filter": "a", "filter": "b"}', 'QUERY, character'), ('QUERY {"wait": 1}', 'wait must'),
    ('QUERY ' + '[' * 3000, 'QUERY, character'),
    ('query', 'allowed are QUERY'), ('', 'allowed are QUERY'), ('LIST x', 'allowed are QUERY'), ('FORGET', 'takes a filter'),
    ('FORGET x[1', 'filter, character'), ('\x01\x02 \xff', 'allowed are QUERY')])
def test_wrong_lines_get_an_error_and_the_connection_goes_on(backend, line, says):
    with backend.connect() as connection:
        answer = connection.line(line)
        assert answer.startswith('ERR ') and says in answer
        assert connection.line('LIST') == ''


def test_lines_are_answered_in_turn(with_node):
    with with_node.connect() as connection:
        connection.send(b'QUERY\nLIST\nQUERY {"filter": "nobody"}\nSTATUS\n')
        assert json.loads(connection.line())['nodes']
        assert connection.line().split('\t')[1:4:2] == ['gpu1', 'up'] and connection.line() == ''
        assert json.loads(connection.line())['nodes'] == []
        assert json.loads(connection.line())['nodes']['known'] == 1


def test_asker_that_closes_its_side_still_gets_the_answer(with_node):
    with with_node.connect() as connection:
        connection.send(b'QUERY\nLIST\n')
        connection.socket.shutdown(socket.SHUT_WR)
        assert json.loads(connection.line())['nodes']
        assert connection.line() and connection.line() == ''
        with pytest.raises(EOFError):
            connection.line()


def test_many_lines_at_once_do_not_pile_up(with_node):
    with with_node.connect() as connection:
        connection.send(b'QUERY\n' * 3000)
        lines = 0
        try:
            while True:
                lines += connection.line().startswith(('ERR', '{'))
                if lines == 3000:
                    break
        except (EOFError, ConnectionError):
            pass
        assert lines > 100
    answers = []
    wait_until(lambda: answers.append(with_node.line('STATUS')) or answers[-1][0] == '{', 5, 'lines allowed again')
    assert json.loads(answers[-1])['api']['over_rate'] > 0


# ---- hostile users ----

def test_gigabyte_line_costs_nothing(backend):
    before = memory_kb(backend)
    with backend.connect() as connection:
        sent = 0
        try:
            while sent < 1 << 30:
                sent += connection.socket.send(b'x' * (1 << 20))
        except (BrokenPipeError, ConnectionResetError):
            pass
        try:
            assert connection.line().startswith('ERR the line is too long: allowed are 65536 bytes')
        except ConnectionResetError:
            pass  # the kernel throws the answer away where we had sent more than was read
    assert memory_kb(backend) - before < 4096
    assert backend.line('LIST') == ''


def test_too_long_line_gets_a_clear_error(backend):
    with backend.connect() as connection:
        connection.send(b'QUERY ' + b'x' * 70000)
        assert connection.line().startswith('ERR the line is too long: allowed are 65536 bytes')


@pytest.mark.parametrize('data, code', [
    (frame(48, b''), 1), (frame(48, b'\0' * 7 + b'\xff\xff'), 1), (frame(52, b'\0'), 1), (frame(99, b''), 1),
    (frame(20, b'\0' * 30), 1), (frame(48, b'', version=9), 4)])
def test_bad_frames_get_an_error(backend, data, code):
    with backend.connect() as connection:
        connection.send(data)
        kind, request_id, body = connection.frame()
        assert kind == API_ERROR and request_id == 1 and body[0] == code
        if code == 4:
            assert 'version 9' in Cursor(body[1:]).text()
    assert backend.line('LIST') == ''


def test_frame_that_claims_too_much(backend):
    with backend.connect() as connection:
        connection.send(struct.pack('>IBBHQI', 0x434C5354, 1, 48, 0, 1, 0xFFFFFFFF))
        kind, _, body = connection.frame()
        assert kind == API_ERROR and 'too long' in Cursor(body[1:]).text()


def test_longest_filter(backend):
    assert backend.ask(','.join('n%d' % i for i in range(4000)), flags=2)[1]['matched'] == 0
    with pytest.raises(ApiError):
        backend.ask(','.join('n%d' % i for i in range(5000)), flags=2)


def test_slow_reader_gets_the_latest_answer_only(with_node):
    with with_node.connect(timeout=10) as slow:
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for number in range(1, 3001):
            slow.send(view_query(flags=2, interval_us=50000, request_id=number))
        wait_until(lambda: with_node.status()['api']['slow'] > 100, 10, 'answers that were replaced')
        wait_until(lambda: with_node.status()['api']['requests'] >= 3000, 10, 'all requests')
        answers = []
        while not answers or answers[-1] != 3000:
            kind, request_id, _ = slow.frame()
            if kind == VIEW_END:
                answers.append(request_id)
        assert answers == sorted(answers) and len(answers) < 2900
        # Others were served all the while.
        began = time.monotonic()
        with_node.ask()
        assert time.monotonic() - began < 0.1


def test_connections_per_user(backend):
    connections = [backend.connect() for _ in range(300)]
    try:
        wait_until(lambda: connections[0].line('LIST') == '', 5, 'served')
        answers = []
        for connection in connections[1:]:
            try:
                answers.append(connection.line('LIST'))
            except (EOFError, ConnectionError):
                answers.append(None)
        assert answers.count('') >= 250
        assert any(answer and answer.startswith('ERR you have more than 256 connections') for answer in answers)
        assert None in answers
        with backend.connect() as late:
            with pytest.raises((EOFError, ConnectionError)):
                late.line('LIST')
    finally:
        for connection in connections:
            connection.close()
    wait_until(lambda: descriptors(backend) < 40, 5, 'descriptors given back')
    assert backend.line('LIST') == ''


def test_forget_is_for_the_owner(backend):
    # Another user cannot be had without root; the owner can, and is told what is missing.
    with backend.connect() as connection:
        with pytest.raises(ApiError) as error:
            connection.forget('gpu1')
        assert error.value.code == 6


def test_no_memory_or_descriptor_grows(with_node):
    def work():
        for _ in range(200):
            with with_node.connect() as connection:
                connection.ask()
                connection.ask('gpu1', users=[1])
            with_node.line('LIST')
    work()
    memory, files = memory_kb(with_node), descriptors(with_node)
    for _ in range(3):
        work()
    assert memory_kb(with_node) - memory < 1024 and descriptors(with_node) <= files + 1


def test_clients_that_vanish(with_node):
    for _ in range(100):
        connection = with_node.connect()
        connection.send(view_query(request_id=1))
        connection.close()
        connection = with_node.connect()
        connection.send(b'QUERY')
        connection.close()
    wait_until(lambda: with_node.status()['api']['connections'] == 1, 5, 'all gone')


def test_many_watches(with_node):
    connections = [with_node.connect() for _ in range(64)]
    before = with_node.status()['sessions']['queries']
    began, rounds = time.monotonic(), 0
    while time.monotonic() - began < 1:
        rounds += 1
        for connection in connections:
            connection.send(view_query(request_id=rounds, interval_us=50000))
        for connection in connections:
            assert connection.answer(rounds)[1]['matched'] == 1
        time.sleep(max(0, began + rounds * 0.05 - time.monotonic()))
    asked = with_node.status()['sessions']['queries'] - before
    assert rounds >= 18 and asked <= 1.1 / 0.04
    for connection in connections:
        connection.close()


def test_killed_at_any_moment(tmp_path, group):
    (tmp_path / 'server').mkdir()
    with Server(tmp_path / 'server', hostname='gpu1', group_port=group), \
            Backend(tmp_path, group_port=group) as backend:
        for i in range(8):
            time.sleep(0.02 * i)
            backend.signal(signal.SIGKILL)
            backend.process.wait()
            backend.start()
        assert [n['state'] for n in backend.ask()[0]] == [0]
        wait_until(backend.known.exists, 5, 'the file')
        json.loads(backend.known.read_text())
