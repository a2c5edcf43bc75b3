/*
 * A network in virtual time: servers and backends made of the real src/proto/, datagrams that get lost,
 * doubled, overtaken and damaged, sockets whose receive buffers overflow. Hours pass in seconds; the same
 * seed gives the same run.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "proto/client.h"
#include "proto/discovery.h"
#include "proto/liveness.h"
#include "proto/peers.h"
#include "proto/timers.h"
#include "wire/chunk.h"
#include "support/random_snapshot.h"

#define SIM_SERVER_PORT  30000
#define SIM_GROUP_PORT   4000
#define SIM_CLIENT_PORT  50000
#define SIM_BUFFER_BYTES 212992u /* net.core.rmem_default */
#define SIM_MTU          1500u
#define SIM_SECONDS_MAX  100000u

struct sim;
struct sim_agent;

struct sim_faults {
    double loss, duplicate, reorder, corrupt; /* probabilities per datagram and receiver */
    int64_t latency_ns, jitter_ns;            /* one way */
};

struct sim_address {
    uint32_t node;
    uint16_t port;
};

/* Whatever lives on a node of its own. */
struct sim_agent {
    struct sim *sim;
    uint32_t node;
    void *owner;
    void (*on_datagram)(void *owner, const struct peer *from, uint16_t to_port, const uint8_t *bytes,
                        size_t len);
    void (*on_tick)(void *owner);
    struct instant (*next)(void *owner);
    bool in_group;
    bool cut; /* nothing comes or goes, silently */
    struct timer timer;
    struct instant reads_until, sends_until;           /* its socket's backlog, in and out */
    uint64_t received, dropped, sent;                  /* dropped: by its receive buffer */
    uint64_t second, received_in_second, worst_second; /* datagrams received per second */
};

struct sim {
    struct random random;
    struct instant now;
    struct sim_faults faults;
    struct timers timers;
    struct sim_agent **agents;
    size_t agent_count;
    struct packet **heap;
    size_t packet_count, packet_cap;
    uint64_t packets; /* sent since the start; order of those of the same moment */
    struct random_source source;
    /* Sees everything that is sent (before loss). */
    void (*on_packet)(void *userdata, struct sim_address from, struct sim_address to, const uint8_t *bytes,
                      size_t len);
    void *on_packet_userdata;
};

/* The faults of a good local network. */
extern const struct sim_faults sim_good;

/* Loss as given, besides 1 % doubled, 5 % overtaken and 1 % damaged. */
struct sim_faults sim_bad(double loss);

struct sim *sim_new(size_t agents_max);
void sim_free(struct sim *sim);
void sim_add(struct sim *sim, struct sim_agent *agent);
void sim_remove(struct sim *sim, struct sim_agent *agent);

/* The agent may have something else to do next. */
void sim_refresh(struct sim_agent *agent);

/* Lets time pass, at most until `until`. */
void sim_run(struct sim *sim, struct instant until);
void sim_run_for(struct sim *sim, int64_t ns);

/* From an agent, or (sim_forge) with any sender written on it. */
void sim_send(struct sim_agent *from, uint16_t from_port, struct sim_address to, const uint8_t *bytes,
              size_t len);
void sim_send_group(struct sim_agent *from, const uint8_t *bytes, size_t len);
void sim_forge(struct sim *sim, struct sim_address from, struct sim_address to, const uint8_t *bytes,
               size_t len);

struct peer sim_peer(struct sim_address address);
struct sim_address sim_address(const struct peer *peer);
bool sim_chance(struct sim *sim, double probability);

/* ---- servers ---- */

struct sim_server {
    struct sim_agent agent;
    struct message_node node;
    struct peers *peers;
    struct announcer *announcer; /* NULL: quiet */
    struct seal_keys *keys;
    size_t reply_bytes, facts_bytes;
    uint64_t queries;
    size_t max_connections;
    uint16_t port;
    uint32_t banned; /* node + 1 that security.allow leaves out; 0: none */
};

struct sim_server_options {
    bool quiet; /* no discovery */
    size_t reply_bytes;
    size_t facts_bytes;
    size_t max_connections; /* 0: 64 */
    struct seal_keys *keys;
};

void sim_server_init(struct sim_server *server, struct sim *sim, uint32_t node,
                     const struct sim_server_options *options);
void sim_server_deinit(struct sim_server *server);

/* As after a crash: nothing is said, another run begins at once. */
void sim_server_restart(struct sim_server *server);

/* As systemd stops it; sim_server_restart() begins it again. */
void sim_server_stop(struct sim_server *server);

/* ---- backends ---- */

struct sim_row {
    struct sim_backend *backend;
    struct client *client;
    struct liveness liveness;
    bool used, is_static;
    int candidate; /* its number, or -1 */
    struct message_node node;
    bool has_node;
    struct instant asked;
    bool waited; /* for an answer to the question going on */
    enum node_state last_state;
    uint64_t facts_hash;
};

struct sim_samples {
    int64_t *ns;
    size_t count, cap;
};

struct sim_backend {
    struct sim_agent agent;
    struct client_set *set;
    struct prober *prober; /* NULL: static nodes only */
    struct seal_keys *keys;
    struct sim_row *rows;
    size_t row_cap;
    bool asleep;                  /* nobody asks: sessions are closed */
    size_t unanswered;            /* rows that the question going on still waits for */
    struct sim_samples replies;   /* per reply in time: from question to answer */
    struct sim_samples questions; /* per question: until its last row was answered or late */
    struct instant asked;
    uint64_t lates, wrong, states, downs; /* states: changes of rows; downs: rows that went down */
    uint64_t silent;                      /* sessions lost to silence */
};

struct sim_backend_options {
    bool quiet; /* no discovery */
    size_t rows_max;
    size_t receive_buffer_bytes; /* 0: SIM_BUFFER_BYTES */
    struct seal_keys *keys;
};

void sim_backend_init(struct sim_backend *backend, struct sim *sim, uint32_t node,
                      const struct sim_backend_options *options);
void sim_backend_deinit(struct sim_backend *backend);
struct sim_row *sim_backend_add_static(struct sim_backend *backend, struct sim_address server);

/* Asks all rows that are worth waiting for, the others in the background. */
void sim_backend_ask(struct sim_backend *backend);

/* Asks and lets time pass until all have answered or are late. */
void sim_backend_ask_and_wait(struct sim_backend *backend);

/* Lets a backend that nobody asks go to sleep. */
void sim_backend_sleep_if_idle(struct sim_backend *backend);

size_t sim_backend_count(const struct sim_backend *backend, enum node_state state);
struct sim_row *sim_backend_find(struct sim_backend *backend, const uint8_t identity[IDENTITY_SIZE]);

/* The q-th part of the samples (0.99: the 99th percentile), in nanoseconds; sorts them. */
int64_t sim_quantile(struct sim_samples *samples, double q);
void sim_sample(struct sim_samples *samples, int64_t ns);

#endif
