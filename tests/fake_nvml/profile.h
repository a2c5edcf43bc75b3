/*
 * What differs between the libraries of two driver generations apart from their symbols. profile.c is
 * compiled once for each of them, everything else is linked from the same objects.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The profile of this library, such as "r580". */
extern const char *const profile_name;

/* Bytes of a process entry that the `_v3` process calls write: 24, but 32 in r535_54. */
extern const size_t profile_process_v3_size;
