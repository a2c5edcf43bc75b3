/*
 * Return codes of NVML that the fake gives by itself. A scenario may state any other number.
 * Written for this test double alone: it shares no header with the collector, so that each checks the other.
 */
#pragma once

enum nvml_code {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_FUNCTION_NOT_FOUND = 13, /* what structs older than R520 answer to a wrong version tag */
    NVML_MEMORY = 20,
    NVML_ARGUMENT_VERSION_MISMATCH = 25, /* what newer structs answer to one */
    NVML_UNKNOWN = 999,
};
