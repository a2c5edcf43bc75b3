#include "cli/cluster.h"

#include "core/cleanup.h"
#include "host/users.h"

#include <errno.h>
#include <string.h>
#include <sys/un.h>

/* ---- life ---- */

int cluster_init(struct cluster *ret_cluster, const struct socket_places *places)
{
    struct cluster cluster = {
        .places = places,
        .path = places->paths[0],
        .service_uid = users_service_uid(),
        .client = NET_UNIX_CLIENT_CLOSED,
    };

    if (view_answer_new(&cluster.answer) < 0 || view_answer_new(&cluster.incoming) < 0) {
        view_answer_free(cluster.answer);
        return -ENOMEM;
    }
    *ret_cluster = cluster;
    return 0;
}

void cluster_deinit(struct cluster *cluster)
{
    net_unix_client_deinit(&cluster->client);
    view_answer_free(cluster->answer);
    view_answer_free(cluster->incoming);
    buffer_deinit(&cluster->text);
}

/* ---- what went wrong ---- */

/* Ends the connection; the text is what buffer_printf() makes of the rest. */
#define fail(cluster, kind, ...) \
    ({ \
        disconnect(cluster, kind); \
        buffer_printf(&(cluster)->text, __VA_ARGS__); \
        CLUSTER_FAILED; \
    })

static void disconnect(struct cluster *cluster, enum cluster_trouble trouble)
{
    net_unix_client_deinit(&cluster->client);
    cluster->is_waiting = false;
    cluster->trouble = trouble;
    buffer_clear(&cluster->text);
}

static int fail_to_connect(struct cluster *cluster, int error, uid_t owner)
{
    const char *path = cluster->path;

    switch (error) {
    case -ENOENT:
    case -ECONNREFUSED:
    case -ENOTDIR:
        return fail(cluster, CLUSTER_NOT_RUNNING, "%s", CLUSTER_NOT_RUNNING_TEXT);
    case NET_UNIX_CLIENT_UNTRUSTED:
        return fail(
            cluster, CLUSTER_TROUBLE,
            "the socket %s belongs to user %u: not asked, since it is neither root's nor clustat's nor "
            "yours",
            path, (unsigned)owner);
    case -ENOTSOCK:
        return fail(cluster, CLUSTER_TROUBLE, "%s is no socket", path);
    case -ENAMETOOLONG:
        return fail(cluster, CLUSTER_TROUBLE, "the socket's path is too long: %s (allowed: %zu bytes)", path,
                    sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
    case -ETIMEDOUT:
        return fail(cluster, CLUSTER_TROUBLE,
                    "clustat-backend takes no connection at %s: systemctl status clustat-client", path);
    default:
        return fail(cluster, CLUSTER_TROUBLE, "the socket %s cannot be used: %s", path, strerror(-error));
    }
}

static int fail_to_talk(struct cluster *cluster, int error)
{
    if (error == -EPIPE || error == -ECONNRESET)
        return fail(cluster, CLUSTER_TROUBLE,
                    "clustat-backend ended the connection: systemctl status clustat-client");
    return fail(cluster, CLUSTER_TROUBLE, "the connection to clustat-backend (%s) fails: %s", cluster->path,
                strerror(-error));
}

static int fail_to_understand(struct cluster *cluster)
{
    return fail(
        cluster, CLUSTER_TROUBLE,
        "what answers at %s does not speak this clustat's protocol; after an upgrade: systemctl restart "
        "clustat-client",
        cluster->path);
}

int cluster_give_up(struct cluster *cluster, int64_t waited_ns)
{
    return fail(cluster, CLUSTER_TROUBLE,
                "clustat-backend does not answer (waited %.1f s): systemctl status clustat-client; --local "
                "shows this machine",
                (double)waited_ns / 1e9);
}

/* ---- connecting ---- */

int cluster_connect(struct cluster *cluster, struct instant deadline)
{
    uid_t owner = (uid_t)-1;
    int r = -ENOENT;

    if (cluster->client.fd >= 0)
        return CLUSTER_DONE;
    for (size_t i = 0; i < cluster->places->count; i++) {
        cluster->path = cluster->places->paths[i];
        r = net_unix_client_open(cluster->path, cluster->service_uid, deadline, &cluster->client, &owner);
        if (r == 0)
            return CLUSTER_DONE;
        if (r != -ENOENT && r != -ECONNREFUSED && r != -ENOTDIR)
            break; /* there is one, but not to be had: never silently another */
    }
    return fail_to_connect(cluster, r, owner);
}

/* ---- asking ---- */

/* Sends the frame that is in `question`. */
static int send_question(struct cluster *cluster, struct buffer *question, struct instant deadline)
{
    int r = buffer_error(question);

    if (r < 0)
        return r == -ENOMEM ? r : fail_to_talk(cluster, r);
    view_answer_begin(cluster->incoming, cluster->request_id);
    cluster->is_waiting = true;
    cluster->asked = clock_now();
    r = net_unix_client_send(&cluster->client, question->bytes, question->len, deadline);
    /* A backend that hangs up at once may have said why: that is read like an answer. */
    return r == 0 || r == -EPIPE || r == -ECONNRESET ? CLUSTER_DONE : fail_to_talk(cluster, r);
}

int cluster_ask(struct cluster *cluster, const struct message_view_query *query, struct instant deadline)
{
    _cleanup_(buffer_deinit) struct buffer question = BUFFER_EMPTY;

    view_put_query(&question, ++cluster->request_id, query);
    return send_question(cluster, &question, deadline);
}

int cluster_ask_to_forget(struct cluster *cluster, struct text filter, struct instant deadline)
{
    _cleanup_(buffer_deinit) struct buffer question = BUFFER_EMPTY;

    view_put_forget(&question, ++cluster->request_id, filter);
    return send_question(cluster, &question, deadline);
}

/* ---- answers ---- */

static void take_answer(struct cluster *cluster)
{
    struct view_answer *old = cluster->answer;

    cluster->answer = cluster->incoming;
    cluster->incoming = old;
    cluster->has_answer = true;
    cluster->answer_count++;
    cluster->answered = clock_now();
    cluster->trouble = CLUSTER_WELL;
    buffer_clear(&cluster->text);
}

static int refuse(struct cluster *cluster)
{
    const struct message_api_error *error = view_answer_error(cluster->incoming);

    cluster->trouble = CLUSTER_REFUSED;
    buffer_clear(&cluster->text);
    buffer_put_string(&cluster->text, "clustat-backend: ");
    buffer_put_text(&cluster->text, error->text.len ? error->text : TEXT_LITERAL("it refuses to answer"));
    return CLUSTER_FAILED;
}

/* Deals with a frame. CLUSTER_PENDING: go on. */
static int take_frame(struct cluster *cluster, const uint8_t *frame, size_t len)
{
    int r = view_answer_take(cluster->incoming, frame, len);

    switch (r) {
    case VIEW_ANSWER_MORE:
    case VIEW_ANSWER_OTHER:
        return CLUSTER_PENDING;
    case VIEW_ANSWER_COMPLETE:
        cluster->is_waiting = false;
        take_answer(cluster);
        return CLUSTER_DONE;
    case VIEW_ANSWER_FORGOTTEN:
        cluster->is_waiting = false;
        return CLUSTER_DONE;
    case VIEW_ANSWER_ERROR:
        cluster->is_waiting = false;
        return refuse(cluster);
    case VIEW_ANSWER_BAD:
        return fail_to_understand(cluster);
    default:
        return r;
    }
}

int cluster_receive(struct cluster *cluster, struct instant until)
{
    for (;;) {
        struct frame_header header;
        const uint8_t *frame;
        size_t len;
        int r = net_unix_client_receive(&cluster->client, until, &header, &frame, &len);

        if (r == -ETIMEDOUT || r == -EINTR)
            return CLUSTER_PENDING;
        if (r == NET_UNIX_CLIENT_BAD_FRAME)
            return fail_to_understand(cluster);
        if (r < 0)
            return r == -ENOMEM ? r : fail_to_talk(cluster, r);
        r = take_frame(cluster, frame, len);
        if (r != CLUSTER_PENDING)
            return r;
    }
}

int cluster_fetch(struct cluster *cluster, const struct message_view_query *query, int64_t wait_ns)
{
    struct instant deadline = instant_add_ns(clock_now(), wait_ns);
    int r;

    r = cluster_connect(cluster, deadline);
    if (r == CLUSTER_DONE)
        r = cluster_ask(cluster, query, deadline);
    if (r != CLUSTER_DONE)
        return r;
    do
        r = cluster_receive(cluster, deadline);
    while (r == CLUSTER_PENDING && instant_since_ns(clock_now(), deadline) < 0);
    return r == CLUSTER_PENDING ? cluster_give_up(cluster, wait_ns) : r;
}
