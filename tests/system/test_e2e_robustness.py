"""20 servers, 28 backends, and everything that can be done to them. `make e2e-robustness`.

After each fault: those not concerned are right all the time, those concerned say so, and when it is over all is right
again. All backends are looked at.
"""
import os
import random
import signal
import socket
import time

import pytest

from cluster import Cluster, Questions, plug_hosts, wait_until
from netlab import Lab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
SERVERS, BACKENDS = 20, 28
NODE_HOSTS, LOGIN_HOSTS = 5, 4
AGAIN_S = 25  # to be right again: sessions are tried again at growing intervals


@pytest.fixture
def lab():
    lab = Lab()
    yield lab
    lab.close()


class Site:
    def __init__(self, lab, folder):
        self.machines = plug_hosts(lab, NODE_HOSTS + LOGIN_HOSTS)
        self.cluster = Cluster(folder, lab, connecting={'heartbeat_interval': 0.5, 'connection_idle_timeout': 2})
        self.cluster.__enter__()
        for number in range(1, SERVERS + 1):
            self.cluster.node(number, self.machines[number % NODE_HOSTS], port=30000 + 10 * (number // NODE_HOSTS)).start()
        self.backends = [self.cluster.backend(number, self.machines[NODE_HOSTS + number % LOGIN_HOSTS],
                                              connecting={'protocol': 'tcp' if number % 4 == 1 else 'udp'}).start()
                         for number in range(BACKENDS)]
        for backend in self.backends:
            backend.wait_socket()
        self.questions = {backend: Questions(backend) for backend in self.backends}
        self.nodes = self.cluster.nodes
        self.settle()

    def ask(self, backend):
        return self.questions[backend].ask()

    def host_of(self, node):
        return self.machines[node.number % NODE_HOSTS]

    def on_host(self, index):
        return [node for node in self.nodes if node.number % NODE_HOSTS == index]

    def settle(self, seconds=AGAIN_S, backends=None):
        """All is right at every backend."""
        since = time.monotonic()
        for backend in backends or self.backends:
            def wrong():
                view = self.ask(backend)
                found = self.cluster.compare(view)
                return found + (['%d rows' % len(view.rows)] if len(view.rows) != SERVERS else [])
            wait_until(lambda: not wrong(), max(1, since + seconds - time.monotonic()),
                       lambda: '%s: %s' % (backend.name, wrong()))
        print('right everywhere after %.2f s' % (time.monotonic() - since))

    def others_stay_right(self, concerned, until, seconds):
        """Rows of all others are right in every answer until that holds at every backend."""
        limit = time.monotonic() + seconds
        others = [node for node in self.nodes if node not in concerned]
        missing = list(self.backends)
        while missing:
            for backend in list(missing):
                view = self.ask(backend)
                wrong = self.cluster.compare(view, others)
                assert not wrong, '%s: %s' % (backend.name, wrong)
                assert view.answered - view.asked < 0.4, 'an answer took %.3f s' % (view.answered - view.asked)
                rows = {row['hostname']: row for row in view.rows}
                if all(until(rows[node.hostname]) for node in concerned):
                    missing.remove(backend)
            assert time.monotonic() < limit, '%d backends do not show it: %s' % (len(missing), self.ask(missing[0]).names())

    def close(self, *error):
        for questions in self.questions.values():
            questions.close()
        self.cluster.__exit__(*(error or (None, None, None)))


def is_down(row):
    return row['state'] == 'down'


def servers_killed(site):
    victims = site.nodes[1:9:3]
    for node in victims:
        node.process.kill()
    site.others_stay_right(victims, is_down, 10)
    for node in victims:
        node.process.wait()
        node.start()


def servers_stopped(site):
    victims = site.nodes[2:12:4]
    for node in victims:
        node.process.send_signal(signal.SIGSTOP)
    site.others_stay_right(victims, is_down, 10)
    for node in victims:
        node.process.send_signal(signal.SIGCONT)


def link_down(site):
    site.machines[3].ip('link set eth0 down')
    site.others_stay_right(site.on_host(3), is_down, 10)
    site.machines[3].ip('link set eth0 up')


def bad_frames(site):
    seed = int(os.environ.get('SEED', time.time_ns() % 10 ** 9))
    print('SEED=%d' % seed)
    rng = random.Random(seed)
    sender = '''
import random, socket, sys
rng = random.Random(%d)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
starts = [b'', b'\\xc1\\xa7\\x01\\x00', b'\\xc1\\xa7\\x02\\x00', b'CLST\\x01', b'CLST\\x09']
for i in range(400):
    data = rng.choice(starts) + rng.randbytes(rng.choice([0, 1, 7, 24, 80, 600, 1400]))
    for host in range(1, 6):
        udp.sendto(data, ('10.3.0.%%d' %% host, rng.choice([30000, 30010, 30020, 30030, 4000])))
    for host in range(6, 10):
        udp.sendto(data, ('10.3.0.%%d' %% host, 4000))
for i in range(40):
    tcp = socket.create_connection(('10.3.0.%%d' %% rng.randint(1, 5), rng.choice([30010, 30020])), 2)
    try:
        tcp.sendall(rng.choice(starts) + rng.randbytes(rng.choice([1, 16, 900])))
    except OSError:
        pass
    tcp.close()
''' % rng.randrange(1 << 30)
    site.machines[0].run('/usr/bin/python3', '-c', sender)
    for backend in site.backends:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(backend.socket))
            s.sendall(rng.choice([b'CLST\x01', b'CLST\x09', b'', b'\x00\xff']) + rng.randbytes(300) + b'\n')
    for _ in range(5):
        site.others_stay_right([], lambda row: True, 10)


def backends_killed(site):
    victims = site.backends[3:15:4]
    for backend in victims:
        backend.process.kill()
        backend.process.wait()
        site.questions.pop(backend).close()
    for backend in victims:
        backend.start().wait_socket()
        site.questions[backend] = Questions(backend)
    site.settle(backends=victims)


def socket_removed(site):
    """The file of the socket is gone: whoever is connected is served; started again, it is there again."""
    victim = site.backends[5]
    victim.socket.unlink()
    assert not site.cluster.compare(site.ask(victim))
    assert victim.clustat('--json').returncode == 1
    site.questions.pop(victim).close()
    victim.stop()
    victim.start().wait_socket()
    site.questions[victim] = Questions(victim)
    site.settle(backends=[victim])


def ports_taken(site):
    node = site.nodes[6]
    holder = site.host_of(node).start(
        '/usr/bin/python3', '-c',
        'import socket, sys\n'
        'sockets = [socket.socket(socket.AF_INET, kind) for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM)]\n'
        'sockets[1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n'
        'sys.stdin.readline()\n'
        '[s.bind(("", %d)) for s in sockets]\nsockets[1].listen()\nprint("held", flush=True)\nsys.stdin.read()' % node.port)
    node.stop()
    holder.say('now')
    holder.expect('held')
    node.start()
    node.wait_log('PORT %d IS TAKEN' % node.port)
    site.settle()


def test_robustness(lab, tmp_path):
    site = Site(lab, tmp_path)
    try:
        for fault in (servers_killed, servers_stopped, link_down, bad_frames, backends_killed, socket_removed, ports_taken):
            began = time.monotonic()
            fault(site)
            print('%s: over after %.1f s' % (fault.__name__, time.monotonic() - began))
            site.settle()
    except BaseException as error:
        site.close(type(error), error, None)
        raise
    site.close()
