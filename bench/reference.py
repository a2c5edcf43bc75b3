#!/usr/bin/python3
"""What the one-shot benchmark is measured against: gpustat's reads in Python, as plain as they can be.

Loads the library through ctypes, reads what gpustat reads of each device, looks each process up in /proc
and prints a row per device.  It leaves out all that gpustat adds (psutil, blessed, its 0.1 s pause per
device for CPU percentages), so the real gpustat is slower than this.
"""
import ctypes
import os
import pwd

lib = ctypes.CDLL(os.environ['CLUSTAT_NVML_LIB'])


class Memory(ctypes.Structure):
    _fields_ = [('version', ctypes.c_uint), ('total', ctypes.c_ulonglong), ('reserved', ctypes.c_ulonglong),
                ('free', ctypes.c_ulonglong), ('used', ctypes.c_ulonglong)]


class Process(ctypes.Structure):
    _fields_ = [('pid', ctypes.c_uint), ('mem', ctypes.c_ulonglong), ('gi', ctypes.c_uint), ('ci', ctypes.c_uint)]


def number(device, call, *args):
    value = ctypes.c_uint()
    return value.value if call(device, *args, ctypes.byref(value)) == 0 else None


def text(device, call):
    buf = ctypes.create_string_buffer(96)
    return buf.value.decode() if call(device, buf, 96) == 0 else None


def processes(device, call):
    count = ctypes.c_uint(64)
    rows = (Process * 64)()
    return rows[:count.value] if call(device, ctypes.byref(count), rows) == 0 else []


def describe(pid):
    with open('/proc/%d/cmdline' % pid, 'rb') as f:
        command = f.read().split(b'\0')[0].decode()
    with open('/proc/%d/status' % pid) as f:
        uid = next(int(line.split()[1]) for line in f if line.startswith('Uid:'))
    return '%s:%s/%d' % (pwd.getpwuid(uid).pw_name, os.path.basename(command), pid)


def main():
    count = ctypes.c_uint()
    lib.nvmlInitWithFlags(0)
    lib.nvmlDeviceGetCount_v2(ctypes.byref(count))
    for index in range(count.value):
        device = ctypes.c_void_p()
        lib.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
        memory = Memory(version=0x02000028)
        lib.nvmlDeviceGetMemoryInfo_v2(device, ctypes.byref(memory))
        util = (ctypes.c_uint * 2)()
        lib.nvmlDeviceGetUtilizationRates(device, util)
        text(device, lib.nvmlDeviceGetUUID)
        number(device, lib.nvmlDeviceGetFanSpeed)
        number(device, lib.nvmlDeviceGetPowerUsage)
        number(device, lib.nvmlDeviceGetEnforcedPowerLimit)
        for call in (lib.nvmlDeviceGetEncoderUtilization, lib.nvmlDeviceGetDecoderUtilization):
            call(device, ctypes.byref(ctypes.c_uint()), ctypes.byref(ctypes.c_uint()))
        rows = processes(device, lib.nvmlDeviceGetComputeRunningProcesses_v3)
        rows += processes(device, lib.nvmlDeviceGetGraphicsRunningProcesses_v3)
        print('[%d] %s | %s C, %d %% | %d / %d MB | %s' % (
            index, text(device, lib.nvmlDeviceGetName), number(device, lib.nvmlDeviceGetTemperature, 0), util[0],
            memory.used >> 20, memory.total >> 20, ' '.join('%s(%dM)' % (describe(r.pid), r.mem >> 20) for r in rows)))


main()
