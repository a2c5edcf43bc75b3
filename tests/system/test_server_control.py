"""clustat-server's command line, its control socket and its configuration."""
import grp
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import time

import pytest

from server_harness import SERVER, TOP, Server, state_of, wait_until, wire


def run(*words, **options):
    return subprocess.run([str(SERVER), *map(str, words)], capture_output=True, text=True, timeout=10, **options)


@pytest.fixture
def server(tmp_path):
    with Server(tmp_path, hostname='gpu07') as server:
        yield server


# ---- command line ----

def test_help_and_version():
    out = run('--help')
    assert out.returncode == 0 and out.stdout.startswith('usage: clustat-server') and not out.stderr
    assert run('--version').stdout.startswith('clustat-server 0')


def test_wrong_options_are_named():
    out = run('--confg')
    assert out.returncode == 2 and out.stderr.endswith('clustat-server: unknown option --confg\n')
    assert run('pause', '0').returncode == 2


def test_check_config(tmp_path):
    config = tmp_path / 'server.toml'
    assert 'not there' in run('--check-config', '--config', config).stdout
    config.write_text('[connecting]\nudp_port = 30000\n')
    out = run('--check-config', '--config', config)
    assert (out.returncode, out.stdout, out.stderr) == (0, '%s: good\n' % config, '')
    config.write_text('[connecting]\nudp_port = 70000\nmax_conections = 3\n')
    out = run('--check-config', '--config', config)
    assert out.returncode == 1 and '%s:2: connecting.udp_port' % config in out.stderr
    assert 'max_connections' in out.stderr
    assert run('--config', config).returncode == 1, 'nor does it start with that'
    config.write_text('[security]\nkey_file = "%s"\n' % (tmp_path / 'key'))
    out = run('--check-config', env=dict(os.environ, CLUSTAT_CONFIG=str(config)))
    assert out.returncode == 1 and str(tmp_path / 'key') in out.stderr


def test_keygen(tmp_path):
    path = tmp_path / 'key'
    old = os.umask(0)
    try:
        assert run('keygen', path).returncode == 0
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(old)
    key = path.read_text()
    assert len(bytes.fromhex(key.splitlines()[-1])) == 32
    out = run('keygen', path)
    assert out.returncode == 1 and 'exists already' in out.stderr and path.read_text() == key
    (tmp_path / 'link').symlink_to(tmp_path / 'elsewhere')
    assert run('keygen', tmp_path / 'link').returncode == 1 and not (tmp_path / 'elsewhere').exists()
    assert run('keygen', tmp_path / 'none' / 'key').returncode == 1
    name = grp.getgrgid(os.getgid()).gr_name
    assert run('keygen', tmp_path / 'second', '--group', name).returncode == 0
    assert stat.S_IMODE((tmp_path / 'second').stat().st_mode) == 0o640
    assert (tmp_path / 'second').read_text().splitlines()[-1] != key.splitlines()[-1]


# ---- control socket ----

def test_status(server):
    out = server.command('status')
    assert out.returncode == 0
    values = dict(line.split(None, 1) for line in out.stdout.splitlines())
    assert values['node'] == 'gpu07' and values['udp_port'] == str(server.port) and values['sampler'] == 'running'
    status = server.status()
    assert status.keys() >= values.keys() - {'call', 'call_running_us', 'snapshot_age_us'}
    assert status['connection_id'].startswith('conn-') and status['pid'] == server.process.pid


def test_nobody_else_may_use_it(server):
    assert stat.S_IMODE(server.control.stat().st_mode) == 0o600
    if os.geteuid() != 0:
        pytest.skip('another user is needed, so root')
    os.chmod(server.control, 0o666)  # the file's mode is not all that guards it
    for folder in (server.folder, *server.folder.parents):
        if str(folder).startswith(os.environ.get('TMPDIR', '/tmp')):
            folder.chmod(0o755)
    code = ('import os, socket, sys\nos.setgid(65534); os.setuid(65534)\n'
            's = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(5)\n'
            'try:\n    s.sendall(b"PAUSE\\n"); print(repr(s.recv(100)))\n'
            'except (BrokenPipeError, ConnectionResetError): print(repr(b""))')
    out = subprocess.run(['/usr/bin/python3', '-c', code, str(server.control)], capture_output=True, text=True, timeout=10)
    assert out.stdout == "b''\n", out
    assert server.status()['sampler'] == 'running'


def test_bad_requests_are_told(server):
    for request in (b'NONSENSE\n', b'PAUSE x\n', b'PAUSE 0\n', b'STATUS xml\n', b'CLST\1\1\0\0' + bytes(12)):
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(5)
            stream.connect(str(server.control))
            stream.sendall(request)
            assert stream.recv(1000).startswith(b'ERR '), request
    assert server.status()['sampler'] == 'running'


def test_no_server_is_told(tmp_path):
    out = run('status', '--control-socket', tmp_path / 'none')
    assert out.returncode == 1 and 'no server listens' in out.stderr


def test_a_second_server_serves_without_it(server, tmp_path):
    with Server(tmp_path, name='second', hostname='gpu08', start=False) as second:
        second.control = server.control
        second.start()
        assert 'pid %d' % server.process.pid in second.log()
        with second.client() as client:
            client.handshake()
    assert server.status()['node'] == 'gpu07'


# ---- pause ----

@pytest.mark.parametrize('protocol', ['udp', 'tcp'])
def test_pause_and_resume(server, protocol):
    with server.client(protocol) as client:
        client.handshake()
        server.wait_snapshot(client, lambda s: s['flags'] & 1)
        sampler, = server.samplers()
        out = server.command('pause')
        assert (out.returncode, out.stdout) == (0, 'paused: no GPU is in use by clustat\n')
        assert state_of(sampler) == '', 'when pause returns, it has gone'
        reply = client.query()
        assert reply['snapshot']['fault'] == wire.FAULT_PAUSED and reply['snapshot']['devices'] == []
        assert reply['snapshot']['hostname'] == b'gpu07' and reply['age_us'] == 0
        status = server.status()
        assert status['sampler'] == 'paused' and status['pause_left_secs'] == 0
        assert server.command('resume').stdout == 'resumed\n'
        server.wait_snapshot(client, lambda s: s['fault'] == 0 and s['devices'])
        assert server.command('resume').stdout == 'it was not paused\n'
        server.wait_status(lambda s: s['sampler'] == 'running')


def test_a_pause_ends_by_itself(server):
    with server.client() as client:
        client.handshake()
        began = time.monotonic()
        assert server.command('pause', '2').returncode == 0
        assert 1 <= server.status()['pause_left_secs'] <= 2
        assert client.query()['snapshot']['fault'] == wire.FAULT_PAUSED
        server.wait_snapshot(client, lambda s: s['fault'] == 0 and s['devices'])
        assert time.monotonic() - began > 1.5


def test_pause_says_when_a_call_hangs(tmp_path):
    with Server(tmp_path, start=False) as server:
        server.scenario.write_text('{"version": 1, "devices": [], "driver": {"init_ms": 60000}}')
        server.start()
        wait_until(lambda: server.samplers(), 5, 'a sampler')
        sampler, = server.samplers()
        server.wait_status(lambda s: 'nvmlInit' in s.get('call', ''))
        began = time.monotonic()
        out = server.command('pause')
        assert 'still hangs' in out.stdout and 1.5 < time.monotonic() - began < 4
        os.kill(sampler, signal.SIGKILL)
        wait_until(lambda: state_of(sampler) == '', 5, 'reaped')
        assert server.command('pause').stdout == 'paused: no GPU is in use by clustat\n'


# ---- reload ----

def test_reload(server, tmp_path):
    with server.client() as client:
        client.handshake()
        server.write_config({'security': 'allow = ["10.0.0.0/8"]', 'services': 'collector_interval_ms = 50',
                             'connecting': 'udp_port = 4444'})
        samplers = server.samplers()
        server.signal(signal.SIGHUP)
        server.wait_log('these keys need a restart: connecting.udp_port\n')
        with server.client() as late, pytest.raises(wire.Refused):
            late.handshake()
        wait_until(lambda: len(server.samplers()) == 1 and server.samplers() != samplers, 5, 'another sampler')
        command = pathlib.Path('/proc/%d/cmdline' % server.samplers()[0]).read_bytes()
        assert b'--tick-us=50000\0' in command
        assert server.status()['udp_port'] == server.port

        server.write_config({'connecting': 'max_connections = 0'})
        server.signal(signal.SIGHUP)
        server.wait_log('the configuration was not taken over')
        assert 'connecting.max_connections' in server.log()
        server.write_config()
        server.signal(signal.SIGHUP)
        server.wait_log('clustat-server: reloaded\n')
        with server.client() as again:
            again.handshake()


def test_keys_can_be_changed_one_by_one(tmp_path):
    if not wire.sodium():
        pytest.skip('no libsodium.so here')
    old, new = bytes(range(32)), bytes(range(32, 64))
    path = tmp_path / 'key'

    def write(*keys):
        path.write_text(''.join(key.hex() + '\n' for key in keys))
        path.chmod(0o600)

    write(old)
    with Server(tmp_path, {'security': 'key_file = "%s"' % path}) as server:
        with server.client(key=old) as session:
            session.handshake()
            write(old, new)
            server.signal(signal.SIGHUP)
            server.wait_log('clustat-server: reloaded', count=1)
            for key in (old, new):  # each is answered under its own
                with server.client(key=key) as client:
                    client.handshake()
                    client.query()
            write(new)
            server.signal(signal.SIGHUP)
            server.wait_log('clustat-server: reloaded', count=2)
            with server.client(key=new) as client:
                client.handshake()
            session.query()  # goes on under the key that it has
            with server.client(key=old, timeout=0.3) as client, pytest.raises(TimeoutError):
                client.handshake()
            path.chmod(0o644)
            server.signal(signal.SIGHUP)
            server.wait_log('mode 0644')
            session.query()


def test_man_page_names_every_option():
    if not shutil.which('mandoc'):
        pytest.skip('mandoc is not installed')
    page = TOP / 'man' / 'clustat-server.8'
    lint = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', str(page)], capture_output=True, text=True)
    assert lint.stdout == '', lint.stdout
    text = subprocess.run(['mandoc', '-T', 'ascii', str(page)], capture_output=True, text=True).stdout
    text = re.sub('.\b', '', text)
    for word in re.findall(r'--[a-z-]+', run('--help').stdout) + ['status', 'pause', 'resume', 'keygen']:
        assert word in text, word
