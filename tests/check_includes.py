#!/usr/bin/python3
"""Checks the layers: a folder of src/ includes only its own headers and those of the folders before it.

Also: every .c includes its own header first, headers have a guard named after their path, and nobody
includes NVIDIA's nvml.h.  Prints what is wrong, one line each; status 1 if anything is.
"""
import pathlib
import re
import sys

LAYERS = ['core', 'model', 'wire', 'proto', 'net', 'gpu', 'host', 'config', 'render', 'sampler',
          'server', 'backend', 'cli']
PROGRAMS = ['server', 'backend', 'cli']  # side by side: none includes another
GENERATED = ['clustat_version.h']


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        m = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if m:
            yield number, m.group(1), m.group(2)


def check(src, path):
    own = path.relative_to(src).parts[0]
    first_quoted = None
    for number, mark, name in includes(path):
        where = '%s:%d' % (path, number)
        if name.endswith('nvml.h'):
            yield '%s: NVIDIA\'s own header is not to be used' % where
        if mark == '<' or name in GENERATED:
            continue
        first_quoted = first_quoted or name
        folder = name.split('/')[0]
        if '/' not in name or folder not in LAYERS:
            yield '%s: "%s" does not start with a folder of src/' % (where, name)
        elif not (src / name).exists():
            yield '%s: "%s" does not exist' % (where, name)
        elif LAYERS.index(folder) > LAYERS.index(own):
            yield '%s: %s/ must not include %s/ (a layer above it)' % (where, own, folder)
        elif own in PROGRAMS and folder in PROGRAMS and own != folder:
            yield '%s: %s/ must not include %s/ (another program)' % (where, own, folder)
    header = path.with_suffix('.h')
    if path.suffix == '.c' and header.exists() and first_quoted != str(header.relative_to(src)):
        yield '%s: its own header is to be included first' % path
    if path.suffix == '.h':
        guard = re.sub(r'[/.-]', '_', str(path.relative_to(src))).upper()
        if '#ifndef %s\n#define %s\n' % (guard, guard) not in path.read_text():
            yield '%s: no include guard %s' % (path, guard)


def main():
    src = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else 'src')
    files = sorted(p for p in src.rglob('*') if p.suffix in ('.c', '.h', '.cpp'))
    bad = [line for path in files if path.relative_to(src).parts[0] in LAYERS for line in check(src, path)]
    bad += ['%s: not in a known folder' % p for p in files if p.relative_to(src).parts[0] not in LAYERS]
    print('\n'.join(bad) if bad else '%d files keep to the layers' % len(files))
    return 1 if bad or not files else 0


if __name__ == '__main__':
    sys.exit(main())
