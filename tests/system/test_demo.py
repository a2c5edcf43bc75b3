"""tools/demo: what `make demo` shows, and that nothing is left of it, however it ends."""
import os
import pathlib
import signal
import subprocess
import time

import pytest

from cluster import environment, wait_until
from netlab import BUILD, TOP


def start(tmp_path, *words):
    return subprocess.Popen([str(TOP / 'tools' / 'demo'), *words, os.path.relpath(BUILD, TOP)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, start_new_session=True,
                            env=environment(TMPDIR=tmp_path))


def left_of(tmp_path):
    """Processes that have a path of the demo's folder in their arguments, and the folder itself."""
    found = list(tmp_path.iterdir())
    for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            if str(tmp_path).encode() in path.read_bytes():
                found.append(path)
        except OSError:
            continue
    return found


def test_demo(tmp_path):
    began = time.monotonic()
    demo = start(tmp_path)
    out, errors = demo.communicate(timeout=60)
    assert demo.returncode == 0, out + errors
    assert time.monotonic() - began < 60
    for text in ('gpu01', 'gpu02', 'gpu03', 'NVIDIA H100', 'NVIDIA A100', 'NVIDIA L40S', 'train', '"nodes": [',
                 'simulated', '\x1b['):
        assert text in out, out
    assert not left_of(tmp_path)


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_interrupted_demo_leaves_nothing(tmp_path, number):
    demo = start(tmp_path)
    wait_until(lambda: len(left_of(tmp_path)) >= 4, 20, lambda: left_of(tmp_path))
    os.killpg(demo.pid, number)
    demo.communicate(timeout=15)
    assert demo.returncode != 0
    wait_until(lambda: not left_of(tmp_path), 5, lambda: left_of(tmp_path))
