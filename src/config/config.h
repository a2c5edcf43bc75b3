/*
 * The configuration: one TOML file (design, section 10) read into a struct whose values have all been
 * checked. What a key means, its limits and default stand in one table, config/schema.c;
 * docs/configuration.md is made from it.
 *
 * Nothing here prints: what is wrong comes back as text, a line per problem, for the program to show.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "config/keys.h"
#include "core/buffer.h"
#include "host/process_table.h"

#define CONFIG_MAX_BYTES    (1024 * 1024) /* of the file: 4,096 static nodes fit */
#define CONFIG_MAX_ITEMS    4096          /* of one list */
#define CONFIG_MAX_PROBLEMS 50            /* errors described one by one; the same of warnings */

/* Who reads the file. Bits, so that the table can say whose a key is. */
enum config_program {
    CONFIG_SERVER = 1 << 0,  /* /etc/clustat/server.toml */
    CONFIG_BACKEND = 1 << 1, /* /etc/clustat/client.toml */
    CONFIG_CLI = 1 << 2,     /* the same file; also local mode */
};

enum config_protocol {
    CONFIG_PROTOCOL_UDP,
    CONFIG_PROTOCOL_TCP,
};

struct config_list {
    char **items; /* owned strings */
    uint32_t count;
};

/* Strings are owned, never NULL. */
struct config {
    char *path;        /* of the file that was read or looked for */
    bool file_found;   /* false: nothing but defaults */
    uint64_t set_keys; /* a bit per enum config_key, for config_is_set() */

    struct {
        uint16_t port_first, port_last; /* port_range */
        char *multicast_addr;           /* "A.B.C.D:PORT", "": multicast is off */
        struct config_list multicast_outbound_ip;
        uint32_t multicast_ttl;
        enum config_protocol protocol;
        uint32_t udp_port, tcp_port; /* 0: the first free pair of the range */
        uint32_t udp_mtu;            /* 0: as the route says */
        int64_t heartbeat_interval_ns;
        int64_t connection_idle_timeout_ns;
        uint32_t max_connections;
        int64_t discover_wait_ns;
        uint32_t multicast_retry_limit;
        struct config_list static_nodes; /* not expanded: "gpu[01-08]:30000" is one item */
        struct config_list announce_to;
    } connecting;

    struct {
        int64_t cache_ttl_ns;
        int64_t collector_interval_ns;
        int64_t node_deadline_ns;
        bool latency_display;
        char *uds_path;
        char *state_dir;
    } services;

    struct {
        char *nvml_lib_path; /* "": the usual places */
        uint32_t driver_time_ppm;
        int64_t stuck_call_ns;
        enum command_line_mode command_line;
    } runtime;

    struct {
        char *key_file; /* "": unsealed */
        struct config_list
            allow; /* CIDR; counts only if CONFIG_KEY_ALLOW is set, an empty list then means nobody */
    } security;
};

/* What was found wrong; each a list of lines "FILE:LINE: what", every line ended. */
struct config_report {
    struct buffer errors;
    struct buffer warnings;
    uint32_t error_count, warning_count;
};

void config_report_deinit(struct config_report *report);

/* Fills in the defaults for a program. Returns 0 or -ENOMEM (then it is to be deinitialised all the same). */
int config_init(struct config *config, enum config_program program);
void config_deinit(struct config *config); /* accepts a config that was only zeroed */

/*
 * Reads the file at `path`; NULL: where CLUSTAT_CONFIG says, else the program's own in /etc/clustat. An
 * absent file is no error (a warning if somebody named it). For the backend, CLUSTAT_STATIC_NODES (a comma
 * list) is added to connecting.static_nodes.
 *
 * *ret_config is written in every case and to be deinitialised: with what could be used of the file, and
 * defaults for the rest. *report is to be deinitialised too.
 * Returns 0; -EINVAL if there are errors in the file; another negative errno if it cannot be read, which
 * report->errors says as well; -ENOMEM.
 */
int config_load(enum config_program program, const char *path, struct config *ret_config,
                struct config_report *report);

/* The same from bytes in memory; `name` stands for the file in messages. The environment is not looked at. */
int config_parse(enum config_program program, const char *name, struct text content,
                 struct config *ret_config, struct config_report *report);

/* True if the file (or CLUSTAT_STATIC_NODES) gives this key. */
bool config_is_set(const struct config *config, enum config_key key);

/* Appends the table of all keys with type, limits, default and reader as Markdown (docs/configuration.md). */
void config_put_reference(struct buffer *out);

#endif
