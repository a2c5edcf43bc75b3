/*
 * A view from a few lines of text, so that a test of a renderer reads like what it is about.
 *
 *     node compute01              begins a node; what follows belongs to it
 *     driver 580.95.05
 *     device 0 NVIDIA A100        begins a device (compute and graphics list: read)
 *     temperature_c 49            a field by its JSON name
 *     process 100 0 125 4096 /usr/bin/python3\0train.py
 *     entry compute 100 4194304
 *
 * Texts reach to the end of the line; in them \\, \n, \0 and \xNN stand for bytes. Words and numbers of each
 * line: see the table in picture.c. A line that cannot be understood fails the assertion.
 */
#ifndef TESTS_RENDER_PICTURE_H
#define TESTS_RENDER_PICTURE_H

#include "render/render.h"

#define PICTURE_MAX_NODES 16
#define PICTURE_NOW_US    INT64_C(1796068037009893) /* Mon Nov 30 20:07:17 2026 UTC */

struct picture {
    struct view view;
    struct view_node nodes[PICTURE_MAX_NODES];
    struct snapshot snapshots[PICTURE_MAX_NODES];
    struct render_options options;
    uint32_t ids[16];
    char **texts; /* owned bytes that the view borrows */
    size_t text_count;
};

/* Plain gpustat output of nothing. Sets TZ to UTC. */
void picture_init(struct picture *picture);
void picture_deinit(struct picture *picture);

/* Adds what the lines say. */
void picture_draw(struct picture *picture, const char *lines);

/* What the renderers make of it: a C string for free(). The output must not contain NUL. */
char *picture_table(const struct picture *picture);
char *picture_gpustat_json(const struct picture *picture);
char *picture_clustat_json(const struct picture *picture);

#endif
