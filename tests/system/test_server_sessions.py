"""clustat-server's sessions, over both transports, seen by a client written from docs/protocol.md."""
import secrets
import socket
import struct
import time

import pytest

from server_harness import Server, device, wire

BOTH = pytest.mark.parametrize('protocol', ['udp', 'tcp'])


@pytest.fixture
def server(tmp_path):
    with Server(tmp_path, devices=[device('gpu0'), device('gpu1', temperature=61)], hostname='gpu07') as server:
        yield server


@BOTH
def test_handshake_and_query(server, protocol):
    with server.client(protocol) as client:
        welcome = client.handshake()
        assert welcome['version'] == 1 and welcome['idle_ms'] == 10000 and welcome['instance']
        assert welcome['software'].decode() == server.status()['version']
        reply = server.wait_snapshot(client, lambda s: s['flags'] & 1)
        snapshot = reply['snapshot']
        assert snapshot['hostname'] == b'gpu07' and snapshot['driver_version'] == b'580.95.05'
        assert [d['uuid'] for d in snapshot['devices']] == [b'GPU-gpu0', b'GPU-gpu1']
        assert snapshot['devices'][1]['fields']['temperature_c'] == 61
        client.ping()
        client.goodbye()
    server.wait_status(lambda s: s['sessions'] == 0)


@BOTH
def test_facts_travel_once(server, protocol):
    with server.client(protocol) as client:
        client.handshake()
        server.wait_snapshot(client, lambda s: s['flags'] & 1)
        reply = client.query()
        assert reply['facts'] == b'' and reply['process_facts'] == b'' and reply['snapshot']['devices']
        # Who says that he knows nothing gets everything.
        everything = wire.get_reply(client.ask(wire.QUERY, wire.put_query(client.token)).body)
        assert everything['facts'] and everything['base'] == 0
        assert wire.decode_snapshot(everything['readings'] + everything['facts'] + everything['process_facts'])


def test_a_repeated_question_is_answered_again(server):
    with server.client() as client:
        client.handshake()
        server.wait_snapshot(client, lambda s: s['flags'] & 1)
        body = wire.put_query(client.token)
        first = client.ask(wire.QUERY, body)
        client.request -= 1
        again = client.ask(wire.QUERY, body)
        assert again.request == first.request and again.body == first.body


def test_missing_chunks_are_sent_again(server):
    """Chunks of a reply are asked for one by one; they are what they were."""
    with server.client() as client:
        client.handshake()
        server.wait_snapshot(client, lambda s: s['flags'] & 1)
        request = client.next_request()
        client.send(wire.Frame(wire.QUERY, request, wire.put_query(client.token)))
        chunks = [wire.Chunk(client.socket.recv(1 << 16))]
        while len(chunks) < chunks[0].count:
            chunks.append(wire.Chunk(client.socket.recv(1 << 16)))
        for chunk in chunks:
            client.send(wire.Frame(wire.RESEND, request,
                                   wire.put_resend(client.token, request, chunk.count, [chunk.number])))
            again = wire.Chunk(client.socket.recv(1 << 16))
            assert (again.frame_id, again.number, again.payload) == (chunk.frame_id, chunk.number, chunk.payload)
    server.wait_status(lambda s: s['resends'] == len(chunks))


def test_a_long_reply_comes_in_chunks(tmp_path):
    devices = [device('gpu%d' % i) for i in range(32)]
    with Server(tmp_path, {'connecting': 'udp_mtu = 576'}, devices) as server, server.client() as client:
        client.handshake()
        server.wait_snapshot(client, lambda s: s['flags'] & 1)
        before = client.datagrams_in
        client.facts_hash = client.generation = 0
        assert len(client.query()['snapshot']['devices']) == 32
        assert client.datagrams_in - before > 3


@pytest.mark.slow
def test_first_question_after_a_pause_is_fresh(server):
    """Nobody has asked for long: the sampler reads at once, and the answer waits for it."""
    with server.client() as client:
        client.handshake()
        server.wait_snapshot(client, lambda s: s['flags'] & 1)
    # Time passes and nobody asks: the sampler takes it easy, and its last reading grows old.
    server.wait_status(lambda s: s['snapshot_age_us'] > 3000000, 20)
    with server.client() as client:
        client.handshake()
        began = time.monotonic()
        reply = client.query()
        took = time.monotonic() - began
        hot = max(d['ages_us']['hot'] for d in reply['snapshot']['devices']) + reply['age_us']
        assert hot < 60000, 'read for this question, not %d us ago' % hot
        assert took < 0.2


# ---- who may ----

@BOTH
def test_addresses_outside_allow_are_refused(tmp_path, protocol):
    with Server(tmp_path, {'security': 'allow = ["10.0.0.0/8"]'}) as server, server.client(protocol) as client:
        with pytest.raises(wire.Refused) as refused:
            client.handshake()
        assert refused.value.reason == wire.REFUSE_ALLOWED
        assert client.received_bytes <= client.sent_bytes
        server.wait_log('security.allow')
        for _ in range(5):
            if protocol == 'udp':
                client.send(wire.Frame(wire.HELLO, 1, wire.put_hello(1, 2)))
        status = server.status()
        assert status['sessions'] == 0 and status['input_not_allowed'] >= 1
        assert server.log().count('refused 127.0.0.1') == 1, 'one line per source'


@BOTH
def test_another_version_is_answered_with_ours(server, protocol):
    with server.client(protocol) as client:
        with pytest.raises(wire.Refused) as refused:
            client.handshake(versions=(2, 9))
        assert refused.value.reason == wire.REFUSE_VERSION and refused.value.versions == (1, 1)
    with server.client(protocol) as client:
        client.send(wire.Frame(wire.HELLO, 77, wire.put_hello(77, 1), version=9))
        refuse = wire.get_refuse(client.receive().body)
        assert (refuse['reason'], refuse['echo'], refuse['versions']) == (wire.REFUSE_VERSION, 77, (1, 1))
    assert server.status()['sessions'] == 0


@BOTH
def test_versions_that_overlap_agree(server, protocol):
    with server.client(protocol) as client:
        assert client.handshake(versions=(1, 9))['version'] == 1


def test_cookies_prove_addresses(server):
    with server.client() as first, server.client() as other:
        frame = first.hello()
        assert frame.type == wire.CHALLENGE
        cookie = wire.get_challenge(frame.body)['cookie']
        assert other.hello(cookie, first.nonce).type == wire.CHALLENGE, 'it was made for another port'
        assert first.hello(cookie, secrets.randbits(64)).type == wire.CHALLENGE, 'and for another nonce'
        assert first.hello(bytes(16)).type == wire.CHALLENGE
        assert server.status()['sessions'] == 0, 'nothing is kept about strangers'
        frame = first.hello()
        assert first.hello(wire.get_challenge(frame.body)['cookie'], first.nonce).type == wire.WELCOME


def test_no_answer_to_strangers_is_longer_than_the_request(server):
    """Every type with bodies of many lengths, none of which proves an address."""
    address = ('127.0.0.1', server.port)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.settimeout(0.05)
        frame_id = 0
        for frame_type in list(range(0, 60)) + [255]:
            for body in (b'', bytes(9), bytes(16), bytes(28), bytes(64), wire.put_hello(5, 6), bytes(300)):
                frame_id += 1
                data, = wire.datagrams(wire.Frame(frame_type, 5, body).bytes(), frame_id, 1400)
                stranger.sendto(data, address)
                try:
                    while True:
                        answer = stranger.recv(1 << 16)
                        assert len(answer) <= len(data), 'type %d, %d bytes' % (frame_type, len(body))
                        stranger.settimeout(0.001)
                except (TimeoutError, BlockingIOError):
                    stranger.settimeout(0.005)
    assert server.status()['sessions'] == 0


@BOTH
def test_garbage_hurts_nobody(server, protocol):
    for junk in (b'x', b'GET / HTTP/1.1\r\n\r\n', bytes(2000), wire.FRAME_MAGIC + bytes(16),
                 wire.FRAME_MAGIC + b'\1\x14\0\0' + bytes(8) + b'\xff\xff\xff\xff' + bytes(100)):
        if protocol == 'udp':
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.sendto(junk, ('127.0.0.1', server.port))
        else:
            with socket.create_connection(('127.0.0.1', server.port), 2) as stranger:
                stranger.sendall(junk)
    with server.client(protocol) as client:
        client.handshake()
        server.wait_snapshot(client, lambda s: s['devices'])


def test_a_silent_connection_is_closed(server):
    with socket.create_connection(('127.0.0.1', server.port), 2) as stranger:
        stranger.settimeout(5)
        began = time.monotonic()
        assert stranger.recv(1) == b''
        assert 1.5 < time.monotonic() - began < 4


@BOTH
def test_unknown_sessions_are_told(server, protocol):
    with server.client(protocol) as client:
        client.handshake()
        client.token ^= 1
        with pytest.raises(wire.Refused) as refused:
            client.query()
        assert refused.value.reason == wire.REFUSE_SESSION
        client.token ^= 1
        client.query()


def test_forged_goodbyes_have_no_effect(server):
    with server.client() as client, server.client() as forger:
        client.handshake()
        for token in (0, 1, client.token, client.token ^ 1):
            forger.send(wire.Frame(wire.GOODBYE, 0, struct.pack('>QB', token, 1)))
        forger.handshake()  # the goodbyes have been handled when this one is done
        client.query()
        assert server.status()['sessions'] == 2


# ---- limits ----

@BOTH
def test_eight_sessions_per_address(server, protocol):
    clients = [server.client(protocol) for _ in range(9)]
    try:
        for client in clients[:8]:
            client.handshake()
            client.query()
        with pytest.raises(wire.Refused) as refused:
            clients[8].handshake()
        assert refused.value.reason == wire.REFUSE_FULL
        for client in clients[:8]:
            client.ping()
        assert server.status()['sessions'] == 8
    finally:
        for client in clients:
            client.close()


def test_a_busy_server_refuses_and_an_idle_session_gives_way(tmp_path):
    with Server(tmp_path, {'connecting': 'max_connections = 2'}) as server:
        addresses = ['127.0.0.%d' % i for i in (11, 12, 13)]
        clients = [server.client(bind=(a, 0)) for a in addresses]
        try:
            for client in clients[:2]:
                client.handshake()
                client.query()
            with pytest.raises(wire.Refused) as refused:
                clients[2].handshake()
            assert refused.value.reason == wire.REFUSE_FULL
            server.wait_log('max_connections')
            deadline = time.monotonic() + 10
            clients[2].timeout = 0.1
            while True:  # the second keeps busy; the first becomes idle, and gives way
                clients[1].query()
                try:
                    clients[2].handshake()
                    break
                except (wire.Refused, TimeoutError):  # refusals have their rate
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            clients[1].query()
            clients[2].query()
            status = server.status()
            assert status['sessions'] == 2 and status['sessions_dropped'] == 1
            goodbye = clients[0].receive()
            assert goodbye.type == wire.GOODBYE and wire.get_goodbye(goodbye.body)['reason'] == 2
        finally:
            for client in clients:
                client.close()


@BOTH
def test_silent_sessions_end(tmp_path, protocol):
    with Server(tmp_path, {'connecting': 'connection_idle_timeout = 1'}) as server:
        with server.client(protocol) as client:
            client.handshake()
            for _ in range(4):  # a sign of life now and then keeps it
                time.sleep(0.5)
                client.ping()
            server.wait_status(lambda s: s['sessions'] == 0, 5)
            if protocol == 'udp':  # over TCP the connection's own idle time may end it first
                assert server.status()['sessions_idle'] == 1


# ---- sealed ----

@BOTH
def test_sealed_sessions(tmp_path, protocol):
    if not wire.sodium():
        pytest.skip('no libsodium.so here')
    key = secrets.token_bytes(32)
    (tmp_path / 'key').write_text('# ours\n%s\n' % key.hex())
    (tmp_path / 'key').chmod(0o600)
    with Server(tmp_path, {'security': 'key_file = "%s"' % (tmp_path / 'key')}) as server:
        with server.client(protocol, key=key) as client:
            client.handshake()
            server.wait_snapshot(client, lambda s: s['devices'])
            client.ping()
            if protocol == 'udp':  # what was captured is sent again
                sealed = wire.seal(wire.Frame(wire.PING, 99, struct.pack('>QQ', client.token, 1)), client.session,
                                   wire.TO_SERVER, bytes(16) + struct.pack('>Q', 1))
                client.send_raw(sealed.bytes())
                client.query()
                assert server.status()['input_replayed'] == 1
        with server.client(protocol) as plain:
            with pytest.raises(wire.Refused) as refused:
                plain.handshake()
            assert refused.value.reason == wire.REFUSE_SEALED
        with server.client(protocol, key=secrets.token_bytes(32), timeout=0.3) as stranger:
            with pytest.raises((TimeoutError, ConnectionError)):
                stranger.handshake()
        status = server.status()
        assert status['keys'] == 1 and status['input_unsealed'] >= 1 and status['input_bad_seal'] >= 1
