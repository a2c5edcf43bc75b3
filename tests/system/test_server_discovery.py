"""How clustat-server is found: announces, answers to probes, unicast announces."""
import secrets
import signal
import socket
import time

import pytest

from server_harness import Group, Server, next_ports, wire


@pytest.fixture
def ports():
    return next_ports()


@pytest.fixture
def group(ports):
    with Group(ports[1]) as group:
        yield group


def test_it_announces_itself_at_start(tmp_path, ports, group):
    with Server(tmp_path, ports=ports, hostname='gpu07') as server:
        announce, source = group.receive(2)
        assert source[0] == '127.0.0.1'
        assert (announce['udp_port'], announce['tcp_port'], announce['flags']) == (ports[0], ports[0], 0)
        assert announce['hostname'] == b'gpu07'
        assert abs(announce['sequence'] / 1e6 - time.time()) < 5
        with server.client(port=announce['udp_port']) as client:
            welcome = client.handshake()
        assert (welcome['identity'], welcome['instance']) == (announce['identity'], announce['instance'])




def test_probes_are_answered_unless_the_node_is_known(tmp_path, ports, group):
    with Server(tmp_path, ports=ports) as server:
        announce, _ = group.receive(2)
        group.send(wire.Frame(wire.PROBE, 0, wire.put_probe(secrets.randbits(64), salt=7, spread_ms=100)))
        answer, _ = group.receive(2, unicast=True)
        assert answer['identity'] == announce['identity'] and answer['sequence'] > announce['sequence']
        group.send(wire.Frame(wire.PROBE, 0, wire.put_probe(2, salt=8, spread_ms=0, known=[secrets.token_bytes(16)])))
        assert group.receive(2, unicast=True), 'another node is known'
        group.send(wire.Frame(wire.PROBE, 0, wire.put_probe(3, salt=9, spread_ms=0, known=[announce['identity']])))
        server.wait_status(lambda s: s['discovery_known'] == 1)
        assert group.receive(0.3, unicast=True) is None


def test_probes_that_are_short_or_frequent_get_little(tmp_path, ports, group):
    with Server(tmp_path, ports=ports) as server:
        group.receive(2)
        group.send(wire.Frame(wire.PROBE, 0, wire.put_probe(1)[:200]))
        server.wait_status(lambda s: s['discovery_bad_message'] == 1)
        for i in range(300):
            group.send(wire.Frame(wire.PROBE, 0, wire.put_probe(i, spread_ms=0)))
        server.wait_status(lambda s: s['discovery_rate'] + s['discovery_full'] > 0)
        answers = 0
        while group.receive(0.5, unicast=True):
            answers += 1
        assert answers < 100


def test_junk_on_the_group_hurts_nobody(tmp_path, ports, group):
    with Server(tmp_path, ports=ports) as server:
        group.receive(2)
        for junk in (b'x', bytes(1400), wire.datagrams(wire.Frame(wire.QUERY, 1, bytes(28)).bytes(), 1)[0],
                     wire.datagrams(wire.Frame(wire.ANNOUNCE, 0, bytes(64)).bytes(), 1)[0]):
            group.sender.sendto(junk, ('239.195.7.9', ports[1]))
        group.send(wire.Frame(wire.PROBE, 0, wire.put_probe(1, spread_ms=0)))
        assert group.receive(2, unicast=True)
        assert server.process.poll() is None


def test_it_says_that_it_stops(tmp_path, ports, group):
    with Server(tmp_path, ports=ports) as server:
        group.receive(2)
        server.signal(signal.SIGTERM)
        while True:
            received = group.receive(2)
            assert received, 'no announce that it stops'
            if received[0]['flags'] & 1:
                break
        assert server.process.wait(5) == 0


def test_announces_by_unicast(tmp_path, ports):
    """No multicast at all: the hosts of announce_to get announces all the same."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as login:
        login.bind(('127.0.0.1', 0))
        login.settimeout(5)
        config = {'connecting': 'multicast_addr = ""\nannounce_to = ["localhost:%d", "nosuch.invalid"]'
                                % login.getsockname()[1]}
        with Server(tmp_path, config, ports=ports, hostname='gpu07') as server:
            frame = wire.parse_frame(wire.Chunk(login.recv(2048)).payload)
            announce = wire.get_announce(frame.body)
            assert (frame.type, announce['udp_port'], announce['hostname']) == (wire.ANNOUNCE, ports[0], b'gpu07')
            server.wait_log('connecting.announce_to: nosuch.invalid: ', 10)
            assert server.log().count('nosuch.invalid') == 1
            assert server.status()['multicast_interfaces'] == 0


def test_sealed_discovery(tmp_path, ports, group):
    if not wire.sodium():
        pytest.skip('no libsodium.so here')
    key = secrets.token_bytes(32)
    (tmp_path / 'key').write_text(key.hex())
    (tmp_path / 'key').chmod(0o600)
    with Server(tmp_path, {'security': 'key_file = "%s"' % (tmp_path / 'key')}, ports=ports) as server:
        announce, _ = group.receive(2, key=key)
        assert announce['udp_port'] == ports[0]
        group.send(wire.Frame(wire.PROBE, 0, wire.put_probe(1, spread_ms=0)))
        server.wait_status(lambda s: s['discovery_unsealed'] == 1)
        group.send(wire.seal(wire.Frame(wire.PROBE, 0, wire.put_probe(2, spread_ms=0)), secrets.token_bytes(32),
                             wire.TO_SERVER))
        server.wait_status(lambda s: s['discovery_bad_seal'] == 1)
        group.send(wire.seal(wire.Frame(wire.PROBE, 0, wire.put_probe(3, spread_ms=0)), key, wire.TO_SERVER))
        assert group.receive(2, unicast=True, key=key)


def test_without_an_interface_it_warns_and_serves(tmp_path, ports):
    config = {'connecting': 'multicast_outbound_ip = ["192.0.2.77"]\nmulticast_retry_limit = 1'}
    with Server(tmp_path, config, ports=ports) as server:
        server.wait_log('connecting.multicast_outbound_ip are on no interface now')
        server.wait_log('announces in a row could not be sent', 20)
        with server.client() as client:
            client.handshake()
