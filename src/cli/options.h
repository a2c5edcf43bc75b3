/*
 * The command line, taken apart the way Python's argparse does it, because gpustat's users know no other
 * way: unambiguous prefixes of long options, bundled short ones, optional values, gpustat's messages.
 * The rules are those of the gpustat contract, sections A.1 to A.3 and A.13.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/option_table.h"
#include "core/buffer.h"
#include "render/render.h"

#define INTERVAL_FLOOR_NS INT64_C(50000000)

enum options_action {
    ACTION_SHOW,
    ACTION_HELP,
    ACTION_VERSION,
    ACTION_PRINT_COMPLETION,
};

enum color_wish {
    COLOR_AUTO,
    COLOR_ALWAYS, /* --color */
    COLOR_NEVER,  /* --no-color */
};

enum latency_wish {
    LATENCY_AUTO, /* as services.latency_display says */
    LATENCY_SHOWN,
    LATENCY_HIDDEN,
};

/* What was asked for. All strings are borrowed from the words given to options_parse(). */
struct options {
    bool as_gpustat; /* called by the name gpustat */
    enum options_action action;
    enum color_wish color;
    bool show_cmd, show_full_cmd, show_user, show_pid, show_fan;
    unsigned show_codec; /* enum render_codec bits */
    enum render_power show_power;
    bool no_header, no_processes;
    bool json, debug, local;
    bool list_nodes; /* the word `nodes`: a line per node instead of the table */
    enum latency_wish latency;
    int gpuname_width;      /* -1: not given; larger numbers are cut to GPUNAME_WIDTH_MAX */
    int64_t interval_ns;    /* 0: show once */
    const char *ids;        /* --id as given, NULL: all */
    const char *users;      /* -user as given, NULL: all */
    const char *nodes;      /* -n as given, NULL: all */
    const char *socket;     /* --backend-socket, NULL: the usual places */
    const char *forget;     /* the nodes that --forget names, NULL: none */
    const char *completion; /* the shell of --print-completion */
};

/* A wider name column than any terminal; the cap keeps a typing error from filling the disk with blanks. */
#define GPUNAME_WIDTH_MAX 10000

/* The program's name from argv[0]: "gpustat" if its last part is that (as a link is), else "clustat". */
bool options_called_as_gpustat(const char *argv0);

/*
 * Takes the words apart. words: argv without the program's name, `count` of them.
 * Returns 0 and *ret_options; OPTIONS_USAGE with the message (without the program's name) appended to
 * `error`; or -ENOMEM.
 */
#define OPTIONS_USAGE 1
int options_parse(bool as_gpustat, char *const words[], size_t count, struct options *ret_options,
                  struct buffer *error);

#endif
