/* The command line of clustat-server. */
#ifndef SERVER_OPTIONS_H
#define SERVER_OPTIONS_H

#include "core/buffer.h"

#include <stdint.h>
#include <sys/types.h>

enum server_action {
    ACTION_SERVE,
    ACTION_CHECK_CONFIG,
    ACTION_STATUS,
    ACTION_PAUSE,
    ACTION_RESUME,
    ACTION_KEYGEN,
    ACTION_HELP,
    ACTION_VERSION,
};

#define PAUSE_SECS_MAX 604800u /* a week */

/* Texts are borrowed from argv. */
struct options {
    enum server_action action;
    const char *config_path;  /* NULL: CLUSTAT_CONFIG, else /etc/clustat/server.toml */
    const char *control_path; /* NULL: the usual places (server/control.h) */
    const char *key_path;     /* of keygen */
    const char *key_group;    /* of keygen: may read it; NULL: nobody else */
    uint32_t pause_secs;      /* 0: until resumed */
    bool json;                /* of status */
    bool debug;
};

/* Returns 0, or -EINVAL and one line in `why` that says what is wrong and what is allowed. */
int options_parse(int argc, char *const argv[], struct options *ret_options, struct buffer *why);

void options_put_usage(struct buffer *out);
void options_put_help(struct buffer *out);

#endif
