/* Any file as configuration: it is refused with a reason or read, and what was read keeps to its limits. */
#include "fuzz/fuzz.h"

#include "config/config.h"
#include "core/utf8.h"

#include <errno.h>

/* Whole lines, and nothing in them that a terminal would obey. */
static void must_be_printable(const struct buffer *lines)
{
    struct text text = buffer_text(lines);

    MUST(!buffer_error(lines));
    for (size_t pos = 0; pos < text.len;) {
        uint32_t code = utf8_next(text, &pos);

        MUST(code == '\n' || !utf8_is_unsafe(code));
    }
    MUST(!text.len || text.bytes[text.len - 1] == '\n');
    MUST(text.len < (size_t)(CONFIG_MAX_PROBLEMS + 1) * 2000);
}

static void must_be_sane(const struct config *config)
{
    MUST(config->connecting.port_first >= 1 && config->connecting.port_first <= config->connecting.port_last);
    MUST(config->connecting.udp_port <= 65535 && config->connecting.tcp_port <= 65535);
    MUST(config->connecting.udp_mtu == 0 || config->connecting.udp_mtu >= 576);
    MUST(config->connecting.heartbeat_interval_ns >= NS_PER_S / 10);
    MUST(config->connecting.static_nodes.count <= CONFIG_MAX_ITEMS);
    MUST(config->services.collector_interval_ns >= NS_PER_MS);
    MUST(config->services.uds_path[0] == '/' && config->services.state_dir[0] == '/');
    MUST(config->runtime.driver_time_ppm >= 100 && config->runtime.driver_time_ppm <= 1000000);
    MUST(config->runtime.command_line <= COMMAND_LINE_FULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const enum config_program programs[] = {CONFIG_SERVER, CONFIG_BACKEND, CONFIG_CLI};
    struct config config;
    struct config_report report;
    int r;

    if (!len)
        return 0;
    r = config_parse(programs[bytes[0] % 3], "fuzz", (struct text){(const char *)bytes + 1, len - 1}, &config,
                     &report);
    MUST(r == 0 || r == -EINVAL);
    MUST((r == -EINVAL) == (report.error_count > 0) && (r == -EINVAL) == (report.errors.len > 0));
    must_be_printable(&report.errors);
    must_be_printable(&report.warnings);
    must_be_sane(&config);
    config_report_deinit(&report);
    config_deinit(&config);
    return 0;
}
