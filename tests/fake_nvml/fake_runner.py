"""Runs the fake NVML in processes of their own: a library reads its scenario once and keeps it."""
import json
import os
import pathlib
import pickle
import subprocess
import traceback

import pytest

from nvml_reader import Nvml

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get('CLUSTAT_BUILD', TOP / 'build')).resolve()
PROFILES = ['r418', 'r450_51', 'r470', 'r510', 'r535_54', 'r535_98', 'r550', 'r580']


def library_path(profile):
    return BUILD / 'fake-nvml' / profile / 'libnvidia-ml.so.1'


def device(number=0, **keys):
    """A device with only the required keys, and those given."""
    base = {'id': f'g{number}', 'name': 'NVIDIA H200', 'uuid': f'GPU-{number:08d}-0000-0000-0000-000000000000',
            'memory': {'total': 1000, 'used': 300, 'reserved': 50}}
    return {**base, **keys}


def scenario(*devices, **keys):
    return {'version': 1, 'devices': list(devices) or [device()], **keys}


class Child:
    """A forked process that runs a function; join() gives its result or raises what it raised."""

    def __init__(self, function):
        self.pipe, out = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            self.work(function, out)
        os.close(out)

    @staticmethod
    def work(function, out):
        try:
            answer = (function(), None)
        except BaseException:  # pylint: disable=broad-except
            answer = (None, traceback.format_exc())
        with os.fdopen(out, 'wb') as file:
            pickle.dump(answer, file)
        os._exit(0)

    def join(self):
        with os.fdopen(self.pipe, 'rb') as file:
            data = file.read()
        os.waitpid(self.pid, 0)
        assert data, 'the child died'
        result, error = pickle.loads(data)
        if error:
            pytest.fail(error, pytrace=False)
        return result


class Fake:
    """One scenario for one profile. run(body) calls body(Nvml) in a fresh process, without init."""

    def __init__(self, folder, content, profile, env):
        self.profile = profile
        self.log_path = folder / 'log'
        self.err_path = folder / 'stderr'
        self.env = {'FAKE_NVML_LOG': str(self.log_path), **env}
        if content is not None:
            self.path = folder / 'scenario.json'
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.path.write_bytes(data)
            self.env.setdefault('FAKE_NVML_SCENARIO', str(self.path))

    def start(self, body):
        def work():
            for name in [n for n in os.environ if n.startswith('FAKE_NVML_')]:
                del os.environ[name]
            os.environ.update(self.env)
            err = os.open(self.err_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(err, 2)
            return body(Nvml(library_path(self.profile)))
        return Child(work)

    def run(self, body):
        return self.start(body).join()

    def stderr(self):
        return self.err_path.read_text()

    def log(self):
        """The call log as a list of (start, end, pid, function, device, rc)."""
        rows = [line.split(' ') for line in self.log_path.read_text().splitlines()]
        assert all(len(row) == 6 for row in rows)
        return [(int(a), int(b), int(c), d, int(e), int(f)) for a, b, c, d, e, f in rows]

    def dump(self, t):
        """What fake-nvml-dump says of the scenario at `t`."""
        done = subprocess.run([BUILD / 'fake-nvml-dump', self.path, '--at', str(t)], stdout=subprocess.PIPE, check=True,
                              env={**os.environ, **self.env})
        return json.loads(done.stdout)
