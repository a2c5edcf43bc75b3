"""A reader of libnvidia-ml.so.1 that knows its ABI by itself.

Written from the documented prototypes and struct layouts, not from the headers of the fake or of the collector, so that
neither can be wrong unnoticed.  Layouts are struct-module formats with explicit padding, sizes are checked on import.
"""
import contextlib
import ctypes
import struct

SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED = 0, 1, 2, 3
NO_PERMISSION, NOT_FOUND, INSUFFICIENT_SIZE, DRIVER_NOT_LOADED = 4, 6, 7, 9
TIMEOUT, FUNCTION_NOT_FOUND, GPU_IS_LOST, VERSION_MISMATCH, UNKNOWN = 10, 13, 15, 25, 999

NO_INSTANCE = 0xFFFFFFFF
NO_MEMORY_FIGURE = 0xFFFFFFFFFFFFFFFF


class Layout:
    """A struct: its format (native sizes, no implicit padding), field names, and the version word if it has one."""

    def __init__(self, size, form, names, version=None):
        self.form = '=' + form
        self.names = names.split()
        self.version = version
        self.size = size
        assert struct.calcsize(self.form) == size, (names, struct.calcsize(self.form))

    def unpack(self, data):
        values = struct.unpack(self.form, data[:self.size])
        assert len(values) == len(self.names), self.names
        return {k: text(v) if isinstance(v, bytes) else v for k, v in zip(self.names, values)}


PCI_INFO_OLD = Layout(52, '16s5I16s', 'busId domain bus device pciDeviceId pciSubSystemId reserved')
PCI_INFO = Layout(68, '16s5I32s', 'busIdLegacy domain bus device pciDeviceId pciSubSystemId busId')
PCI_INFO_EXT = Layout(64, '8I32s', 'version domain bus device pciDeviceId pciSubSystemId baseClass subClass busId',
                      0x01000040)
UTILIZATION = Layout(8, '2I', 'gpu memory')
MEMORY = Layout(24, '3Q', 'total free used')
MEMORY_V2 = Layout(40, 'I4x4Q', 'version total reserved free used', 0x02000028)
BAR1 = Layout(24, '3Q', 'total free used')
PROCESS_16 = Layout(16, 'I4xQ', 'pid mem')
PROCESS_24 = Layout(24, 'I4xQII', 'pid mem gi ci')
PROCESS_32 = Layout(32, 'I4xQIIQ', 'pid mem gi ci protected')
PROCESS_SAMPLE = Layout(32, 'I4xQ4I', 'pid timeStamp sm mem enc dec')
PROCESS_UTILIZATION = Layout(40, 'Q7I4x', 'timeStamp pid sm mem enc dec jpg ofa')
FIELD_VALUE = Layout(40, 'IIqqiiQ', 'fieldId scopeId timestamp latencyUsec valueType nvmlReturn value')
EVENT_24 = Layout(24, '3Q', 'device type data')
EVENT_32 = Layout(32, '3QII', 'device type data gi ci')
ATTRIBUTES = Layout(40, '8IQ', 'sms copy dec enc jpg ofa giSlices ciSlices memoryMB')
TEMPERATURE_V = Layout(12, 'IIi', 'version sensor temperature', 0x0100000C)


def text(data):
    return data.split(b'\0')[0].decode()


class Nvml:
    """The library at `path`. Every method gives the return code first, or only that."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(str(path))

    def has(self, name):
        return hasattr(self.lib, name)

    def call(self, name, *arguments):
        function = getattr(self.lib, name)
        function.restype = ctypes.c_int
        return function(*arguments)

    # One argument after the handle, written by the call.

    def number(self, name, *arguments, kind=ctypes.c_uint):
        """(rc, number) of a call whose last argument is written; None when nothing was."""
        values = []
        for fill in (0x11, 0x22):
            out = (ctypes.c_ubyte * (ctypes.sizeof(kind) + 8))(*[fill] * (ctypes.sizeof(kind) + 8))
            rc = self.call(name, *arguments, out)
            assert bytes(out[-8:]) == bytes([fill] * 8), f'{name} wrote behind its number'
            values.append((rc, kind.from_buffer(out).value, bytes(out[:-8]) == bytes([fill] * (len(out) - 8))))
        if values[0][2] and values[1][2]:
            return values[1][0], None
        return values[1][:2]

    def numbers(self, name, device, count):
        """(rc, list) of a call that writes `count` unsigned numbers."""
        out = [ctypes.c_uint(0xA5A5A5A5) for _ in range(count)]
        rc = self.call(name, device, *[ctypes.byref(o) for o in out])
        return rc, [o.value for o in out]

    def string(self, name, *device, size=128):
        """(rc, text); checks that nothing behind the text's NUL was touched."""
        out = ctypes.create_string_buffer(b'\xA5' * (size + 8), size + 8)
        rc = self.call(name, *device, out, size)
        used = len(out.raw.split(b'\0')[0]) + 1 if rc == SUCCESS else 0
        assert used <= size and out.raw[used:] == b'\xA5' * (size + 8 - used), f'{name} wrote too much'
        return rc, out.raw[:used - 1].decode() if rc == SUCCESS else None

    def struct(self, name, layout, *arguments, version=None):
        """(rc, dict or None), the struct being the last argument."""
        rc, data, written = self.written(name, layout, *arguments, version=version)
        return rc, layout.unpack(data) if rc == SUCCESS else None

    def written(self, name, layout, *arguments, version=None):
        """(rc, bytes, offsets that the call wrote), by calling twice over different fillings."""
        datas, start = [], b''
        version = layout.version if version is None else version
        if version is not None:
            start = struct.pack('=I', version)
        for fill in (b'\xA5', b'\x5A'):
            before = start + fill * (layout.size + 64 - len(start))
            if layout is TEMPERATURE_V:
                before = before[:4] + struct.pack('=I', 0) + before[8:]
            out = ctypes.create_string_buffer(before, len(before))
            rc = self.call(name, *arguments, out)
            datas.append((before, out.raw))
        written = {i for i in range(layout.size + 64) if any(b[i] != o[i] for b, o in datas)}
        assert not written or max(written) < layout.size, f'{name} wrote {max(written) + 1} bytes'
        return rc, datas[1][1], written

    def device(self, index, name='nvmlDeviceGetHandleByIndex_v2'):
        out = ctypes.c_void_p()
        rc = self.call(name, index, ctypes.byref(out))
        assert rc == SUCCESS, rc
        return out

    def handle(self, name, *arguments):
        """(rc, handle) of a look-up."""
        out = ctypes.c_void_p()
        rc = self.call(name, *arguments, ctypes.byref(out))
        return rc, out

    def processes(self, name, device, layout, room=64):
        """(rc, count, list of dicts) of a process list; checks that exactly the entries were written."""
        count = ctypes.c_uint(room)
        size = layout.size * (room + 2)
        out = ctypes.create_string_buffer(b'\xA5' * size, size)
        rc = self.call(name, device, ctypes.byref(count), out)
        used = layout.size * count.value if rc == SUCCESS else 0
        assert out.raw[used:] == b'\xA5' * (size - used), f'{name} wrote too much'
        entries = [layout.unpack(out.raw[i:i + layout.size]) for i in range(0, used, layout.size)]
        return rc, count.value, entries

    def utilization_rows(self, device, last_seen=0, room=16):
        """(rc, count, rows) of nvmlDeviceGetProcessUtilization."""
        count = ctypes.c_uint(room)
        out = ctypes.create_string_buffer(PROCESS_SAMPLE.size * max(room, 1))
        rc = self.call('nvmlDeviceGetProcessUtilization', device, out if room else None, ctypes.byref(count),
                       ctypes.c_ulonglong(last_seen))
        size = PROCESS_SAMPLE.size
        rows = [PROCESS_SAMPLE.unpack(out.raw[i * size:(i + 1) * size]) for i in range(count.value)] if rc == 0 else []
        return rc, count.value, rows

    def fields(self, device, ids):
        """(rc, {id: dict}) of nvmlDeviceGetFieldValues."""
        data = b''.join(struct.pack(FIELD_VALUE.form, i, 0, -1, -1, -1, -1, 0xA5A5A5A5A5A5A5A5) for i in ids)
        out = ctypes.create_string_buffer(data, len(data))
        rc = self.call('nvmlDeviceGetFieldValues', device, len(ids), out)
        rows = [FIELD_VALUE.unpack(out.raw[i:i + FIELD_VALUE.size]) for i in range(0, len(data), FIELD_VALUE.size)]
        return rc, {row['fieldId']: row for row in rows}

    def detail_list(self, device, mode=0, room=8, version=0x01000018):
        """(rc, count, entries) of nvmlDeviceGetRunningProcessDetailList."""
        size = PROCESS_32.size
        array = ctypes.create_string_buffer(max(room, 1) * size)
        head = struct.pack('=IIIxxxxQ', version, mode, room, ctypes.addressof(array) if room else 0)
        assert len(head) == 24
        out = ctypes.create_string_buffer(head, 24)
        rc = self.call('nvmlDeviceGetRunningProcessDetailList', device, out)
        count = struct.unpack_from('=I', out.raw, 8)[0]
        rows = [PROCESS_32.unpack(array.raw[i * size:(i + 1) * size]) for i in range(count)] if rc == 0 else []
        return rc, count, rows

    def utilization_info(self, device, last_seen=0, room=8, version=0x01000018):
        """(rc, count, rows) of nvmlDeviceGetProcessesUtilizationInfo."""
        size = PROCESS_UTILIZATION.size
        array = ctypes.create_string_buffer(max(room, 1) * size)
        head = struct.pack('=IIQQ', version, room, last_seen, ctypes.addressof(array) if room else 0)
        out = ctypes.create_string_buffer(head, 24)
        rc = self.call('nvmlDeviceGetProcessesUtilizationInfo', device, out)
        count = struct.unpack_from('=I', out.raw, 4)[0]
        rows = [PROCESS_UTILIZATION.unpack(array.raw[i * size:(i + 1) * size]) for i in range(count)] if rc == 0 else []
        return rc, count, rows

    def error_string(self, rc):
        self.lib.nvmlErrorString.restype = ctypes.c_char_p
        return self.lib.nvmlErrorString(rc).decode()

    def event_set(self):
        rc, events = self.handle('nvmlEventSetCreate')
        assert rc == SUCCESS
        return events

    def register(self, device, types, events):
        return self.call('nvmlDeviceRegisterEvents', device, ctypes.c_ulonglong(types), events)

    def wait(self, events, timeout_ms):
        """(rc, event or None) of nvmlEventSetWait_v2."""
        out = ctypes.create_string_buffer(EVENT_32.size)
        rc = self.call('nvmlEventSetWait_v2', events, out, timeout_ms)
        return rc, EVENT_32.unpack(out.raw) if rc == SUCCESS else None

    @contextlib.contextmanager
    def initialised(self, name='nvmlInit_v2'):
        assert self.call(name) == SUCCESS
        yield self
        assert self.call('nvmlShutdown') == SUCCESS
