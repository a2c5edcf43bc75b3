"""The option parser against Python's own argparse, on random command lines made of gpustat's options.

A wrong bundle, prefix or optional value here is a script of somebody that breaks.  The seed is printed;
CLUSTAT_TEST_SEED takes it back.
"""
import argparse
import math
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest

BUILD = pathlib.Path(os.environ.get('CLUSTAT_BUILD', 'build'))
DUMP = BUILD / 'tests' / 'cli' / 'options-dump'
CASES = 600

# Later versions word some messages otherwise and keep '=' out of bundled values.
pytestmark = pytest.mark.skipif(sys.version_info[:2] not in ((3, 9), (3, 10), (3, 11)),
                                reason='the contract is that of argparse up to Python 3.11')


class Failed(Exception):
    pass


class Ended(Exception):
    pass


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Failed(message)


class End(argparse.Action):
    """--help and --version: nothing behind them counts."""
    def __init__(self, option_strings, dest, **_):
        super().__init__(option_strings, dest, nargs=0)

    def __call__(self, parser, namespace, values, option_string=None):
        raise Ended(self.dest)


def nonnegative_int(value):
    value = int(value)
    if value < 0:
        raise argparse.ArgumentTypeError('Only non-negative integers are allowed.')
    return value


def gpustat_parser():
    parser = Parser(add_help=False)
    flag = dict(action='store_true')
    parser.add_argument('-h', '--help', action=End)
    colors = parser.add_mutually_exclusive_group()
    colors.add_argument('--force-color', '--color', **flag)
    colors.add_argument('--no-color', **flag)
    parser.add_argument('--id')
    for short, long in (('-a', '--show-all'), ('-c', '--show-cmd'), ('-f', '--show-full-cmd'), ('-u', '--show-user'),
                        ('-p', '--show-pid')):
        parser.add_argument(short, long, **flag)
    parser.add_argument('-F', '--show-fan-speed', '--show-fan', **flag)
    parser.add_argument('-e', '--show-codec', nargs='?', const='enc,dec', default='',
                        choices=['', 'enc', 'dec', 'enc,dec'])
    parser.add_argument('-P', '--show-power', nargs='?', const='draw,limit', default='',
                        choices=['', 'draw', 'limit', 'draw,limit', 'limit,draw'])
    parser.add_argument('--json', **flag)
    parser.add_argument('-i', '--interval', '--watch', nargs='?', type=float, const=1.0, default=0)
    parser.add_argument('--no-header', **flag)
    parser.add_argument('--gpuname-width', type=nonnegative_int)
    parser.add_argument('--debug', **flag)
    parser.add_argument('--no-processes', **flag)
    parser.add_argument('-v', '--version', action=End)
    return parser


def interval_ns(seconds):
    if not seconds > 0:
        return 0
    return max(50_000_000, int(min(seconds, 1e9) * 1e9))


def as_printed(args):
    codec = 'enc,dec' if args.show_all else args.show_codec
    power = 'draw,limit' if args.show_all else args.show_power
    return {
        'action': 0,
        'color': 1 if args.force_color else 2 if args.no_color else 0,
        'cmd': args.show_cmd or args.show_all,
        'full_cmd': args.show_full_cmd,
        'user': args.show_user or args.show_all,
        'pid': args.show_pid or args.show_all,
        'fan': args.show_fan_speed or args.show_all,
        'codec': ('enc' in codec) + 2 * ('dec' in codec),
        'power': 2 if 'limit' in power else 1 if power else 0,
        'no_header': args.no_header, 'no_processes': args.no_processes, 'json': args.json, 'debug': args.debug,
        'width': -1 if args.gpuname_width is None else min(args.gpuname_width, 10000),
        'interval_ns': interval_ns(args.interval),
        'ids': '(none)' if args.id is None else args.id,
    }


def wanted(words):
    try:
        args = gpustat_parser().parse_args(words)
    except Failed as error:
        return 'error=%s' % error
    except Ended as end:
        return 'action=%d' % {'help': 1, 'version': 2}[str(end)]
    if math.isinf(args.interval):
        return None  # gpustat crashes; a usage error here, which the unit tests pin
    return '\n'.join('%s=%s' % (k, int(v) if isinstance(v, bool) else v) for k, v in as_printed(args).items())


NAMES = ['--help', '--force-color', '--color', '--no-color', '--id', '--show-all', '--show-cmd', '--show-full-cmd',
         '--show-user', '--show-pid', '--show-fan-speed', '--show-fan', '--show-codec', '--show-power', '--json', '--interval',
         '--watch', '--no-header', '--gpuname-width', '--debug', '--no-processes', '--version']
VALUES = ['0', '1', '0,2', '-1', '-1.5', '-.5', '-1e3', '2.5', 'abc', 'draw', 'limit', 'draw,limit', 'enc', 'dec', 'enc,dec', '', ' ',
          '-x y', '1_0', '0x1', '1e2', 'nan', "it's", 'a"b', '=', '5 ', '007', '+3']
SHORT = 'acfupFePivhzxj'


def own(prefix):
    """Whether clustat has an option of its own that begins so, where gpustat has none."""
    names = ['--user', '--node', '--nodes', '--local', '--no-latency', '--latency-display', '--backend-socket',
             '--print-completion']
    return any(n.startswith(prefix) for n in names) and not any(n.startswith(prefix) for n in NAMES)


def long_word(rng):
    name = rng.choice(NAMES)
    name = name[:rng.randint(3, len(name))]
    if own(name):
        return '--json'
    return name if rng.random() < 0.6 else '%s=%s' % (name, rng.choice(VALUES))


def short_word(rng):
    word = '-' + ''.join(rng.choice(SHORT) for _ in range(rng.randint(1, 4)))
    if word in ('-json', '-user'):
        return '-c'
    if rng.random() < 0.25:
        value = rng.choice(VALUES)
        word += ('=' if value == 'nan' else rng.choice(['', '='])) + value  # -cnan is our -c -n an
    return word


def command_line(rng):
    makers = [long_word, short_word, lambda r: r.choice(VALUES), lambda r: '--']
    return [rng.choices(makers, [4, 4, 3, 0.2])[0](rng) for _ in range(rng.randint(1, 5))]


def test_random_command_lines():
    seed = int(os.environ.get('CLUSTAT_TEST_SEED') or time.time())
    print('CLUSTAT_TEST_SEED=%d' % seed)
    rng = random.Random(seed)
    compared = 0
    for _ in range(CASES):
        words = command_line(rng)
        want = wanted(words)
        if want is None:
            continue
        got = subprocess.run([DUMP, 'gpustat', *words], stdout=subprocess.PIPE, text=True).stdout.strip('\n')
        if want in ('action=1', 'action=2'):
            got = got.split('\n')[0]
        assert got == want, words
        compared += 1
    assert compared > CASES / 2
