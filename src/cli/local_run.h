/* Local mode from end to end: this machine's devices, once or watched. */
#ifndef CLI_LOCAL_RUN_H
#define CLI_LOCAL_RUN_H

#include "cli/watch.h"
#include "sampler/sampler.h"

/* Instead of an exit status: nothing was said, and the caller knows whom to ask instead. */
#define LOCAL_RUN_NO_DRIVER (-1)

/*
 * Shows this machine's devices. if_driver: on a machine without a driver (no library, or no kernel module)
 * return LOCAL_RUN_NO_DRIVER instead of failing; a driver that is there and does not work is a failure all
 * the same. runner: watches in place of watch_run(); NULL: nobody. Returns the exit status.
 */
int local_run(struct show *show, const struct color_environment *environment,
              const struct sampler_options *sampling, bool if_driver, const struct watch_runner *runner);

#endif
