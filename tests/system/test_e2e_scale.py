"""16 servers, 8 backends, 32 questions to each in a fixed interleaving; then half of the servers die. `make e2e-scale`."""
import time

import pytest

from cluster import Cluster, Questions, plug_hosts, wait_until
from netlab import Lab

pytestmark = pytest.mark.e2e
SERVERS, BACKENDS, ROUNDS = 16, 8, 32
ROUND_S = 0.1


@pytest.fixture
def lab():
    lab = Lab()
    yield lab
    lab.close()


def states(questions):
    return {row['hostname']: row['state'] for row in questions.ask().rows}


def test_scale(lab, tmp_path):
    machines = plug_hosts(lab, 6)  # four of GPUs, two to log in
    with Cluster(tmp_path, lab, connecting={'heartbeat_interval': 0.5, 'connection_idle_timeout': 2}) as cluster:
        for number in range(1, SERVERS + 1):
            cluster.node(number, machines[number % 4], port=30000 + 10 * (number // 4)).start()
        backends = [cluster.backend(number, machines[4 + number % 2]).start() for number in range(BACKENDS)]
        for backend in backends:
            backend.wait_socket()
            cluster.wait_right(backend, seconds=15, rows=SERVERS)
        connections = [Questions(backend) for backend in backends]
        slowest = 0
        for number in range(ROUNDS):
            began = time.monotonic()
            # Every round begins with another backend; the second half of it goes backwards.
            order = connections[number % BACKENDS:] + connections[:number % BACKENDS]
            for questions in order if number % 2 else reversed(order):
                view = questions.ask()
                slowest = max(slowest, view.answered - view.asked)
                assert len(view.rows) == SERVERS
                wrong = cluster.compare(view)
                assert not wrong, 'round %d: %s' % (number, wrong)
            time.sleep(max(0, began + ROUND_S - time.monotonic()))
        print('slowest of %d answers: %.1f ms' % (ROUNDS * BACKENDS, slowest * 1e3))

        killed = cluster.nodes[::2]
        left = [node for node in cluster.nodes if node not in killed]
        names = {node.hostname for node in killed}
        since = time.monotonic()
        for node in killed:
            node.process.kill()
        for questions in connections:
            wait_until(lambda: all(state == ('down' if name in names else 'up')
                                   for name, state in states(questions).items()), 8, lambda: states(questions))
        print('all backends knew after %.2f s' % (time.monotonic() - since))
        for questions in connections:
            for _ in range(4):
                view = questions.ask()
                assert view.answered - view.asked < 0.2
                wrong = cluster.compare(view, left)
                assert not wrong, wrong
            questions.close()
