"""The man page, the README and the help name every option."""
import re
import shutil
import subprocess

import pytest

from cli_program import CLUSTAT, TOP, option_names

MAN = TOP / 'man' / 'clustat.1'


def test_man_page_names_every_option():
    text = subprocess.run(['mandoc', '-T', 'ascii', MAN], stdout=subprocess.PIPE, text=True).stdout if shutil.which('mandoc') \
        else pytest.skip('mandoc is not installed')
    text = re.sub('.\b', '', text)
    described = re.findall(r'(?m)^     (-\S.*)$', text)  # the heads of the lists
    heads = ' '.join(described)
    for name in option_names():
        assert re.search(r'(?<![\w-])%s(?![\w-])' % re.escape(name), heads), name


def test_man_page_names_no_other_option():
    names = set(option_names())
    for line in re.findall(r'(?m)^\.It (Fl .*)$', MAN.read_text()):
        for flag in re.findall(r'Fl (\S+)', line):
            assert '-' + flag in names, flag


def test_man_page_is_clean():
    if not shutil.which('mandoc'):
        pytest.skip('mandoc is not installed')
    run = subprocess.run(['mandoc', '-T', 'lint', MAN], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    ours = {page.name for page in MAN.parent.iterdir()}  # these are not installed, but they are here
    absent = re.compile(r'.* referenced manual not found: Xr (\S+) (\d)')
    complaints = [line for line in run.stdout.split('\n')
                  if not (absent.match(line) and '%s.%s' % absent.match(line).groups() in ours)]
    assert complaints == ['']


def test_readme_holds_the_help():
    help_text = subprocess.run([CLUSTAT, '--help'], stdout=subprocess.PIPE, text=True).stdout
    options = help_text[help_text.index('options (as in gpustat):'):help_text.index('\nLong options may')].strip()
    readme = (TOP / 'README.md').read_text()
    assert '\n'.join('    ' + line if line else '' for line in options.split('\n')) in readme, \
        'the block of options in README.md is not what `clustat --help` prints'


@pytest.mark.parametrize('variable', ['CLUSTAT_NVML_LIB', 'CLUSTAT_LOCAL', 'CLUSTAT_CONFIG', 'CLUSTAT_BACKEND_SOCKET', 'NO_COLOR',
                                      'CLICOLOR_FORCE', 'TERM', 'LC_ALL'])
def test_man_page_names_the_environment(variable):
    assert re.search(r'(?m)^\.It Ev .*\b%s\b' % variable, MAN.read_text())
