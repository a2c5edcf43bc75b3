"""What somebody hostile on the network can send; run by test_cluster_hostile.py in a host of its lab.

  forger.py announces COUNT PORT TARGET...    announces of made-up nodes, and of the live node `node1`
  forger.py goodbyes COUNT SOURCE TARGET PORT...   goodbyes that claim to come from SOURCE ("ip:port")
  forger.py capture SECONDS FILE              all UDP datagrams that pass by
  forger.py replay FILE                       and sends them again, with the addresses that they had
"""
import json
import pathlib
import secrets
import socket
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
import clustat_wire as wire  # noqa: E402


ETH_P_IP, ETH_P_ALL = 0x0800, 3  # the latter shows what the host itself sends, too


def parse(text):
    host, port = text.rsplit(':', 1)
    return host, int(port)


def send_as(source, target, payload):
    """A UDP datagram with any source address."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        header = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 28 + len(payload), 0, 0, 64, socket.IPPROTO_UDP, 0,
                             socket.inet_aton(source[0]), socket.inet_aton(target[0]))
        raw.sendto(header + struct.pack('>HHHH', source[1], target[1], 8 + len(payload), 0) + payload, (target[0], 0))


def announces(count, port, *targets):
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number in range(int(count)):
        live = number == 0
        identity = wire.identity_of(pathlib.Path('/etc/machine-id').read_bytes().strip(), b'node1') if live \
            else secrets.token_bytes(16)
        body = wire.put_announce(identity, secrets.randbits(64), 1 << 62, 30000, 30000,
                                 b'node1' if live else b'forged%d' % number)
        for target in targets:
            for datagram in wire.datagrams(wire.Frame(wire.ANNOUNCE, 0, body).bytes(), number + 1):
                out.sendto(datagram, (target, int(port)))


def goodbyes(count, source, target, *ports):
    for number in range(int(count)):
        frame = wire.Frame(wire.GOODBYE, 0, struct.pack('>QB', secrets.randbits(64), 2))
        for datagram in wire.datagrams(frame.bytes(), number + 1):
            for port in ports:
                send_as(parse(source), (target, int(port)), datagram)


def capture(seconds, path):
    limit, seen = time.monotonic() + float(seconds), []
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as packets:
        packets.bind(('eth0', ETH_P_ALL))
        print('capturing', flush=True)
        while time.monotonic() < limit:
            packets.settimeout(max(0.001, limit - time.monotonic()))
            try:
                data, link = packets.recvfrom(65536)
            except TimeoutError:
                break
            if link[1] != ETH_P_IP or data[9] != socket.IPPROTO_UDP:
                continue
            at = (data[0] & 15) * 4
            source, target = (socket.inet_ntoa(data[i:i + 4]) for i in (12, 16))
            ports = struct.unpack('>HH', data[at:at + 4])
            length = struct.unpack('>H', data[at + 4:at + 6])[0]
            seen.append([source, ports[0], target, ports[1], data[at + 8:at + length].hex()])
    whole = pathlib.Path(path + '.part')
    whole.write_text(json.dumps(seen))
    whole.rename(path)


def replay(path):
    for source, source_port, target, port, payload in json.loads(pathlib.Path(path).read_text()):
        send_as((source, source_port), (target, port), bytes.fromhex(payload))


if __name__ == '__main__':
    {f.__name__: f for f in (announces, goodbyes, capture, replay)}[sys.argv[1]](*sys.argv[2:])
