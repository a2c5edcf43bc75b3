/*
 * fake-nvml-dump: prints what the fake library answers at a time, as one line of JSON: the oracle of the
 * tests. It reads the scenario and evaluates it with the library's own code. Faults are not applied; the
 * active ones are listed.
 */
#include "dump.h"

#include <stdlib.h>
#include <string.h>

#define STATUS_FAILED 1
#define STATUS_USAGE  2

static void dump_faults(struct json_writer *writer, const struct scenario *scenario, double t)
{
    json_write_begin(writer, "faults", '[');
    for (size_t i = 0; i < scenario->fault_count; i++)
        if (scenario->faults[i].at_s <= t && t < scenario->faults[i].until_s)
            json_write_u64(writer, NULL, i);
    json_write_end(writer, ']');
}

static void dump_events(struct json_writer *writer, const struct scenario *scenario, double t)
{
    json_write_begin(writer, "events", '[');
    for (size_t i = 0; i < scenario->event_count && scenario->events[i].at_s <= t; i++) {
        const struct event *event = &scenario->events[i];
        json_write_begin(writer, NULL, '{');
        json_write_double(writer, "at_s", event->at_s);
        json_write_text(writer, "device", scenario->devices[event->device].id);
        json_write_u64(writer, "type", event->type);
        json_write_u64(writer, "data", event->data);
        json_write_u64(writer, "gi", event->gi);
        json_write_u64(writer, "ci", event->ci);
        json_write_end(writer, '}');
    }
    json_write_end(writer, ']');
}

static void dump_scenario(FILE *out, const struct scenario *scenario, double t)
{
    struct json_writer writer = {.out = out};
    json_write_begin(&writer, NULL, '{');
    json_write_double(&writer, "t", t);
    json_write_text(&writer, "profile", scenario->profile);
    json_write_begin(&writer, "driver", '{');
    dump_text(&writer, "version", &scenario->driver.version, t);
    json_write_text(&writer, "nvml", scenario->driver.nvml);
    json_write_i64(&writer, "cuda", scenario->driver.cuda);
    json_write_i64(&writer, "init_rc", scenario->driver.init_rc);
    json_write_end(&writer, '}');
    json_write_begin(&writer, "devices", '[');
    for (size_t i = 0; i < scenario->device_count; i++)
        dump_device(&writer, &scenario->devices[i], t);
    json_write_end(&writer, ']');
    dump_faults(&writer, scenario, t);
    dump_events(&writer, scenario, t);
    json_write_end(&writer, '}');
    putc('\n', out);
}

int main(int count, char **words)
{
    char *end = NULL;
    double t = count == 4 && strcmp(words[2], "--at") == 0 ? strtod(words[3], &end) : 0;
    if (!end || end == words[3] || *end != '\0') {
        fputs("usage: fake-nvml-dump SCENARIO --at SECONDS\n", stderr);
        return STATUS_USAGE;
    }
    struct scenario scenario;
    char error[SCENARIO_ERROR_SIZE];
    if (scenario_load(words[1], NULL, &scenario, error) < 0) {
        fprintf(stderr, "fake-nvml: %s\n", error);
        return STATUS_FAILED;
    }
    dump_scenario(stdout, &scenario, t);
    scenario_deinit(&scenario);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : STATUS_FAILED;
}
