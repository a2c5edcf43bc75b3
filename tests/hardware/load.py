#!/usr/bin/python3
"""Keeps GPU 0 busy and holds memory on it, through the driver's own library (libcuda) and nothing else.

usage: load.py SECONDS MEGABYTES.  Prints `ready` when the first kernels run; ends by itself.
"""
import ctypes
import sys
import time

# Spins for some milliseconds: a counted loop that the driver's compiler cannot remove (it stores the result).
PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u64 out)
{
    .reg .pred %p;
    .reg .u32 %r<3>;
    .reg .u64 %d;
    ld.param.u64 %d, [out];
    mov.u32 %r0, 0;
    mov.u32 %r1, 1;
again:
    mad.lo.u32 %r1, %r1, 1664525, 1013904223;
    add.u32 %r0, %r0, 1;
    setp.lt.u32 %p, %r0, 200000;
    @%p bra again;
    st.global.u32 [%d], %r1;
    ret;
}
\0"""
cuda = ctypes.CDLL('libcuda.so.1')


def check(call, code):
    if code:
        sys.exit('load.py: %s failed with code %d' % (call, code))


def main():
    seconds, megabytes = float(sys.argv[1]), int(sys.argv[2])
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    check('cuInit', cuda.cuInit(0))
    check('cuDeviceGet', cuda.cuDeviceGet(ctypes.byref(device), 0))
    check('cuDevicePrimaryCtxRetain', cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check('cuCtxSetCurrent', cuda.cuCtxSetCurrent(context))
    check('cuMemAlloc', cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(megabytes << 20)))
    check('cuModuleLoadData', cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    check('cuModuleGetFunction', cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b'spin'))
    argument = ctypes.c_uint64(memory.value)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
    end, said = time.monotonic() + seconds, False
    while time.monotonic() < end:
        for _ in range(4):
            check('cuLaunchKernel', cuda.cuLaunchKernel(kernel, 1024, 1, 1, 256, 1, 1, 0, None, arguments, None))
        check('cuCtxSynchronize', cuda.cuCtxSynchronize())
        if not said:
            print('ready', flush=True)
            said = True


main()
