#include "render/render.h"

/* Numbers are NVML's return codes (nvml-facts, section 2). */
const char *render_gpustat_error(int32_t code)
{
    switch (code) {
    case 1:
        return "Uninitialized";
    case 2:
        return "Invalid Argument";
    case 3:
        return "Not Supported";
    case 4:
        return "Insufficient Permissions";
    case 5:
        return "Already Initialized";
    case 6:
        return "Not Found";
    case 7:
        return "Insufficient Size";
    case 8:
        return "Insufficient External Power";
    case 9:
        return "Driver Not Loaded";
    case 10:
        return "Timeout";
    case 11:
        return "Interrupt Request Issue";
    case 12:
        return "NVML Shared Library Not Found";
    case 13:
        return "Function Not Found";
    case 14:
        return "Corrupted infoROM";
    case 15:
        return "GPU is lost";
    case 16:
        return "GPU requires restart";
    case 17:
        return "The operating system has blocked the request.";
    case 18:
        return "RM has detected an NVML/RM version mismatch.";
    default:
        return "Unknown Error";
    }
}

const char *render_clustat_error(int32_t code)
{
    switch (code) {
    case 1:
        return "the driver library lost its state: start again";
    case 3:
        return "not supported by this device";
    case 4:
        return "no permission: the device is not allowed here (cgroup, container or file mode)";
    case 6:
        return "not found";
    case 8:
        return "an external power cable is missing: plug it in";
    case 9:
        return "the NVIDIA kernel driver is not loaded: modprobe nvidia";
    case 10:
        return "the driver did not answer in time";
    case 11:
        return "the kernel sees an interrupt problem with the device: see dmesg";
    case 12:
        return "the driver's library was not found: install the NVIDIA driver";
    case 13:
        return "the driver's library lacks the function: update the driver";
    case 14:
        return "the device's infoROM is corrupted: have the board serviced";
    case 15:
        return "fell off the bus or stopped answering: reset it or reboot the node";
    case 16:
        return "needs a reset before it can be used again: nvidia-smi --gpu-reset";
    case 17:
        return "the operating system or a cgroup blocks the request";
    case 18:
        return "driver and library versions differ: reload the driver or reboot the node";
    case 19:
        return "in use by another program";
    case 20:
        return "not enough memory";
    case 21:
        return "no data";
    case 25:
        return "the driver does not know this version of the call";
    case 27:
        return "not ready yet";
    case 28:
        return "the device was not found";
    default:
        return "the driver reports an unknown error: see dmesg";
    }
}
