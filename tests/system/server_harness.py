"""Starts clustat-server for tests: on loopback only, on ports and with a group of its own."""
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / 'tests' / 'support'))
import clustat_wire as wire  # noqa: E402
from probe import BUILD, LIBRARY, device, sampler_pids, parent_of, state_of, wait_until, write_scenario  # noqa: E402,F401

SERVER = BUILD / 'clustat-server'
GROUP = '239.195.7.9'
# Below the ports that the kernel hands out by itself. Each test process has a range of its own, so that several
# test runs on a machine hardly ever meet.
_ports = itertools.count(10000 + os.getpid() % 20 * 1000, 10)


def is_free(port):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with socket.socket(socket.AF_INET6, kind) as probe:
            if kind == socket.SOCK_STREAM:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(('::', port))
            except OSError:
                return False
    return True


def next_ports():
    """First and last of ten ports, free at this moment."""
    while True:
        first = next(_ports)
        if all(is_free(port) for port in range(first, first + 10)):
            return first, first + 9


class Server:
    """A running server. Its log is read from a file; its sampler runs the fake library."""

    def __init__(self, folder, config=None, devices=None, library=LIBRARY, env=None, start=True, name='server',
                 ports=None, hostname=None, group_port=None, prefix=()):
        self.folder = pathlib.Path(folder)
        self.config = self.folder / (name + '.toml')
        self.control = self.folder / (name + '.control')
        self.log_path = self.folder / (name + '.log')
        self.calls = self.folder / (name + '.calls')
        self.ports = ports or next_ports()
        self.group_port = group_port or self.ports[1]
        self.library = library
        self.prefix = list(prefix)  # a command that runs the server, such as nsenter
        self.scenario = write_scenario(folder, devices if devices is not None else [device('gpu0')])
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(('CLUSTAT_', 'FAKE_NVML_', 'NOTIFY_', 'WATCHDOG_'))
                            and k not in ('JOURNAL_STREAM', 'XDG_RUNTIME_DIR')}
        self.environment.update({'FAKE_NVML_SCENARIO': str(self.scenario), 'FAKE_NVML_LOG': str(self.calls)})
        if hostname:
            self.environment['CLUSTAT_HOSTNAME'] = hostname
        self.environment.update(env or {})
        self.process = None
        self.write_config(config)
        if start:
            self.start()

    def write_config(self, more=None):
        """`more`: lines by section, as {'security': 'allow = []'}; they replace those of the same key."""
        sections = {'connecting': 'port_range = [%d, %d]\nmulticast_addr = "%s:%d"\n'
                                  'multicast_outbound_ip = ["127.0.0.1"]\nmulticast_ttl = 0'
                                  % (self.ports + (GROUP, self.group_port)),
                    'runtime': 'nvml_lib_path = "%s"' % self.library}
        for section, lines in (more or {}).items():
            keys = {line.split('=')[0].strip() for line in lines.splitlines()}
            kept = [line for line in sections.get(section, '').splitlines()
                    if line.split('=')[0].strip() not in keys]
            sections[section] = '\n'.join(kept + [lines])
        self.config.write_text(''.join('[%s]\n%s\n' % item for item in sections.items()))

    def start(self, wait=True):
        starts = self.log().count('serving on') if self.log_path.exists() else 0
        self.log_file = open(self.log_path, 'ab')
        self.process = subprocess.Popen(
            self.prefix + [str(SERVER), '--config', str(self.config), '--control-socket', str(self.control)],
            env=self.environment, stderr=self.log_file, stdin=subprocess.DEVNULL, cwd=str(self.folder))
        if wait:
            self.wait_log('serving on', count=starts + 1)

    def log(self):
        return self.log_path.read_text(errors='replace')

    def wait_log(self, text, seconds=10, count=1):
        def found():
            assert self.process.poll() is None or self.log().count(text) >= count, \
                'the server has ended: ' + self.log()
            return self.log().count(text) >= count
        wait_until(found, seconds, '%r in the log' % text)

    def status(self):
        out = subprocess.run([str(SERVER), 'status', '--json', '--control-socket', str(self.control)],
                             capture_output=True, text=True, timeout=10)
        assert out.returncode == 0, out.stderr
        return json.loads(out.stdout)

    def wait_status(self, condition, seconds=10, what='status'):
        wait_until(lambda: condition(self.status()), seconds, what)

    def command(self, *words):
        return subprocess.run([str(SERVER), *words, '--control-socket', str(self.control)],
                              capture_output=True, text=True, timeout=10)

    @property
    def port(self):
        return self.ports[0]

    def client(self, protocol='udp', **options):
        return wire.Client(('127.0.0.1', options.pop('port', self.port)), protocol, **options)

    def wait_snapshot(self, client, condition, seconds=10, interval_us=50000):
        """Asks until a snapshot is as wanted; returns the reply."""
        deadline = time.monotonic() + seconds
        while True:
            reply = client.query(interval_us)
            if reply['snapshot'] and condition(reply['snapshot']):
                return reply
            assert time.monotonic() < deadline, 'not within %g s: %r' % (seconds, reply['snapshot'])
            time.sleep(0.02)

    def samplers(self):
        return [pid for pid in sampler_pids() if parent_of(pid) == self.process.pid and state_of(pid) != 'Z']

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, seconds=5):
        """SIGTERM; returns the exit status and how long it took."""
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


class Group:
    """A member of the discovery group on loopback, as a backend is one."""

    def __init__(self, port):
        self.port = port
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((GROUP, port))
        member = socket.inet_aton(GROUP) + socket.inet_aton('127.0.0.1')
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        # Unicast answers to our probes come here.
        self.sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton('127.0.0.1'))
        self.sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
        self.sender.bind(('127.0.0.1', 0))
        self.frame_id = 0

    def send(self, frame):
        self.frame_id += 1
        for datagram in wire.datagrams(frame.bytes(), self.frame_id):
            self.sender.sendto(datagram, (GROUP, self.port))

    def receive(self, seconds=5, unicast=False, key=None):
        """The next announce, and where it came from; None if there is none in time."""
        source = self.sender if unicast else self.socket
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            source.settimeout(left)
            try:
                data, address = source.recvfrom(2048)
            except TimeoutError:
                return None
            frame = wire.parse_frame(wire.Chunk(data).payload)
            if frame.type != wire.ANNOUNCE:
                continue
            if key:
                frame, _ = wire.unseal(frame, [key], wire.TO_BACKEND)
            return wire.get_announce(frame.body), address

    def close(self):
        self.socket.close()
        self.sender.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class NotifySocket:
    """What the service manager is to its services."""

    def __init__(self, path):
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)

    def wait(self, text, seconds=10):
        """The first message with this text in it; also those before it."""
        deadline = time.monotonic() + seconds
        seen = []
        while True:
            self.socket.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                seen.append(self.socket.recv(4096).decode())
            except TimeoutError:
                raise AssertionError('no %r, only %r' % (text, seen)) from None
            if text in seen[-1]:
                return seen

    def close(self):
        self.socket.close()
