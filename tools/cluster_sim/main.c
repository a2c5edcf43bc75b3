/* cluster-sim: N simulated nodes in one process, for tests of scale. fleet.h says what is real about them. */
#include "fleet.h"

#include "core/log.h"
#include "core/text.h"
#include "net/loop.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define NODES_MAX   4096
#define PORTS_LAST  65535
#define DRAIN_MS    2000
#define DESCRIPTORS 8 /* of a node, and some to spare */

static const char usage[] = "usage: cluster-sim [OPTION]... N\n"
                            "\n"
                            "Runs N simulated GPU nodes, all on the loopback interface, until it is told to "
                            "stop (SIGTERM, SIGINT: with\n"
                            "a goodbye; SIGKILL: without). Prints one line when they serve.\n"
                            "\n"
                            "  --devices=N     GPUs of a node (8)\n"
                            "  --processes=N   processes on each GPU (2)\n"
                            "  --port=N        the first node's port, the others follow (20000)\n"
                            "  --group=A:P     discovery's group (239.195.7.10:20000), \"\" for none\n"
                            "  --prefix=NAME   names are NAME0001 and so on (sim)\n"
                            "  --idle=SECS     connecting.connection_idle_timeout (10)\n"
                            "  --key=PATH      security.key_file\n";

static const struct option long_options[] = {
    {"devices", required_argument, NULL, 'd'},
    {"processes", required_argument, NULL, 'p'},
    {"port", required_argument, NULL, 'P'},
    {"group", required_argument, NULL, 'g'},
    {"prefix", required_argument, NULL, 'n'},
    {"idle", required_argument, NULL, 'i'},
    {"key", required_argument, NULL, 'k'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Reads a number from 0 to `max`; complains and returns false if it is none. */
static bool parse_number(const char *word, unsigned max, uint32_t *ret_number)
{
    unsigned long long number;

    if (text_parse_decimal(text_from_string(word), max, &number) < 0) {
        fprintf(stderr, "cluster-sim: %s: allowed is a whole number up to %u\n", word, max);
        return false;
    }
    *ret_number = (uint32_t)number;
    return true;
}

static bool parse_group(const char *word, struct net_address *ret_group)
{
    *ret_group = NET_ADDRESS_NONE;
    if (!word[0])
        return true;
    if (net_address_parse(text_from_string(word), 0, ret_group) == 0 && net_address_is_multicast(ret_group) &&
        ret_group->port)
        return true;
    fprintf(stderr, "cluster-sim: %s: allowed is a multicast address with a port\n", word);
    return false;
}

static bool parse_option(int option, struct fleet_options *options)
{
    uint32_t number = 0;
    bool good = true;

    switch (option) {
    case 'd':
        return parse_number(optarg, SNAPSHOT_MAX_DEVICES, &options->devices);
    case 'p':
        return parse_number(optarg, SNAPSHOT_MAX_PROCESSES / SNAPSHOT_MAX_DEVICES, &options->processes);
    case 'P':
        good = parse_number(optarg, PORTS_LAST, &number);
        options->first_port = (uint16_t)number;
        return good;
    case 'g':
        return parse_group(optarg, &options->group);
    case 'n':
        options->prefix = optarg;
        return true;
    case 'i':
        good = parse_number(optarg, 3600, &number);
        options->idle_timeout_ns = number * NS_PER_S;
        return good;
    case 'k':
        options->key_file = optarg;
        return true;
    default:
        fputs(usage, option == 'h' ? stdout : stderr);
        return false;
    }
}

static bool parse(int argc, char *argv[], struct fleet_options *options)
{
    int option;

    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
        if (!parse_option(option, options))
            return false;
    if (optind != argc - 1) {
        fputs(usage, stderr);
        return false;
    }
    return parse_number(argv[optind], NODES_MAX, &options->nodes) && options->nodes > 0;
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    uv_stop(handle->loop);
}

static void raise_limits(uint32_t nodes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    if (limit.rlim_cur < (rlim_t)nodes * DESCRIPTORS)
        limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int run(const struct fleet_options *options)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    uv_signal_t signals[sizeof(numbers) / sizeof(numbers[0])];
    struct fleet *fleet;
    uv_loop_t loop;
    int r;

    uv_loop_init(&loop);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        uv_signal_init(&loop, &signals[i]);
        uv_signal_start(&signals[i], on_signal, numbers[i]);
    }
    r = fleet_open(&loop, options, &fleet);
    if (r == 0) {
        printf("%u nodes on 127.0.0.1, ports %u to %u\n", options->nodes, fleet_first_port(fleet),
               fleet_last_port(fleet));
        fflush(stdout);
        uv_run(&loop, UV_RUN_DEFAULT);
        fleet_stop(fleet);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    fleet_close(fleet);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        uv_close((uv_handle_t *)&signals[i], NULL);
    net_loop_drain(&loop, DRAIN_MS);
    fleet_free(fleet);
    return r < 0 ? 1 : 0;
}

int main(int argc, char *argv[])
{
    struct fleet_options options = {.devices = 8,
                                    .processes = 2,
                                    .first_port = 20000,
                                    .last_port = PORTS_LAST,
                                    .prefix = "sim",
                                    .idle_timeout_ns = 10 * NS_PER_S};

    if (!parse_group("239.195.7.10:20000", &options.group) || !parse(argc, argv, &options))
        return 2;
    log_init("cluster-sim", LOG_LEVEL_WARNING);
    if (seal_start() < 0) {
        log_error("libsodium cannot be used on this machine");
        return 1;
    }
    signal(SIGPIPE, SIG_IGN);
    raise_limits(options.nodes);
    return run(&options);
}
