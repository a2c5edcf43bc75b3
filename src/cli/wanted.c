#include "cli/wanted.h"

#include "cli/failure.h"
#include "cli/help.h"
#include "cli/output.h"
#include "core/cleanup.h"

#include <errno.h>
#include <string.h>

#define LOOKUP_NS (5 * NS_PER_S)

/* A list that is too long, or no memory for it. */
static int report_list(const char *program, const char *option, int error)
{
    output_complain(program, "%s: %s", option, strerror(-error));
    return EXIT_FAILED;
}

static int check_filter(const struct show *show, const char *option, const char *expression,
                        struct node_filter **ret_filter)
{
    _cleanup_(buffer_deinit) struct buffer message = BUFFER_EMPTY;
    struct host_list_error error;
    int r;

    r = node_filter_new(text_from_string(expression), ret_filter, &error);
    if (r == 0)
        return EXIT_SHOWN;
    if (r == -ENOMEM)
        return output_out_of_memory(show->program);
    buffer_printf(&message, "argument %s: %s (at character %zu)", option, error.message, error.offset + 1);
    return help_report_usage(show->program, buffer_text(&message));
}

int wanted_nodes(const struct show *show, struct node_filter **ret_filter)
{
    *ret_filter = NULL;
    if (!show->options->nodes)
        return EXIT_SHOWN;
    return check_filter(show, "-n/--node/--nodes", show->options->nodes, ret_filter);
}

int wanted_forgotten(const struct show *show)
{
    struct node_filter *filter = NULL;
    int status;

    if (!show->options->forget)
        return EXIT_SHOWN;
    status = check_filter(show, "--forget", show->options->forget, &filter);
    node_filter_free(filter);
    return status;
}

int wanted_ids(struct show *show)
{
    _cleanup_(buffer_deinit) struct buffer error = BUFFER_EMPTY;
    int r;

    if (!show->options->ids || show->ids.count)
        return EXIT_SHOWN;
    r = selection_parse_ids(show->options->ids, &show->ids, &error);
    if (r == 0)
        return EXIT_SHOWN;
    if (r < 0)
        return report_list(show->program, "--id", r);
    buffer_put_char(&error, '\0');
    failure_report(show, error.bytes ? error.bytes : "");
    return EXIT_FAILED;
}

int wanted_users(struct show *show)
{
    _cleanup_(buffer_deinit) struct buffer error = BUFFER_EMPTY;
    int r;

    if (!show->options->users || show->uids.count)
        return EXIT_SHOWN;
    r = selection_parse_users(show->options->users, show->users, instant_add_ns(clock_now(), LOOKUP_NS),
                              &show->uids, &error);
    if (r < 0)
        return report_list(show->program, "--user", r);
    if (r == 0)
        return EXIT_SHOWN;
    output_complain(show->program, "%.*s", (int)error.len, buffer_text(&error).bytes);
    return EXIT_FAILED;
}
