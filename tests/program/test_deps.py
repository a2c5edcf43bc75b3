"""tools/deps on systems that this machine is not: the package managers and `id` are stand-ins that keep what they were told."""
import os
import shutil
import subprocess

import pytest

from program import TOP

TOOLS = ['sh', 'cut', 'uname', 'cat']  # all that the script itself needs


@pytest.fixture
def system(tmp_path):
    """Makes a PATH with one package manager; gives a function that runs tools/deps there."""
    folder = tmp_path / 'bin'
    folder.mkdir()
    for tool in TOOLS:
        (folder / tool).symlink_to(shutil.which(tool))
    log = tmp_path / 'calls'

    def stand_in(name, body):
        (folder / name).write_text('#!/bin/sh\n' + body)
        (folder / name).chmod(0o755)

    def run(manager, *args, uid=0, status=0):
        if manager:
            stand_in(manager, 'echo "%s $*" >>%s\nexit %d\n' % (manager, log, status))
        stand_in('id', 'echo %d\n' % uid)
        done = subprocess.run([TOP / 'tools/deps', *args], env={'PATH': str(folder)}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done, log.read_text().splitlines() if log.exists() else []
    return run


@pytest.mark.parametrize('manager, install, packages', [
    ('apt-get', 'apt-get install -y --no-install-recommends ', ['gcc', 'ninja-build', 'libcmocka-dev']),
    ('dnf', 'dnf install -y ', ['gcc-c++', 'ninja-build', 'libcmocka-devel']),
    ('pacman', 'pacman -S --needed --noconfirm ', ['gcc', 'ninja', 'cmocka']),
])
def test_what_is_missing_is_installed(system, manager, install, packages):
    done, calls = system(manager)
    assert done.returncode == 0, done.stderr
    assert 'missing: ' in done.stderr and ' meson' in done.stderr
    installed = [line for line in calls if line.startswith(install)]
    assert len(installed) == 1
    assert set(packages) <= set(installed[0].split())


def test_list_installs_nothing(system):
    done, calls = system('dnf', '--list')
    assert done.returncode == 1 and 'missing: ' in done.stderr and not calls


def test_a_user_without_a_terminal_is_told_the_command(system):
    done, calls = system('dnf', uid=1000)
    assert done.returncode == 1 and not calls
    assert 'run as root: ' in done.stderr and 'dnf install -y ' in done.stderr


def test_an_unknown_system_is_told_what_to_install(system):
    done, _ = system(None)
    assert done.returncode == 1 and 'by hand' in done.stderr


def test_a_failed_installation_fails(system):
    done, _ = system('pacman', status=1)
    assert done.returncode != 0


def test_nothing_is_missing_here():
    done = subprocess.run([TOP / 'tools/deps', '--list'], stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    assert (done.returncode, done.stderr) == (0, '')
