/*
 * What every source of devices must do, whatever its vendor (gpu/source.h). A vendor brings a fixture and a
 * program of its own (see nvml.c) and is done when contract_run() is.
 */
#ifndef TESTS_CONTRACT_H
#define TESTS_CONTRACT_H

#include "gpu/source.h"

struct contract_fixture {
    /*
     * Makes a source over three GPUs: of index 0 and 2 every field but those of instances and events can be
     * read, and each has at least one process; index 1 answers every call with an error, lookups included.
     * `options` hold the observer and the set of GPUs to be left out; the rest is the fixture's to fill in.
     */
    struct source *(*open)(struct source_options *options);

    /* The same with a library that does not exist: start() fails. */
    struct source *(*open_missing)(struct source_options *options);

    /* What index 1's state must be, and the vendor's code. */
    int32_t fault_code;

    /* Called after each case, once the source is freed. */
    void (*close)(void);
};

/* Runs all cases; returns how many failed, for main(). */
int contract_run(const struct contract_fixture *fixture);

#endif
