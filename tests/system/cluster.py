"""Whole clusters for tests: servers, backends and clustat, on loopback or on the hosts of a lab (netlab.py).

Every server runs the fake driver library with a scenario of its own whose values change with time. What is shown is
compared with the oracle, build/fake-nvml-dump, which says what the scenario holds at each moment.
"""
import functools
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from netlab import BUILD, SBIN

SERVER, BACKEND, CLUSTAT = BUILD / 'clustat-server', BUILD / 'clustat-backend', BUILD / 'clustat'
ORACLE = BUILD / 'fake-nvml-dump'
SIMULATOR = BUILD / 'tools' / 'cluster-sim'
LIBRARY = BUILD / 'fake-nvml' / 'r580' / 'libnvidia-ml.so.1'
GROUP = '239.195.7.11'
MIB = 1 << 20
STEP_S = 0.25      # how often the values of a scenario change
LAST_S = 150       # and until when
LATE_S = 0.35      # a value may be this much older than its age says: a driver's call, a query and a poll take time
SLOWNESS = float(os.environ.get('CLUSTAT_TEST_SLOWNESS', 1))  # times the time limits, for slow machines

# On loopback each test process takes its own ports; hosts of a lab have all ports for themselves.
_ports = itertools.count(20000 + os.getpid() % 900 * 40, 4)


def scenario(number, devices=2, faults=()):
    """What a node's driver says: constant names and totals, changing utilisation and memory, one process each."""
    steps = [i * STEP_S for i in range(int(LAST_S / STEP_S))]

    def device(i):
        used = (number * 16 + i + 1) * 8 * MIB
        return {
            'id': 'g%d' % i, 'name': 'NVIDIA Test %d' % number, 'uuid': 'GPU-%04d-%02d' % (number, i),
            'memory': {'total': 80 << 30, 'used': {'steps': [[t, used + n % 97 * MIB] for n, t in enumerate(steps)]}},
            'temperature': 30 + i, 'fan': 20 + i, 'power_mw': 100000 + number, 'power_limit_mw': 700000,
            'utilization': {'gpu': {'steps': [[t, (n * 7 + i) % 101] for n, t in enumerate(steps)]}, 'memory': 3,
                            'enc': 0, 'dec': 0},
            'processes': [{'pid': os.getpid(), 'mem': used, 'sm': 5}]}

    return {'version': 1, 'devices': [device(i) for i in range(devices)], 'faults': list(faults)}


@functools.lru_cache(maxsize=4096)
def oracle(path, step):
    """The scenario's values in this step."""
    out = subprocess.run([str(ORACLE), str(path), '--at', '%.3f' % (step * STEP_S + 0.001)], capture_output=True,
                         text=True, check=True)
    return json.loads(out.stdout)['devices']


def environment(**more):
    clean = {k: v for k, v in SBIN.items()
             if not k.startswith(('CLUSTAT_', 'FAKE_NVML_', 'NOTIFY_', 'WATCHDOG_'))
             and k not in ('JOURNAL_STREAM', 'XDG_RUNTIME_DIR', 'XDG_STATE_HOME')}
    return {**clean, **{k: str(v) for k, v in more.items()}}


def toml(value):
    return json.dumps(value) if not isinstance(value, bool) else str(value).lower()


class Program:
    """A daemon in a host (None: this machine itself); its log goes to a file."""

    def __init__(self, cluster, name, host):
        self.cluster, self.name, self.host = cluster, name, host
        self.log_path = cluster.folder / (name + '.log')
        self.config = cluster.folder / (name + '.toml')
        self.process = None

    def write_config(self, sections):
        self.config.write_text(''.join('[%s]\n%s\n' % (name, ''.join('%s = %s\n' % (k, toml(v)) for k, v in keys.items()))
                                       for name, keys in sections.items()))

    def spawn(self, *command, **env):
        enter = self.host.enter if self.host else []
        with open(self.log_path, 'ab') as log:
            self.process = subprocess.Popen([*enter, *map(str, command)], env=environment(**env), stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, cwd=str(self.cluster.folder))
        self.started = time.monotonic()

    def log(self):
        return self.log_path.read_text(errors='replace')

    def wait_log(self, text, seconds=10, count=1):
        wait_until(lambda: self.log().count(text) >= count, seconds,
                   lambda: '%r in the log of %s: %s' % (text, self.name, self.log()))

    def stop(self, seconds=5):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Node(Program):
    def __init__(self, cluster, number, host, hostname=None, devices=2, faults=(), port=None, env=None, **config):
        super().__init__(cluster, 'node%d' % number, host)
        self.number = number
        self.hostname = hostname or 'node%d' % number
        self.scenario = cluster.folder / ('node%d.json' % number)
        self.scenario.write_text(json.dumps(scenario(number, devices, faults)))
        self.port = port or (30000 if host else next(_ports))
        self.env = env or {}
        self.sections = cluster.sections(
            config, connecting={'port_range': [self.port, self.port + 3]}, runtime={'nvml_lib_path': str(LIBRARY)})
        self.write_config(self.sections)

    def start(self):
        self.spawn(SERVER, '--config', self.config, '--control-socket', self.cluster.folder / (self.name + '.control'),
                   CLUSTAT_HOSTNAME=self.hostname, FAKE_NVML_SCENARIO=self.scenario,
                   FAKE_NVML_EPOCH_NS=self.cluster.epoch_ns, **self.env)
        return self

    def status(self):
        out = subprocess.run([str(SERVER), 'status', '--json', '--control-socket',
                              str(self.cluster.folder / (self.name + '.control'))],
                             capture_output=True, text=True, timeout=10)
        assert out.returncode == 0, out.stderr
        return json.loads(out.stdout)


class Backend(Program):
    def __init__(self, cluster, number, host, **config):
        super().__init__(cluster, 'backend%d' % number, host)
        self.socket = cluster.folder / ('backend%d.sock' % number)
        self.asked = 0
        self.state = cluster.folder / ('backend%d.state' % number)
        self.state.mkdir(exist_ok=True)
        self.sections = cluster.sections(config, services={'state_dir': str(self.state), 'uds_path': str(self.socket)})
        self.write_config(self.sections)

    def start(self):
        self.spawn(BACKEND, '--config', self.config)
        return self

    def wait_socket(self, seconds=5):
        def there():
            with socket.socket(socket.AF_UNIX) as s:
                return s.connect_ex(str(self.socket)) == 0
        wait_until(there, seconds, lambda: 'the socket of %s: %s' % (self.name, self.log()))
        return self

    def clustat(self, *words, **env):
        return subprocess.run([str(CLUSTAT), '--backend-socket', str(self.socket), *words], capture_output=True, text=True,
                              timeout=30, stdin=subprocess.DEVNULL, env=environment(CLUSTAT_CONFIG=self.config, **env))

    def view(self):
        """What the backend knows: its JSON, by a question in text."""
        with Questions(self) as questions:
            return questions.ask()

    def shown(self, *words):
        """The same as `clustat --json` shows it."""
        asked = time.monotonic()
        done = self.clustat('--json', *words)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return View(json.loads(done.stdout), asked, time.monotonic())

    def text(self, line, seconds=10):
        """A line of the text API, and the first line of the answer."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(seconds)
            s.connect(str(self.socket))
            s.sendall(line.encode() + b'\n')
            with s.makefile('rb') as answer:
                return answer.readline().decode()

    def counters(self):
        return json.loads(self.text('STATUS'))


class Questions:
    """A connection for questions in text, one after another, no faster than a user may ask."""
    PACE_S = 1 / 45

    def __init__(self, backend):
        self.backend = backend
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(str(backend.socket))
        self.answers = self.socket.makefile('rb')

    def ask(self):
        time.sleep(max(0, self.backend.asked + self.PACE_S - time.monotonic()))
        self.backend.asked = asked = time.monotonic()
        try:
            self.socket.sendall(b'QUERY\n')
            line = self.answers.readline()
        except OSError as error:
            line = str(error).encode()
        answered = time.monotonic()
        ended = self.backend.process.poll()
        assert line and ended is None, 'no answer (%r); %s has %s: %s' % (
            line, self.backend.name, 'ended with %s' % ended if ended is not None else 'not ended', self.backend.log())
        assert line.startswith(b'{'), line[:500]
        return View(json.loads(line), asked, answered)

    def close(self):
        self.answers.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class View:
    def __init__(self, document, asked, answered):
        self.document, self.asked, self.answered = document, asked, answered
        self.took = answered - asked
        self.rows = document['nodes']

    def row(self, hostname):
        rows = [row for row in self.rows if row['hostname'] == hostname]
        assert len(rows) == 1, '%d rows of %s: %s' % (len(rows), hostname, self.names())
        return rows[0]

    def names(self):
        return [(row['hostname'], row['state'], row['addr']) for row in self.rows]


class Cluster:
    """All programs of a test, and their end."""

    def __init__(self, folder, lab=None, **config):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.lab = lab
        self.common = config
        self.epoch_ns = time.monotonic_ns()
        self.group_port = 4000 if lab else next(_ports) + 3
        self.programs = []

    def sections(self, *layers, **more):
        """The configuration by sections; loopback unless there is a lab."""
        result = {'connecting': {'multicast_addr': '%s:%d' % (GROUP, self.group_port)}}
        if not self.lab:
            result['connecting'].update(multicast_outbound_ip=['127.0.0.1'], multicast_ttl=0)
        for layer in (more, self.common, *layers):
            for name, keys in layer.items():
                result.setdefault(name, {}).update(keys)
        return result

    def node(self, number, host=None, **options):
        self.programs.append(Node(self, number, host, **options))
        return self.programs[-1]

    def backend(self, number=0, host=None, **options):
        self.programs.append(Backend(self, number, host, **options))
        return self.programs[-1]

    @property
    def nodes(self):
        return [p for p in self.programs if isinstance(p, Node)]

    def close(self):
        for program in self.programs:
            if program.process and program.process.poll() is None:
                program.process.send_signal(signal.SIGCONT)
                program.process.terminate()
        for program in self.programs:
            if program.process:
                try:
                    program.process.wait(5)
                except subprocess.TimeoutExpired:
                    program.kill()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close()
        if kind:
            for program in self.programs:
                if program.log_path.exists():
                    print('---- log of %s\n%s' % (program.name, program.log()[-3000:]))

    # ---- the oracle ----

    def differences(self, row, node, view):
        """What a row shows otherwise than the node's scenario has it; [] if it is right."""
        wrong = []
        latest = oracle(node.scenario, self.step(view.answered))
        earliest = view.asked - (row['age_us'] or 0) / 1e6

        def check(what, shown, right):
            if shown not in right:
                wrong.append('%s: %s is %r, not one of %r' % (node.hostname, what, shown, right))

        check('state', row['state'], ['up'])
        check('number of devices', len(row['gres']), [len(latest)])
        for shown, right in zip(row['gres'], latest):
            age = max(row['gres'][0]['age_us'][group] or 0 for group in ('hot', 'processes')) / 1e6
            first = self.step(earliest - age - LATE_S)
            moments = [oracle(node.scenario, step)[shown['index']]
                       for step in range(max(first, 0), self.step(view.answered) + 1)]
            check('name', shown['name'], [right['name']])
            check('uuid', shown['uuid'], [right['uuid']])
            check('total', shown['memory_total_bytes'], [right['memory']['total']])
            check('used', shown['memory_used_bytes'], [m['memory']['used'] for m in moments])
            check('utilisation', shown['util'], [m['utilization']['gpu'] for m in moments])
            check('processes', sorted((p['pid'], p['used_memory_bytes']) for p in shown['processes'] or []),
                  [sorted((p['pid'], p['mem']) for p in right['processes']['compute'])])
        return wrong

    def step(self, moment):
        return int((moment - self.epoch_ns / 1e9) / STEP_S)

    def compare(self, view, nodes=None):
        """Every node has one row, and the row is right."""
        nodes = self.nodes if nodes is None else nodes
        wrong = []
        for node in nodes:
            rows = [row for row in view.rows if row['hostname'] == node.hostname]
            if len(rows) != 1:
                wrong.append('%d rows of %s' % (len(rows), node.hostname))
            else:
                wrong += self.differences(rows[0], node, view)
        return wrong

    def wait_right(self, backend, nodes=None, seconds=1.0, since=None, rows=None):
        """Until the view of the backend is right; returns how long that took, from `since` on."""
        since = since or time.monotonic()
        limit = since + seconds * SLOWNESS
        while True:
            view = backend.view()
            wrong = self.compare(view, nodes)
            if rows is not None and len(view.rows) != rows:
                wrong.append('%d rows, not %d' % (len(view.rows), rows))
            if not wrong and view.answered <= limit:
                return view.answered - since
            assert view.answered < limit, 'not right within %g s (%.3f s): %s; %s' % (
                seconds, view.answered - since, wrong, view.names())
            time.sleep(0.01)

    def assert_right(self, backend, nodes=None):
        view = backend.view()
        wrong = self.compare(view, nodes)
        assert not wrong, '%s; %s' % (wrong, view.names())
        return view


def plug_hosts(lab, count):
    """Hosts of a lab on one switch: 10.3.0.1 and so on."""
    switch = lab.switch('s')
    result = []
    for number in range(1, count + 1):
        result.append(lab.host())
        lab.card(result[-1], 'eth0', switch, '10.3.0.%d/24' % number)
    return result


def wait_state(backend, hostname, states, seconds, since=None):
    """Until the row of a node has one of these states (None: it is gone); returns it, and how long it took."""
    since = since or time.monotonic()
    while True:
        view = backend.view()
        found = [row['state'] for row in view.rows if row['hostname'] == hostname] or [None]
        if found[0] in states:
            assert view.answered - since <= seconds * SLOWNESS, '%s after %.3f s' % (found, view.answered - since)
            return found[0], view.answered - since
        assert view.answered - since <= seconds * SLOWNESS, '%s is %s, not %s, after %.3f s' % (
            hostname, found, states, view.answered - since)
        time.sleep(0.01)


def wait_until(condition, seconds, what):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, 'not within %g s: %s' % (seconds, what() if callable(what) else what)
        time.sleep(0.01)
