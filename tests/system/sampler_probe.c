/*
 * A parent for the sampler, for tests: starts it, does what a program would do, and prints what it gets as
 * one JSON object per line.
 *
 * usage: sampler-probe [--library=PATH] [--tick-ms=N] [--ppm=N] [--stuck-ms=N]
 * [--command-line=none|name|full]
 *                      [--interest-ms=N] [--seconds=N] [--snapshots=N] [--complete] [--terse]
 *
 * --interest-ms: shows interest this often, and wants as many pictures (default: never).
 * --seconds, --snapshots: ends after so many (default: runs until killed). --complete: ends after the first
 * picture of a finished first round, or with a fault. --terse: counts pictures, prints only the last one.
 * Standard input: each line "interest N" shows interest once; its end is ignored.
 *
 * Lines: {"event":"start"|"snapshot"|"ended"|"call"|"end", "ms":..., ...}. The "end" line has the longest
 * time that any function of the sampler's handle took.
 */
#include "core/buffer.h"
#include "sampler/sampler.h"
#include "wire/snapshot_codec.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct probe {
    struct sampler_options options;
    int64_t interest_ns;
    int64_t seconds;
    uint64_t snapshots_wanted;
    bool complete, terse;

    struct sampler *sampler;
    struct instant began;
    struct instant next_interest;
    struct snapshot snapshot;
    uint64_t snapshots;
    int64_t longest_ns;
    bool done;
    char last_call[64];
    uint32_t last_stuck;
    bool input_open;
};

static struct probe probe = {.snapshots_wanted = UINT64_MAX, .seconds = 3600, .input_open = true};

/* Runs an expression and keeps the longest time that one took. */
#define timed(expression) \
    ({ \
        struct instant began_ = clock_now(); \
        __typeof__(expression) value_ = (expression); \
        int64_t took_ = instant_since_ns(clock_now(), began_); \
        if (took_ > probe.longest_ns) \
            probe.longest_ns = took_; \
        value_; \
    })

static double now_ms(void)
{
    return (double)instant_since_ns(clock_now(), probe.began) / 1e6;
}

static void put_text(struct text text)
{
    if (!text_is_present(text)) {
        printf("null");
        return;
    }
    putchar('"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.bytes[i];

        if (c < 0x20 || c == '"' || c == '\\' || c >= 0x7F)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void put_field(const struct device *device, const char *name, enum device_field field)
{
    int64_t value;

    if (field_get(&device->values, field, &value))
        printf(",\"%s\":%lld", name, (long long)value);
    else
        printf(",\"%s\":null", name);
}

static void put_ages(const struct device *device)
{
    printf(",\"age_ms\":{");
    for (int group = 0; group < GROUP_COUNT; group++) {
        printf("%s\"%s\":", group ? "," : "", field_group_name((enum field_group)group));
        if (device->group_age_us[group] == AGE_NEVER)
            printf("null");
        else
            printf("%.1f", (double)device->group_age_us[group] / 1000);
    }
    putchar('}');
}

static void put_entry(const struct process_entry *entry)
{
    const struct process *process = snapshot_process(&probe.snapshot, entry);

    printf("{\"pid\":%u,\"list\":%u,\"mem\":%lld", entry->pid, entry->list,
           entry->has_mem ? (long long)entry->mem_bytes : -1);
    if (process) {
        printf(",\"state\":%d,\"uid\":%u,\"start\":%llu,\"comm\":", process->state, process->uid,
               (unsigned long long)process->start_ticks);
        put_text(process->comm);
    }
    putchar('}');
}

static void put_device(const struct device *device)
{
    printf("{\"index\":%u,\"state\":%d,\"fault\":%d,\"flags\":%u,\"name\":", device->index, device->state,
           device->fault_code, device->flags);
    put_text(device->name);
    printf(",\"uuid\":");
    put_text(device->uuid);
    put_field(device, "util", FIELD_UTIL_GPU_PERCENT);
    put_field(device, "mem_used", FIELD_MEM_USED_BYTES);
    put_field(device, "mem_total", FIELD_MEM_TOTAL_BYTES);
    put_field(device, "temp", FIELD_TEMP_C);
    put_field(device, "fan", FIELD_FAN_PERCENT);
    put_ages(device);
    printf(",\"entries\":[");
    for (uint32_t i = 0; i < device->entry_count; i++) {
        if (i)
            putchar(',');
        put_entry(&probe.snapshot.entries[device->first_entry + i]);
    }
    printf("]}");
}

static void put_snapshot(size_t size)
{
    const struct snapshot *snapshot = &probe.snapshot;

    printf("{\"event\":\"snapshot\",\"ms\":%.2f,\"sequence\":%llu,\"size\":%zu,\"complete\":%s", now_ms(),
           (unsigned long long)snapshot->sequence, size,
           snapshot->flags & NODE_FIRST_ROUND_DONE ? "true" : "false");
    printf(",\"fault\":%d,\"fault_code\":%d,\"fault_text\":", snapshot->fault, snapshot->fault_code);
    put_text(snapshot->fault_text);
    printf(",\"hostname\":");
    put_text(snapshot->hostname);
    printf(",\"driver\":");
    put_text(snapshot->driver_version);
    printf(",\"ppm\":%u,\"unnamed\":%u,\"host_age_ms\":%.1f,\"pending\":", snapshot->driver_time_ppm,
           snapshot->unnamed_processes,
           snapshot->host_age_us == AGE_NEVER ? -1.0 : (double)snapshot->host_age_us / 1000);
    put_text(snapshot->pending.name);
    printf(",\"pending_device\":%d,\"pending_ms\":%.1f,\"devices\":[", snapshot->pending.device,
           (double)snapshot->pending.running_us / 1000);
    for (uint32_t i = 0; i < snapshot->device_count; i++) {
        if (i)
            putchar(',');
        put_device(&snapshot->devices[i]);
    }
    printf("]}\n");
    fflush(stdout);
}

/* A picture that cannot be decoded is a failure of the test. */
static size_t decode(void)
{
    struct reader body = sampler_snapshot(probe.sampler);
    struct snapshot_need need;

    snapshot_clear(&probe.snapshot);
    if (snapshot_measure(body, &need) < 0 ||
        snapshot_reserve(&probe.snapshot, need.devices, need.entries, need.processes) < 0 ||
        snapshot_decode(body, &probe.snapshot) < 0) {
        printf("{\"event\":\"bad snapshot\"}\n");
        exit(2);
    }
    return body.len;
}

static void take_snapshot(void)
{
    size_t size = decode();
    bool finished = (probe.snapshot.flags & NODE_FIRST_ROUND_DONE) || probe.snapshot.fault != NODE_FAULT_NONE;

    probe.snapshots++;
    probe.done |= probe.snapshots >= probe.snapshots_wanted || (probe.complete && finished);
    if (!probe.terse || probe.done)
        put_snapshot(size);
}

/* Tells when the call in progress or the number of stuck samplers changed. */
static void watch_call(struct instant now)
{
    struct sampler_call call = {.name = ""};
    bool running =
        timed(sampler_call_in_progress(probe.sampler, now, &call)) && call.running_ns > 50 * NS_PER_MS;
    const char *name = running ? call.name : "";
    uint32_t stuck = timed(sampler_stuck_count(probe.sampler));

    if (!strcmp(name, probe.last_call) && stuck == probe.last_stuck)
        return;
    strcpy(probe.last_call, name);
    probe.last_stuck = stuck;
    printf(
        "{\"event\":\"call\",\"ms\":%.2f,\"name\":\"%s\",\"device\":%d,\"running_ms\":%.1f,\"stuck\":%u}\n",
        now_ms(), name, running ? call.device : -1, (double)call.running_ns / 1e6, stuck);
    fflush(stdout);
}

static int void_call(void (*function)(struct sampler *, int64_t), int64_t argument)
{
    function(probe.sampler, argument);
    return 0;
}

static void take_input(void)
{
    char line[64];
    ssize_t n = read(STDIN_FILENO, line, sizeof(line) - 1);

    probe.input_open = n > 0;
    if (n <= 0)
        return;
    line[n] = '\0';
    if (!strncmp(line, "interest ", 9))
        timed(void_call(sampler_show_interest, atoll(line + 9) * NS_PER_MS));
}

static void loop(void)
{
    struct instant end = instant_add_ns(probe.began, probe.seconds * NS_PER_S);

    probe.next_interest = probe.began;
    while (!probe.done && instant_since_ns(end, clock_now()) > 0) {
        struct instant now = clock_now();
        struct instant wake = instant_earlier(end, timed(sampler_tick(probe.sampler, now)));
        struct pollfd fds[2];
        int event;

        if (probe.interest_ns && instant_since_ns(now, probe.next_interest) >= 0) {
            timed(void_call(sampler_show_interest, probe.interest_ns));
            probe.next_interest = instant_add_ns(now, probe.interest_ns);
        }
        if (probe.interest_ns)
            wake = instant_earlier(wake, probe.next_interest);
        watch_call(now);
        wake = instant_earlier(wake, instant_add_ns(now, 100 * NS_PER_MS));
        fds[0] = (struct pollfd){.fd = sampler_fd(probe.sampler), .events = POLLIN};
        fds[1] = (struct pollfd){.fd = probe.input_open ? STDIN_FILENO : -1, .events = POLLIN};
        poll(fds, 2, clock_poll_timeout_ms(clock_now(), wake));
        if (fds[1].revents)
            take_input();
        event = timed(sampler_receive(probe.sampler, clock_now()));
        if (event == SAMPLER_SNAPSHOT)
            take_snapshot();
        if (event == SAMPLER_ENDED) {
            printf("{\"event\":\"ended\",\"ms\":%.2f}\n", now_ms());
            fflush(stdout);
        }
    }
}

static const char *value_of(const char *word, const char *name)
{
    size_t len = strlen(name);

    return !strncmp(word, name, len) ? word + len : NULL;
}

static void parse(int argc, char *argv[])
{
    const char *value;

    for (int i = 1; i < argc; i++) {
        if ((value = value_of(argv[i], "--library=")))
            probe.options.library_path = value;
        else if ((value = value_of(argv[i], "--tick-ms=")))
            probe.options.tick_ns = atoll(value) * NS_PER_MS;
        else if ((value = value_of(argv[i], "--ppm=")))
            probe.options.driver_time_ppm = (uint32_t)atoll(value);
        else if ((value = value_of(argv[i], "--stuck-ms=")))
            probe.options.stuck_call_ns = atoll(value) * NS_PER_MS;
        else if ((value = value_of(argv[i], "--command-line=")))
            probe.options.command_line = !strcmp(value, "full")   ? COMMAND_LINE_FULL
                                         : !strcmp(value, "name") ? COMMAND_LINE_NAME
                                                                  : COMMAND_LINE_NONE;
        else if ((value = value_of(argv[i], "--interest-ms=")))
            probe.interest_ns = atoll(value) * NS_PER_MS;
        else if ((value = value_of(argv[i], "--seconds=")))
            probe.seconds = atoll(value);
        else if ((value = value_of(argv[i], "--snapshots=")))
            probe.snapshots_wanted = (uint64_t)atoll(value);
        else if (!strcmp(argv[i], "--complete"))
            probe.complete = true;
        else if (!strcmp(argv[i], "--terse"))
            probe.terse = true;
        else
            exit(64);
    }
}

int main(int argc, char *argv[])
{
    int r;

    if (sampler_is_child(argv))
        return sampler_main(argc, argv);
    probe.options = sampler_options_default();
    parse(argc, argv);
    probe.began = clock_now();
    snapshot_init(&probe.snapshot);
    r = timed(sampler_start(&probe.options, probe.began, &probe.sampler));
    printf("{\"event\":\"start\",\"ms\":%.2f,\"status\":%d}\n", now_ms(), r);
    fflush(stdout);
    if (r < 0)
        return 1;
    loop();
    timed((sampler_close(probe.sampler), 0));
    printf("{\"event\":\"end\",\"ms\":%.2f,\"snapshots\":%llu,\"longest_ms\":%.3f}\n", now_ms(),
           (unsigned long long)probe.snapshots, (double)probe.longest_ns / 1e6);
    snapshot_deinit(&probe.snapshot);
    return 0;
}
