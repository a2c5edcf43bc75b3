/*
 * A network without a network: a cluster and its questions against servers made of src/proto/peers, in
 * virtual time. A datagram takes a millisecond. Servers can fall silent, be started anew and move.
 */
#ifndef TEST_BACKEND_LAB_H
#define TEST_BACKEND_LAB_H

#include "backend/questions.h"
#include "proto/peers.h"

#define LAB_SERVERS   16
#define LAB_ANSWERS   64
#define LAB_IDLE_NS   NS_PER_S
#define LAB_TTL_NS    (40 * NS_PER_MS)
#define LAB_DEADLINE  (100 * NS_PER_MS)
#define LAB_NODES_MAX 8

struct lab_server {
    struct lab *lab;
    struct net_address address; /* where it is reached */
    struct net_address second;  /* family NONE: nowhere else */
    char name[32];
    struct message_node node;
    bool silent;
    struct peers *peers; /* NULL: not there */
    uint8_t *body;       /* encoded snapshot */
    size_t body_len;
    unsigned queries;
};

struct lab_answer {
    void *asker;
    struct buffer bytes;
    struct instant at;
};

struct lab_datagram;

struct lab {
    struct instant now;
    struct cluster *cluster;
    struct questions *questions;
    struct lab_server servers[LAB_SERVERS];
    struct lab_datagram *queue;
    struct lab_answer answers[LAB_ANSWERS];
    size_t answer_count;
    unsigned candidates_done, changes;
    uint64_t random;
};

void lab_open(struct lab *lab);
void lab_close(struct lab *lab);

/* Starts a server on "10.0.0.HOST:PORT" with this name, which also stands for its machine id. Devices: 1. */
struct lab_server *lab_start(struct lab *lab, unsigned host, uint16_t port, const char *name);

/* The same server as a new run, perhaps elsewhere. */
void lab_restart(struct lab_server *server, unsigned host, uint16_t port);

/* SIGTERM, and SIGKILL. */
void lab_stop(struct lab_server *server);
void lab_kill(struct lab_server *server);

struct net_address lab_address(unsigned host, uint16_t port);

/* As if discovery had heard it. */
enum cluster_candidate lab_announce(struct lab *lab, const struct lab_server *server);

/* Lets time pass. */
void lab_run(struct lab *lab, int64_t ns);

/* Asks for frames; `asker` is any pointer. */
void lab_ask(struct lab *lab, const char *filter, void *asker);

/* Lets time pass until an asker has its answer, at most a second; NULL: it has none. */
struct lab_answer *lab_wait(struct lab *lab, const void *asker);

/* The row with this host name; NULL: there is none. And how many there are. */
struct node *lab_row(struct lab *lab, const char *hostname);
unsigned lab_rows(struct lab *lab, const char *hostname);
enum node_state lab_state(struct lab *lab, struct node *node);

#endif
