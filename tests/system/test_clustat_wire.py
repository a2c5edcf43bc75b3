"""The tests' own client reads the examples of docs/protocol.md, and writes the same bytes."""
import pathlib
import re
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / 'tests' / 'support'))
import clustat_wire as wire  # noqa: E402

NONCE = 0x1111111111111111
TOKEN = 0x7e57000000000001


def golden(name):
    text = (TOP / 'docs' / 'protocol.md').read_text()
    block = re.search(r'```golden %s\n(.*?)```' % re.escape(name), text, re.S).group(1)
    data = b''
    for line in block.splitlines():
        for word in line.split(';')[0].split():
            byte, _, times = word.partition('*')
            data += bytes.fromhex(byte) * int(times or 1)
    return data


def test_numbers():
    r = wire.Reader(golden('numbers'))
    assert (r.varint(), r.zigzag(), r.text(), r.text(), r.text(), r.left()) == (300, -3, None, b'', b'gpu', 0)


def test_datagrams():
    data = [golden('datagram-first'), golden('datagram-last')]
    chunks = [wire.Chunk(d) for d in data]
    collector = wire.Collector()
    assert collector.add(chunks[1]) is None
    frame = collector.add(chunks[0])
    assert wire.datagrams(frame, 7, 20) == data
    frame = wire.parse_frame(frame)
    assert (frame.type, frame.request, frame.body) == (wire.PING, 42, golden('ping'))


def test_handshake():
    assert wire.put_hello(NONCE, 0xbac0) == golden('hello')
    cookie = wire.get_challenge(golden('challenge'))['cookie']
    assert wire.put_hello(NONCE, 0xbac0, cookie) == golden('hello-cookie')
    welcome = wire.get_welcome(golden('welcome'))
    assert (welcome['token'], welcome['instance'], welcome['idle_ms']) == (TOKEN, 0x5e12, 5000)
    assert (welcome['software'], len(welcome['facts'])) == (b'0.1.0', 14)
    assert wire.get_refuse(golden('refuse')) == {'echo': NONCE, 'reason': 2, 'versions': (1, 1)}


def test_session():
    assert wire.put_query(TOKEN, 0xfac7000000000001, 3, 2000000) == golden('query')
    reply = wire.get_reply(golden('reply'))
    assert (reply['age_us'], reply['generation'], reply['base']) == (15000, 3, 3)
    facts = wire.get_welcome(golden('welcome'))['facts']
    known = wire.merge_process_facts(reply['readings'], b'', reply['process_facts'], reply['base'])
    snapshot = wire.decode_snapshot(reply['readings'] + facts + known)
    assert (snapshot['sequence'], snapshot['devices'], snapshot['processes']) == (7, [], [])
    assert wire.put_resend(TOKEN, 42, 10, [3, 9]) == golden('resend')
    assert wire.get_goodbye(golden('goodbye')) == {'token': TOKEN, 'reason': 1}


def test_discovery():
    announce = wire.get_announce(golden('announce'))
    assert (announce['udp_port'], announce['hostname']) == (30000, b'gpu01')
    assert wire.put_announce(**announce) == golden('announce')
    identity = announce['identity']
    assert wire.put_probe(0xbac0, 0x5a17, 4, 200, [identity], 8) == golden('probe')
    assert wire.identity_of(b'0123456789abcdef0123456789abcdef', b'gpu01') == golden('identity')


def test_snapshot():
    node = wire.decode_snapshot(golden('snapshot'))
    device, process = node['devices'][0], node['processes'][0]
    assert (node['hostname'], node['driver_time_ppm'], node['host_age_us']) == (b'gpu01', 1500, 12000)
    assert device['fields'] == {'utilization_gpu_percent': 37, 'memory_used_bytes': 20000000000,
                                'temperature_c': 61, 'power_mw': 300000,
                                'memory_total_bytes': 85520809984, 'power_limit_mw': 700000, 'minor': 0}
    assert device['ages_us']['slow'] is None and device['ages_us']['hot'] == 20000
    assert (process['user'], process['command_line'], process['slurm_job']) == (b'alice', b'python\0a.py', b'17')
    assert [e['pid'] for e in device['entries']] == [4321, 99]
    assert device['entries'][1]['instance'] == [1, 0]


def test_snapshots_that_are_cut_are_refused():
    body = golden('snapshot')
    for length in range(len(body)):
        with pytest.raises(wire.Malformed):
            wire.decode_snapshot(body[:length])


def test_seal():
    key = bytes(range(32))
    assert wire.key_id(key) == golden('key-id')
    session = wire.session_key(key, NONCE, 0x2222222222222222)
    assert session == golden('session-key')
    if not wire.sodium():
        pytest.skip('no libsodium.so here')
    frame = wire.parse_frame(golden('sealed'))
    plain, sequence = wire.unseal(frame, [key, session], wire.TO_SERVER)
    assert (plain.body, plain.request, sequence) == (golden('ping'), 42, 9)
    again = wire.seal(wire.Frame(wire.PING, 42, plain.body), session, wire.TO_SERVER, frame.body[4:28])
    assert again.bytes() == golden('sealed')
    with pytest.raises(wire.Malformed):
        wire.unseal(frame, [session], wire.TO_BACKEND)
