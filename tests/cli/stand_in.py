"""A stand-in for clustat-backend: speaks VIEW_QUERY and FORGET over a Unix socket as docs/protocol.md has it.

What it answers is up to the test: a list of nodes, or anything that goes wrong.
"""
import os
import socket
import struct
import threading
import time

VIEW_QUERY, VIEW_NODE, VIEW_END, API_ERROR, FORGET, FORGOTTEN = 48, 49, 50, 51, 52, 53
STATES = ['up', 'stale', 'down', 'warming', 'stopped']
INEXACT, MAX_CONNECTIONS, WARMING = 1, 2, 4
NO_SNAPSHOTS, NO_WAIT = 1, 2
FIELDS = {'util': 0, 'total': 2, 'used': 3, 'temp': 5, 'power': 6, 'fan': 13, 'limit': 16}
FACTS = ('total', 'limit')


def varint(value):
    out = b''
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def zigzag(value):
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def text(value):
    if value is None:
        return varint(0)
    value = value.encode()
    return varint(len(value) + 1) + value


def frame(type_, request_id, body):
    return b'CLST' + struct.pack('>BBHQI', 1, type_, 0, request_id, len(body)) + body


def section(number, content):
    return struct.pack('>BI', number, len(content)) + content


def records(items):
    return varint(len(items)) + b''.join(varint(len(item)) + item for item in items)


def fields(values):
    present = bytearray(3)
    for name in values:
        present[FIELDS[name] // 8] |= 1 << FIELDS[name] % 8
    return varint(3) + bytes(present) + b''.join(varint(values[name]) for name in sorted(values, key=FIELDS.get))


def gpu(index=0, processes=(), **more):
    """A device; processes: (uid, pid, command, MiB)."""
    return dict({'index': index, 'name': 'NVIDIA Test', 'util': 10 + index, 'total': 80 << 30, 'used': 4 << 30, 'temp': 40,
                 'processes': list(processes), 'lists': [0, 0, 0]}, **more)


def snapshot(hostname, gpus, driver='580.65.06', fault=0, fault_text=None, taken=None):
    processes = [p for g in gpus for p in g['processes']]
    taken = int(time.time() * 1e6) if taken is None else taken
    facts = [varint(0) + varint(g['index']) + varint(0) + varint(0) + text(g['name']) +
             text('GPU-%s-%d' % (hostname, g['index'])) + text(None) + text(None) + fields({k: g[k] for k in FACTS if k in g})
             for g in gpus]
    readings = [varint(0) + zigzag(0) + fields({k: g[k] for k in FIELDS if k in g and k not in FACTS}) +
                varint(5) + b'\x01' * 5 + varint(3) + b''.join(zigzag(code) for code in g['lists']) + varint(len(g['processes']))
                for g in gpus]
    entries = [varint(0) + varint(2) + varint(i + 1) + varint(p[3] << 20) for i, p in enumerate(processes)]
    process_readings = [varint(p[1]) + varint(1) + varint(0) + varint(2) for p in processes]
    process_facts = [varint(p[1]) + varint(1) + varint(1 | 16) + varint(p[0]) + text(None) + text(p[2]) + text(p[2]) +
                     text(None) * 3 for p in processes]
    node = (varint(7) + zigzag(taken) + varint(1) + varint(fault) + zigzag(0) + text(fault_text) + text(None) + zigzag(-1) +
            varint(0) + varint(0) * 4 + varint(1))
    return (section(4, node) + section(5, records(readings)) + section(7, records(process_readings)) +
            section(6, records(entries)) + section(1, text(hostname) + text(driver) + text(None)) +
            section(2, records(facts)) + section(3, records(process_facts)))


class Node:
    def __init__(self, hostname, gpus=None, state='up', error=None, since=0, age_us=1000, delay=(280, 300), seen=300,
                 version='0.1.0', addr='10.0.0.1:30000', silent=False, **more):
        self.hostname, self.gpus, self.state, self.error, self.since = hostname, gpus, state, error, since
        self.age_us, self.delay, self.seen, self.version, self.addr = age_us, delay, seen, version, addr
        self.silent, self.more = silent, more

    def view(self, flags):
        if self.silent:
            body = b''
        elif flags & NO_SNAPSHOTS:
            body = snapshot(self.hostname, [], **self.more)
        else:
            body = snapshot(self.hostname, [gpu()] if self.gpus is None else self.gpus, **self.more)
        out = text('conn-%010x' % (hash(self.hostname) & 0xffffffffff)) + text(self.addr) + text(self.error)
        out += bytes([STATES.index(self.state)]) + zigzag(self.since) + varint(self.age_us)
        out += bytes([(1 if self.delay else 0) | (2 if self.seen is not None else 0)])
        if self.delay:
            out += varint(self.delay[0]) + varint(self.delay[1])
        if self.seen is not None:
            out += varint(self.seen)
        return out + text(self.version) + struct.pack('>I', len(body)) + body


class Query:
    """A question, taken apart."""

    def __init__(self, body):
        self.flags, self.interval_us = struct.unpack_from('>HI', body)
        at, n, shift = 6, 0, 0
        while True:
            n |= (body[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if body[at - 1] < 128:
                break
        self.filter = body[at:at + n - 1].decode() if n else None
        at += max(n - 1, 0)
        count, = struct.unpack_from('>H', body, at)
        self.users = list(struct.unpack_from('>%dI' % count, body, at + 2))


class StandIn:
    """Listens at `path`. answer(stand_in, query, request_id) gives the bytes to send, or None to say nothing."""

    def __init__(self, path, nodes=(), answer=None, **end):
        self.path, self.nodes, self.answer, self.end = path, list(nodes), answer or StandIn.usual, end
        self.queries, self.forgotten, self.connections = [], [], []
        self.stopped = False
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen(16)
        threading.Thread(target=self.serve, daemon=True).start()

    def usual(self, query, request_id):
        """All nodes whose name has the filter in it, then the end."""
        nodes = [n for n in self.nodes if query.filter is None or query.filter in n.hostname]
        end = dict({'known': len(self.nodes), 'matched': len(nodes), 'left_out': 0, 'flags': 0}, **self.end)
        return (b''.join(frame(VIEW_NODE, request_id, n.view(query.flags)) for n in nodes) +
                frame(VIEW_END, request_id, struct.pack('>IIIH', end['known'], end['matched'], end['left_out'], end['flags'])))

    def serve(self):
        while not self.stopped:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        data = b''
        try:
            while True:
                while len(data) < 20 or len(data) < 20 + struct.unpack_from('>I', data, 16)[0]:
                    more = connection.recv(65536)
                    if not more:
                        return
                    data += more
                type_, request_id, length = data[5], *struct.unpack_from('>QI', data, 8)
                body, data = data[20:20 + length], data[20 + length:]
                if type_ == FORGET:
                    self.forgotten.append(body[1:].decode())
                    answer = self.forget(request_id)
                else:
                    self.queries.append(Query(body))
                    answer = self.answer(self, self.queries[-1], request_id)
                if answer is not None:
                    connection.sendall(answer)
        except OSError:
            pass

    def forget(self, request_id):
        return frame(FORGOTTEN, request_id, struct.pack('>II', 1, 0))

    def hang_up(self):
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()
        self.connections = []

    def stop(self):
        self.stopped = True
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        self.hang_up()
        if os.path.exists(self.path):
            os.unlink(self.path)


def error(code, message):
    return lambda stand_in, query, request_id: frame(API_ERROR, request_id, bytes([code]) + text(message))


def silence(stand_in, query, request_id):
    return None
