"""One-shot runs: exit statuses, streams, options in all spellings, filters, failures."""
import itertools
import json
import os
import pty
import pwd
import re
import select
import signal
import socket
import subprocess
import time

import pytest

from cli_program import CLUSTAT, DEADLINE_S, GOLDEN, LIBRARY, device, environment, run, scenario


@pytest.fixture
def env(tmp_path):
    """The environment of a machine with three plain devices."""
    return environment(scenario(tmp_path / 'scenario.json'))


# ---- options ----

def usage_error_cases():
    for rc in sorted(GOLDEN.glob('*/cases/*.rc')):
        if rc.read_text().strip() == '2':
            yield rc.with_suffix('')


@pytest.mark.parametrize('name', ['clustat', 'gpustat'])
@pytest.mark.parametrize('case', usage_error_cases(), ids=lambda c: '%s/%s' % (c.parent.parent.name, c.name))
def test_usage_errors_are_gpustats(env, case, name):
    args = case.with_suffix('.args').read_text().split('\n')[:-1]
    result = run(args, env, name)
    want = case.with_suffix('.stderr').read_text().strip('\n').split('\n')[-1]
    assert result.returncode == 2 and result.stdout == ''
    lines = result.stderr.strip('\n').split('\n')
    assert lines[-1] == want.replace('gpustat: error:', name + ': error:')
    assert lines[0].startswith('usage: ' + name)


SPELLINGS = {
    'cmd': ['-c', '--show-cmd', '--show-cm'],
    'user': ['-u', '--show-user', '--show-u'],
    'pid': ['-p', '--show-pid', '--show-pi'],
    'fan': ['-F', '--show-fan', '--show-fan-speed', '--show-fan-s'],
    'codec': ['-e', '--show-codec', '-eenc,dec', '--show-codec=enc,dec', '-e=enc,dec'],
    'power': ['-P', '--show-power', '-Pdraw,limit', '--show-po=limit,draw', '-P=limit'],
}


@pytest.mark.parametrize('name', ['clustat', 'gpustat'])
def test_every_spelling_does_the_same(env, name):
    """All spellings of one option, beside each other option's first, print one and the same table."""
    def table(*args):
        result = run([*args, '--no-header'], env, name)
        assert (result.returncode, result.stderr) == (0, ''), args
        return result.stdout
    for (a, spellings), (b, (other, *_)) in itertools.permutations(SPELLINGS.items(), 2):
        assert len({table(s, other) for s in spellings}) == 1, (a, b)


def test_bundles_equal_single_options(env):
    for letters in itertools.permutations('cupF', 3):
        bundle = run(['-' + ''.join(letters), '--no-header'], env).stdout
        single = run(['-' + c for c in letters] + ['--no-header'], env).stdout
        assert bundle == single != ''


@pytest.mark.parametrize('name', ['clustat', 'gpustat'])
def test_help_and_version(env, name):
    shown = run(['--help'], env, name)
    assert shown.returncode == 0 and shown.stderr == '' and shown.stdout.startswith('usage: ' + name)
    assert max(len(line) for line in shown.stdout.split('\n')) <= 85
    version = run(['-v'], env, name)
    assert re.fullmatch(name + r' \d+\.\d+\.\d+\n', version.stdout) and version.returncode == 0


# ---- streams ----

@pytest.mark.parametrize('args', [[], ['--json'], ['--help'], ['--version'], ['--print-completion', 'bash']])
def test_full_disk(env, args):
    with open('/dev/full', 'wb') as full:
        result = subprocess.run([CLUSTAT, *args], env=env, stdout=full, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S)
    assert result.returncode == 1
    assert result.stderr == 'clustat: cannot write to standard output: No space left on device\n'


@pytest.mark.parametrize('args', ['', '--json', '--help', '-i 0.05'])
def test_closed_stdout(env, args):
    result = subprocess.run(['sh', '-c', 'exec "$0" %s >&-' % args, CLUSTAT], env=env, stderr=subprocess.PIPE, text=True,
                            timeout=DEADLINE_S)
    assert result.returncode == 1
    assert result.stderr == 'clustat: cannot write to standard output: Bad file descriptor\n'


def test_all_streams_closed(env):
    result = subprocess.run(['sh', '-c', 'exec "$0" <&- >&- 2>&-', CLUSTAT], env=env, timeout=DEADLINE_S)
    assert result.returncode == 1


@pytest.mark.parametrize('ignored', [False, True])
def test_head_ends_it_by_sigpipe(env, tmp_path, ignored):
    """Also when whoever started it ignores SIGPIPE, as Python does."""
    r, w = os.pipe()
    os.close(r)
    popen = subprocess.Popen([CLUSTAT, '--no-color'], env=env, stdout=w, stderr=subprocess.PIPE, restore_signals=not ignored)
    os.close(w)
    _, err = popen.communicate(timeout=DEADLINE_S)
    assert popen.returncode == -signal.SIGPIPE and err == b''


def test_one_write(env, tmp_path):
    log = tmp_path / 'strace'
    env['ASAN_OPTIONS'] = 'detect_leaks=0'  # impossible under strace
    try:
        subprocess.run(['strace', '-qq', '-e', 'trace=write,writev', '-o', log, CLUSTAT], env=env, stdout=subprocess.PIPE, check=True)
    except FileNotFoundError:
        pytest.skip('strace is not installed')
    assert len([line for line in log.read_text().split('\n') if line.startswith('write')]) == 1


# ---- terminals, colours, charsets ----

def on_terminal(args, env, name='clustat'):
    """Output and status of a run whose standard output is a terminal."""
    master, slave = pty.openpty()
    popen = subprocess.Popen([name, *args], executable=CLUSTAT, env=env, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    out = b''
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            out += piece
    os.close(master)
    return out.decode().replace('\r\n', '\n'), popen.wait(DEADLINE_S)


@pytest.mark.parametrize('name,variables,args,colored', [
    ('clustat', {}, [], True),
    ('gpustat', {}, [], True),
    ('clustat', {}, ['--no-color'], False),
    ('clustat', {'NO_COLOR': '1'}, [], False),
    ('gpustat', {'NO_COLOR': '1'}, [], True),
    ('clustat', {'TERM': 'dumb'}, [], False),
    ('gpustat', {'TERM': 'dumb'}, [], False),
    ('clustat', {'NO_COLOR': '1'}, ['--color'], True),
])
def test_colors_on_a_terminal(tmp_path, name, variables, args, colored):
    out, status = on_terminal(args, environment(scenario(tmp_path / 's.json'), **variables), name)
    assert status == 0 and ('\x1b[' in out) == colored and '[2]' in out


def test_colors_on_a_pipe(tmp_path):
    path = scenario(tmp_path / 's.json')
    assert '\x1b' not in run([], environment(path)).stdout
    assert '\x1b' in run(['--color'], environment(path)).stdout
    assert '\x1b' in run([], environment(path, CLICOLOR_FORCE=1)).stdout
    assert '\x1b' not in run([], environment(path, CLICOLOR_FORCE=1), 'gpustat').stdout
    assert '\x1b' not in run(['--color'], environment(path, TERM='dumb')).stdout


@pytest.mark.parametrize('name', ['clustat', 'gpustat'])
@pytest.mark.parametrize('lang,degree', [('C', True), ('POSIX', True), (None, True), ('en_US.UTF-8', True),
                                         ('de_DE.ISO-8859-1', False)])
def test_charsets(tmp_path, name, lang, degree):
    out = run(['--gpuname-width', '5', '-f'], environment(scenario(tmp_path / 's.json'), LANG=lang), name).stdout
    assert ('°C' in out) == degree and ('…' in out) == degree
    assert out.isascii() != degree


# ---- filters ----

def test_ids(env):
    out = run(['--id', '2,0', '--no-header'], env).stdout
    assert [line[:3] for line in out.split('\n')[:-1]] == ['[2]', '[0]']
    for bad in ('9', '-1', 'x', ''):
        result = run(['--id', bad], env)
        assert result.returncode == 1 and result.stdout == ''
        assert result.stderr.count('\n') == 1 and result.stderr.startswith('clustat: ')
        result = run(['--id', bad], env, 'gpustat')
        assert result.returncode == 1 and result.stderr.startswith('Error on querying NVIDIA devices.')


@pytest.fixture
def users_env(tmp_path):
    """Device 0 with a process of root, 1 with one of nobody and one of root, 2 empty, 3 with unknown lists."""
    if os.getuid():
        pytest.skip('needs root')
    nobody = pwd.getpwnam('nobody')
    sleepers = [subprocess.Popen(['sleep', '600'], cwd='/'),
                subprocess.Popen(['sleep', '600'], cwd='/', user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])]
    root, other = (p.pid for p in sleepers)
    devices = [device(0, processes=[{'pid': root, 'mem': 1 << 20}]),
               device(1, processes=[{'pid': other, 'mem': 2 << 20}, {'pid': root, 'mem': 3 << 20}]),
               device(2), device(3, process_rc={'compute': {'rc': 3}, 'graphics': {'rc': 3}, 'mps': {'rc': 3}})]
    yield environment(scenario(tmp_path / 's.json', devices)), nobody
    for p in sleepers:
        p.kill()
        p.wait()


@pytest.mark.parametrize('name', ['clustat', 'gpustat'])
@pytest.mark.parametrize('option', ['-user', '--user', '--us'])
def test_user_filter(users_env, name, option):
    env, nobody = users_env
    for who in ('nobody', str(nobody.pw_uid), 'nobody,nobody'):
        out = run([option, who, '--no-header'], env, name).stdout
        lines = out.split('\n')[:-1]
        assert [line[:3] for line in lines] == ['[1]', '[3]']
        assert 'nobody(2M)' in lines[0] and 'root' not in out
    both = run([option + '=root,nobody', '--no-header'], env, name).stdout
    assert [line[:3] for line in both.split('\n')[:-1]] == ['[0]', '[1]', '[3]']


def test_user_filter_in_json(users_env):
    env, _ = users_env
    ours = json.loads(run(['--json', '-user', 'nobody'], env).stdout)
    gres = ours['nodes'][0]['gres']
    assert [g['index'] for g in gres] == [1, 3]
    assert [p['username'] for p in gres[0]['processes']] == ['nobody']
    theirs = json.loads(run(['--json', '-user', 'nobody'], env, 'gpustat').stdout)
    assert [g['index'] for g in theirs['gpus']] == [1, 3]


def test_user_without_processes(env):
    result = run(['-user', 'nobody'], env)
    assert (result.returncode, result.stdout) == (0, '')
    assert result.stderr == 'clustat: no process of nobody here\n'
    assert json.loads(run(['-user', 'nobody', '--json'], env).stdout)['nodes'] == []
    assert json.loads(run(['-user', 'nobody', '--json'], env, 'gpustat').stdout)['gpus'] == []


def test_unknown_user(env):
    result = run(['-user', 'nobody,no-such-user'], env)
    assert (result.returncode, result.stdout) == (1, '')
    assert re.fullmatch(r"clustat: user 'no-such-user': .*\n", result.stderr)


def test_node_filter(env):
    host = os.uname().nodename
    for good in (host, host.split('.')[0], '*', host[:-1] + '*', 'x,' + host, '!x', host.upper()):
        result = run(['-n', good], env)
        assert (result.returncode, result.stderr) == (0, ''), good
    for bad in ('nosuch-node', '!' + host, '!*'):
        result = run(['-n', bad], env)
        assert (result.returncode, result.stdout) == (1, '') and bad in result.stderr, bad
    result = run(['-n', 'x[1-'], env)
    assert result.returncode == 2
    assert result.stderr.split('\n')[-2].startswith('clustat: error: argument -n/--node/--nodes: ')


# ---- modes ----

def test_a_configured_backend_is_not_replaced_by_this_machine(tmp_path):
    env = environment(scenario(tmp_path / 's.json'), CLUSTAT_NVML_LIB=None, CLUSTAT_BACKEND_SOCKET=tmp_path / 'none.sock')
    result = run([], env)
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr == ('clustat: clustat-backend is not running: systemctl status clustat-client; '
                             '--local shows this machine\n')


# ---- configuration ----

def test_the_library_from_the_configuration(tmp_path):
    config = tmp_path / 'client.toml'
    config.write_text('[runtime]\nnvml_lib_path = "%s"\n' % LIBRARY)
    env = environment(scenario(tmp_path / 's.json'), CLUSTAT_NVML_LIB=None, CLUSTAT_CONFIG=config)
    assert '[2]' in run(['--local'], env).stdout
    assert '[2]' in run([], env, 'gpustat').stdout
    assert run([], env).returncode == 1  # a client.toml means a backend
    config.write_text('[runtime]\nnvml_lib_path = "%s"\n' % (tmp_path / 'none.so'))
    assert 'none.so' in run(['--local'], env).stderr
    assert '[2]' in run(['--local'], dict(env, CLUSTAT_NVML_LIB=str(LIBRARY))).stdout


def test_a_broken_configuration_is_told_and_the_gpus_are_shown(tmp_path):
    config = tmp_path / 'client.toml'
    config.write_text('[runtime]\ndriver_time_percent = "much"\nstuck_call_secs = 30\n')
    env = environment(scenario(tmp_path / 's.json'), CLUSTAT_CONFIG=config)
    result = run([], env)
    assert result.returncode == 0 and '[2]' in result.stdout
    assert re.match(r'clustat: \S*client\.toml:2: .*driver_time_percent', result.stderr), result.stderr


# ---- failures ----

def test_no_library(tmp_path):
    env = environment(CLUSTAT_NVML_LIB=tmp_path / 'none.so')
    result = run([], env)
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr.startswith('clustat: ') and result.stderr.count('\n') == 1
    assert 'none.so' in result.stderr
    assert run(['--json'], env).returncode == 1
    result = run([], env, 'gpustat')
    assert result.stderr == ('Error on querying NVIDIA devices. Use --debug flag to see more details.\n'
                             'NVML Shared Library Not Found\n')
    debug = run(['--debug'], env, 'gpustat')
    assert debug.stderr.endswith(result.stderr) and 'none.so' in debug.stderr


@pytest.mark.parametrize('code', [9, 15, 18, 999])
def test_failing_init(tmp_path, code):
    env = environment(scenario(tmp_path / 's.json', driver={'init_rc': code}))
    result = run([], env)
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr.startswith('clustat: ') and result.stderr.count('\n') == 1


def test_json_and_interval(env):
    result = run(['--json', '-i'], env)
    assert (result.returncode, result.stderr) == (1, 'clustat: --json and -i cannot be used together\n')
    assert run(['--json', '-i', '0'], env).returncode == 0


@pytest.mark.parametrize('call', ['nvmlDeviceGetUtilizationRates', 'nvmlDeviceGetMemoryInfo*', 'nvmlDeviceGetTemperature*',
                                  'nvmlDeviceGetComputeRunningProcesses*', 'nvmlDeviceGetFanSpeed*', 'nvmlDeviceGetPowerUsage'])
@pytest.mark.parametrize('name', ['clustat', 'gpustat'])
def test_a_call_that_hangs(tmp_path, call, name):
    """What was read is shown, the call and the GPU are named, and it does not take much longer than 2 s."""
    env = environment(scenario(tmp_path / 's.json', faults=[{'device': 'g1', 'fn': call, 'hang': 'forever'}]))
    start = time.monotonic()
    result = run(['-a'], env, name)
    assert time.monotonic() - start < 5
    assert result.returncode == 0
    assert re.fullmatch(name + r': nvmlDeviceGet\w+ on GPU 1 has not returned for \d+ s; .*\n', result.stderr)
    lines = result.stdout.split('\n')
    assert [line[:3] for line in lines[1:4]] == ['[0]', '[1]', '[2]']
    assert 'NVIDIA Test 0' in lines[1] and '??' in lines[2]
    if 'Utilization' not in call and 'Memory' not in call:
        assert ' 0 %' in lines[1] and '1024 /  8192 MB' in lines[1]


def test_initialisation_that_hangs_is_waited_for(tmp_path):
    env = environment(scenario(tmp_path / 's.json', driver={'init_ms': 3500}))
    start = time.monotonic()
    result = run([], env)
    assert time.monotonic() - start > 3
    assert (result.returncode, result.stderr) == (0, '') and '[2]' in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize('name', ['clustat', 'gpustat'])
def test_initialisation_is_given_up_after_a_minute(tmp_path, name):
    env = environment(scenario(tmp_path / 's.json', faults=[{'fn': 'nvmlInit*', 'hang': 'forever'}]))
    start = time.monotonic()
    result = run([], env, name, timeout=90)
    assert 59 < time.monotonic() - start < 66
    assert (result.returncode, result.stdout) == (1, '')
    assert 'nvmlInit' in result.stderr or name == 'gpustat' and 'Timeout' in result.stderr


def test_a_library_that_kills_its_process(tmp_path):
    """Tried again twice, then told; never for ever."""
    source, library = tmp_path / 'crash.c', tmp_path / 'libnvidia-ml.so.1'
    source.write_text('#include <stdlib.h>\n__attribute__((constructor)) static void crash(void) { abort(); }\n')
    subprocess.run([os.environ.get('CC', 'cc'), '-shared', '-fPIC', '-o', library, source], check=True)
    result = run([], environment(CLUSTAT_NVML_LIB=library))
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr == 'clustat: the process that reads the driver ended 3 times; dmesg may tell why\n'


@pytest.mark.root
def test_two_samplers_that_hang_in_the_kernel(tmp_path):
    """A third one is not started. Each of the two listens at a name that tells of it."""
    if os.getuid():
        pytest.skip('needs root')
    uid = 61357
    holders = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    for i, holder in enumerate(holders):
        holder.bind('\0clustat-stuck-sampler-%d-%d' % (uid, i))
        holder.listen()
    result = run([], environment(), user=uid, group=uid, extra_groups=[])
    assert (result.returncode, result.stdout) == (1, '')
    assert re.fullmatch(r'clustat: two earlier readers of the driver still hang in it.*\n', result.stderr)
    for holder in holders:
        holder.close()


def test_waiting_is_told_on_a_terminal(tmp_path):
    env = environment(scenario(tmp_path / 's.json', driver={'init_ms': 2500}))
    out, status = on_terminal(['--no-color'], env)
    assert status == 0
    assert 'waiting for the driver, 1 s' in out and 'waiting for the driver, 2 s' in out
    assert re.search(r'2 s\r +\r\S+ .*\n\[0\]', out)


def test_debug_tells_what_failed(tmp_path):
    env = environment(scenario(tmp_path / 's.json', [device(0), device(1, temperature={'rc': 999}), device(2, handle={'rc': 4})]))
    result = run(['--debug'], env)
    assert result.returncode == 0
    assert re.search(r'debug: GPU 1: no temperature_c', result.stderr)
    assert re.search(r'debug: GPU 2: code 4', result.stderr)


def test_speed(env):
    """Far below a second, even under load; the benchmark measures it."""
    run([], env)
    times = []
    for _ in range(5):
        start = time.monotonic()
        run(['-a'], env)
        times.append(time.monotonic() - start)
    assert min(times) < 0.3
