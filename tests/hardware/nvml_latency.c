/*
 * Times every vendor call that the collector makes, through the collector itself: the observer that tells the
 * sampler which call is in progress here keeps a clock.
 *
 *     nvml-latency [LIBRARY] ROUNDS
 *
 * Prints one line of JSON per call: name, how often, median, 99th percentile and maximum in nanoseconds.
 */
#include "core/clock.h"
#include "gpu/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CALLS   128
#define MAX_SAMPLES 4096

struct call_times {
    const char *name;
    size_t count;
    int64_t ns[MAX_SAMPLES];
};

struct recorder {
    struct call_times calls[MAX_CALLS];
    size_t call_count;
    struct call_times *current;
    struct instant began;
};

static struct call_times *find_call(struct recorder *recorder, const char *name)
{
    for (size_t i = 0; i < recorder->call_count; i++)
        if (strcmp(recorder->calls[i].name, name) == 0)
            return &recorder->calls[i];
    if (recorder->call_count == MAX_CALLS)
        return NULL;
    recorder->calls[recorder->call_count].name = name;
    return &recorder->calls[recorder->call_count++];
}

static void begin(void *context, const char *call, int32_t device)
{
    struct recorder *recorder = context;

    (void)device;
    recorder->current = find_call(recorder, call);
    recorder->began = clock_now();
}

static void end(void *context)
{
    struct recorder *recorder = context;
    int64_t took = instant_since_ns(clock_now(), recorder->began);

    if (recorder->current && recorder->current->count < MAX_SAMPLES)
        recorder->current->ns[recorder->current->count++] = took;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void print_call(struct call_times *call)
{
    if (!call->count)
        return;
    qsort(call->ns, call->count, sizeof(call->ns[0]), compare);
    printf("{\"call\": \"%s\", \"count\": %zu, \"median_ns\": %lld, \"p99_ns\": %lld, \"max_ns\": %lld}\n",
           call->name, call->count, (long long)call->ns[call->count / 2],
           (long long)call->ns[call->count * 99 / 100], (long long)call->ns[call->count - 1]);
}

int main(int argc, char *argv[])
{
    struct recorder *recorder = calloc(1, sizeof(*recorder));
    struct source_options options = {.sysfs_root = "/sys"};
    struct source *source;
    int rounds = argc > 1 ? atoi(argv[argc - 1]) : 0;

    if (!recorder || rounds < 1) {
        fprintf(stderr, "usage: nvml-latency [LIBRARY] ROUNDS\n");
        return 2;
    }
    options.library_path = argc > 2 ? argv[1] : NULL;
    options.observer = (struct call_observer){.begin = begin, .end = end, .context = recorder};
    if (nvml_source_new(&options, &source) < 0)
        return 1;
    if (source->ops->start(source, clock_now()) != SOURCE_OK) {
        fprintf(stderr, "nvml-latency: no driver answers\n");
        return 1;
    }
    for (int round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < source->ops->device_count(source); i++)
            for (unsigned group = GROUP_HOT; group < GROUP_COUNT; group++)
                source->ops->read(source, i, (enum field_group)group, clock_now());
        source->ops->check(source, clock_now());
    }
    for (size_t i = 0; i < recorder->call_count; i++)
        print_call(&recorder->calls[i]);
    fflush(stdout);
    source_free(source);
    free(recorder);
    return 0;
}
