"""Hosts and networks made of network namespaces, for tests that need more than loopback.

A lab is a tree of processes that only wait (`cat` on a pipe): each holds a namespace open.  They end with the pipe,
also when a test is killed, and the namespaces with everything in them go with them: nothing is left behind, and
nothing outside is touched.  Root uses its rights; anybody else gets a user namespace, where the kernel allows it.
"""
import os
import pathlib
import queue
import re
import subprocess
import threading
import time

import pytest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get('CLUSTAT_BUILD', TOP / 'build')).resolve()
PATIENCE = 10.0  # seconds until an expected event counts as missing
SBIN = {**os.environ, 'PATH': os.environ.get('PATH', '') + ':/usr/sbin:/sbin'}


class Child:
    """A program in a host: its lines are collected; expect() waits for one."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=SBIN)
        self.lines = queue.Queue()
        self.seen = []
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip('\n'))
        self.lines.put(None)

    def say(self, text):
        self.process.stdin.write(text + '\n')
        self.process.stdin.flush()

    def expect(self, pattern, patience=PATIENCE):
        """The match of the first line from now on that fits; those passed over are kept in `seen`."""
        limit = time.monotonic() + patience
        while True:
            try:
                line = self.lines.get(timeout=max(0, limit - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError('no line like %r; seen: %r' % (pattern, self.seen))
            self.seen.append(line)
            match = re.fullmatch(pattern, line)
            if match:
                return match

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()


class Host:
    """A network namespace with loopback up."""

    def __init__(self, lab, enter):
        self.lab = lab
        command = enter + ['unshare', '--net', '--', 'sh', '-c', 'echo up; exec cat']
        self.holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=SBIN)
        if self.holder.stdout.readline() != 'up\n':
            raise AssertionError('no namespace for a host')
        self.enter = lab.nsenter(self.holder.pid)
        self.ip('link set lo up')

    def run(self, *command):
        done = subprocess.run([*self.enter, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=SBIN)
        assert done.returncode == 0, '%s: %s' % (' '.join(map(str, command)), done.stderr)
        return done.stdout

    def ip(self, line):
        return self.run('ip', *line.split())

    def sysctl(self, name, value):
        self.run('sh', '-c', 'echo %s > /proc/sys/%s' % (value, name.replace('.', '/')))

    def start(self, *command):
        child = Child([*self.enter, *map(str, command)])
        self.lab.children.append(child)
        return child

    def index(self, interface):
        return int(self.ip('-o link show %s' % interface).split(':')[0])


class Lab:
    """Several hosts, and switches (bridges in a namespace of their own) that join them."""

    def __init__(self):
        self.hosts = []
        self.children = []
        self.user = os.geteuid() != 0
        command = ['unshare', *(['--user', '--map-root-user'] if self.user else []), '--net', '--', 'sh', '-c',
                   'echo up; exec cat']
        self.holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, env=SBIN)
        if self.holder.stdout.readline() != 'up\n':
            why = self.holder.stderr.read().strip()
            self.holder.wait()
            pytest.skip('no network namespaces for this user: %s' % why)
        self.enter = self.nsenter(self.holder.pid)

    def nsenter(self, pid):
        user = ['--user', '--preserve-credentials'] if self.user else []
        return ['nsenter', '--target', str(pid), *user, '--net', '--']

    def host(self):
        self.hosts.append(Host(self, self.enter))
        return self.hosts[-1]

    def _ip(self, line):
        subprocess.run([*self.enter, 'ip', *line.split()], check=True, env=SBIN)

    def switch(self, name):
        self._ip('link add %s type bridge mcast_snooping 0' % name)
        self._ip('link set %s up' % name)
        return name

    def plug(self, host, interface, switch, *addresses, mtu=1500):
        """A cable from a switch to a host, with its addresses ("10.1.0.1/24")."""
        port = 'p%d-%d' % (self.hosts.index(host), len(host.ip('-o link').splitlines()))
        self._ip('link add %s mtu %d type veth peer name %s mtu %d netns %d'
                 % (port, mtu, interface, mtu, host.holder.pid))
        self._ip('link set %s master %s up' % (port, switch))
        for address in addresses:
            host.ip('addr add %s dev %s%s' % (address, interface, ' nodad' if ':' in address else ''))
        host.ip('link set %s up' % interface)

    def card(self, host, interface, switch, *addresses):
        """As plug(), but not seen as a veth: by default clustat leaves those alone, as containers have them."""
        self.plug(host, 'v' + interface, switch)
        host.ip('link add %s link v%s type macvlan mode bridge' % (interface, interface))
        for address in addresses:
            host.ip('addr add %s dev %s' % (address, interface))
        host.ip('link set %s up' % interface)

    def close(self):
        codes = [child.close() for child in self.children]
        for holder in [*(host.holder for host in self.hosts), self.holder]:
            holder.stdin.close()
            holder.wait(timeout=5)
        assert not any(codes), 'a program of the test did not end well: %r' % codes
