"""Starts clustat-backend for tests: on loopback only, with a group, a socket and a state folder of its own."""
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time

from server_harness import BUILD, GROUP, wait_until, wire

BACKEND = BUILD / 'clustat-backend'

VIEW_QUERY, VIEW_NODE, VIEW_END, API_ERROR, FORGET, FORGOTTEN = 48, 49, 50, 51, 52, 53
UP, STALE, DOWN, WARMING, STOPPED = 0, 1, 2, 3, 4
NO_SNAPSHOTS, NO_WAIT = 1, 2
INEXACT, MAX_CONNECTIONS, IS_WARMING = 1, 2, 4


def frame(kind, body, request_id=1, version=1):
    return struct.pack('>IBBHQI', 0x434C5354, version, kind, 0, request_id, len(body)) + body


def varint(value):
    out = b''
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def optional_text(text):
    if text is None:
        return b'\0'
    data = text.encode()
    return varint(len(data) + 1) + data


def view_query(filter=None, users=(), flags=0, interval_us=0, request_id=1):
    return frame(VIEW_QUERY, struct.pack('>HI', flags, interval_us) + optional_text(filter)
                 + struct.pack('>H', len(users)) + b''.join(struct.pack('>I', u) for u in users), request_id)


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        assert self.at + count <= len(self.data)
        self.at += count
        return self.data[self.at - count:self.at]

    def unpack(self, form):
        return struct.unpack('>' + form, self.take(struct.calcsize('>' + form)))

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def text(self):
        size = self.varint()
        return self.take(size - 1).decode(errors='surrogateescape') if size else None


def get_view_node(body):
    cursor = Cursor(body)
    node = {'connection_id': cursor.text(), 'addr': cursor.text(), 'error': cursor.text(),
            'state': cursor.take(1)[0], 'since_us': cursor.zigzag(), 'age_us': cursor.varint()}
    flags = cursor.take(1)[0]
    if flags & 1:
        node['delay_us'], node['delay_age_us'] = cursor.varint(), cursor.varint()
    if flags & 2:
        node['seen_us'] = cursor.varint()
    node['software'] = cursor.text()
    node['body'] = cursor.take(cursor.unpack('I')[0])
    return node


class Connection:
    """A connection to the backend's socket, for frames and lines."""

    def __init__(self, path, timeout=5):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(path))  # waits where the backlog is full
        self.socket.settimeout(timeout)
        self.input = b''
        self.request_id = 0

    def send(self, data):
        self.socket.sendall(data)

    def receive(self, count):
        while len(self.input) < count:
            data = self.socket.recv(1 << 16)
            if not data:
                raise EOFError('the backend closed the connection')
            self.input += data
        data, self.input = self.input[:count], self.input[count:]
        return data

    def frame(self):
        """(type, request id, body)"""
        magic, version, kind, _, request_id, size = struct.unpack('>IBBHQI', self.receive(20))
        assert magic == 0x434C5354 and version == 1
        return kind, request_id, self.receive(size)

    def answer(self, request_id):
        """(nodes, end) of the answer to this question; an API_ERROR is raised as ApiError."""
        nodes = []
        while True:
            kind, got, body = self.frame()
            if kind == API_ERROR:
                cursor = Cursor(body)
                raise ApiError(cursor.take(1)[0], cursor.text())
            if got != request_id:
                continue
            if kind == VIEW_NODE:
                nodes.append(get_view_node(body))
            elif kind == VIEW_END:
                known, matched, left_out, flags = struct.unpack('>IIIH', body)
                return nodes, {'known': known, 'matched': matched, 'left_out': left_out, 'flags': flags}

    def ask(self, filter=None, **options):
        self.request_id += 1
        self.send(view_query(filter, request_id=self.request_id, **options))
        return self.answer(self.request_id)

    def forget(self, filter):
        self.request_id += 1
        self.send(frame(FORGET, optional_text(filter), self.request_id))
        kind, _, body = self.frame()
        if kind == API_ERROR:
            cursor = Cursor(body)
            raise ApiError(cursor.take(1)[0], cursor.text())
        assert kind == FORGOTTEN
        return struct.unpack('>II', body)

    def line(self, line=None):
        """Sends a line (or none) and returns the next one, without its newline."""
        if line is not None:
            self.send(line.encode() + b'\n')
        while b'\n' not in self.input:
            data = self.socket.recv(1 << 16)
            if not data:
                raise EOFError('the backend closed the connection')
            self.input += data
        line, _, self.input = self.input.partition(b'\n')
        return line.decode()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class ApiError(Exception):
    def __init__(self, code, text):
        super().__init__('%d: %s' % (code, text))
        self.code, self.text = code, text


class Backend:
    def __init__(self, folder, config=None, group_port=None, static=(), env=None, start=True, name='backend',
                 wait=True, prefix=()):
        self.folder = pathlib.Path(folder)
        self.config = self.folder / (name + '.toml')
        self.socket = self.folder / (name + '.sock')
        self.state = self.folder / (name + '-state')
        self.known = self.state / 'known-nodes.json'
        self.log_path = self.folder / (name + '.log')
        self.group_port = group_port
        self.static = list(static)
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(('CLUSTAT_', 'NOTIFY_', 'WATCHDOG_', 'XDG_'))
                            and k != 'JOURNAL_STREAM'}
        self.environment.update(env or {})
        self.prefix = list(prefix)
        self.process = None
        self.write_config(config)
        if start:
            self.start(wait)

    def write_config(self, more=None):
        sections = {'connecting': 'multicast_outbound_ip = ["127.0.0.1"]\nmulticast_ttl = 0\n'
                                  'multicast_addr = "%s"\nstatic_nodes = %s\n'
                                  % ('%s:%d' % (GROUP, self.group_port) if self.group_port else '',
                                     json.dumps(self.static)),
                    'services': 'uds_path = "%s"\nstate_dir = "%s"\n' % (self.socket, self.state)}
        for section, lines in (more or {}).items():
            sections[section] = sections.get(section, '') + lines + '\n'
        self.config.write_text(''.join('[%s]\n%s' % item for item in sections.items()))

    def start(self, wait=True):
        self.log_file = open(self.log_path, 'ab')
        self.process = subprocess.Popen([*self.prefix, str(BACKEND), '--config', str(self.config)], env=self.environment,
                                        stderr=self.log_file, stdin=subprocess.DEVNULL, cwd=str(self.folder))
        if wait:
            wait_until(self.is_listening, 10, 'the socket')

    def is_listening(self):
        assert self.process.poll() is None, 'the backend has ended: ' + self.log()
        try:
            self.connect().close()
            return True
        except OSError:
            return False

    def connect(self, timeout=5):
        return Connection(self.socket, timeout)

    def ask(self, filter=None, **options):
        with self.connect() as connection:
            return connection.ask(filter, **options)

    def line(self, line):
        with self.connect() as connection:
            return connection.line(line)

    def query(self, **members):
        answer = self.line('QUERY ' + json.dumps(members) if members else 'QUERY')
        assert not answer.startswith('ERR'), answer
        return json.loads(answer)

    def nodes(self, **members):
        return {node['hostname']: node for node in self.query(**members)['nodes']}

    def status(self):
        return json.loads(self.line('STATUS'))

    def wait_nodes(self, condition, seconds=10, what='nodes', **members):
        wait_until(lambda: condition(self.nodes(**members)), seconds, what)
        return self.nodes(**members)

    def log(self):
        return self.log_path.read_text(errors='replace')

    def wait_log(self, text, seconds=10, count=1):
        wait_until(lambda: self.log().count(text) >= count, seconds, '%r in the log' % text)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, seconds=5):
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(seconds)
        self.log_file.close()
        return status, time.monotonic() - began

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process and not self.log_file.closed:
            self.log_file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
