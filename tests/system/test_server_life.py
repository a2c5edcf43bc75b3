"""clustat-server from start to stop: service manager, ports, drivers that are missing, late or hung."""
import os
import pathlib
import shutil
import signal
import socket
import time

import pytest

from server_harness import (LIBRARY, NotifySocket, Server, device, next_ports, state_of, wait_until, wire,
                            write_scenario)
from probe import read_log

LONGEST_ANSWER_S = 0.1  # to a query, on a busy machine; one takes some 0.2 ms


# ---- service manager ----

def test_ready_before_the_driver_is_touched(tmp_path):
    manager = NotifySocket(tmp_path / 'notify')
    with Server(tmp_path, env={'NOTIFY_SOCKET': manager.path}, start=False) as server:
        server.start(wait=False)
        manager.wait('READY=1')
        ready_ns = time.monotonic_ns()
        with server.client() as client:
            client.handshake()
            server.wait_snapshot(client, lambda s: s['flags'] & 1)
        calls = read_log(server.calls)
        # The message was sent before we read it; the library was loaded after it was sent.
        assert min(call.start for call in calls) > ready_ns - 50_000_000
        sampler, = server.samplers()
        for pid in (sampler,):
            environment = pathlib.Path('/proc/%d/environ' % pid).read_bytes()
            assert b'NOTIFY_SOCKET' not in environment and b'WATCHDOG' not in environment
        server.signal(signal.SIGTERM)
        manager.wait('STOPPING=1')
        assert server.process.wait(5) == 0
    manager.close()


def test_a_hanging_driver_does_not_delay_ready(tmp_path):
    manager = NotifySocket(tmp_path / 'notify')
    with Server(tmp_path, env={'NOTIFY_SOCKET': manager.path}, start=False) as server:
        server.scenario.write_text('{"version": 1, "devices": [], "driver": {"init_ms": 60000}}')
        server.start(wait=False)
        manager.wait('READY=1', 2)
    manager.close()


def test_watchdog(tmp_path):
    manager = NotifySocket(tmp_path / 'notify')
    env = {'NOTIFY_SOCKET': manager.path, 'WATCHDOG_USEC': '400000'}
    with Server(tmp_path, env=env, start=False) as server:
        server.start(wait=False)
        manager.wait('READY=1')
        manager.wait('WATCHDOG=1')
        for _ in range(3):
            began = time.monotonic()
            manager.wait('WATCHDOG=1', 2)
            assert time.monotonic() - began < 0.4
        server.signal(signal.SIGSTOP)
        wait_until(lambda: state_of(server.process.pid) == 'T', 5, 'stopped')
        manager.socket.setblocking(False)
        try:
            while True:
                manager.socket.recv(4096)
        except BlockingIOError:
            pass
        with pytest.raises(AssertionError):
            manager.wait('WATCHDOG=1', 1)
        server.signal(signal.SIGCONT)
        manager.wait('WATCHDOG=1', 2)
    manager.close()


def test_reloading_is_told(tmp_path):
    manager = NotifySocket(tmp_path / 'notify')
    with Server(tmp_path, env={'NOTIFY_SOCKET': manager.path}) as server:
        manager.wait('READY=1')
        server.signal(signal.SIGHUP)
        messages = manager.wait('READY=1')
        assert any('RELOADING=1' in m for m in messages)
    manager.close()


def test_journal_priorities(tmp_path):
    with Server(tmp_path, env={'JOURNAL_STREAM': '8:1234'}) as server:
        lines = server.log().splitlines()
        assert lines and all(line[0] == '<' and line[1] in '34567' and line[2] == '>' for line in lines), lines


# ---- stop ----

@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_stop_says_goodbye(tmp_path, number):
    with Server(tmp_path) as server:
        clients = [server.client('udp'), server.client('tcp')]
        for client in clients:
            client.handshake()
            client.query()
        wait_until(lambda: len(server.samplers()) == 1, 5, 'a sampler')
        sampler, = server.samplers()
        began = time.monotonic()
        server.signal(number)
        for client in clients:
            frame = client.receive()
            assert frame.type == wire.GOODBYE
            assert wire.get_goodbye(frame.body) == {'token': client.token, 'reason': 1}
            client.close()
        assert server.process.wait(5) == 0
        assert time.monotonic() - began < 2
        wait_until(lambda: state_of(sampler) in ('', 'Z'), 2, 'the sampler has gone')
        assert not server.control.exists()


def test_clients_that_do_not_close_do_not_delay_the_stop(tmp_path):
    with Server(tmp_path) as server, server.client('tcp') as client:
        client.handshake()
        status, took = server.stop()
        assert status == 0 and took < 2


@pytest.mark.parametrize('where', ['init', 'call'])
def test_stop_while_the_driver_hangs(tmp_path, where):
    with Server(tmp_path, start=False) as server:
        if where == 'init':
            server.scenario.write_text('{"version": 1, "devices": [], "driver": {"init_ms": 60000}}')
        else:
            write_scenario(tmp_path, [device('a')], faults=[{'at_s': 0.3, 'device': 'a', 'hang': 'forever'}])
        server.start()
        server.wait_status(lambda s: s.get('call_running_us', 0) > 500000)
        samplers = server.samplers()
        status, took = server.stop()
        assert status == 0 and took < 2
        for pid in samplers:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


# ---- ports ----

def test_a_second_server_takes_the_next_pair(tmp_path):
    ports = next_ports()
    with Server(tmp_path, name='one', ports=ports, hostname='gpu07') as one:
        with Server(tmp_path, name='two', ports=ports, hostname='gpu08') as two:
            assert one.status()['udp_port'] == one.status()['tcp_port'] == ports[0]
            assert two.status()['udp_port'] == two.status()['tcp_port'] == ports[0] + 1
            assert 'PORT %d IS TAKEN' % ports[0] in two.log()
            assert 'pid %d (clustat-server)' % one.process.pid in two.log()
            assert 'TAKEN' not in one.log()
            identities = []
            for server, port in ((one, ports[0]), (two, ports[0] + 1)):
                with server.client(port=port) as client:
                    identities.append(client.handshake()['identity'])
            assert identities[0] != identities[1], 'they share a machine id, and are two nodes'


def test_the_identity_survives_a_restart(tmp_path):
    with Server(tmp_path, hostname='gpu07') as server:
        welcomes = []
        for _ in range(2):
            with server.client() as client:
                welcomes.append(client.handshake())
            server.stop()
            if len(welcomes) < 2:
                server.start()
        assert welcomes[0]['identity'] == welcomes[1]['identity']
        assert welcomes[0]['instance'] != welcomes[1]['instance']
        machine = pathlib.Path('/etc/machine-id')
        if machine.exists() and machine.read_text().strip():
            assert welcomes[0]['identity'] == wire.identity_of(machine.read_text().strip().encode(), b'gpu07')


def test_a_fixed_port_that_is_taken_stops_the_start(tmp_path):
    ports = next_ports()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(('127.0.0.1', ports[0] + 5))
        with Server(tmp_path, {'connecting': 'udp_port = %d' % (ports[0] + 5)}, ports=ports, start=False) as server:
            server.start(wait=False)
            assert server.process.wait(5) == 1
            assert 'connecting.udp_port %d' % (ports[0] + 5) in server.log()
            assert 'pid %d' % os.getpid() in server.log()


# ---- drivers ----

def test_a_driver_that_comes_later(tmp_path):
    library = tmp_path / 'libnvidia-ml.so.1'
    with Server(tmp_path, library=library) as server, server.client() as client:
        client.handshake()
        snapshot = server.wait_snapshot(client, lambda s: s['fault'])['snapshot']
        assert snapshot['fault'] == wire.FAULT_LIBRARY_MISSING and str(library).encode() in snapshot['fault_text']
        server.wait_log('NVIDIA driver library not found')
        library.symlink_to(LIBRARY)
        snapshot = server.wait_snapshot(client, lambda s: s['devices'])['snapshot']
        assert snapshot['fault'] == 0 and snapshot['hostname']
        server.wait_log('the driver answers (version 580.95.05)')


@pytest.mark.parametrize('protocol', ['udp', 'tcp'])
def test_a_hanging_driver_hangs_nobody(tmp_path, protocol):
    with Server(tmp_path, start=False) as server:
        write_scenario(tmp_path, [device('a'), device('b')],
                       faults=[{'at_s': 0.5, 'device': 'b', 'hang': 'forever'}])
        server.start()
        with server.client(protocol) as client:
            client.handshake()
            reply = server.wait_snapshot(client, lambda s: s['pending_us'] > 1000000)
            assert reply['snapshot']['pending_device'] == 1 and reply['snapshot']['pending_call'].startswith(b'nvml')
            longest = 0
            for _ in range(200):
                began = time.monotonic()
                client.query(50000)
                longest = max(longest, time.monotonic() - began)
            assert longest < LONGEST_ANSWER_S
        for pid in server.samplers():
            os.kill(pid, signal.SIGKILL)


def test_a_frozen_sampler_is_told(tmp_path):
    """Not even its second thread can send: the responder says itself which call has not returned."""
    with Server(tmp_path, start=False) as server:
        server.scenario.write_text('{"version": 1, "devices": [], "driver": {"init_ms": 60000}}')
        write_scenario(tmp_path, [device('a')], faults=[{'at_s': 0.5, 'device': 'a', 'hang': 'forever'}])
        server.start()
        with server.client() as client:
            client.handshake()
            server.wait_snapshot(client, lambda s: s['pending_us'] > 0)
            sampler, = server.samplers()
            os.kill(sampler, signal.SIGSTOP)
            try:
                reply = server.wait_snapshot(client, lambda s: s['pending_us'] > 3000000)
                assert reply['age_us'] > 1000000 and reply['snapshot']['pending_device'] == 0
                began = time.monotonic()
                client.query(50000)
                assert time.monotonic() - began < LONGEST_ANSWER_S
            finally:
                os.kill(sampler, signal.SIGKILL)


def test_a_killed_sampler_is_replaced(tmp_path):
    with Server(tmp_path) as server, server.client() as client:
        client.handshake()
        server.wait_snapshot(client, lambda s: s['flags'] & 1)
        for count in range(1, 3):
            sampler, = server.samplers()
            os.kill(sampler, signal.SIGKILL)
            server.wait_log('the sampler ended', count=count)
            wait_until(lambda: len(server.samplers()) == 1 and server.samplers() != [sampler], 5, 'another one')
            server.wait_snapshot(client, lambda s: s['flags'] & 1 and s['devices'])


def test_descriptors_and_memory_do_not_grow(tmp_path):
    def descriptors(server):
        return len(os.listdir('/proc/%d/fd' % server.process.pid))

    def resident_kib(server):
        lines = pathlib.Path('/proc/%d/status' % server.process.pid).read_text().splitlines()
        return int([line for line in lines if line.startswith('VmRSS')][0].split()[1])

    with Server(tmp_path) as server:
        def round_of(count):
            for i in range(count):
                with server.client(('udp', 'tcp')[i % 2]) as client:
                    try:
                        client.handshake()
                        client.query()
                        client.goodbye()
                    except (wire.Refused, TimeoutError):
                        time.sleep(0.05)  # its rate
                server.command('status') if i % 20 == 0 else None
            server.wait_status(lambda s: s['sessions'] == 0 and s['tcp_connections'] == 0)
        round_of(40)
        before = descriptors(server), resident_kib(server)
        round_of(200)
        after = descriptors(server), resident_kib(server)
        assert after[0] <= before[0]
        assert after[1] <= before[1] + 1024


# ---- privileges ----

def capabilities(pid):
    lines = pathlib.Path('/proc/%d/status' % pid).read_text().splitlines()
    return {line.split(':')[0]: int(line.split()[1], 16) for line in lines if line.startswith('Cap')}


def test_only_the_sampler_keeps_a_capability(tmp_path):
    """As from a unit with AmbientCapabilities=CAP_SYS_PTRACE: names of others' processes under hidepid."""
    if os.geteuid() != 0 or not shutil.which('setpriv'):
        pytest.skip('needs root and setpriv: a user with a capability has to be made')
    for folder in (tmp_path, *tmp_path.parents):
        if folder != pathlib.Path('/'):
            folder.chmod(folder.stat().st_mode | 0o055)
    os.chown(tmp_path, 65534, 65534)
    prefix = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--inh-caps=-all,+sys_ptrace',
              '--ambient-caps=-all,+sys_ptrace', '--bounding-set=-all,+sys_ptrace']
    with Server(tmp_path, prefix=prefix) as server:
        wait_until(lambda: len(server.samplers()) == 1, 5, 'a sampler')
        ptrace = 1 << 19
        assert capabilities(server.process.pid)['CapEff'] == 0
        wait_until(lambda: capabilities(server.samplers()[0])['CapEff'] == ptrace, 5, 'the sampler has it')
        with server.client() as client:
            client.handshake()
            server.wait_snapshot(client, lambda s: s['devices'])
