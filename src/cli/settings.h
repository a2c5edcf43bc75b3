/* What client.toml says, as far as this program needs it. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "cli/mode.h"
#include "config/config.h"
#include "sampler/sampler.h"

/*
 * Reads client.toml if there is one (else fills in the defaults, and no parser runs). What is wrong in it is
 * told on standard error, a line per problem, and the default counts: this program shows GPUs, the services
 * are the ones that refuse to start. Returns 0 or -ENOMEM; *ret_config is to be deinitialised in any case.
 */
int settings_load(const char *program, const struct mode_environment *environment, struct config *ret_config);

/* How the local sampler is to run. Strings are borrowed from `config` and `environment`. */
struct sampler_options settings_sampling(const struct config *config,
                                         const struct mode_environment *environment);

#endif
