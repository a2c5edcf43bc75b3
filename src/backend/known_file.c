#include "backend/known_file.h"

#include "core/cleanup.h"
#include "net/loop.h"

#include <errno.h>
#include <string.h>

#define SOON_NS  (NS_PER_S / 2)   /* changes of so long become one file */
#define RENEW_NS (300 * NS_PER_S) /* for the times of the last answers */

struct known_file {
    uv_loop_t *loop;
    char *folder; /* owned */
    struct cluster *cluster;
    int64_t idle_timeout_ns;
    struct net_timer timer;
    bool is_due_soon;
    uv_work_t work;
    bool is_writing;
    struct buffer content; /* being written: the worker's while is_writing */
    int result;
    int told; /* error that the log knows of */
};

static struct node_clock clock_of(const struct known_file *file)
{
    return (struct node_clock){clock_now(), clock_wall_us(), file->idle_timeout_ns};
}

/* ---- content ---- */

static void fill_content(struct known_file *file)
{
    struct node_clock clock = clock_of(file);
    size_t count = cluster_count(file->cluster), kept = 0;
    struct node *const *rows = cluster_rows(file->cluster);
    _cleanup_(cleanup_free) struct known_node *nodes = calloc(count + 1, sizeof(*nodes));

    buffer_clear(&file->content);
    if (!nodes) {
        file->content.error = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (rows[i]->rank == 1 && node_to_known(rows[i], &clock, &nodes[kept]))
            kept++;
    known_nodes_put(nodes, kept, &file->content);
}

static void note_result(struct known_file *file, int result)
{
    if (result < 0 && result != file->told)
        log_warning("%s/%s cannot be written: %s: after a restart nodes must be found anew", file->folder,
                    KNOWN_NODES_FILE, strerror(-result));
    else if (result == 0 && file->told)
        log_info("%s/%s is written again", file->folder, KNOWN_NODES_FILE);
    file->told = result;
}

/* ---- in the worker ---- */

static void write_file(uv_work_t *work)
{
    struct known_file *file = work->data;

    file->result = known_nodes_save(file->folder, buffer_text(&file->content));
}

static void set_timer(struct known_file *file, struct instant now, int64_t delay_ns)
{
    net_timer_set(&file->timer, instant_add_ns(now, delay_ns));
}

static void written(uv_work_t *work, int status)
{
    struct known_file *file = work->data;

    file->is_writing = false;
    if (status == 0)
        note_result(file, file->result);
    if (!file->is_due_soon && file->timer.open)
        set_timer(file, clock_now(), RENEW_NS);
}

static void begin_writing(void *userdata)
{
    struct known_file *file = userdata;

    if (file->is_writing) { /* a slow disk: later */
        set_timer(file, clock_now(), SOON_NS);
        return;
    }
    file->is_due_soon = false;
    fill_content(file);
    if (buffer_error(&file->content) || uv_queue_work(file->loop, &file->work, write_file, written) < 0) {
        set_timer(file, clock_now(), RENEW_NS);
        return;
    }
    file->is_writing = true;
}

/* ---- for the owner ---- */

int known_file_open(uv_loop_t *loop, const char *folder, struct cluster *cluster, int64_t idle_timeout_ns,
                    struct known_file **ret_file)
{
    struct known_file *file = calloc(1, sizeof(*file));

    if (!file)
        return -ENOMEM;
    file->folder = strdup(folder);
    if (!file->folder) {
        free(file);
        return -ENOMEM;
    }
    file->loop = loop;
    file->cluster = cluster;
    file->idle_timeout_ns = idle_timeout_ns;
    file->work.data = file;
    net_timer_init(&file->timer, loop, begin_writing, file);
    if (folder[0])
        set_timer(file, clock_now(), RENEW_NS);
    *ret_file = file;
    return 0;
}

void known_file_recall(struct known_file *file, const struct node_clock *clock)
{
    _cleanup_(buffer_deinit) struct buffer why = BUFFER_EMPTY;
    _cleanup_(known_nodes_deinit) struct known_nodes known = {0};
    int r;

    if (!file->folder[0])
        return;
    r = known_nodes_load(file->folder, &known, &why);
    if (r < 0 || r == KNOWN_NODES_SET_ASIDE)
        log_warning("%.*s", (int)why.len, buffer_text(&why).bytes);
    for (size_t i = 0; i < known.count; i++)
        cluster_recall(file->cluster, clock, &known.nodes[i]);
    if (known.count)
        log_info("%zu nodes are known from %s/%s", known.count, file->folder, KNOWN_NODES_FILE);
}

void known_file_changed(struct known_file *file, struct instant now)
{
    if (!file->folder[0] || file->is_due_soon || !file->timer.open)
        return;
    file->is_due_soon = true;
    set_timer(file, now, SOON_NS);
}

void known_file_finish(struct known_file *file)
{
    /* The worker's file, if one is being written, is older; both use the same temporary name. */
    while (file->is_writing)
        uv_run(file->loop, UV_RUN_ONCE);
    if (!file->folder[0])
        return;
    fill_content(file);
    if (!buffer_error(&file->content))
        note_result(file, known_nodes_save(file->folder, buffer_text(&file->content)));
}

void known_file_close(struct known_file *file)
{
    if (file)
        net_timer_deinit(&file->timer);
}

void known_file_free(struct known_file *file)
{
    if (!file)
        return;
    buffer_deinit(&file->content);
    free(file->folder);
    free(file);
}
