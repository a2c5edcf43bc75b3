"""The protocol as docs/protocol.md describes it, written from that page alone.

It is the tests' own client, and checks the page: what it gets wrong is wrong in one of the two. Sealing needs
libsodium.so (through ctypes); everything else is plain Python.
"""
import ctypes
import ctypes.util
import hashlib
import os
import secrets
import socket
import struct
import time
import zlib

FRAME_MAGIC, FRAME_VERSION, FRAME_HEADER = b'CLST', 1, 20
DATAGRAM_MAGIC, DATAGRAM_HEADER = b'\xc1\xa7', 28
BODY_MAX, CHUNK_MAX = 1 << 20, 1024
SEALED = 1

HELLO, CHALLENGE, WELCOME, REFUSE, QUERY, REPLY, RESEND, GOODBYE, PING, PONG = range(16, 26)
ANNOUNCE, PROBE = 32, 33
REFUSE_ALLOWED, REFUSE_VERSION, REFUSE_FULL, REFUSE_SESSION, REFUSE_SEALED, REFUSE_RATE = range(1, 7)
TO_SERVER, TO_BACKEND = 1, 2

FAULT_NONE, FAULT_LIBRARY_MISSING, FAULT_HUNG, FAULT_PAUSED = 0, 1, 8, 9
AGE_NEVER = None


class Malformed(Exception):
    """Bytes that the page does not allow."""


# ---- numbers and texts ----

class Reader:
    def __init__(self, data):
        self.data, self.at = bytes(data), 0

    def left(self):
        return len(self.data) - self.at

    def take(self, count):
        if count > self.left():
            raise Malformed('%d bytes wanted, %d left' % (count, self.left()))
        self.at += count
        return self.data[self.at - count:self.at]

    def rest(self):
        return self.take(self.left())

    def u8(self):
        return self.take(1)[0]

    def u16(self):
        return int.from_bytes(self.take(2), 'big')

    def u32(self):
        return int.from_bytes(self.take(4), 'big')

    def u64(self):
        return int.from_bytes(self.take(8), 'big')

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                if byte == 0 and shift > 7:
                    raise Malformed('a varint that is not the shortest')
                if value >= 1 << 64:
                    raise Malformed('a varint of more than 64 bits')
                return value
            if shift >= 70:
                raise Malformed('a varint of more than 10 bytes')

    def zigzag(self):
        value = self.varint()
        return value >> 1 if not value & 1 else -(value >> 1) - 1

    def text(self):
        length = self.varint()
        return None if length == 0 else self.take(length - 1)

    def age(self):
        age = self.varint()
        return age - 1 if age else AGE_NEVER

    def part(self):
        return self.take(self.u32())

    def records(self):
        """A count, then so many sized records; nothing behind them."""
        result = [Reader(self.take(self.varint())) for _ in range(self.varint())]
        if self.left():
            raise Malformed('%d bytes behind the last record' % self.left())
        return result


def padding(body, size):
    """Fills a body up to `size` bytes with the padding member."""
    count = max(0, size - len(body) - 2)
    return body + struct.pack('>H', count) + bytes(count)


# ---- frames and datagrams ----

class Frame:
    def __init__(self, type, request=0, body=b'', flags=0, version=FRAME_VERSION):
        self.type, self.request, self.body, self.flags, self.version = type, request, body, flags, version

    def header(self, length=None):
        return FRAME_MAGIC + struct.pack('>BBHQI', self.version, self.type, self.flags, self.request,
                                         len(self.body) if length is None else length)

    def bytes(self):
        return self.header() + self.body

    def __repr__(self):
        return 'Frame(type=%d, request=%d, %d bytes)' % (self.type, self.request, len(self.body))


def parse_frame(data):
    if len(data) < FRAME_HEADER or data[:4] != FRAME_MAGIC:
        raise Malformed('no frame')
    version, type, flags, request, length = struct.unpack('>BBHQI', data[4:FRAME_HEADER])
    if length > BODY_MAX or length != len(data) - FRAME_HEADER:
        raise Malformed('a body of %d bytes, said to have %d' % (len(data) - FRAME_HEADER, length))
    return Frame(type, request, data[FRAME_HEADER:], flags, version)


def datagrams(frame, frame_id, payload=1200):
    """Cuts a frame (bytes) into datagrams."""
    chunks = [frame[i:i + payload] for i in range(0, len(frame), payload)]
    sums = [0] + [zlib.crc32(chunk) for chunk in chunks] + [0]
    return [DATAGRAM_MAGIC + struct.pack('>BBIHHIIII', 1, 0, frame_id, i, len(chunks), len(frame),
                                         sums[i], sums[i + 1], sums[i + 2]) + chunk
            for i, chunk in enumerate(chunks)]


class Chunk:
    def __init__(self, data):
        if len(data) <= DATAGRAM_HEADER or data[:2] != DATAGRAM_MAGIC or data[2] != 1:
            raise Malformed('no datagram of ours')
        (self.frame_id, self.number, self.count, self.frame_len, self.before, self.crc,
         self.after) = struct.unpack('>IHHIIII', data[4:DATAGRAM_HEADER])
        self.payload = data[DATAGRAM_HEADER:]
        if not 1 <= self.count <= CHUNK_MAX or self.number >= self.count:
            raise Malformed('chunk %d of %d' % (self.number, self.count))
        if zlib.crc32(self.payload) != self.crc:
            raise Malformed('checksum')
        if (self.number == 0 and self.before) or (self.number == self.count - 1 and self.after):
            raise Malformed('a checksum beyond the end')


class Collector:
    """Puts chunks together again; frames in the making by their id."""

    def __init__(self):
        self.frames = {}

    def add(self, chunk):
        """The whole frame (bytes), or None."""
        key = (chunk.frame_id, chunk.count, chunk.frame_len)
        chunks = self.frames.setdefault(key, {})
        for neighbour, mine, theirs in ((chunk.number - 1, chunk.before, 'crc'),
                                        (chunk.number + 1, chunk.after, 'crc')):
            if neighbour in chunks and getattr(chunks[neighbour], theirs) != mine:
                raise Malformed('neighbours disagree')
        chunks[chunk.number] = chunk
        if len(chunks) < chunk.count:
            return None
        del self.frames[key]
        frame = b''.join(chunks[i].payload for i in range(chunk.count))
        if len(frame) != chunk.frame_len:
            raise Malformed('a frame of %d bytes, said to have %d' % (len(frame), chunk.frame_len))
        return frame


# ---- messages ----

def put_hello(nonce, instance, cookie=b'', versions=(1, 1)):
    body = struct.pack('>BBQQB', versions[0], versions[1], nonce, instance, len(cookie)) + cookie
    return padding(body, 64)


def get_challenge(body):
    r = Reader(body)
    return {'nonce': r.u64(), 'cookie': r.take(16)}


def get_welcome(body):
    r = Reader(body)
    return {'nonce': r.u64(), 'token': r.u64(), 'server_nonce': r.u64(), 'identity': r.take(16),
            'instance': r.u64(), 'version': r.u8(), 'idle_ms': r.u32(), 'software': r.text(),
            'facts_hash': r.u64(), 'facts': r.part()}


def get_refuse(body):
    r = Reader(body)
    return {'echo': r.u64(), 'reason': r.u8(), 'versions': (r.u8(), r.u8())}


def put_query(token, facts_hash=0, generation=0, interval_us=0):
    return struct.pack('>QQQI', token, facts_hash, generation, interval_us)


def get_reply(body):
    r = Reader(body)
    return {'token': r.u64(), 'flags': r.u16(), 'age_us': r.u64(), 'facts_hash': r.u64(),
            'generation': r.u64(), 'base': r.u64(), 'readings': r.part(), 'facts': r.part(),
            'process_facts': r.part()}


def put_resend(token, request, chunks, missing):
    bits = bytearray((chunks + 7) // 8)
    for chunk in missing:
        bits[chunk // 8] |= 1 << chunk % 8
    return struct.pack('>QQH', token, request, chunks) + bytes(bits)


def get_goodbye(body):
    r = Reader(body)
    return {'token': r.u64(), 'reason': r.u8()}


def get_announce(body):
    if len(body) < 64:
        raise Malformed('an announce of %d bytes' % len(body))
    r = Reader(body)
    return {'identity': r.take(16), 'instance': r.u64(), 'sequence': r.u64(), 'udp_port': r.u16(),
            'tcp_port': r.u16(), 'flags': r.u16(), 'hostname': r.text()}


def put_announce(identity, instance, sequence, udp_port, tcp_port, hostname, flags=0):
    body = identity + struct.pack('>QQHHH', instance, sequence, udp_port, tcp_port, flags)
    return padding(body + bytes([len(hostname) + 1]) + hostname, 64)  # one byte does below 127


def put_probe(instance, salt=0, hashes=4, spread_ms=0, known=(), digest_bytes=64):
    digest = bytearray(digest_bytes if known else 0)
    for identity in known:
        for bit in digest_bits(salt, identity, hashes, len(digest)):
            digest[bit // 8] |= 1 << bit % 8
    body = struct.pack('>QQBHH', instance, salt, hashes, spread_ms, len(digest)) + bytes(digest)
    return padding(body, 297)


def digest_bits(salt, identity, hashes, size):
    halves = hashlib.blake2b(struct.pack('>Q', salt) + identity, digest_size=16).digest()
    a, b = struct.unpack('>QQ', halves)
    return [(a + i * (b | 1)) % (1 << 64) % (8 * size) for i in range(hashes)]


def identity_of(machine_id, name):
    return hashlib.blake2b(machine_id + b'\0' + name, key=b'clustat identity', digest_size=16).digest()


# ---- snapshots ----

FIELDS = ('utilization_gpu_percent utilization_memory_percent memory_total_bytes memory_used_bytes '
          'memory_reserved_bytes temperature_c power_mw clock_graphics_mhz clock_sm_mhz clock_memory_mhz '
          'clock_video_mhz performance_state throttle_reasons fan_percent utilization_encoder_percent '
          'utilization_decoder_percent power_limit_mw clock_graphics_max_mhz clock_memory_max_mhz ecc_mode '
          'ecc_mode_pending ecc_volatile_corrected ecc_volatile_uncorrected ecc_aggregate_corrected '
          'ecc_aggregate_uncorrected remapped_rows_corrected remapped_rows_uncorrected remapped_rows_pending '
          'remapped_rows_failed recovery_action mig_mode mig_mode_pending persistence_mode compute_mode '
          'pcie_link_gen pcie_link_width pcie_link_gen_max pcie_link_width_max xid_last xid_count '
          'xid_last_unix_us minor gpu_instance_id compute_instance_id multiprocessor_count').split()
GROUPS = ('static', 'hot', 'warm', 'processes', 'slow')
LISTS = ('compute', 'graphics', 'mps')


def get_fields(r):
    bits = r.take(r.varint())
    fields = {}
    for number in range(len(bits) * 8):
        if bits[number // 8] >> number % 8 & 1:
            value = r.varint()
            if number < len(FIELDS):
                fields[FIELDS[number]] = value if value < 1 << 63 else value - (1 << 64)
    return fields


def get_sections(body):
    r, sections = Reader(body), {}
    while r.left():
        number = r.u8()
        content = r.take(r.u32())
        if number in sections:
            raise Malformed('section %d twice' % number)
        sections[number] = Reader(content)
    return sections


def _device(facts, readings):
    device = {'kind': facts.varint(), 'index': facts.varint(), 'instance_index': facts.varint(),
              'flags': facts.varint()}
    for name in ('name', 'uuid', 'serial', 'pci'):
        device[name] = facts.text()
    fields = get_fields(facts)
    device['state'], device['fault_code'] = readings.varint(), readings.zigzag()
    fields.update(get_fields(readings))
    device['fields'] = fields
    ages = [readings.age() for _ in range(readings.varint())]
    device['ages_us'] = dict(zip(GROUPS, ages))
    device['lists'] = dict(zip(LISTS, [readings.zigzag() for _ in range(readings.varint())]))
    device['entry_count'] = readings.varint()
    device['entries'] = []
    return device


def _entry(r, processes):
    entry = {'list': r.varint(), 'pid': None, 'mem_used_bytes': None}
    flags, place = r.varint(), r.varint()
    entry['process'] = processes[place - 1] if place else None
    entry['pid'] = r.varint() if flags & 1 else processes[place - 1]['pid']
    if flags & 2:
        entry['mem_used_bytes'] = r.varint()
    if flags & 4:
        entry['utilization'] = list(r.take(4))
    if flags & 8:
        entry['instance'] = [r.varint() - 1, r.varint() - 1]
    return entry


def _process(r):
    process = {'pid': r.varint(), 'start': r.varint(), 'state': r.varint(), 'known': r.varint()}
    if process['known'] & 4:
        process['cpu_permille'] = r.varint()
    if process['known'] & 8:
        process['rss_bytes'] = r.varint()
    return process


def _process_facts(r):
    key, known, facts = (r.varint(), r.varint()), r.varint(), {}
    if known & 1:
        facts['uid'] = r.varint()
    if known & 2:
        facts['start_unix_us'] = r.zigzag()
    for name in ('user', 'command', 'command_line', 'slurm_job', 'slurm_step', 'container'):
        facts[name] = r.text()
    return key, facts


def decode_snapshot(body):
    """A whole body as one dictionary with `devices` (each with `entries`) and `processes`."""
    sections = get_sections(body)
    missing = set(range(1, 8)) - set(sections)
    if missing:
        raise Malformed('sections %s are missing' % sorted(missing))
    r = sections[1]
    node = {'hostname': r.text(), 'driver_version': r.text(), 'nvml_version': r.text()}
    r = sections[4]
    node.update({'sequence': r.varint(), 'taken_unix_us': r.zigzag(), 'flags': r.varint(),
                 'fault': r.varint(), 'fault_code': r.zigzag(), 'fault_text': r.text(),
                 'pending_call': r.text(), 'pending_device': r.zigzag(), 'pending_us': r.varint(),
                 'driver_time_ppm': r.varint(), 'unnamed_processes': r.varint(),
                 'commands_cut': r.varint(), 'entries_left_out': r.varint(), 'host_age_us': r.age()})
    facts, readings = sections[2].records(), sections[5].records()
    if len(facts) != len(readings):
        raise Malformed('%d devices with facts, %d with readings' % (len(facts), len(readings)))
    node['devices'] = [_device(f, d) for f, d in zip(facts, readings)]
    node['processes'] = [_process(p) for p in sections[7].records()]
    known = dict(_process_facts(p) for p in sections[3].records())
    for process in node['processes']:
        process.update(known.pop((process['pid'], process['start']), {}))
    if known:
        raise Malformed('facts of processes that are not there')
    entries = [_entry(e, node['processes']) for e in sections[6].records()]
    for device in node['devices']:
        device['entries'] = entries[:device['entry_count']]
        entries = entries[device['entry_count']:]
    if entries:
        raise Malformed('entries of no device')
    return node


def _records_by_key(section):
    """The records of section 3 as bytes, by their key."""
    result = {}
    if section:
        for record in get_sections(section)[3].records():
            r = Reader(record.data)
            result[(r.varint(), r.varint())] = record.data
    return result


def put_varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def merge_process_facts(readings, known, newer, base):
    """Section 3 of the present snapshot from what one has and what came."""
    have = {} if base == 0 else _records_by_key(known)
    have.update(_records_by_key(newer))
    wanted = []
    for record in get_sections(readings)[7].records():
        r = Reader(record.data)
        key = (r.varint(), r.varint())
        if key in have:
            wanted.append(have[key])
    content = put_varint(len(wanted)) + b''.join(put_varint(len(w)) + w for w in wanted)
    return b'\x03' + struct.pack('>I', len(content)) + content


# ---- seal ----

_sodium = None


def sodium():
    """libsodium, or None where there is no shared library of it."""
    global _sodium
    if _sodium is None:
        name = ctypes.util.find_library('sodium')
        _sodium = ctypes.CDLL(name) if name else False
        if _sodium and _sodium.sodium_init() < 0:
            _sodium = False
    return _sodium or None


def key_id(key):
    return hashlib.blake2b(b'clustat key id', key=key, digest_size=16).digest()[:4]


def session_key(key, client_nonce, server_nonce):
    message = b'clustat session' + struct.pack('>QQ', client_nonce, server_nonce)
    return hashlib.blake2b(message, key=key, digest_size=32).digest()


def seal(frame, key, direction, nonce=None):
    nonce = nonce or os.urandom(24)
    frame = Frame(frame.type, frame.request, frame.body, frame.flags | SEALED, frame.version)
    extra = frame.header(len(frame.body) + 44) + bytes([direction])
    out = ctypes.create_string_buffer(len(frame.body) + 16)
    sodium().crypto_aead_xchacha20poly1305_ietf_encrypt(
        out, None, frame.body, ctypes.c_ulonglong(len(frame.body)), extra, ctypes.c_ulonglong(len(extra)),
        None, nonce, key)
    frame.body = key_id(key) + nonce + out.raw
    return frame


def unseal(frame, keys, direction):
    """The frame with its plain body, and the sequence number of its nonce."""
    if len(frame.body) < 44:
        raise Malformed('too short for a seal')
    nonce, cipher = frame.body[4:28], frame.body[28:]
    extra = frame.header() + bytes([direction])
    for key in keys:
        out = ctypes.create_string_buffer(len(cipher) or 1)
        length = ctypes.c_ulonglong(0)
        if key_id(key) == frame.body[:4] and sodium().crypto_aead_xchacha20poly1305_ietf_decrypt(
                out, ctypes.byref(length), None, cipher, ctypes.c_ulonglong(len(cipher)), extra,
                ctypes.c_ulonglong(len(extra)), nonce, key) == 0:
            return (Frame(frame.type, frame.request, out.raw[:length.value], frame.flags),
                    struct.unpack('>Q', nonce[16:])[0])
    raise Malformed('no key opens it')


# ---- a client ----

class Refused(Exception):
    def __init__(self, refuse):
        super().__init__('reason %d' % refuse['reason'])
        self.reason, self.versions = refuse['reason'], refuse['versions']


class Client:
    """A session with one server, over UDP or TCP. Every wait has a deadline; silence is TimeoutError."""

    def __init__(self, address, protocol='udp', key=None, timeout=2.0, bind=None, payload=1200):
        self.address, self.protocol, self.key, self.timeout = address, protocol, key, timeout
        self.payload = payload
        self.instance, self.request, self.frame_id, self.sequence = secrets.randbits(64), 0, 0, 0
        self.collector, self.buffer, self.session = Collector(), b'', None
        self.welcome = None
        self.known = b''
        self.generation = 0
        self.received_bytes = self.sent_bytes = self.datagrams_in = 0
        if protocol == 'udp':
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            if bind:
                self.socket.bind(bind)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(address, timeout, source_address=bind)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- frames --

    def _sealed(self, frame):
        if not self.key:
            return frame
        if frame.type == HELLO:
            return seal(frame, self.key, TO_SERVER)
        self.sequence += 1
        return seal(frame, self.session, TO_SERVER, os.urandom(16) + struct.pack('>Q', self.sequence))

    def send(self, frame):
        self.send_raw(self._sealed(frame).bytes())

    def send_raw(self, data):
        """A frame as bytes, whatever is in it."""
        if self.protocol == 'tcp':
            self.socket.sendall(data)
            self.sent_bytes += len(data)
            return
        self.frame_id += 1
        for datagram in datagrams(data, self.frame_id, self.payload):
            self.socket.send(datagram)
            self.sent_bytes += len(datagram)

    def _receive_some(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError('no answer within %g s' % self.timeout)
        self.socket.settimeout(left)
        data = self.socket.recv(1 << 17)
        self.received_bytes += len(data)
        self.datagrams_in += 1
        if not data and self.protocol == 'tcp':
            raise ConnectionError('closed')
        return data

    def receive_raw(self, deadline):
        """The next frame, as it came."""
        while True:
            if self.protocol == 'udp':
                whole = self.collector.add(Chunk(self._receive_some(deadline)))
                if whole:
                    return parse_frame(whole)
                continue
            if len(self.buffer) >= FRAME_HEADER:
                length = FRAME_HEADER + int.from_bytes(self.buffer[16:20], 'big')
                if len(self.buffer) >= length:
                    frame, self.buffer = self.buffer[:length], self.buffer[length:]
                    return parse_frame(frame)
            self.buffer += self._receive_some(deadline)

    def receive(self, timeout=None):
        frame = self.receive_raw(time.monotonic() + (self.timeout if timeout is None else timeout))
        if self.key and frame.flags & SEALED:
            keys = [self.key] + ([self.session] if self.session else [])
            frame, _ = unseal(frame, keys, TO_BACKEND)
        return frame

    def next_request(self):
        self.request += 1
        return self.request

    def ask(self, type, body, timeout=None):
        """Sends a request; returns the frame that answers it."""
        request = self.next_request()
        self.send(Frame(type, request, body))
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            frame = self.receive(deadline - time.monotonic())
            if frame.type == REFUSE:
                refuse = get_refuse(frame.body)
                if refuse['echo'] == request:
                    raise Refused(refuse)
            elif frame.request == request:
                return frame

    # -- the conversation --

    def hello(self, cookie=b'', nonce=None, versions=(1, 1)):
        """One HELLO; returns the frame that answers it. Raises Refused."""
        self.nonce = nonce or secrets.randbits(64)
        self.send(Frame(HELLO, self.nonce, put_hello(self.nonce, self.instance, cookie, versions)))
        while True:
            frame = self.receive()
            if frame.type == REFUSE:
                refuse = get_refuse(frame.body)
                if refuse['echo'] == self.nonce:
                    raise Refused(refuse)
            elif frame.type in (CHALLENGE, WELCOME):
                return frame

    def handshake(self, versions=(1, 1)):
        frame = self.hello(versions=versions)
        if frame.type == CHALLENGE:
            assert self.protocol == 'udp', 'a challenge over TCP'
            challenge = get_challenge(frame.body)
            assert challenge['nonce'] == self.nonce
            frame = self.hello(challenge['cookie'], self.nonce, versions)
        assert frame.type == WELCOME, frame
        self.welcome = get_welcome(frame.body)
        assert self.welcome['nonce'] == self.nonce and self.welcome['token']
        if self.key:
            self.session = session_key(self.key, self.nonce, self.welcome['server_nonce'])
        self.token = self.welcome['token']
        self.facts = self.welcome['facts']
        self.facts_hash = self.welcome['facts_hash'] if self.facts else 0
        return self.welcome

    def query(self, interval_us=0, timeout=None):
        """Asks; returns the reply, with `snapshot` decoded (None while warming)."""
        reply = get_reply(self.ask(QUERY, put_query(self.token, self.facts_hash, self.generation,
                                                    interval_us), timeout).body)
        return self.take_reply(reply)

    def take_reply(self, reply):
        assert reply['token'] == self.token
        reply['snapshot'] = None
        if reply['flags'] & 1:
            return reply
        assert reply['base'] <= self.generation
        if reply['facts']:
            self.facts, self.facts_hash = reply['facts'], reply['facts_hash']
        assert self.facts_hash == reply['facts_hash']
        self.known = merge_process_facts(reply['readings'], self.known, reply['process_facts'], reply['base'])
        self.generation = reply['generation']
        reply['snapshot'] = decode_snapshot(reply['readings'] + self.facts + self.known)
        return reply

    def ping(self):
        stamp = secrets.randbits(64)
        frame = self.ask(PING, struct.pack('>QQ', self.token, stamp))
        assert frame.type == PONG and frame.body[:16] == struct.pack('>QQ', self.token, stamp)

    def goodbye(self):
        self.send(Frame(GOODBYE, 0, struct.pack('>QB', self.token, 2)))
