"""A terminal (a pty) that the program is watched on."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from cli_program import CLUSTAT, DEADLINE_S

ENTER, LEAVE = b'\x1b[?1049h', b'\x1b[?1049l'
HIDE, SHOW = b'\x1b[?25l', b'\x1b[?25h'


class Terminal:
    """The program on a pty of its own, as a session leader; collects what it writes."""

    def __init__(self, args, env, name='clustat', rows=24, columns=100, program=CLUSTAT):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.output = b''
        self.reads = []

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.popen = subprocess.Popen([name, *args], executable=program, env=env, stdin=slave, stdout=slave, stderr=slave,
                                      preexec_fn=own_terminal)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def read(self, seconds):
        """One piece of output, or b'' if none comes in time."""
        if not select.select([self.master], [], [], seconds)[0]:
            return b''
        try:
            piece = os.read(self.master, 1 << 16)
        except OSError:
            return b''
        self.output += piece
        if piece:
            self.reads.append((time.monotonic(), piece))
        return piece

    def wait_for(self, pattern, start=0):
        """Reads until the output from `start` on has the pattern; gives the match."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            m = re.compile(pattern, re.S).search(self.output, start)
            if m:
                return m
            self.read(0.2)
        raise AssertionError('%r did not come; there was %r' % (pattern, self.output[-2000:]))

    def send(self, data):
        os.write(self.master, data)

    def end(self):
        """Waits for the program's end; gives its status."""
        end = time.monotonic() + DEADLINE_S
        while self.popen.poll() is None and time.monotonic() < end:
            self.read(0.05)
        assert self.popen.poll() is not None, 'still runs'
        while self.read(0):
            pass
        return self.popen.returncode

    def settings(self):
        return termios.tcgetattr(self.slave)

    def close(self):
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()
        os.close(self.slave)
        os.close(self.master)


def restored(t):
    """The terminal is as it was: main screen, cursor, settings."""
    out = t.output
    return (out.count(ENTER) == out.count(LEAVE) > 0 and out.rindex(LEAVE) > out.rindex(ENTER) and
            out.rindex(SHOW) > out.rindex(HIDE) and t.settings() == t.before)
