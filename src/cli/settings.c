#include "cli/settings.h"

#include "cli/output.h"
#include "core/cleanup.h"

#include <errno.h>
#include <string.h>

/* Command lines of this machine are shown to who could read them in /proc anyway: whole ones. */
#define COMMAND_LINE_MAX 131072

static void complain_by_line(const char *program, struct text lines)
{
    while (lines.len) {
        const char *end = memchr(lines.bytes, '\n', lines.len);
        size_t len = end ? (size_t)(end - lines.bytes) : lines.len;

        output_complain(program, "%.*s", (int)len, lines.bytes);
        len += end != NULL;
        lines = (struct text){lines.bytes + len, lines.len - len};
    }
}

int settings_load(const char *program, const struct mode_environment *environment, struct config *ret_config)
{
    _cleanup_(config_report_deinit) struct config_report report = {0};
    int r;

    if (!environment->has_config)
        return config_init(ret_config, CONFIG_CLI);
    r = config_load(CONFIG_CLI, NULL, ret_config, &report);
    complain_by_line(program, buffer_text(&report.errors));
    return r == -ENOMEM ? r : 0;
}

struct sampler_options settings_sampling(const struct config *config,
                                         const struct mode_environment *environment)
{
    struct sampler_options sampling = sampler_options_default();

    if (environment->nvml_lib && *environment->nvml_lib)
        sampling.library_path = environment->nvml_lib;
    else if (*config->runtime.nvml_lib_path)
        sampling.library_path = config->runtime.nvml_lib_path;
    sampling.tick_ns = config->services.collector_interval_ns;
    sampling.driver_time_ppm = config->runtime.driver_time_ppm;
    sampling.stuck_call_ns = config->runtime.stuck_call_ns;
    sampling.command_line = COMMAND_LINE_FULL;
    sampling.command_line_max = COMMAND_LINE_MAX;
    return sampling;
}
