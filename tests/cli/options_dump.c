/*
 * Prints what the option parser makes of its arguments, one `name=value` a line; used by
 * test_options_like_argparse.py. argv[1] is the program's name.
 */
#include "cli/options.h"

#include <stdio.h>

static void print_options(const struct options *options)
{
    printf("action=%d\ncolor=%d\n", (int)options->action, (int)options->color);
    printf("cmd=%d\nfull_cmd=%d\nuser=%d\npid=%d\nfan=%d\n", options->show_cmd, options->show_full_cmd,
           options->show_user, options->show_pid, options->show_fan);
    printf("codec=%u\npower=%d\n", options->show_codec, (int)options->show_power);
    printf("no_header=%d\nno_processes=%d\njson=%d\ndebug=%d\n", options->no_header, options->no_processes,
           options->json, options->debug);
    printf("width=%d\ninterval_ns=%lld\nids=%s\n", options->gpuname_width, (long long)options->interval_ns,
           options->ids ? options->ids : "(none)");
}

int main(int argc, char *argv[])
{
    struct buffer error = BUFFER_EMPTY;
    struct options options;
    int r;

    if (argc < 2)
        return 3;
    r = options_parse(options_called_as_gpustat(argv[1]), argv + 2, (size_t)argc - 2, &options, &error);
    if (r == 0)
        print_options(&options);
    else
        printf("error=%.*s\n", (int)error.len, buffer_text(&error).bytes);
    buffer_deinit(&error);
    return r < 0 ? 3 : r;
}
