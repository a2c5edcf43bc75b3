"""Forged and replayed traffic, wrong keys, questions from outside: no row, no session, no value is touched."""
import json
import pathlib
import secrets
import signal
import time

import pytest

from cluster import Cluster, plug_hosts, wait_state, wait_until
from netlab import Lab

pytestmark = pytest.mark.slow
FORGER = pathlib.Path(__file__).resolve().parent / 'forger.py'
FAST = {'heartbeat_interval': 0.5, 'connection_idle_timeout': 2}


@pytest.fixture
def lab():
    lab = Lab()
    yield lab
    lab.close()


def forge(host, *words):
    """Runs the forger, which also sends to groups."""
    host.ip('route replace 224.0.0.0/4 dev eth0')
    host.run('/usr/bin/python3', FORGER, *words)


def key_file(folder, name='key'):
    path = folder / name
    path.write_text(secrets.token_hex(32) + '\n')
    path.chmod(0o600)
    return str(path)


def stay_right(cluster, backend, seconds, rows):
    """Every answer of the time that follows is right, and comes at once."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        view = cluster.assert_right(backend)
        assert len(view.rows) == rows, view.names()
        assert view.answered - view.asked < 0.5
        time.sleep(0.02)


def backend_ports(machine):
    """UDP ports that are bound in this host, but for the group's."""
    lines = machine.run('cat', '/proc/net/udp', '/proc/net/udp6').splitlines()
    ports = {int(line.split()[1].rsplit(':', 1)[1], 16) for line in lines if ':' in line.split()[0]}
    return sorted(ports - {4000})


def start(lab, folder, machines, **config):
    cluster = Cluster(folder, lab, connecting=FAST, **config)
    for number in (1, 2):
        cluster.node(number, machines[number - 1]).start().wait_log('serving on')
    backend = cluster.backend(host=machines[2]).start().wait_socket()
    cluster.wait_right(backend, seconds=3, rows=2)
    return cluster, backend


@pytest.mark.parametrize('sealed', [False, True])
def test_forged_announces(lab, tmp_path, sealed):
    machines = plug_hosts(lab, 4)
    cluster, backend = start(lab, tmp_path, machines, **({'security': {'key_file': key_file(tmp_path)}} if sealed else {}))
    with cluster:
        sniffer = machines[3].start('/usr/bin/python3', FORGER, 'capture', '4', tmp_path / 'seen')
        sniffer.expect('capturing')
        lines = backend.log().count('\n')
        forge(machines[3], 'announces', '1000', '4000', '10.3.0.3', '239.195.7.11')
        stay_right(cluster, backend, 3, rows=2)
        assert backend.log().count('\n') - lines < 10, backend.log()
        wait_until(lambda: (tmp_path / 'seen').exists(), 5, 'the capture')
        tries = [line for line in json.loads((tmp_path / 'seen').read_text())
                 if line[0] == '10.3.0.3' and line[2] == '10.3.0.4']
        print('%d datagrams to the forger' % len(tries))
        assert len(tries) == 0 if sealed else len(tries) < 500


def test_forged_goodbyes(lab, tmp_path):
    machines = plug_hosts(lab, 4)
    cluster, backend = start(lab, tmp_path, machines)
    with cluster:
        ports = backend_ports(machines[2])
        assert ports
        forge(machines[3], 'goodbyes', '200', '10.3.0.1:30000', '10.3.0.3', *ports)
        for port in ports:
            forge(machines[3], 'goodbyes', '50', '10.3.0.3:%d' % port, '10.3.0.1', '30000')
        stay_right(cluster, backend, 2, rows=2)


def test_replayed_traffic_of_a_sealed_cluster(lab, tmp_path):
    machines = plug_hosts(lab, 3)
    cluster, backend = start(lab, tmp_path, machines, security={'key_file': key_file(tmp_path)})
    with cluster:
        sniffer = machines[2].start('/usr/bin/python3', FORGER, 'capture', '2', tmp_path / 'seen')
        sniffer.expect('capturing')
        stay_right(cluster, backend, 1.5, rows=2)
        wait_until(lambda: (tmp_path / 'seen').exists(), 5, 'the capture')
        identity = backend.view().row('node1')['connection_id']
        # From the nodes' side, as the backend's host would not take its own addresses from outside.
        for _ in range(3):
            forge(machines[1], 'replay', tmp_path / 'seen')
        stay_right(cluster, backend, 2, rows=2)
        assert backend.view().row('node1')['connection_id'] == identity
        status = cluster.nodes[0].status()
        assert status['input_replayed'] > 0 and status['sessions'] == 1, status


@pytest.mark.parametrize('backend_key', ['none', 'other'])
def test_a_backend_without_the_key_learns_why(lab, tmp_path, backend_key):
    machines = plug_hosts(lab, 2)
    with Cluster(tmp_path, lab, connecting=FAST) as cluster:
        node = cluster.node(1, machines[0], security={'key_file': key_file(tmp_path)}).start()
        node.wait_log('serving on')
        more = {'security': {'key_file': key_file(tmp_path, 'other')}} if backend_key == 'other' else {}
        backend = cluster.backend(host=machines[1], connecting={'static_nodes': ['10.3.0.1:30000'], 'multicast_addr': ''},
                                  **more).start().wait_socket()
        def told():
            rows = backend.view().rows
            return len(rows) == 1 and rows[0]['state'] != 'up' and not rows[0]['gres']
        time.sleep(1)
        wait_until(told, 5, lambda: backend.view().names())
        if backend_key == 'none':
            wait_until(lambda: 'key_file' in (backend.view().rows[0]['error'] or ''), 5, lambda: backend.view().document)


def test_not_allowed_is_told(lab, tmp_path):
    machines = plug_hosts(lab, 2)
    with Cluster(tmp_path, lab, connecting=FAST) as cluster:
        node = cluster.node(1, machines[0], security={'allow': ['10.99.0.0/16']}).start()
        node.wait_log('serving on')
        backend = cluster.backend(host=machines[1], connecting={'static_nodes': ['10.3.0.1:30000']}).start().wait_socket()
        wait_until(lambda: [row['error'] for row in backend.view().rows if 'security.allow' in (row['error'] or '')], 5,
                   lambda: backend.view().document)
        time.sleep(2)
        assert node.log().count('refused 10.3.0.2') == 1, node.log()
        assert len(backend.view().rows) == 1


def test_keys_change_while_all_goes_on(lab, tmp_path):
    """Both keys are known everywhere before the new one comes first; SIGHUP reloads."""
    machines = plug_hosts(lab, 3)
    path = key_file(tmp_path)
    cluster, backend = start(lab, tmp_path, machines, security={'key_file': path})
    with cluster:
        old, new = pathlib.Path(path).read_text(), secrets.token_hex(32) + '\n'
        for content in (old + new, new + old, new):
            pathlib.Path(path).write_text(content)
            for program in cluster.programs:
                program.process.send_signal(signal.SIGHUP)
            stay_right(cluster, backend, 1.5, rows=2)
        cluster.nodes[0].stop()
        wait_state(backend, 'node1', ('stopped',), 1)
        cluster.nodes[0].start()
        cluster.wait_right(backend, seconds=3, since=cluster.nodes[0].started, rows=2)
