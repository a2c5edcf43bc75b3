/* The command line of clustat-backend. */
#ifndef BACKEND_OPTIONS_H
#define BACKEND_OPTIONS_H

#include "core/buffer.h"

enum backend_action {
    ACTION_SERVE,
    ACTION_CHECK_CONFIG,
    ACTION_HELP,
    ACTION_VERSION,
};

/* Texts are borrowed from argv. */
struct options {
    enum backend_action action;
    const char *config_path; /* NULL: CLUSTAT_CONFIG, else /etc/clustat/client.toml */
    const char *uds_path;    /* NULL: as the environment and the configuration say (backend/paths.h) */
    bool debug;
};

/* Returns 0, or -EINVAL and one line in `why` that says what is wrong and what is allowed. */
int options_parse(int argc, char *const argv[], struct options *ret_options, struct buffer *why);

void options_put_usage(struct buffer *out);
void options_put_help(struct buffer *out);

#endif
