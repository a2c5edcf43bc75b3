"""Three hosts and a login host in network namespaces: found, right, and missed in time. `make e2e-basic`."""
import itertools
import signal
import time

import pytest

from cluster import Cluster, plug_hosts, wait_state
from netlab import Lab

pytestmark = pytest.mark.e2e
IDLE_S = 2.0
SLACK_S = 0.5  # beyond the idle time-out: a last sign of life comes up to a heartbeat after the last answer


@pytest.fixture
def lab():
    lab = Lab()
    yield lab
    lab.close()


def open_cluster(lab, folder, discovery, protocol):
    """Three nodes and a backend; the ages of sessions are shortened, as ten seconds add nothing."""
    machines = plug_hosts(lab, 4)  # the last one to log in
    timing = {'heartbeat_interval': 0.5, 'connection_idle_timeout': IDLE_S}
    cluster = Cluster(folder, lab, connecting=timing)
    for number in (1, 2, 3):
        more = {} if discovery == 'multicast' else {'connecting': {'multicast_addr': ''}}
        cluster.node(number, machines[number - 1], **more)
    more = {'protocol': protocol}
    if discovery == 'static':
        more.update(multicast_addr='', static_nodes=['10.3.0.[1-3]:30000'])
    cluster.backend(host=machines[3], connecting=more)
    return cluster, machines


@pytest.mark.parametrize('first,discovery,protocol', itertools.product(('server', 'client'), ('static', 'multicast'),
                                                                       ('udp', 'tcp')))
def test_inventory(lab, tmp_path, first, discovery, protocol):
    cluster, machines = open_cluster(lab, tmp_path, discovery, protocol)
    with cluster:
        backend = cluster.programs[-1]
        nodes = cluster.nodes
        if first == 'client':
            backend.start().wait_socket()
            time.sleep(0.3)  # so that it has asked in vain
        for node in nodes:
            node.start()
        if first == 'server':
            for node in nodes:
                node.wait_log('serving on')
            backend.start().wait_socket()
        last = max(program.started for program in cluster.programs)
        took = cluster.wait_right(backend, seconds=1.0, since=last, rows=3)
        print('inventory right after %.3f s' % took)
        shown = cluster.compare(backend.shown())
        assert not shown, 'as clustat has it: %s' % shown

        # A goodbye.
        since = time.monotonic()
        nodes[0].process.send_signal(signal.SIGTERM)
        print('%s after %.4f s' % wait_state(backend, 'node1', ('stopped',), 1.0, since))
        cluster.assert_right(backend, nodes[1:])

        # A silent death of a program, and of a host.
        since = time.monotonic()
        nodes[1].process.kill()
        machines[2].ip('link set eth0 down')
        for name in ('node2', 'node3'):
            print(name, '%s after %.3f s' % wait_state(backend, name, ('down',), IDLE_S + SLACK_S, since))

        # All come back.
        machines[2].ip('link set eth0 up')
        nodes[0].process.wait()
        for node in nodes[:2]:
            node.start()
        cluster.wait_right(backend, seconds=5, rows=3)
