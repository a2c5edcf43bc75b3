/*
 * Renderers: a view becomes bytes. Pure functions of their arguments; no terminal, no clock, no look-up.
 */
#ifndef RENDER_RENDER_H
#define RENDER_RENDER_H

#include "core/buffer.h"
#include "model/view.h"

/* Which contract the table follows. */
enum render_style {
    STYLE_GPUSTAT, /* gpustat's bytes: its merging rules, its texts, `??` for unified memory, no MIG rows */
    STYLE_CLUSTAT, /* the same layout, with MIG rows, marks, ages, node states and latency */
};

enum render_codec {
    CODEC_NONE = 0,
    CODEC_ENC = 1,
    CODEC_DEC = 2, /* both: 3 */
};

enum render_power {
    POWER_NONE = 0,
    POWER_DRAW,       /* gpustat's bare number */
    POWER_DRAW_LIMIT, /* "  99 / 400 W"; gpustat's `limit` too */
};

/* What options say of the table (gpustat-contract A.2). */
struct render_options {
    enum render_style style;
    bool color;      /* escape sequences */
    unsigned colors; /* what the terminal knows: 0 (dumb: none are written), 8 or 256 */
    bool unicode;    /* false: ASCII fall-backs for the degree sign, ellipsis and tree lines */
    bool show_cmd, show_full_cmd, show_user, show_pid, show_fan;
    unsigned show_codec; /* enum render_codec bits */
    enum render_power show_power;
    bool no_header, no_processes;
    bool show_delay;     /* delay=280us in the header */
    int gpuname_width;   /* -1: the longest name shown */
    size_t columns;      /* cut rows to this width (terminals only); 0: never */
    bool one_line;       /* clustat's JSON: all on one line */
    const uint32_t *ids; /* --id: indices in the order given, NULL: all */
    size_t id_count;
    size_t
        *ret_node_ends; /* of the table: room for a number per node, the length of `out` behind it; or NULL */
};

/* The table of the whole view. Errors stick in `out`. */
void render_table(const struct view *view, const struct render_options *options, struct buffer *out);

/* gpustat's JSON object (A.11). Several nodes: hostname null, each GPU with a key hostname. */
void render_gpustat_json(const struct view *view, const struct render_options *options, struct buffer *out);

/* clustat's JSON (docs/clustat.schema.json). One object, 4-blank indent or one line, a final newline. */
void render_clustat_json(const struct view *view, const struct render_options *options, struct buffer *out);

/*
 * What is wrong with the node behind this snapshot and what to do, in one line for a person, safe to print
 * ("driver not answering: nvmlDeviceGetMemoryInfo on device 1 for 12 s"). Writes nothing if nothing is.
 */
void render_node_fault(const struct snapshot *snapshot, struct buffer *out);

/*
 * Text of a vendor code as gpustat prints it ("GPU is lost"), and as clustat does: what it is, what to do.
 * Never NULL.
 */
const char *render_gpustat_error(int32_t code);
const char *render_clustat_error(int32_t code);

#endif
