"""clustat's JSON against docs/clustat.schema.json, and hostile text in every output."""
import json
import os
import pathlib
import re
import subprocess

import jsonschema
import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get('CLUSTAT_BUILD', TOP / 'build'))
PROGRAM = BUILD / 'tests/unit/render/render_picture'
SCHEMA = json.loads((TOP / 'docs/clustat.schema.json').read_text())

# One of everything: states, faults, instances, processes known, half known and unknown.
EVERYTHING = r'''
node compute01
connection conn-1
addr 10.0.0.1:30000
driver 580.95.05
delay 280 1000
counts 3 1 2 3
process 100 0 125 4096 /usr/bin/python3\0train.py
user root
process 101 54321 -1 -1
alive 1 worker
process 102 -1 -1 -1
alive 2
device 0 NVIDIA A100
uuid GPU-1
temperature_c -5
power_mw 99500
memory_used_bytes 1048575
age hot 1000
entry compute 100 4194304000
entry graphics 100 5194304000
entry mps 101 -1
entry compute 102 0
entry compute 103 5
instance 0 0 NVIDIA A100 MIG 1g.5gb
entry compute 100 1048576 1 0
device 1 NVIDIA GB10
unified
list compute 3
list graphics -1
device 2 x
nameless
condition 1 15
device 3 x
condition 2 0
device 4 x
condition 3 0
device 5 x
condition 4 0
node compute02
state 1 0 3200000
fault 8 0
pending 1 12000000 nvmlDeviceGetMemoryInfo
device 0 x
temperature_c 40
node compute03
unheard
state 2 1796060000000000 0
node compute04
fault 5 18 both versions
node compute05
state 4 1796060000000000 0
driver 1
device 0 x
temperature_c 40
'''

# What a process may call itself: escapes, controls, C1, bidi, wide and bad UTF-8.
HOSTILE = [
    r'\x1b[2J\x1b]0;title\x07', r'new\nline', r'\xc2\x9b31m', r'\xe2\x80\xaemoc.live', r'\xe6\xb8\xac\xe8\xa9\xa6',
    r'\xff\xfe\xc0\x80', r'\xed\xa0\x80', r'\xf4\x90\x80\x80', r'tab\x09cr\x0ddel\x7f', r'"quote\\back', r'e\xcc\x81\xcc\x81',
    r'\xef\xbb\xbfbom', r'\xe2\x80\xa8line separator',
]
CASES = HOSTILE + ['x' * 131072, r'\xff' * 32768, r'\x1b' * 32768]


def render(what, picture):
    done = subprocess.run([PROGRAM, what], input=picture.encode(), stdout=subprocess.PIPE, check=True, timeout=60)
    return done.stdout


def strict(text):
    """JSON as a strict parser takes it: no lone surrogates, no repeated keys."""
    def no_repeats(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), keys
        return dict(pairs)

    value = json.loads(text, object_pairs_hook=no_repeats)
    json.dumps(value, ensure_ascii=False).encode('utf-8')
    return value


def check_keys(value, schema, path='$'):
    """Every object has the schema's keys, in its order, and no other."""
    while '$ref' in schema:
        schema = SCHEMA['definitions'][schema['$ref'].rpartition('/')[2]]
    if isinstance(value, dict):
        assert list(value) == list(schema['properties']), path
        for key, item in value.items():
            check_keys(item, schema['properties'][key], '%s.%s' % (path, key))
    elif isinstance(value, list):
        for item in value:
            check_keys(item, schema['items'], path + '[]')


def test_schema_is_a_schema():
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize('picture', ['', 'node a\n', EVERYTHING], ids=['nothing', 'bare node', 'everything'])
def test_output_follows_the_schema(picture):
    value = strict(render('clustat-json', picture))
    jsonschema.validate(value, SCHEMA)
    check_keys(value, SCHEMA)
    assert value['meta']['status'] == ('ok' if picture else 'empty')


def test_keys_of_the_first_clustat_come_first():
    value = strict(render('clustat-json', EVERYTHING))
    node = value['nodes'][0]
    assert list(value['meta'])[:4] == ['status', 'timestamp_ms', 'node_count', 'errors']
    assert list(node)[:10] == ['connection_id', 'hostname', 'addr', 'timestamp_ms', 'driver_version', 'num', 'stale',
                               'error', 'delay_us', 'gres']
    assert list(node['gres'][0])[:8] == ['index', 'name', 'uuid', 'temperature_c', 'util', 'mem_used_mb', 'mem_total_mb',
                                         'processes']
    assert list(node['gres'][0]['processes'][0])[:5] == ['uid', 'username', 'pid', 'command', 'used_memory_mb']


def test_schema_requires_every_key():
    value = strict(render('clustat-json', EVERYTHING))
    for holder in (value['meta'], value['nodes'][0], value['nodes'][0]['gres'][0],
                   value['nodes'][0]['gres'][0]['processes'][0], value['nodes'][0]['gres'][0]['entries'][0]):
        for key in list(holder):
            kept = holder.pop(key)
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(value, SCHEMA)
            holder[key] = kept


def test_values():
    nodes = strict(render('clustat-json', EVERYTHING))['nodes']
    gpu, instance, unified, lost, asleep = nodes[0]['gres'][:5]
    assert nodes[0]['num'] == len(nodes[0]['gres']) == 7 and not nodes[0]['stale'] and nodes[0]['error'] is None
    assert gpu['temperature_c'] == -5 and gpu['mem_used_mb'] == 0 and gpu['memory_used_bytes'] == 1048575
    assert gpu['util'] is None and gpu['power_mw'] == 99500 and gpu['uuid'] == 'GPU-1'
    assert [p['used_memory_mb'] for p in gpu['processes']] == [4953, None, 0, 0]
    assert [p['state'] for p in gpu['processes']] == ['running', 'zombie', 'exited', 'unknown']
    assert [p['command'] for p in gpu['processes']] == ['python3', 'worker', None, None]
    assert [p['username'] for p in gpu['processes']] == ['root', '54321', None, None]
    assert gpu['processes'][0]['types'] == ['compute', 'graphics'] and gpu['processes'][0]['cpu_percent'] == 12.5
    assert len(gpu['entries']) == 5 and gpu['age_us']['hot'] == 1000 and gpu['age_us']['warm'] is None
    assert instance['kind'] == 'mig' and instance['mig_index'] == 0 and instance['index'] == 0
    assert unified['unified_memory'] and unified['processes'] is None
    assert unified['lists']['compute'] == {'state': 'failed', 'code': 3}
    assert lost['state'] == 'fault' and lost['fault_code'] == 15 and 'reset' in lost['fault_text']
    assert asleep['state'] == 'asleep' and asleep['processes'] is None and asleep['name'] == 'x'


def test_values_of_silent_nodes_are_not_shown_as_present():
    stale, unheard, mismatch, stopped = strict(render('clustat-json', EVERYTHING))['nodes'][1:]
    assert stale['stale'] and stale['gres'][0]['temperature_c'] == 40 and stale['pending_call']['device'] == 1
    assert unheard['num'] is None and unheard['gres'] == [] and unheard['stale']
    assert mismatch['fault'] == 'version_mismatch' and 'both versions' in mismatch['error']
    assert stopped['gres'][0]['temperature_c'] is None and stopped['gres'][0]['name'] == 'x'


def test_meta_names_every_node_in_trouble():
    errors = strict(render('clustat-json', EVERYTHING))['meta']['errors']
    assert [e['hostname'] for e in errors] == ['compute02', None, 'compute04', 'compute05']
    assert 'nvmlDeviceGetMemoryInfo on device 1 for 12 s' in errors[0]['text']


def hostile_picture(text):
    return ('node n%s\ndriver d%s\nfault 0 0 %s\nprocess 1 0 0 0 %s\\0arg%s\nuser u%s\nalive 0 %s\n'
            'device 0 g%s\nuuid %s\nentry compute 1 1048576\ndevice 1 plain\nentry compute 1 1048576\n' % ((text,) * 9))


@pytest.mark.parametrize('text', CASES, ids=range(len(CASES)))
@pytest.mark.parametrize('style', ['gpustat', 'clustat'])
@pytest.mark.parametrize('options', ['', 'option ascii\n', 'option columns 80\n'], ids=['plain', 'ascii', 'cut'])
def test_no_output_has_raw_bytes(text, style, options):
    options += 'option cmd\noption user\noption full-cmd\n' + ('option clustat\n' if style == 'clustat' else '')
    out = render('table', hostile_picture(text) + options)
    shown = out.decode('utf-8')  # bad bytes are made visible
    assert len(shown.splitlines()) == 5  # splitlines knows all line ends, also U+2028
    assert not re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]', shown)
    assert 'ascii' not in options or shown.isascii()


@pytest.mark.parametrize('text', HOSTILE, ids=range(len(HOSTILE)))
def test_bars_stay_aligned(text):
    out = render('table', hostile_picture(text) + 'option clustat\noption no-processes\noption no-header\noption ascii\n')
    first, second = out.decode('ascii').splitlines()
    assert first.rindex('|') == second.rindex('|')


@pytest.mark.parametrize('text', CASES, ids=range(len(CASES)))
def test_json_of_hostile_text(text):
    raw = bytes(text, 'ascii').decode('unicode_escape').encode('latin-1')
    ours = render('clustat-json', hostile_picture(text))
    assert re.fullmatch(rb'[\n -~]*', ours)
    name = strict(ours)['nodes'][0]['gres'][0]['name']
    assert name == 'g' + ''.join('\ufffd' if '\udc80' <= c <= '\udcff' else c for c in raw.decode('utf-8', 'surrogateescape'))

    gpustats = render('gpustat-json', hostile_picture(text))
    assert re.fullmatch(rb'[\n -~]*', gpustats)
    name = json.loads(gpustats)['gpus'][0]['name']
    assert name.encode('utf-8', 'surrogateescape') == b'g' + raw


def test_gpustat_json_is_laid_out_as_python_does():
    picture = EVERYTHING.partition('node compute02')[0] + 'device 6 gr\\xc3\\xb6\\xc3\\x9fe \\xf0\\x9f\\x98\\x80 \\x1f\\x7f "\\\\/\\xff\n'
    out = render('gpustat-json', picture)
    assert out.decode('ascii') == json.dumps(json.loads(out), indent=4) + '\n'
