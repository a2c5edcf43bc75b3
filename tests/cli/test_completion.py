"""The completion scripts, read by the shells they are for, complete real words."""
import re
import shutil
import subprocess

import pexpect
import pytest

from cli_program import CLUSTAT, option_names


def needs(shell):
    return pytest.mark.skipif(not shutil.which(shell), reason='%s is not installed' % shell)


@pytest.fixture
def script(tmp_path):
    def write(shell, name='clustat'):
        link = tmp_path / name
        if not link.exists():
            link.symlink_to(CLUSTAT)
        path = tmp_path / ('%s.%s' % (name, shell))
        path.write_bytes(subprocess.run([link, '--print-completion', shell], stdout=subprocess.PIPE, check=True).stdout)
        return path
    return write


def bash_words(script, *words):
    """What bash offers for the last word."""
    text = 'source %s; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _clustat; printf "%%s\\n" "${COMPREPLY[@]}"' % script
    run = subprocess.run(['bash', '-c', text, 'bash', *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stderr == ''
    return [w for w in run.stdout.split('\n') if w]


def test_bash(script):
    path = script('bash')
    assert bash_words(path, 'clustat', '--show-p') == ['--show-pid', '--show-power']
    assert bash_words(path, 'clustat', '-us') == ['-user']
    assert bash_words(path, 'clustat', '-e', '') == ['enc', 'dec', 'enc,dec']
    assert bash_words(path, 'clustat', '--show-power', '=', 'dr') == ['draw', 'draw,limit']
    assert bash_words(path, 'clustat', '-e', '--js') == ['--json']
    assert 'root' in bash_words(path, 'clustat', '-user', 'roo')
    assert bash_words(path, 'clustat', '--id', '') == []
    assert sorted(bash_words(path, 'clustat', '-')) == sorted(option_names())
    assert bash_words(path, 'clustat', 'no') == ['nodes']


def test_bash_under_the_name_gpustat(script):
    path = script('bash', 'gpustat')
    text = 'source %s; complete -p gpustat' % path
    assert subprocess.run(['bash', '-c', text], stdout=subprocess.PIPE, text=True).stdout.startswith('complete -F _gpustat')


@needs('zsh')
def test_zsh(script, tmp_path):
    path = script('zsh')
    shell = pexpect.spawn('zsh', ['-f', '-i'], dimensions=(60, 200), timeout=20, encoding='utf-8',
                          env={'PATH': '/usr/bin:/bin', 'TERM': 'dumb', 'HOME': str(tmp_path), 'ZDOTDIR': str(tmp_path)})
    # The widget lists what is offered, then the command line is given up.
    shell.sendline("PS1=; autoload -Uz compinit; compinit -u -D; source %s; zle -C lst list-choices _main_complete; "
                   "bindkey '^T' lst; echo REA''DY" % path)
    shell.expect('READY')

    def offered(line):
        shell.send(line + '\x14')
        shell.send('\x15echo EN""D\r')
        shell.expect('END')
        return shell.before

    power = offered('clustat --show-p')
    assert '--show-pid ' in power and '--show-power ' in power and '--show-cmd' not in power
    assert 'enc,dec' in offered('clustat -e ')
    assert '-user' in offered('clustat -us')
    assert 'root' in offered('clustat --user roo')
    assert re.search(r'-F\b', offered('clustat -cu'))
    assert 'false' in offered('clustat --latency-display ')
    assert 'a line per node' in offered('clustat no')
    shell.close(force=True)


@needs('fish')
def test_fish(script, tmp_path):
    path = script('fish')

    def offered(line):
        run = subprocess.run(['fish', '--no-config', '-c', 'source %s; complete -C "%s"' % (path, line)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={'PATH': '/usr/bin:/bin', 'HOME': str(tmp_path)})
        assert run.stderr == ''
        return [w.split('\t')[0] for w in run.stdout.split('\n') if w]

    assert offered('clustat --show-p') == ['--show-pid', '--show-power']
    assert offered('clustat -us') == ['-user']
    assert sorted(offered('clustat -e ')) == ['dec', 'enc', 'enc,dec']
    assert 'root' in offered('clustat --user roo')
    assert set(w for w in option_names() if w.startswith('--')) <= set(offered('clustat --'))
    assert offered('clustat nod') == ['nodes']


@needs('tcsh')
def test_tcsh(script, tmp_path):
    path = script('tcsh')
    shell = pexpect.spawn('tcsh', ['-f'], dimensions=(60, 200), timeout=20, encoding='utf-8',
                          env={'PATH': '/usr/bin:/bin', 'TERM': 'xterm', 'HOME': str(tmp_path)})
    shell.sendline('set prompt="> "; source %s; echo REA""DY' % path)
    shell.expect('READY\r\n')

    def offered(line):
        shell.send(line + '\x04')  # lists what fits
        shell.send('\x15echo EN""D\r')
        shell.expect('END\r\n')
        return shell.before

    power = offered('clustat --show-p')
    assert 'show-pid' in power and 'show-power' in power and 'show-cmd' not in power
    assert 'enc,dec' in offered('clustat -e ')
    assert 'root' in offered('clustat --user roo')
    shell.close(force=True)
