"""clustat-backend with real servers on loopback: what users see, and when."""
import json
import os
import signal
import socket
import subprocess
import time

import pytest

from backend_harness import (DOWN, INEXACT, MAX_CONNECTIONS, NO_SNAPSHOTS, NO_WAIT, STALE, STOPPED, UP, WARMING,
                             ApiError, Backend)
from server_harness import Server, device, next_ports, wait_until, wire

FAST = {'connecting': 'heartbeat_interval = 0.2\nconnection_idle_timeout = 1'}


@pytest.fixture
def group():
    return next_ports()[1]


def server(folder, name, group, **options):
    folder = folder / ('server-' + name)
    folder.mkdir(exist_ok=True)
    return Server(folder, hostname=name, group_port=group, **options)


def names_of(answer):
    return [wire.decode_snapshot(node['body'])['hostname'].decode() for node in answer[0]]


def state_of(backend, hostname):
    nodes = backend.nodes(wait=False)
    return nodes[hostname]['state'] if hostname in nodes else None


# ---- finding nodes ----

def test_finds_nodes_by_multicast_and_answers_in_natural_order(tmp_path, group):
    with server(tmp_path, 'gpu10', group), server(tmp_path, 'gpu2', group), server(tmp_path, 'gpu1', group), \
            Backend(tmp_path, group_port=group) as backend:
        began = time.monotonic()
        answer = backend.ask()
        took = time.monotonic() - began
        assert names_of(answer) == ['gpu1', 'gpu2', 'gpu10']
        assert answer[1]['known'] == answer[1]['matched'] == 3
        assert {node['state'] for node in answer[0]} == {UP}
        assert took < 0.4  # discovery's first round; the bound of 0.3 s is measured where nothing else runs


def test_server_that_comes_later_is_found_by_its_announce(tmp_path, group):
    with Backend(tmp_path, group_port=group) as backend:
        assert backend.ask(flags=NO_WAIT)[0] == []
        with server(tmp_path, 'late1', group):
            backend.wait_nodes(lambda nodes: 'late1' in nodes, 5, wait=False)


@pytest.mark.parametrize('protocol', ['udp', 'tcp'])
def test_static_node_without_multicast(tmp_path, group, protocol):
    with server(tmp_path, 'gpu1', group) as gpu1, \
            Backend(tmp_path, {'connecting': 'protocol = "%s"' % protocol},
                    static=['localhost:%d' % gpu1.port]) as backend:
        backend.wait_nodes(lambda nodes: 'gpu1' in nodes and nodes['gpu1']['state'] == 'up', 5)
        assert list(backend.nodes()) == ['gpu1']  # ::1 and 127.0.0.1 are one node
        assert backend.nodes()['gpu1']['addr'].endswith(':%d' % gpu1.port)


def test_first_question_to_static_nodes_has_their_values(tmp_path, group):
    with server(tmp_path, 'gpu1', group) as gpu1, \
            Backend(tmp_path, static=['127.0.0.1:%d' % gpu1.port]) as backend:
        nodes, _ = backend.ask()
        assert [node['state'] for node in nodes] == [UP]


def test_static_nodes_from_the_environment_and_in_host_lists(tmp_path):
    closed = next_ports()[0]
    with Backend(tmp_path, static=['127.0.0.[2-3]:%d' % closed],
                 env={'CLUSTAT_STATIC_NODES': '127.0.0.9:%d' % closed}) as backend:
        assert sorted(node['addr'] for node in backend.nodes(wait=False).values()) == \
            ['127.0.0.%d:%d' % (i, closed) for i in (2, 3, 9)]


def test_static_node_that_never_answered_has_a_row(tmp_path):
    closed = next_ports()[0]
    with Backend(tmp_path, FAST, static=['127.0.0.1:%d' % closed, 'no-such-host.invalid']) as backend:
        began = time.monotonic()
        backend.ask()
        assert time.monotonic() - began < 0.2
        nodes = backend.wait_nodes(lambda n: n['127.0.0.1']['state'] == 'down'
                                   and 'no address' in (n['no-such-host.invalid']['error'] or ''), 15)
        assert len(nodes) == 2
        began = time.monotonic()
        backend.ask()
        assert time.monotonic() - began < 0.02


# ---- the known-nodes file ----

def test_restart_knows_the_nodes_at_once(tmp_path, group):
    with server(tmp_path, 'gpu1', group), server(tmp_path, 'gpu2', group), \
            server(tmp_path, 'gpu3', group), Backend(tmp_path, group_port=group) as backend:
        first = backend.ask()
        assert backend.stop()[0] == 0
        backend.start()
        began = time.monotonic()
        again = backend.ask()
        assert time.monotonic() - began < 0.1
        assert names_of(again) == ['gpu1', 'gpu2', 'gpu3'] and {n['state'] for n in again[0]} == {UP}
        assert [n['connection_id'] for n in again[0]] == [n['connection_id'] for n in first[0]]


def test_restart_shows_what_is_down_or_stopped(tmp_path, group):
    with server(tmp_path, 'killed', group) as killed, server(tmp_path, 'stopped', group) as stopped, \
            Backend(tmp_path, FAST, group_port=group) as backend:
        assert len(backend.ask()[0]) == 2
        stopped.stop()
        wait_until(lambda: state_of(backend, 'stopped') == 'stopped', 5, 'the goodbye')
        backend.stop()
        killed.kill()
        backend.start()
        nodes = backend.nodes()
        assert nodes['stopped']['state'] in ('stopped', 'warming', 'stale') and nodes['killed']['state'] in ('warming', 'stale')
        nodes = backend.wait_nodes(lambda n: n['killed']['state'] == 'down', 5)
        assert nodes['killed']['since_unix_us'] > (time.time() - 60) * 1e6
        assert nodes['stopped']['state'] in ('stopped', 'down')


@pytest.mark.parametrize('content', ['{"version": 1, "nodes": [', '{"version": 7, "nodes": []}', '\0' * 5000, '[]'])
def test_damaged_file_is_set_aside(tmp_path, group, content):
    with server(tmp_path, 'gpu1', group), Backend(tmp_path, group_port=group, start=False) as backend:
        backend.state.mkdir()
        backend.known.write_text(content)
        backend.start()
        assert names_of(backend.ask()) == ['gpu1']
        assert (backend.state / 'known-nodes.damaged.json').read_text() == content
        assert backend.log().count('known-nodes.json') == 1
        wait_until(lambda: backend.known.exists() and json.loads(backend.known.read_text())['nodes'], 5, 'a new file')


def test_unwritable_state_costs_a_line(tmp_path, group):
    state = tmp_path / 'backend-state'
    state.write_text('a file where the folder should be')
    with server(tmp_path, 'gpu1', group), Backend(tmp_path, group_port=group) as backend:
        assert names_of(backend.ask()) == ['gpu1']
        assert 'known nodes are not kept' in backend.log()
        assert backend.stop()[0] == 0


def test_full_disk_is_survived(tmp_path, group):
    state = tmp_path / 'backend-state'
    state.mkdir()
    mount = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c',
             'mount -t tmpfs -o size=4k none "$0" && head -c 4096 /dev/zero >"$0/filler" && exec "$@"', str(state)]
    probe = subprocess.run(mount + ['true'], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip('no mount in a user namespace: ' + probe.stderr.strip())
    with server(tmp_path, 'gpu1', group), Backend(tmp_path, group_port=group, prefix=mount) as backend:
        assert names_of(backend.ask()) == ['gpu1']
        backend.wait_log('known-nodes.json cannot be written: No space left on device')
        time.sleep(0.7)
        assert names_of(backend.ask()) == ['gpu1']
        assert backend.log().count('cannot be written') == 1
        assert backend.stop()[0] == 0


# ---- nodes that are in trouble ----

def test_silent_node_delays_one_answer_only(tmp_path, group):
    with server(tmp_path, 'good', group), server(tmp_path, 'hung', group) as hung, \
            Backend(tmp_path, FAST, group_port=group) as backend:
        assert {n['state'] for n in backend.ask()[0]} == {UP}
        with backend.connect() as connection:
            hung.signal(signal.SIGSTOP)
            try:
                time.sleep(0.05)  # longer than cache_ttl_ms
                began = time.monotonic()
                nodes, _ = connection.ask()
                assert time.monotonic() - began < 0.15
                for _ in range(5):
                    time.sleep(0.05)
                    began = time.monotonic()
                    nodes, _ = connection.ask()
                    assert time.monotonic() - began < 0.02
                assert [n['state'] for n in nodes] == [UP, STALE]
                assert abs(nodes[1]['since_us'] / 1e6 - time.time()) < 5 and nodes[1]['age_us'] > 200000
                wait_until(lambda: connection.ask()[0][1]['state'] == DOWN, 5, 'down')
            finally:
                hung.signal(signal.SIGCONT)
            wait_until(lambda: connection.ask()[0][1]['state'] == UP, 5, 'up again')
        assert 'hung' in backend.log() and 'is down' in backend.log() and 'is back' in backend.log()


def test_stopped_server_says_goodbye_and_comes_back(tmp_path, group):
    with server(tmp_path, 'gpu1', group) as gpu1, Backend(tmp_path, group_port=group) as backend:
        first = backend.ask()[0][0]
        gpu1.stop()
        wait_until(lambda: state_of(backend, 'gpu1') == 'stopped', 1, 'stopped within a second')
        node = backend.ask()[0][0]
        assert node['state'] == STOPPED and abs(node['since_us'] / 1e6 - time.time()) < 5
        gpu1.start()
        wait_until(lambda: state_of(backend, 'gpu1') == 'up', 5, 'up again')
        assert backend.ask()[0][0]['connection_id'] == first['connection_id']


def test_killed_server_is_down_within_the_idle_timeout(tmp_path, group):
    with server(tmp_path, 'gpu1', group) as gpu1, Backend(tmp_path, FAST, group_port=group) as backend:
        backend.ask()
        gpu1.kill()
        wait_until(lambda: state_of(backend, 'gpu1') == 'down', 3, 'down')


@pytest.mark.parametrize('clean', [True, False])
def test_server_restarted_on_another_port_is_the_same_node(tmp_path, group, clean):
    with server(tmp_path, 'gpu1', group) as gpu1, Backend(tmp_path, FAST, group_port=group) as backend:
        first = backend.ask()[0][0]
        gpu1.stop() if clean else gpu1.kill()
        gpu1.ports = next_ports()
        gpu1.write_config()
        gpu1.start()
        wait_until(lambda: state_of(backend, 'gpu1') == 'up'
                   and backend.nodes()['gpu1']['addr'].endswith(str(gpu1.port)), 5, 'the new port')
        nodes, _ = backend.ask()
        assert [n['connection_id'] for n in nodes] == [first['connection_id']]


def test_address_that_moves_to_another_host(tmp_path, group):
    with server(tmp_path, 'old', group) as old, Backend(tmp_path, FAST, group_port=group) as backend:
        backend.ask()
        old.kill()
        with server(tmp_path, 'new', group, ports=old.ports):
            wait_until(lambda: state_of(backend, 'new') == 'up' and state_of(backend, 'old') in ('stale', 'down'), 5, 'two rows')
            wait_until(lambda: state_of(backend, 'old') == 'down', 5, 'the old one down')
            nodes = backend.nodes()
            assert len(nodes) == 2 and nodes['new']['state'] == 'up'


def test_two_live_servers_of_one_identity_are_two_rows(tmp_path, group):
    with server(tmp_path, 'twin', group) as first, Backend(tmp_path, FAST, group_port=group) as backend:
        only = backend.ask()[0][0]
        (tmp_path / 'other').mkdir()
        with Server(tmp_path / 'other', hostname='twin', group_port=group) as second:
            wait_until(lambda: len(backend.ask()[0]) == 2, 5, 'the second row')
            nodes, _ = backend.ask()
            assert [n['connection_id'] for n in nodes].count(only['connection_id']) == 1
            assert only['connection_id'] + '-2' in [n['connection_id'] for n in nodes]
            assert all('another running server' in n['error'] for n in nodes)
            assert {int(n['addr'].rpartition(':')[2]) for n in nodes} == {first.port, second.port}
            for _ in range(10):  # nothing flaps
                assert [n['connection_id'] for n in backend.ask()[0]] == [n['connection_id'] for n in nodes]
                time.sleep(0.02)
            first.stop()
            wait_until(lambda: len(backend.ask()[0]) == 1, 5, 'one row again')
            node = backend.ask()[0][0]
            assert node['connection_id'] == only['connection_id'] and node['error'] is None
            assert node['addr'].endswith(':%d' % second.port)


def test_forgetting(tmp_path, group):
    with server(tmp_path, 'alive', group), server(tmp_path, 'gone', group) as gone, \
            Backend(tmp_path, FAST, group_port=group) as backend:
        backend.ask()
        gone.kill()
        wait_until(lambda: state_of(backend, 'gone') == 'down', 3, 'down')
        with backend.connect() as connection:
            with pytest.raises(ApiError) as error:
                connection.forget('nobody')
            assert error.value.code == 6
            assert connection.forget('alive,gone') == (1, 1)
        assert list(backend.nodes()) == ['alive']
        wait_until(lambda: 'gone' not in backend.known.read_text(), 5, 'the file without it')


def test_forgotten_static_node_stays_away_until_it_answers(tmp_path, group):
    ports = next_ports()
    with Backend(tmp_path, FAST, static=['127.0.0.1:%d' % ports[0]]) as backend:
        wait_until(lambda: state_of(backend, '127.0.0.1') == 'down', 5, 'down')
        assert backend.line('FORGET 127.0.0.1') == 'FORGOTTEN 1, still up 0'
        time.sleep(1.2)  # a sweep, which looks for static nodes without a row
        assert backend.ask(flags=NO_WAIT)[0] == []
        with server(tmp_path, 'gpu1', group, ports=ports):
            wait_until(lambda: state_of(backend, 'gpu1') == 'up', 30, 'up')


# ---- questions ----

def test_filter_asks_only_who_is_wanted(tmp_path, group):
    with server(tmp_path, 'gpu1', group) as gpu1, server(tmp_path, 'gpu2', group), \
            Backend(tmp_path, group_port=group) as backend:
        backend.ask()
        before = backend.status()['sessions']['queries']
        time.sleep(0.06)
        answer = backend.ask('gpu1')
        assert names_of(answer) == ['gpu1'] and answer[1] == {'known': 2, 'matched': 1, 'left_out': 0,
                                                              'flags': answer[1]['flags']}
        assert backend.status()['sessions']['queries'] == before + 1
        assert names_of(backend.ask('127.0.0.1:%d' % gpu1.port)) == ['gpu1']
        assert names_of(backend.ask(answer[0][0]['connection_id'])) == ['gpu1']
        assert backend.ask('pu1')[1]['flags'] & INEXACT
        assert backend.ask('nobody') [1]['matched'] == 0


@pytest.mark.parametrize('filter, says', [('x[0-4294967295]', 'range'), ('gpu[1', ''), ('[', '')])
def test_bad_filter_gets_a_clear_error(tmp_path, filter, says):
    with Backend(tmp_path) as backend:
        with pytest.raises(ApiError) as error:
            backend.ask(filter)
        assert error.value.code == 1 and 'filter, character' in error.value.text and says in error.value.text
        assert backend.line('QUERY ' + json.dumps({'filter': filter})).startswith('ERR filter, character')


def test_equal_questions_are_joined_and_values_kept_for_a_while(tmp_path, group):
    with server(tmp_path, 'gpu1', group) as gpu1, \
            Backend(tmp_path, {'services': 'cache_ttl_ms = 200\nnode_deadline_ms = 2000'}, group_port=group) as backend:
        backend.ask()
        time.sleep(0.25)
        gpu1.signal(signal.SIGSTOP)
        before = backend.status()
        connections = [backend.connect() for _ in range(20)]
        for connection in connections:
            connection.ask_later = connection.request_id = 1
            from backend_harness import view_query
            connection.send(view_query(request_id=1))
        wait_until(lambda: backend.status()['questions']['asked'] == before['questions']['asked'] + 20, 5, 'all asked')
        gpu1.signal(signal.SIGCONT)
        for connection in connections:
            assert connection.answer(1)[1]['matched'] == 1
        backend.ask()  # within the 200 ms
        after = backend.status()
        assert after['sessions']['queries'] - before['sessions']['queries'] == 1
        assert after['questions']['joined'] - before['questions']['joined'] == 19
        for connection in connections:
            connection.close()


def test_question_about_some_users(tmp_path, group):
    mine = device('gpu0', processes=[{'pid': os.getpid(), 'mem': 1 << 30}])
    with server(tmp_path, 'gpu1', group, devices=[mine, device('gpu1')]), Backend(tmp_path, group_port=group) as backend:
        wait_until(lambda: any(d['processes'] for n in backend.query()['nodes'] for d in n['gres']), 10, 'a process')
        uid = os.getuid()
        nodes, _ = backend.ask(users=[uid])
        devices = wire.decode_snapshot(nodes[0]['body'])['devices']
        assert len(devices) == 1
        assert backend.ask(users=[uid + 1])[0] == []
        assert [len(n['gres']) for n in backend.query(users=[uid])['nodes']] == [1]
        name = backend.query()['nodes'][0]['gres'][0]['processes'][0]['username']
        assert name


def test_nodes_alone(tmp_path, group):
    with server(tmp_path, 'gpu1', group), Backend(tmp_path, group_port=group) as backend:
        nodes, _ = backend.ask(flags=NO_SNAPSHOTS)
        snapshot = wire.decode_snapshot(nodes[0]['body'])
        assert snapshot['hostname'] == b'gpu1' and snapshot['devices'] == [] and nodes[0]['software']
        assert nodes[0]['seen_us'] < 1e6


def test_one_shot_waits_for_the_first_node_only(tmp_path, group):
    with Backend(tmp_path, {'connecting': 'discover_wait_secs = 1'}, group_port=group) as backend:
        began = time.monotonic()
        assert backend.ask(flags=NO_WAIT)[0] == [] and backend.ask(interval_us=50000)[0] == []
        assert time.monotonic() - began < 0.1
        nodes, end = backend.ask()
        assert nodes == [] and 0.5 < time.monotonic() - began < 1.5
        began = time.monotonic()
        backend.ask()
        assert time.monotonic() - began < 0.1


def test_max_connections_is_told(tmp_path, group):
    with server(tmp_path, 'gpu1', group), server(tmp_path, 'gpu2', group), \
            Backend(tmp_path, {'connecting': 'max_connections = 1'}, group_port=group) as backend:
        wait_until(lambda: backend.ask()[1]['left_out'] == 1, 5, 'a node left out')
        nodes, end = backend.ask()
        assert len(nodes) == 1 and end['flags'] & MAX_CONNECTIONS
        assert 'max_connections = 1 is reached' in backend.log()


# ---- keys ----

def test_sealed_cluster_and_wrong_keys(tmp_path, group):
    key = tmp_path / 'key'
    key.write_text('00112233445566778899aabbccddeeff' * 2 + '\n')
    other = tmp_path / 'other-key'
    other.write_text('ff112233445566778899aabbccddee00' * 2 + '\n')
    for path in (key, other):
        path.chmod(0o600)
    security = {'security': 'key_file = "%s"' % key}
    with server(tmp_path, 'gpu1', group, config=security) as gpu1, \
            Backend(tmp_path, security, group_port=group) as backend:
        assert names_of(backend.ask()) == ['gpu1']
        assert backend.status()['sealed'] and 'not sealed' not in backend.log()
        (tmp_path / 'wrong').mkdir()
        with Backend(tmp_path / 'wrong', {'security': 'key_file = "%s"' % other}, group_port=group,
                     static=['127.0.0.1:%d' % gpu1.port]) as wrong, \
                Backend(tmp_path / 'wrong', group_port=group, static=['127.0.0.1:%d' % gpu1.port],
                        name='plain') as plain:
            wait_until(lambda: 'key_file' in (wrong.nodes()['127.0.0.1']['error'] or '') or
                       wrong.status()['discovery']['input']['bad_seal'], 5, 'counted')
            assert wrong.nodes()['127.0.0.1']['state'] in ('warming', 'stale', 'down')
            wait_until(lambda: 'key_file' in (plain.nodes()['127.0.0.1']['error'] or ''), 5, 'said')


def test_refused_by_allow(tmp_path, group):
    with server(tmp_path, 'gpu1', group, config={'security': 'allow = ["10.9.8.7"]'}) as gpu1, \
            Backend(tmp_path, static=['127.0.0.1:%d' % gpu1.port]) as backend:
        wait_until(lambda: 'security.allow' in (backend.nodes()['127.0.0.1']['error'] or ''), 5, 'said')


# ---- life ----

def test_stop_removes_the_socket_and_says_goodbye(tmp_path, group):
    with server(tmp_path, 'gpu1', group) as gpu1, Backend(tmp_path, group_port=group) as backend:
        backend.ask()
        wait_until(lambda: gpu1.status()['sessions'] == 1, 5, 'a session')
        status, took = backend.stop()
        assert status == 0 and took < 2 and not backend.socket.exists()
        wait_until(lambda: gpu1.status()['sessions'] == 0, 1, 'the goodbye')


def test_second_backend_says_who_is_there(tmp_path):
    with Backend(tmp_path) as backend:
        with Backend(tmp_path, wait=False) as second:
            assert second.process.wait(5) == 1
        assert 'pid %d' % backend.process.pid in backend.log() and 'in use' in backend.log()
        assert backend.line('LIST') == ''


def test_socket_of_a_killed_backend_is_replaced(tmp_path):
    with Backend(tmp_path) as backend:
        backend.kill()
        assert backend.socket.exists()
        backend.start()
        assert backend.line('LIST') == ''


def test_foreign_file_is_not_touched(tmp_path):
    with Backend(tmp_path, start=False) as backend:
        backend.socket.write_text('precious')
        backend.start(wait=False)
        assert backend.process.wait(5) == 1
        assert backend.socket.read_text() == 'precious' and 'no socket of ours' in backend.log()


def test_reload(tmp_path, group):
    with server(tmp_path, 'gpu1', group) as gpu1, server(tmp_path, 'gpu2', group) as gpu2, \
            Backend(tmp_path, FAST, static=['127.0.0.1:%d' % gpu1.port]) as backend:
        assert list(backend.nodes()) == ['gpu1']
        backend.static = ['127.0.0.1:%d' % gpu2.port]
        backend.write_config({'connecting': FAST['connecting'] + '\nmulticast_ttl = 2'.replace('multicast_ttl', 'max_connections'),
                              'services': 'cache_ttl_ms = 5'})
        backend.signal(signal.SIGHUP)
        backend.wait_log('these keys need a restart: connecting.max_connections')
        backend.wait_nodes(lambda nodes: sorted(nodes) == ['gpu1', 'gpu2'], 5)  # what was found stays
        backend.config.write_text('[connecting]\nprotocol = "tpc"\n')
        backend.signal(signal.SIGHUP)
        backend.wait_log('the configuration was not taken over')
        assert 'backend.toml:2: connecting.protocol' in backend.log()
        assert sorted(backend.nodes()) == ['gpu1', 'gpu2']


def test_service_manager_is_told(tmp_path):
    path = tmp_path / 'notify'
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(path))
    listener.settimeout(5)
    with listener, Backend(tmp_path, env={'NOTIFY_SOCKET': str(path), 'WATCHDOG_USEC': '200000'}) as backend:
        assert b'READY=1' in listener.recv(4096)
        assert b'WATCHDOG=1' in listener.recv(4096)
        assert b'WATCHDOG=1' in listener.recv(4096)
        backend.stop()
        messages = []
        listener.settimeout(1)
        while not any(b'STOPPING=1' in message for message in messages):
            messages.append(listener.recv(4096))
