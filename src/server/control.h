/*
 * The control socket: a Unix socket for root and the user of the service alone (mode 0600, and the caller's
 * uid is looked at). One request per connection, a line; the answer is text, and its end the connection's.
 *
 *   STATUS        lines "name value", then the end
 *   STATUS json   the same as JSON
 *   PAUSE [SECS]  "OK ..." when the sampler has ended, at the latest after CONTROL_PAUSE_WAIT_NS
 *   RESUME        "OK ..."
 *
 * What goes wrong is answered by "ERR ...".
 */
#ifndef SERVER_CONTROL_H
#define SERVER_CONTROL_H

#include "core/buffer.h"
#include "core/clock.h"

#include <uv.h>

#define CONTROL_PATH          "/run/clustat-server/control"
#define CONTROL_CONNECTIONS   8 /* at a time */
#define CONTROL_PAUSE_WAIT_NS (2 * NS_PER_S)
#define CONTROL_PATH_CAP      108 /* sizeof sun_path */

struct control_events {
    void (*on_status)(void *userdata, bool json, struct buffer *out);
    void (*on_pause)(void *userdata, uint32_t secs);
    bool (*is_leaving)(void *userdata); /* the sampler that a pause ends is still there */
    bool (*on_resume)(void *userdata);  /* false: there was no pause */
    void *userdata;
};

struct control;

/*
 * Listens at `path`. Returns 0 or a negative errno, and then a sentence in `why`. A server serves without it,
 * too.
 */
int control_open(uv_loop_t *loop, const char *path, const struct control_events *events,
                 struct control **ret_control, struct buffer *why);

/* Removes the socket. NULL is accepted. */
void control_close(struct control *control);
void control_free(struct control *control); /* when the loop has turned once more */

/*
 * The usual place: CONTROL_PATH; for an ordinary user who cannot write there
 * $XDG_RUNTIME_DIR/clustat-server/control, if that variable is set. `make`: makes the folder in the latter.
 * Returns buf.
 */
char *control_default_path(bool make, char buf[static CONTROL_PATH_CAP]);

#endif
