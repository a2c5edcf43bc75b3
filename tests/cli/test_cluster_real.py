"""The same command line over the real programs: three servers and a backend on loopback."""
import json
import os
import re
import subprocess
import sys
import time

import pytest

from cli_program import CLUSTAT, TOP

sys.path.insert(0, str(TOP / 'tests' / 'system'))
from cluster import SLOWNESS, Cluster, environment, wait_until  # noqa: E402
from pty_terminal import Terminal, restored  # noqa: E402


@pytest.fixture(scope='module')
def cluster(tmp_path_factory):
    """node2, node10 and one that was stopped; all known to the backend."""
    with Cluster(tmp_path_factory.mktemp('cluster')) as cluster:
        for number in (2, 10, 7):
            cluster.node(number, devices=3 if number == 10 else 2).start()
        cluster.servers = {node.number: node for node in cluster.nodes}
        cluster.one = cluster.backend().start().wait_socket()
        wait_until(lambda: names(cluster.one.clustat('nodes', '--json')) == {'node2': 'up', 'node7': 'up', 'node10': 'up'}, 10,
                   lambda: cluster.one.clustat('nodes').stdout)
        cluster.servers[7].stop()
        wait_until(lambda: names(cluster.one.clustat('nodes', '--json')).get('node7') == 'stopped', 5,
                   lambda: cluster.one.clustat('nodes').stdout)
        yield cluster


def names(done):
    return {node['hostname']: node['state'] for node in json.loads(done.stdout)['nodes']} if done.returncode == 0 else {}


def hosts(table):
    return [line.split()[0] for line in table.split('\n') if line and not line.startswith('[')]


def test_table(cluster):
    done = cluster.one.clustat('-c')
    assert (done.returncode, done.stderr) == (0, '')
    assert hosts(done.stdout) == ['node2', 'node7', 'node10']
    assert re.search(r'(?m)^node7 .*stopped since \d\d:\d\d$', done.stdout)
    assert re.findall(r'(?m)^\[(\d)\] NVIDIA Test (\d+) ', done.stdout) == [('0', '2'), ('1', '2'), ('0', '10'), ('1', '10'), ('2', '10')]
    assert cluster.compare(cluster.one.shown('-n', 'node2,node10'), [cluster.servers[2], cluster.servers[10]]) == []


def test_list_of_nodes(cluster):
    done = cluster.one.clustat('nodes')
    assert done.returncode == 0
    rows = [re.split('  +', line) for line in done.stdout.rstrip('\n').split('\n')]
    assert [row[:2] for row in rows[1:]] == [['node2', 'up'], ['node7', 'stopped'], ['node10', 'up']]
    assert all(re.fullmatch(r'127\.\d+\.\d+\.\d+:\d+|\d+\.\d+\.\d+\.\d+:\d+', row[3]) for row in rows[1:])
    version = subprocess.run([CLUSTAT, '-v'], stdout=subprocess.PIPE, text=True).stdout.split()[1]
    assert rows[1][4] == version and re.fullmatch(r'\d+us', rows[1][5])


@pytest.mark.parametrize('filter, found', [('node[2-7]', ['node2', 'node7']), ('node1*', ['node10']), ('!node7', ['node2', 'node10']),
                                           ('127.0.0.0/8', ['node2', 'node7', 'node10']), ('NODE2', ['node2'])])
def test_filters(cluster, filter, found):
    done = cluster.one.clustat('-n', filter)
    assert (done.returncode, done.stderr) == (0, '') and hosts(done.stdout) == found
    assert list(names(cluster.one.clustat('nodes', '--json', '-n', filter))) == found


def test_connection_ids_select_too(cluster):
    node = json.loads(cluster.one.clustat('nodes', '--json').stdout)['nodes'][2]
    assert hosts(cluster.one.clustat('-n', node['connection_id']).stdout) == ['node10']
    assert hosts(cluster.one.clustat('-n', node['addr']).stdout) == ['node10']


def test_inexact_and_nothing(cluster):
    done = cluster.one.clustat('-n', 'ode10')
    assert hosts(done.stdout) == ['node10'] and "no node is named 'ode10'" in done.stderr
    done = cluster.one.clustat('-n', 'node1')  # not node10
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr == "clustat: no node matches 'node1' (3 known; `clustat nodes` lists them)\n"


def test_user_filter(cluster):
    """Every device has one process: that of the tests."""
    me, other = str(os.geteuid()), '65533'
    assert hosts(cluster.one.clustat('-user', me).stdout) == ['node2', 'node7', 'node10']
    assert hosts(cluster.one.clustat('-user', other).stdout) == ['node7']


def test_ids(cluster):
    assert cluster.one.clustat('--id', '2').stdout.count('[2]') == 1
    done = cluster.one.clustat('--id', '3')
    assert done.returncode == 1 and done.stderr == 'clustat: --id 3: no node has a GPU 3\n'


def test_gpustats_json_of_one_and_of_several_nodes(cluster):
    def flat(*words):
        done = subprocess.run(['gpustat', '--backend-socket', str(cluster.one.socket), '--json', *words], executable=CLUSTAT,
                              env=environment(), capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    one = flat('-n', 'node10')
    assert one['hostname'] == 'node10' and len(one['gpus']) == 3 and 'hostname' not in one['gpus'][0]
    several = flat('-n', '*')
    assert several['hostname'] is None and [g['hostname'] for g in several['gpus']] == ['node2'] * 2 + ['node10'] * 3


def test_watch(cluster, tmp_path):
    t = Terminal(['--backend-socket', str(cluster.one.socket), '-i', '0.05'], environment(TERM='xterm-256color'))
    try:
        t.wait_for(rb'node2 .*delay=\d+us.*node7 .*stopped since.*node10.*\[2\]')
        at = len(t.output)
        t.wait_for(rb'NVIDIA Test 10', at)  # the values change
        assert b'\x1b[2J' not in t.output
        t.send(b'q')
        assert t.end() == 0 and restored(t)
    finally:
        t.close()


def test_forgetting(cluster):
    """Last: a node that answers is kept, the stopped one goes."""
    done = cluster.one.clustat('--forget', 'node2')
    assert done.returncode == 1 and '1 node kept' in done.stderr
    done = cluster.one.clustat('--forget', 'nosuch')
    assert done.returncode == 1 and done.stdout == ''
    done = cluster.one.clustat('--forget', 'node7')
    assert (done.returncode, done.stdout, done.stderr) == (0, '1 node forgotten\n', '')
    assert list(names(cluster.one.clustat('nodes', '--json'))) == ['node2', 'node10']


def test_the_whole_command_is_fast(cluster):
    times = []
    for _ in range(21):
        started = time.monotonic()
        cluster.one.clustat()
        times.append(time.monotonic() - started)
    print('median %.1f ms' % (sorted(times)[10] * 1000))
    assert sorted(times)[10] < 0.05 * SLOWNESS
