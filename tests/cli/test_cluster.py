"""One-shot runs over a backend: a stand-in (stand_in.py) that says what a test wants."""
import fcntl
import json
import os
import pty
import re
import select
import socket
import struct
import subprocess
import termios
import time

import jsonschema
import pytest

from cli_program import CLUSTAT, DEADLINE_S, LIBRARY, TOP, environment, run, scenario
from stand_in import (INEXACT, MAX_CONNECTIONS, NO_SNAPSHOTS, NO_WAIT, VIEW_END, VIEW_NODE, WARMING, Node, StandIn, error, frame, gpu,
                      silence)

NOT_RUNNING = 'clustat-backend is not running: systemctl status clustat-client; --local shows this machine'
NOBODY = 65534


@pytest.fixture
def backend(tmp_path):
    started = []

    def start(nodes=(), path=None, **more):
        started.append(StandIn(path or tmp_path / 'client.sock', nodes, **more))
        return started[-1]
    yield start
    for stand_in in started:
        stand_in.stop()


def env_for(stand_in, **more):
    return environment(**dict({'CLUSTAT_NVML_LIB': None, 'CLUSTAT_BACKEND_SOCKET': stand_in.path}, **more))


def ask(stand_in, args=(), name='clustat', **more):
    return run(list(args), env_for(stand_in, **more), name)


def hosts(table):
    """Host names of the table's header lines."""
    return [line.split()[0] for line in table.split('\n') if line and not line.startswith('[')]


def on_terminal(args, env, name='clustat', rows=40, columns=160):
    """What the program writes to a terminal, and its status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
    popen = subprocess.Popen([name, *args], executable=CLUSTAT, env=env, stdin=subprocess.DEVNULL, stdout=slave,
                             stderr=subprocess.PIPE)
    os.close(slave)
    out, end = b'', time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            out += piece
            if not piece:
                break
    err = popen.communicate(timeout=DEADLINE_S)[1].decode()
    os.close(master)
    return out.decode().replace('\r\n', '\n'), err, popen.returncode


def plain(text):
    return re.sub(r'\x1b\[[0-9;]*m', '', text)


# ---- the table ----

def test_nodes_in_natural_order(backend):
    result = ask(backend([Node(n) for n in ('gpu10', 'gpu2', 'login', 'gpu1')]))
    assert (result.returncode, result.stderr) == (0, '')
    assert hosts(result.stdout) == ['gpu1', 'gpu2', 'gpu10', 'login']


def test_silent_nodes_are_shown_and_the_status_is_0(backend):
    since = int((time.time() - 60) * 1e6)
    result = ask(backend([Node('gpu1', state='down', since=since, taken=0), Node('gpu2', state='stopped', since=since),
                          Node('gpu3', state='stale', age_us=3200000), Node('gpu4', state='warming', silent=True, addr='10.0.0.4:1'),
                          Node('gpu5', error='refused by security.allow')]))
    assert (result.returncode, result.stderr) == (0, '')
    lines = {line.split()[0]: line for line in result.stdout.split('\n') if line and line[0] != '['}
    clock = time.strftime('%H:%M', time.gmtime(since / 1e6))
    assert re.fullmatch(r'gpu1 +down since %s' % clock, lines['gpu1'])  # never read, so no time and no driver
    assert re.search(r'580\.65\.06  stopped since %s' % clock, lines['gpu2'])
    assert 'stale 3.2s' in lines['gpu3'] and '1970' not in result.stdout
    assert 'warming' in lines['10.0.0.4:1']
    assert 'refused by security.allow' in lines['gpu5']
    assert result.stdout.count('[0]') == 2  # of those that answer


def test_under_the_name_gpustat_the_rows_are_gpustats(backend):
    stand_in = backend([Node('a'), Node('b', [gpu(0), gpu(1)])])
    result = ask(stand_in, ['-n', 'b'], 'gpustat')
    assert re.fullmatch(r'b {13}  \w+ \w+ +\d+ [\d:]+ \d+  580\.65\.06\n'
                        r'\[0\] NVIDIA Test \| 40°C,  10 % \|  4096 / 81920 MB \|\n'
                        r'\[1\] NVIDIA Test \| 40°C,  11 % \|  4096 / 81920 MB \|\n', result.stdout), result.stdout


# ---- -n ----

def test_the_filter_goes_to_the_backend(backend):
    stand_in = backend([Node('gpu1'), Node('gpu2')])
    for spelling in (['-n', 'gpu2'], ['-ngpu2'], ['--node=gpu2'], ['--nodes', 'gpu2'], ['--nod', 'gpu2']):
        assert hosts(ask(stand_in, spelling).stdout) == ['gpu2'], spelling
    assert [q.filter for q in stand_in.queries] == ['gpu2'] * 5
    ask(stand_in)
    assert stand_in.queries[-1].filter is None


@pytest.mark.parametrize('args', [[], ['--json'], ['nodes'], ['-i', '0.1']])
def test_nothing_matches(backend, args):
    result = ask(backend([Node('gpu1')]), ['-n', 'x', *args])
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr == "clustat: no node matches 'x' (1 known; `clustat nodes` lists them)\n"


def test_inexact_match_is_told(backend):
    result = ask(backend([Node('gpu1')], flags=INEXACT), ['-n', 'pu'])
    assert result.returncode == 0 and hosts(result.stdout) == ['gpu1']
    assert result.stderr == "clustat: no node is named 'pu'; taken as part of a name\n"


@pytest.mark.parametrize('option', ['-n', '--forget'])
def test_a_filter_that_cannot_be_read_is_wrong_usage(backend, option):
    stand_in = backend([Node('gpu1')])
    for bad in ('x[1-', 'x[0-4294967295]', ''):
        result = ask(stand_in, [option, bad])
        assert (result.returncode, result.stdout) == (2, ''), bad
        assert re.match(r'clustat: error: argument (-n/--node/--nodes|--forget): ', result.stderr.split('\n')[-2])
    assert stand_in.queries == [] and stand_in.forgotten == []


# ---- -user ----

def theirs(uid):
    return gpu(0, [(uid, 100 + uid, 'job%d' % uid, 1000)])


def test_user_filter_over_nodes(backend):
    stand_in = backend([Node('empty'), Node('other', [theirs(0)]), Node('theirs', [theirs(0), dict(theirs(NOBODY), index=1)]),
                        Node('down', state='down', taken=0), Node('unread', [gpu(0, lists=[-1, -1, -1])]),
                        Node('fault', [], fault=4)])
    for users in ('nobody', str(NOBODY)):
        result = ask(stand_in, ['-c', '-user', users])
        assert (result.returncode, result.stderr) == (0, '')
        assert hosts(result.stdout) == ['down', 'fault', 'theirs', 'unread']
        assert 'job%d' % NOBODY in result.stdout and 'job0' not in result.stdout
        assert stand_in.queries[-1].users == [NOBODY]
    document = json.loads(ask(stand_in, ['--json', '-user', 'nobody']).stdout)
    assert [n['hostname'] for n in document['nodes']] == ['down', 'fault', 'theirs', 'unread']
    assert [g['index'] for g in document['nodes'][2]['gres']] == [1]
    flat = json.loads(ask(stand_in, ['--json', '-user', 'nobody', '-n', 'e'], 'gpustat').stdout)
    assert [(g['hostname'], g['index']) for g in flat['gpus']] == [('theirs', 1), ('unread', 0)]


def test_user_nobody_has_processes_of(backend):
    stand_in = backend([Node('a'), Node('b')])
    result = ask(stand_in, ['-user', 'nobody'])
    assert (result.returncode, result.stdout, result.stderr) == (0, '', 'clustat: no process of nobody on any node\n')
    assert json.loads(ask(stand_in, ['-user', 'nobody', '--json']).stdout)['meta']['status'] == 'empty'


def test_unknown_user_is_told_before_anybody_is_asked(backend):
    stand_in = backend([Node('a')])
    result = ask(stand_in, ['-user', 'root,no-such-user'])
    assert (result.returncode, result.stdout) == (1, '') and "user 'no-such-user'" in result.stderr
    assert stand_in.queries == []


def test_more_users_than_a_question_holds(backend):
    stand_in = backend([Node('a', [theirs(5)]), Node('b', [theirs(2000)])])
    result = ask(stand_in, ['-user', ','.join(str(u) for u in range(1000, 2500))])
    assert hosts(result.stdout) == ['b']
    assert stand_in.queries[-1].users == []  # the filter here does it alone


def test_users_are_named_here(backend):
    result = ask(backend([Node('a', [gpu(0, [(NOBODY, 1, 'x', 5), (4000000000, 2, 'y', 5)])])]))
    assert 'nobody(5M) 4000000000(5M)' in result.stdout


# ---- --id ----

def test_ids_per_node(backend):
    stand_in = backend([Node('a', [gpu(0), gpu(1)]), Node('b', [gpu(0)]), Node('c', silent=True, state='down')])
    result = ask(stand_in, ['--id', '1,0', '-n', 'a'])
    assert re.findall(r'(?m)^\[(\d)\]', result.stdout) == ['1', '0']
    result = ask(stand_in, ['--id', '1'])
    assert result.returncode == 0 and re.findall(r'(?m)^\[(\d)\]', result.stdout) == ['1']
    for name, text in (('clustat', 'clustat: --id 7: no node has a GPU 7\n'), ('gpustat', 'Invalid Argument\n')):
        result = ask(stand_in, ['--id', '7', '-n', 'a'], name)
        assert (result.returncode, result.stdout) == (1, '') and result.stderr.endswith(text)
    assert ask(stand_in, ['--id', 'x']).returncode == 1


# ---- JSON ----

def test_json_keeps_to_the_schema(backend):
    schema = json.loads((TOP / 'docs' / 'clustat.schema.json').read_text())
    stand_in = backend([Node('up', [gpu(0, [(0, 1, 'x', 5)])]), Node('down', state='down', since=10 ** 15, taken=0, delay=None),
                        Node('none', state='warming', silent=True), Node('stale', state='stale', age_us=10 ** 7),
                        Node('stopped', state='stopped', since=10 ** 15), Node('fault', [], fault=4, error='trouble')])
    for option in ('--json', '-json'):
        result = ask(stand_in, [option])
        assert (result.returncode, result.stderr) == (0, '')
        document = json.loads(result.stdout)
        jsonschema.validate(document, schema)
    assert document['meta']['node_count'] == 6 == len(document['nodes'])
    nodes = {n['hostname']: n for n in document['nodes']}
    assert nodes['up']['delay_us'] == 280 and nodes['up']['delay_age_us'] >= 300 and not nodes['up']['stale']
    assert nodes['down']['timestamp_ms'] is None and nodes['down']['num'] is None and nodes['down']['stale']
    assert nodes['stale']['stale'] and nodes['stale']['age_us'] >= 10 ** 7
    assert 'trouble' in nodes['fault']['error']


def test_json_under_the_name_gpustat(backend):
    stand_in = backend([Node('gpu1', [gpu(0)]), Node('gpu2', [gpu(0), gpu(1)])])
    one = json.loads(ask(stand_in, ['--json', '-n', 'gpu2'], 'gpustat').stdout)
    assert list(one) == ['hostname', 'driver_version', 'query_time', 'gpus']
    assert one['hostname'] == 'gpu2' and [g['index'] for g in one['gpus']] == [0, 1] and 'hostname' not in one['gpus'][0]
    both = json.loads(ask(stand_in, ['--json', '-n', 'gpu'], 'gpustat').stdout)
    assert both['hostname'] is None
    assert [g['hostname'] for g in both['gpus']] == ['gpu1', 'gpu2', 'gpu2']


# ---- what only terminals get ----

def test_the_delay_is_for_terminals(backend):
    stand_in = backend([Node('a'), Node('old', delay=(500, 11000000))])
    env = env_for(stand_in)
    out, _, status = on_terminal(['--color'], env)
    assert status == 0 and out.count('delay=') == 1 and 'delay=280us' in plain(out)
    for args in (['--no-latency'], ['--latency-display', 'no']):
        assert 'delay=' not in on_terminal(args, env)[0]
    assert 'delay=' not in on_terminal(['-n', 'a'], env, 'gpustat')[0]
    for args in ([], ['--latency-display', 'yes']):
        assert 'delay=' not in ask(stand_in, args).stdout


def test_latency_display_of_the_configuration(backend, tmp_path):
    config = tmp_path / 'client.toml'
    config.write_text('[services]\nlatency_display = false\n')
    env = env_for(backend([Node('a')]), CLUSTAT_CONFIG=config)
    assert 'delay=' not in on_terminal([], env)[0]
    assert 'delay=280us' in plain(on_terminal(['--latency-display=on'], env)[0])


def test_the_footer_names_what_is_not_shown(backend):
    stand_in = backend([Node('a', [theirs(NOBODY)]), Node('ab'), Node('c')], left_out=5, flags=MAX_CONNECTIONS)
    want = 'not shown: 1 node (-n a); 1 node without a process of nobody; 5 nodes (connecting.max_connections is reached)'
    args = ['-n', 'a', '-user', 'nobody']
    out, err, status = on_terminal(args, env_for(stand_in))
    assert (status, err) == (0, '') and plain(out).split('\n')[-2] == want
    assert 'not shown' not in on_terminal(args, env_for(stand_in), 'gpustat')[0]
    piped = ask(stand_in, args)
    assert 'not shown' not in piped.stdout
    assert piped.stderr == 'clustat: 5 nodes are left out: connecting.max_connections is reached\n'


def test_without_headers_the_footer_counts_silent_nodes(backend):
    stand_in = backend([Node('a'), Node('b', state='down', taken=0)])
    out, _, _ = on_terminal(['--no-header'], env_for(stand_in))
    assert plain(out).split('\n')[-2] == 'not shown: 1 node without values (--no-header)'


def test_no_footer_where_all_is_shown(backend):
    out, err, _ = on_terminal([], env_for(backend([Node('a')])))
    assert plain(out).split('\n')[-2].startswith('[0]') and err == ''


# ---- nodes, --forget ----

def test_nodes_is_a_line_per_node(backend):
    stand_in = backend([Node('gpu10', error='trouble'), Node('gpu2', addr='10.0.0.222:30000', version='0.2.0-rc1', seen=90000000),
                        Node('gpu3', state='down', since=10 ** 15, delay=None, seen=None, version=None)])
    result = ask(stand_in, ['nodes'])
    assert (result.returncode, result.stderr) == (0, '')
    lines = result.stdout.rstrip('\n').split('\n')
    assert re.split('  +', lines[0]) == ['NODE', 'STATE', 'LAST SEEN', 'ADDRESS', 'VERSION', 'DELAY', 'FAULT']
    assert re.split('  +', lines[1]) == ['gpu2', 'up', '90s ago', '10.0.0.222:30000', '0.2.0-rc1', '280us']
    assert re.split('  +', lines[2])[:6] == ['gpu3', 'down', 'never', '10.0.0.1:30000', '-', '-']
    assert re.split('  +', lines[2])[6].startswith('down since ')
    assert re.split('  +', lines[3]) == ['gpu10', 'up', '0.0s ago', '10.0.0.1:30000', '0.1.0', '280us', 'trouble']
    for column, heading in ((1, 'STATE'), (3, 'ADDRESS'), (4, 'VERSION'), (5, 'DELAY')):
        at = lines[0].index(heading)
        assert all(line[at - 1] == ' ' != line[at] for line in lines), heading
    assert all(line == line.rstrip() for line in lines)
    assert stand_in.queries[-1].flags & NO_SNAPSHOTS
    assert ask(stand_in, ['nodes', '--no-header']).stdout.count('\n') == 3
    assert ask(stand_in, ['nodes', '-n', 'gpu2']).stdout.count('\n') == 2


def test_nodes_as_json(backend):
    stand_in = backend([Node('gpu10'), Node('gpu2', state='down', since=7, delay=None, seen=None, version=None)], left_out=3)
    document = json.loads(ask(stand_in, ['nodes', '--json']).stdout)
    assert document['meta'] == {'status': 'ok', 'timestamp_ms': document['meta']['timestamp_ms'], 'node_count': 2, 'known_count': 2,
                                'left_out_count': 3}
    down, up = document['nodes']
    assert up['hostname'] == 'gpu10' and up['state'] == 'up' and up['last_seen_age_us'] >= 300 and up['fault'] is None
    assert up['version'] == '0.1.0' and up['delay_us'] == 280 and up['since_unix_us'] is None
    assert down['since_unix_us'] == 7 and down['fault'].startswith('down since')
    assert [down[k] for k in ('last_seen_age_us', 'version', 'delay_us', 'delay_age_us')] == [None] * 4


def test_nodes_is_no_word_of_gpustat(backend):
    stand_in = backend([Node('a')])
    assert ask(stand_in, ['nodes'], 'gpustat').returncode == 2
    result = ask(stand_in, ['nodes', 'nodes'])
    assert result.returncode == 2 and result.stderr.endswith('unrecognized arguments: nodes\n')


def test_forget(backend):
    stand_in = backend([Node('a')])
    result = ask(stand_in, ['--forget', 'gpu[1-3]'])
    assert (result.returncode, result.stdout, result.stderr) == (0, '1 node forgotten\n', '')
    assert stand_in.forgotten == ['gpu[1-3]']


def test_forget_refused(backend):
    stand_in = backend([Node('a')])
    stand_in.forget = lambda request_id: frame(53, request_id, struct.pack('>II', 0, 2))
    result = ask(stand_in, ['--forget', 'a'])
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr == 'clustat: 2 nodes kept: only those that do not answer can be forgotten\n'
    stand_in.forget = lambda request_id: error(2, 'only root and clustat may forget nodes')(None, None, request_id)
    result = ask(stand_in, ['--forget', 'a'])
    assert result.returncode == 1
    assert result.stderr == 'clustat: clustat-backend: only root and clustat may forget nodes\n'


# ---- which socket ----

def test_own_backend_before_the_service(backend, tmp_path):
    config = tmp_path / 'client.toml'
    config.write_text('[services]\nuds_path = "%s"\n' % (tmp_path / 'service.sock'))
    (tmp_path / 'clustat').mkdir()
    service = backend([Node('service')], tmp_path / 'service.sock')
    env = environment(CLUSTAT_NVML_LIB=None, CLUSTAT_CONFIG=config, XDG_RUNTIME_DIR=tmp_path)
    assert hosts(run([], env).stdout) == ['service']
    own = backend([Node('own')], tmp_path / 'clustat' / 'client.sock')
    assert hosts(run([], env).stdout) == ['own']
    other = backend([Node('other')], tmp_path / 'other.sock')
    assert hosts(run(['--backend-socket', str(other.path)], env).stdout) == ['other']
    assert hosts(run([], dict(env, CLUSTAT_BACKEND_SOCKET=str(other.path))).stdout) == ['other']
    assert hosts(run(['--backend-socket=%s' % service.path], dict(env, CLUSTAT_BACKEND_SOCKET=str(other.path))).stdout) == ['service']
    own.stop()
    assert hosts(run([], env).stdout) == ['service']


def test_not_running(backend, tmp_path):
    for name in ('clustat', 'gpustat'):
        for args in [['-n', 'x'], ['-n', 'x', '--json'], ['-n', 'x', '-i', '0.1']] + [['nodes']] * (name == 'clustat'):
            result = run(args, environment(CLUSTAT_NVML_LIB=None, CLUSTAT_BACKEND_SOCKET=tmp_path / 'none.sock'), name)
            assert (result.returncode, result.stdout, result.stderr) == (1, '', '%s: %s\n' % (name, NOT_RUNNING))
    stand_in = backend()
    os.rename(stand_in.path, tmp_path / 'left.sock')  # a socket that nobody listens to any more
    stand_in.stop()
    result = run([], environment(CLUSTAT_NVML_LIB=None, CLUSTAT_BACKEND_SOCKET=tmp_path / 'left.sock'))
    assert (result.returncode, result.stderr) == (1, 'clustat: %s\n' % NOT_RUNNING)


def test_configured_means_never_something_else(tmp_path):
    config = tmp_path / 'client.toml'
    config.write_text('[services]\nuds_path = "%s"\n' % (tmp_path / 'none.sock'))
    env = environment(scenario(tmp_path / 's.json'), CLUSTAT_NVML_LIB=None, CLUSTAT_CONFIG=config)
    result = run([], env)
    assert (result.returncode, result.stdout, result.stderr) == (1, '', 'clustat: %s\n' % NOT_RUNNING)


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root to give a file away')
def test_a_strangers_socket_is_not_asked(backend):
    stand_in = backend([Node('a')])
    os.chown(stand_in.path, 12345, 12345)
    result = ask(stand_in)
    assert (result.returncode, result.stdout) == (1, '')
    assert str(stand_in.path) in result.stderr and '12345' in result.stderr and 'not asked' in result.stderr
    assert stand_in.queries == []
    assert ask(stand_in, ['--forget', 'x']).returncode == 1 and stand_in.forgotten == []


def test_no_socket_at_all(tmp_path):
    (tmp_path / 'file').write_text('')
    result = run([], environment(CLUSTAT_NVML_LIB=None, CLUSTAT_BACKEND_SOCKET=tmp_path / 'file'))
    assert result.returncode == 1 and result.stderr == 'clustat: %s is no socket\n' % (tmp_path / 'file')
    long = '/' + 'x' * 200
    result = run([], environment(CLUSTAT_NVML_LIB=None, CLUSTAT_BACKEND_SOCKET=long))
    assert result.returncode == 1 and 'too long' in result.stderr


# ---- this machine or the cluster ----

def test_gpustat_on_a_machine_with_a_driver_is_this_machine(backend, tmp_path):
    config = tmp_path / 'client.toml'
    config.write_text('[runtime]\nnvml_lib_path = "%s"\n' % LIBRARY)
    stand_in = backend([Node('cluster')])
    env = environment(scenario(tmp_path / 's.json'), CLUSTAT_NVML_LIB=None, CLUSTAT_CONFIG=config,
                      CLUSTAT_BACKEND_SOCKET=stand_in.path)
    assert hosts(run([], env, 'gpustat').stdout) == [os.uname().nodename]
    assert hosts(run(['-n', 'cluster'], env, 'gpustat').stdout) == ['cluster']
    assert hosts(run([], env).stdout) == ['cluster']
    for more in ({'CLUSTAT_LOCAL': '1'}, {'CLUSTAT_NVML_LIB': str(LIBRARY)}):
        assert hosts(run([], dict(env, **more)).stdout) == [os.uname().nodename]
    assert hosts(run(['--local'], env).stdout) == [os.uname().nodename]


@pytest.mark.parametrize('driver', ['none', 'not loaded'])
def test_gpustat_on_a_machine_without_a_driver_is_the_cluster(backend, tmp_path, driver):
    config = tmp_path / 'client.toml'
    config.write_text('[runtime]\nnvml_lib_path = "%s"\n' % (LIBRARY if driver == 'not loaded' else tmp_path / 'none.so'))
    env = environment(scenario(tmp_path / 's.json', driver={'init_rc': 9}), CLUSTAT_NVML_LIB=None, CLUSTAT_CONFIG=config)
    stand_in = backend([Node('cluster')])
    result = run([], dict(env, CLUSTAT_BACKEND_SOCKET=str(stand_in.path)), 'gpustat')
    assert (result.returncode, result.stderr) == (0, '') and hosts(result.stdout) == ['cluster']


def test_a_broken_driver_is_an_error_of_gpustat(backend, tmp_path):
    config = tmp_path / 'client.toml'
    config.write_text('[runtime]\nnvml_lib_path = "%s"\n' % LIBRARY)
    env = environment(scenario(tmp_path / 's.json', driver={'init_rc': 18}), CLUSTAT_NVML_LIB=None, CLUSTAT_CONFIG=config,
                      CLUSTAT_BACKEND_SOCKET=backend([Node('cluster')]).path)
    result = run([], env, 'gpustat')
    assert (result.returncode, result.stdout) == (1, '') and 'version mismatch' in result.stderr


def test_a_backend_that_knows_nobody_on_a_machine_with_a_driver(backend, tmp_path):
    config = tmp_path / 'client.toml'
    config.write_text('[runtime]\nnvml_lib_path = "%s"\n' % LIBRARY)
    env = environment(scenario(tmp_path / 's.json'), CLUSTAT_NVML_LIB=None, CLUSTAT_CONFIG=config, CLUSTAT_BACKEND_SOCKET=backend().path)
    for args in ([], ['--json']):
        result = run(args, env)
        assert result.returncode == 0 and os.uname().nodename in result.stdout
        assert result.stderr == "clustat: clustat-backend knows no node; this machine's own GPUs are shown\n"
    assert run(['nodes'], env).stdout == ''


def test_a_backend_that_knows_nobody_elsewhere(backend, tmp_path):
    config = tmp_path / 'client.toml'
    config.write_text('[runtime]\nnvml_lib_path = "%s"\n' % (tmp_path / 'none.so'))
    env = environment(CLUSTAT_NVML_LIB=None, CLUSTAT_CONFIG=config, CLUSTAT_BACKEND_SOCKET=backend().path)
    result = run([], env)
    assert (result.returncode, result.stdout) == (0, '')
    assert result.stderr == 'clustat: no node is known: systemctl status clustat-server on the GPU nodes\n'
    document = json.loads(run(['--json'], env).stdout)
    assert document['meta']['status'] == 'empty' and document['nodes'] == []


def test_a_fresh_backend_is_given_time_to_find_nodes(backend):
    def late(stand_in, query, request_id):
        if query.flags & NO_WAIT:
            return frame(VIEW_END, request_id, struct.pack('>IIIH', 0, 0, 0, WARMING))
        return StandIn.usual(stand_in, query, request_id)
    stand_in = backend([Node('found')], answer=late)
    assert hosts(ask(stand_in).stdout) == ['found']
    assert [q.flags & NO_WAIT for q in stand_in.queries] == [NO_WAIT, 0]


# ---- trouble ----

def test_a_backend_that_never_answers(backend):
    stand_in = backend(answer=silence)
    stand_in.forget = lambda request_id: None
    for args in ([], ['-i', '0.1'], ['--forget', 'x']):
        started = time.monotonic()
        result = ask(stand_in, args)
        assert time.monotonic() - started < 3
        assert (result.returncode, result.stdout) == (1, '')
        assert re.fullmatch(r'clustat: clustat-backend does not answer \(waited \d\.\d s\): .*\n', result.stderr)


def test_a_backend_that_stops_in_the_middle_of_an_answer(backend):
    stand_in = backend([Node('a'), Node('b')], answer=lambda s, query, request_id: StandIn.usual(s, query, request_id)[:300])
    started = time.monotonic()
    result = ask(stand_in)
    assert time.monotonic() - started < 3 and (result.returncode, result.stdout) == (1, '')
    assert 'does not answer' in result.stderr


def test_a_listener_that_never_accepts(tmp_path):
    path = tmp_path / 'full.sock'
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(0)
    fillers = []
    while True:  # until the backlog is full
        filler = socket.socket(socket.AF_UNIX)
        filler.setblocking(False)
        fillers.append(filler)
        if filler.connect_ex(str(path)):
            break
    started = time.monotonic()
    result = run([], environment(CLUSTAT_NVML_LIB=None, CLUSTAT_BACKEND_SOCKET=path))
    assert time.monotonic() - started < 3
    assert result.returncode == 1 and 'takes no connection' in result.stderr


def test_a_backend_that_hangs_up(backend):
    def hang_up(stand_in, query, request_id):
        stand_in.hang_up()
    result = ask(backend(answer=hang_up))
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr == 'clustat: clustat-backend ended the connection: systemctl status clustat-client\n'


@pytest.mark.parametrize('rubbish', [b'HTTP/1.1 400 Bad Request\r\n\r\n', b'CLST\x09' + b'\0' * 15,
                                     frame(VIEW_NODE, 1, b'\xff' * 30), frame(VIEW_END, 1, b'')])
def test_somebody_else_answers(backend, rubbish):
    result = ask(backend(answer=lambda s, query, request_id: rubbish))
    assert (result.returncode, result.stdout) == (1, '')
    assert "does not speak this clustat's protocol" in result.stderr


@pytest.mark.parametrize('code, text', [(3, 'too many connections of your user'), (4, 'this backend speaks version 2')])
def test_the_backends_reasons_are_shown(backend, code, text):
    result = ask(backend(answer=error(code, text)))
    assert (result.returncode, result.stdout, result.stderr) == (1, '', 'clustat: clustat-backend: %s\n' % text)


def test_a_refusal_before_the_question(tmp_path):
    """A backend that has too many connections says so and hangs up without reading anything."""
    path = tmp_path / 'full.sock'
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(4)
    popen = subprocess.Popen(['clustat'], executable=CLUSTAT, env=environment(CLUSTAT_NVML_LIB=None, CLUSTAT_BACKEND_SOCKET=path),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    connection, _ = listener.accept()
    connection.sendall(error(3, 'too many connections')(None, None, 0))
    connection.close()
    out, err = popen.communicate(timeout=DEADLINE_S)
    assert (popen.returncode, out, err) == (1, '', 'clustat: clustat-backend: too many connections\n')


def test_hostile_texts_of_nodes_never_reach_the_terminal(backend):
    evil = '\x1b]0;x\x07\x1b[2J\u202e'
    stand_in = backend([Node('a' + evil, [gpu(0, [(0, 1, 'c' + evil, 1)], name='N' + evil)], error=evil, version=evil, addr=evil,
                             fault_text=evil, driver=evil)], flags=INEXACT)
    for args in (['-a', '-f'], ['nodes'], ['--json'], ['nodes', '--json'], ['-n', 'a']):
        for out in (ask(stand_in, args).stdout, plain(on_terminal(args, env_for(stand_in))[0])):
            assert '\x1b' not in out and '\x07' not in out and '\u202e' not in out, args


def test_a_newer_servers_snapshot_costs_only_its_values(backend):
    broken = Node('b')
    broken.view = lambda flags: Node('b', silent=True, addr='10.0.0.2:30000').view(flags)[:-4] + struct.pack('>I', 3) + b'abc'
    result = ask(backend([Node('a'), broken]))
    assert result.returncode == 0 and hosts(result.stdout) == ['10.0.0.2:30000', 'a']
    assert 'cannot be read' in result.stdout


def test_debug_tells_of_the_backend(backend):
    stand_in = backend([Node('a')])
    result = ask(stand_in, ['--debug'])
    assert re.search(r'debug: backend at %s .*1 nodes known' % re.escape(str(stand_in.path)), result.stderr)


# ---- speed ----

def test_16_nodes_in_a_few_milliseconds(backend):
    nodes = [Node('gpu%d' % n, [gpu(i, [(NOBODY, 1000 + n * 8 + i, 'python3', 1000)]) for i in range(8)]) for n in range(16)]
    stand_in = backend(nodes)
    answer = stand_in.usual
    prepared = answer(type('Q', (), {'filter': None, 'flags': 0}), 1)
    stand_in.answer = lambda s, query, request_id: prepared
    times = []
    for _ in range(11):
        started = time.monotonic()
        result = ask(stand_in)
        times.append(time.monotonic() - started)
    assert result.stdout.count('\n') == 16 * 9
    print('process start to exit: median %.1f ms' % (sorted(times)[5] * 1000))
    assert sorted(times)[5] < 0.05  # an otherwise idle machine needs about 4 ms; python's part included
