/*
 * net/ with hands and a mouth: the tests in network namespaces start it, give it commands on standard input
 * and read what happens, one line per event, on standard output.
 *
 *   net-probe interfaces                     what there is, and what would be chosen for multicast
 *   net-probe mtu ADDRESS                    the path MTU
 *   net-probe udp PORT                       every address; commands: "send ADDRESS:PORT TEXT"; answers "echo
 * TEXT" net-probe multicast GROUP TTL UNICAST RESCAN_MS [ADDRESS...] commands: "send WORD", "send-to
 * ADDRESS:PORT TEXT"; answers "echo TEXT"
 */
#include "net/multicast.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct probe {
    uv_loop_t loop;
    uv_poll_t input;
    struct net_udp *udp;
    struct net_multicast *multicast;
};

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

static struct net_address parse(const char *text)
{
    struct net_address address;

    if (net_address_parse(text_from_string(text), 0, &address) < 0) {
        fprintf(stderr, "net-probe: no address: %s\n", text);
        exit(2);
    }
    return address;
}

static void say_datagram(const struct net_datagram *datagram)
{
    char peer[NET_ADDRESS_TEXT_CAP], local[NET_ADDRESS_TEXT_CAP];

    say("got \"%.*s\" from %s to %s by %u", (int)datagram->len, (const char *)datagram->bytes,
        net_address_format(&datagram->peer, peer), net_address_format(&datagram->local, local),
        datagram->interface);
}

/* "echo TEXT" is answered with "TEXT" to where it came from. */
static bool wants_echo(const struct net_datagram *datagram, struct net_datagram *ret_answer)
{
    static const char prefix[] = "echo ";

    if (datagram->len < sizeof(prefix) - 1 || memcmp(datagram->bytes, prefix, sizeof(prefix) - 1) != 0)
        return false;
    *ret_answer = *datagram;
    ret_answer->interface = 0;
    ret_answer->bytes += sizeof(prefix) - 1;
    ret_answer->len -= sizeof(prefix) - 1;
    return true;
}

static void take_udp(void *userdata, const struct net_datagram *datagram)
{
    struct probe *probe = userdata;
    struct net_datagram answer;

    say_datagram(datagram);
    if (wants_echo(datagram, &answer))
        net_udp_send(probe->udp, &answer);
}

static void take_multicast(void *userdata, const struct net_datagram *datagram)
{
    struct probe *probe = userdata;
    struct net_datagram answer;

    say_datagram(datagram);
    if (wants_echo(datagram, &answer))
        net_multicast_send_to(probe->multicast, &answer);
}

static void say_news(void *userdata, const struct net_multicast_event *event)
{
    static const char *const names[] = {
        [NET_MULTICAST_JOINED] = "joined",           [NET_MULTICAST_LEFT] = "left",
        [NET_MULTICAST_JOIN_FAILED] = "join-failed", [NET_MULTICAST_LEFT_OUT] = "left-out",
        [NET_MULTICAST_NO_OUTBOUND] = "no-outbound", [NET_MULTICAST_PORT_SHARED] = "port-shared",
    };
    char address[NET_ADDRESS_TEXT_CAP];

    (void)userdata;
    say("%s %s %s %d", names[event->news], event->place.name,
        net_address_format(&event->place.address, address), event->error);
}

static void send_text(struct probe *probe, const char *to, const char *text)
{
    struct net_datagram datagram = {.peer = parse(to), .bytes = (const uint8_t *)text, .len = strlen(text)};

    if (probe->udp)
        say("sent %d", net_udp_send(probe->udp, &datagram));
    else
        say("sent %d", net_multicast_send_to(probe->multicast, &datagram));
}

static void obey(struct probe *probe, char *line)
{
    char *command = strtok(line, " "), *first = strtok(NULL, " ");
    char *rest = strtok(NULL, "");

    if (command && first && rest && strcmp(command, probe->udp ? "send" : "send-to") == 0)
        send_text(probe, first, rest);
    else if (command && first && !rest && probe->multicast && strcmp(command, "send") == 0)
        say("sent %d", net_multicast_send(probe->multicast, first, strlen(first)));
    else
        say("what?");
}

static void input_ready(uv_poll_t *handle, int status, int events)
{
    struct probe *probe = handle->data;
    char line[1000];

    (void)events;
    if (status < 0 || !fgets(line, sizeof(line), stdin)) {
        net_udp_close(probe->udp);
        net_multicast_close(probe->multicast);
        uv_close((uv_handle_t *)handle, NULL);
        return;
    }
    line[strcspn(line, "\n")] = '\0';
    obey(probe, line);
}

static int run(struct probe *probe)
{
    setvbuf(stdin, NULL, _IONBF, 0); /* what is buffered would not wake poll(2) */
    uv_poll_init(&probe->loop, &probe->input, STDIN_FILENO);
    probe->input.data = probe;
    uv_poll_start(&probe->input, UV_READABLE, input_ready);
    say("ready");
    uv_run(&probe->loop, UV_RUN_DEFAULT);
    return uv_loop_close(&probe->loop) == 0 ? 0 : 1;
}

static int run_udp(struct probe *probe, const char *port)
{
    struct net_udp_options options = {.fd = -1, .bind = {.port = (uint16_t)atoi(port)}};
    struct net_udp_events events = {.on_datagram = take_udp, .userdata = probe};
    int r = net_udp_open(&probe->loop, &options, &events, &probe->udp);

    if (r < 0) {
        say("failed: %s", strerror(-r));
        return 1;
    }
    return run(probe);
}

static int run_multicast(struct probe *probe, char **argv, int argc)
{
    struct net_address outbound[NET_INTERFACES_MULTICAST_CAP];
    struct net_multicast_options options = {
        .group = parse(argv[0]),
        .ttl = (uint8_t)atoi(argv[1]),
        .unicast = atoi(argv[2]) != 0,
        .rescan_ms = (unsigned)atoi(argv[3]),
        .outbound = outbound,
    };
    struct net_multicast_events events = {take_multicast, say_news, probe};
    int r;

    for (int i = 4; i < argc && options.outbound_count < NET_INTERFACES_MULTICAST_CAP; i++)
        outbound[options.outbound_count++] = parse(argv[i]);
    r = net_multicast_open(&probe->loop, &options, &events, &probe->multicast);
    if (r < 0) {
        say("failed: %s", strerror(-r));
        return 1;
    }
    return run(probe);
}

static int say_interfaces(void)
{
    struct net_interface_list list;
    struct net_multicast_choice choice;
    int r = net_interface_list_read(&list);

    if (r < 0) {
        say("failed: %s", strerror(-r));
        return 1;
    }
    net_interfaces_choose(&list, NULL, 0, &choice);
    for (size_t i = 0; i < choice.count; i++) {
        char address[NET_ADDRESS_TEXT_CAP];

        say("%s %s", choice.places[i].name, net_address_format(&choice.places[i].address, address));
    }
    net_interface_list_deinit(&list);
    return 0;
}

int main(int argc, char **argv)
{
    static struct probe probe;

    uv_loop_init(&probe.loop);
    if (argc == 2 && strcmp(argv[1], "interfaces") == 0)
        return say_interfaces();
    if (argc == 3 && strcmp(argv[1], "mtu") == 0) {
        struct net_address address = parse(argv[2]);

        say("%u", net_path_mtu(&address, 0));
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "udp") == 0)
        return run_udp(&probe, argv[2]);
    if (argc >= 6 && strcmp(argv[1], "multicast") == 0)
        return run_multicast(&probe, argv + 2, argc - 2);
    fprintf(stderr, "net-probe: see the top of net_probe.c\n");
    return 2;
}
