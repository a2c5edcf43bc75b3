/*
 * When the known-nodes file (backend/known_nodes.h) is written: soon after something in it has changed, every
 * few minutes for the times in it, and at the end. Written by a worker thread: a slow disk delays nobody.
 */
#ifndef BACKEND_KNOWN_FILE_H
#define BACKEND_KNOWN_FILE_H

#include "backend/cluster.h"

#include <uv.h>

struct known_file;

/* folder: "" keeps nothing. Returns 0 or -ENOMEM. */
int known_file_open(uv_loop_t *loop, const char *folder, struct cluster *cluster, int64_t idle_timeout_ns,
                    struct known_file **ret_file);

/* Reads the file and hands its nodes to the cluster. What is wrong with it costs a line in the log. */
void known_file_recall(struct known_file *file, const struct node_clock *clock);

/* Something has changed. */
void known_file_changed(struct known_file *file, struct instant now);

/* Writes it now and waits; for the end of the program. */
void known_file_finish(struct known_file *file);

/* Closes the timer; frees when the loop has turned. Accept NULL. */
void known_file_close(struct known_file *file);
void known_file_free(struct known_file *file);

#endif
