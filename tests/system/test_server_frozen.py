"""clustat-server beside a driver call that the kernel does not let go: state D, which no signal ends."""
import subprocess
import time

from server_harness import LIBRARY, TOP, Server, device, state_of, wait_until, write_scenario
from test_sampler_frozen import apart, frozen  # noqa: F401

# Asks a hundred times, from within the server's network namespace; prints the longest and the last answer.
ASK = '''
import sys, time
sys.path.insert(0, %r)
import clustat_wire as wire
with wire.Client(('127.0.0.1', int(sys.argv[1])), sys.argv[2]) as client:
    client.handshake()
    longest = 0
    for _ in range(100):
        began = time.monotonic()
        reply = client.query(50000)
        longest = max(longest, time.monotonic() - began)
    node = reply['snapshot']
    print(longest, node['fault'], node['pending_device'], node['pending_us'] + reply['age_us'], len(node['devices']))
''' % str(TOP / 'tests' / 'support')


def ask(server, apart, protocol):
    out = subprocess.run(apart + ['/usr/bin/python3', '-c', ASK, str(server.port), protocol], capture_output=True,
                         text=True, timeout=30)
    assert out.returncode == 0, out.stderr
    return [float(word) for word in out.stdout.split()]


def server_on(frozen, apart, folder, **more):
    subprocess.run(apart + ['ip', 'link', 'set', 'lo', 'up'], check=True)
    server = Server(folder, {'runtime': 'nvml_lib_path = "%s"\nstuck_call_secs = 3' % LIBRARY}, start=False,
                    prefix=apart, env={'FAKE_NVML_FREEZE_FILE': str(frozen)}, **more)
    write_scenario(folder, [device('a'), device('b')], faults=[{'at_s': 0.5, 'device': 'b', 'hang': 'forever'}])
    server.start()
    return server


def test_answers_pause_and_stop_beside_an_unkillable_call(tmp_path, frozen, apart):
    with server_on(frozen, apart, tmp_path) as server:
        server.wait_status(lambda s: s.get('call_running_us', 0) > 1000000)
        stuck, = server.samplers()
        assert state_of(stuck) == 'D'
        for protocol in ('udp', 'tcp'):
            longest, fault, pending_device, pending_us, devices = ask(server, apart, protocol)
            assert (fault, pending_device, devices) == (0, 1, 2) and pending_us > 1000000
            assert longest < 0.1, 'others are answered as fast as ever'
        # Replaced: the other GPU goes on without the one that hangs.
        wait_until(lambda: len(server.samplers()) == 2, 10, 'a second sampler')
        server.wait_status(lambda s: s['stuck_samplers'] == 1)
        out = server.command('pause')
        assert 'still hangs' in out.stdout
        assert state_of(stuck) == 'D'
        status, took = server.stop()
        assert status == 0 and took < 2
        assert state_of(stuck) == 'D', 'it was really unkillable all the time'


def test_restarts_do_not_pile_up_stuck_samplers(tmp_path, frozen, apart):
    stuck = set()
    for start in range(5):
        with server_on(frozen, apart, tmp_path) as server:
            if len(stuck) < 2:
                server.wait_status(lambda s: s.get('call_running_us', 0) > 500000)
            else:
                server.wait_status(lambda s: s['sampler'] == 'blocked')
                assert server.status()['fault'] == 8, 'the driver does not answer'
                assert server.status()['stuck_samplers'] == 2
                assert 'still hangs' in server.command('pause').stdout
            stuck |= {pid for pid in server.samplers() if state_of(pid) == 'D'}
            assert len(stuck) <= 2
            status, took = server.stop()
            assert status == 0 and took < 2
        began = time.monotonic()
        while time.monotonic() - began < 0.5:  # an orphan says that it is one some 100 ms after its parent went
            time.sleep(0.05)
    assert len(stuck) == 2 and all(state_of(pid) == 'D' for pid in stuck)
    # When the kernel lets them go, the next start has its driver again.
    with server_on(frozen, apart, tmp_path) as server:
        server.wait_status(lambda s: s['sampler'] == 'blocked')
        subprocess.run(['fsfreeze', '-u', str(frozen.parent)], check=True)
        server.wait_status(lambda s: s['sampler'] == 'running', 10)
    for pid in stuck:
        wait_until(lambda pid=pid: state_of(pid) != 'D', 5, 'thawed')
