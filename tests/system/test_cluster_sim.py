"""build/tools/cluster-sim: many nodes in one process, each as a server of its own."""
import os
import signal
import subprocess

import pytest

from cluster import SIMULATOR
from server_harness import Group, next_ports, wire

NODES, DEVICES = 20, 3


def seed(node, device):
    return node * 7 + device * 13


@pytest.fixture
def fleet():
    first, last = next_ports()
    child = subprocess.Popen([str(SIMULATOR), '--devices=%d' % DEVICES, '--port=%d' % first, '--group=239.195.7.9:%d' % last,
                              str(NODES)], stdout=subprocess.PIPE, text=True)
    words = child.stdout.readline().split()
    assert words[:2] == [str(NODES), 'nodes'], words
    child.first, child.group = int(words[5]), last
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


def test_every_node_answers_for_itself(fleet):
    identities = set()
    for protocol in ('udp', 'tcp'):
        for number in (1, 2, NODES):
            # Ports that others use are left out, so later nodes are looked for.
            name = b'sim%04d' % number
            for port in range(fleet.first + number - 1, fleet.first + number + 20):
                try:
                    client = wire.Client(('127.0.0.1', port), protocol, timeout=0.5)
                    client.handshake()
                    snapshot = client.query()['snapshot']
                except (OSError, TimeoutError):
                    continue
                if snapshot['hostname'] == name:
                    break
            else:
                pytest.fail('%s is not found' % name)
            identities.add(client.welcome['identity'])
            assert len(snapshot['devices']) == DEVICES
            for index, device in enumerate(snapshot['devices']):
                fields = device['fields']
                assert device['uuid'] == b'GPU-%08x-0000-4000-8000-%012x' % (number, index)
                assert fields['utilization_gpu_percent'] == seed(number, index) % 101
                assert fields['memory_used_bytes'] == sum(e['mem_used_bytes'] for e in device['entries'])
                assert len(device['entries']) == 2
            client.goodbye()
            client.close()
    assert len(identities) == 3


def test_all_announce_themselves_on_loopback_only(fleet):
    with Group(fleet.group) as group:
        group.send(wire.Frame(wire.PROBE, 0, wire.put_probe(1)))
        names = set()
        while len(names) < NODES:
            heard = group.receive(5, unicast=True)
            assert heard, 'only %s answered' % sorted(names)
            announce, (address, _) = heard
            assert address == '127.0.0.1'
            names.add(announce['hostname'])
    assert names == {b'sim%04d' % n for n in range(1, NODES + 1)}


def test_it_ends_with_goodbyes(fleet):
    with wire.Client(('127.0.0.1', fleet.first)) as client:
        client.handshake()
        client.query()
        fleet.send_signal(signal.SIGTERM)
        frame = client.receive()
        assert frame.type == wire.GOODBYE
    assert fleet.wait(5) == 0


def test_a_thousand_fit_one_process():
    first = 10001 + os.getpid() % 50 * 200
    child = subprocess.Popen([str(SIMULATOR), '--port=%d' % first, '--group=239.195.7.9:%d' % (first - 1), '1000'],
                             stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline().startswith('1000 nodes on 127.0.0.1')
    status = open('/proc/%d/status' % child.pid).read()
    child.terminate()
    assert child.wait(10) == 0
    child.stdout.close()
    resident = int(status.split('VmRSS:')[1].split()[0])
    assert resident < 1 << 20, '%d KiB for 1,000 nodes' % resident
