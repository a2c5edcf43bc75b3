/* Time, datagrams and sockets of the simulated network. */
#include "sim.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define READ_NS      (5 * NS_PER_US) /* a receiver needs so long per datagram */
#define SEND_NS      (2 * NS_PER_US)
#define SKB_BYTES    2304u     /* a datagram costs a receive buffer so much */
#define OVERTAKEN_NS NS_PER_MS /* at most so much later than its turn */

struct packet {
    struct instant when;
    uint64_t order;
    struct sim_address from, to;
    bool group, queued; /* queued: it is in the receiver's buffer, and is read at `when` */
    size_t len;
    uint8_t bytes[];
};

const struct sim_faults sim_good = {.latency_ns = 80 * NS_PER_US, .jitter_ns = 40 * NS_PER_US};

struct sim_faults sim_bad(double loss)
{
    struct sim_faults faults = sim_good;

    faults.loss = loss;
    faults.duplicate = 0.01;
    faults.reorder = 0.05;
    faults.corrupt = 0.01;
    return faults;
}

static uint64_t next_random(void *userdata)
{
    return random_u64(userdata);
}

struct sim *sim_new(size_t agents_max)
{
    struct sim *sim = calloc(1, sizeof(*sim));

    assert(sim);
    sim->random = random_from_environment();
    sim->now.ns = NS_PER_S + (int64_t)random_below(&sim->random, 1000000000);
    sim->faults = sim_good;
    sim->source = (struct random_source){next_random, &sim->random};
    sim->agents = calloc(agents_max, sizeof(struct sim_agent *));
    assert(sim->agents && timers_init(&sim->timers, agents_max) == 0);
    return sim;
}

void sim_free(struct sim *sim)
{
    for (size_t i = 0; i < sim->packet_count; i++)
        free(sim->heap[i]);
    free(sim->heap);
    free(sim->agents);
    timers_deinit(&sim->timers);
    free(sim);
}

bool sim_chance(struct sim *sim, double probability)
{
    return (double)(random_u64(&sim->random) >> 11) * 0x1p-53 < probability;
}

/* Nodes are numbered as their agents are added. */
void sim_add(struct sim *sim, struct sim_agent *agent)
{
    agent->sim = sim;
    assert(agent->node < sim->timers.cap && !sim->agents[agent->node]);
    sim->agents[agent->node] = agent;
    if (agent->node >= sim->agent_count)
        sim->agent_count = agent->node + 1;
    sim_refresh(agent);
}

void sim_remove(struct sim *sim, struct sim_agent *agent)
{
    timers_clear(&sim->timers, &agent->timer);
    sim->agents[agent->node] = NULL;
}

void sim_refresh(struct sim_agent *agent)
{
    timers_set(&agent->sim->timers, &agent->timer, agent->next(agent->owner));
}

/* ---- addresses ---- */

struct peer sim_peer(struct sim_address address)
{
    struct peer peer = {0};

    memcpy(peer.address, &address.node, sizeof(address.node));
    memcpy(peer.address + sizeof(address.node), &address.port, sizeof(address.port));
    peer.source = (address.node + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return peer;
}

struct sim_address sim_address(const struct peer *peer)
{
    struct sim_address address = {0};

    memcpy(&address.node, peer->address, sizeof(address.node));
    memcpy(&address.port, peer->address + sizeof(address.node), sizeof(address.port));
    return address;
}

/* ---- datagrams on their way: a heap ---- */

static bool is_earlier(const struct packet *a, const struct packet *b)
{
    return a->when.ns != b->when.ns ? a->when.ns < b->when.ns : a->order < b->order;
}

static void push(struct sim *sim, struct packet *packet)
{
    size_t at = sim->packet_count++;

    if (at == sim->packet_cap) {
        sim->packet_cap = sim->packet_cap ? 2 * sim->packet_cap : 1024;
        sim->heap = realloc(sim->heap, sim->packet_cap * sizeof(struct packet *));
        assert(sim->heap);
    }
    while (at && is_earlier(packet, sim->heap[(at - 1) / 2])) {
        sim->heap[at] = sim->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    sim->heap[at] = packet;
}

static struct packet *pop(struct sim *sim)
{
    struct packet *first = sim->heap[0], *last = sim->heap[--sim->packet_count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < sim->packet_count) {
        if (child + 1 < sim->packet_count && is_earlier(sim->heap[child + 1], sim->heap[child]))
            child++;
        if (!is_earlier(sim->heap[child], last))
            break;
        sim->heap[at] = sim->heap[child];
        at = child;
    }
    if (sim->packet_count)
        sim->heap[at] = last;
    return first;
}

static struct packet *new_packet(struct sim *sim, struct sim_address from, struct sim_address to,
                                 const uint8_t *bytes, size_t len)
{
    struct packet *packet = malloc(sizeof(*packet) + len);

    assert(packet);
    *packet = (struct packet){.from = from, .to = to, .len = len, .order = sim->packets++};
    memcpy(packet->bytes, bytes, len);
    return packet;
}

static int64_t travel_ns(struct sim *sim)
{
    int64_t ns = sim->faults.latency_ns;

    if (sim->faults.jitter_ns)
        ns += (int64_t)random_below(&sim->random, (uint64_t)sim->faults.jitter_ns);
    if (sim_chance(sim, sim->faults.reorder))
        ns += (int64_t)random_below(&sim->random, OVERTAKEN_NS);
    return ns;
}

/* One copy on its way, or lost, or damaged. */
static void launch(struct sim *sim, struct instant when, struct sim_address from, struct sim_address to,
                   const uint8_t *bytes, size_t len)
{
    struct packet *packet;

    if (sim_chance(sim, sim->faults.loss))
        return;
    packet = new_packet(sim, from, to, bytes, len);
    if (len && sim_chance(sim, sim->faults.corrupt))
        packet->bytes[random_below(&sim->random, len)] ^= (uint8_t)(1u << random_below(&sim->random, 8));
    packet->when = instant_add_ns(when, travel_ns(sim));
    push(sim, packet);
}

static void send_at(struct sim *sim, struct instant when, struct sim_address from, struct sim_address to,
                    const uint8_t *bytes, size_t len)
{
    if (sim->on_packet)
        sim->on_packet(sim->on_packet_userdata, from, to, bytes, len);
    launch(sim, when, from, to, bytes, len);
    if (sim_chance(sim, sim->faults.duplicate))
        launch(sim, when, from, to, bytes, len);
}

/* Sending takes time: what is sent in one go leaves one after the other. */
static struct instant departure(struct sim_agent *agent)
{
    if (agent->sends_until.ns < agent->sim->now.ns)
        agent->sends_until = agent->sim->now;
    agent->sends_until = instant_add_ns(agent->sends_until, SEND_NS);
    agent->sent++;
    return agent->sends_until;
}

void sim_send(struct sim_agent *from, uint16_t from_port, struct sim_address to, const uint8_t *bytes,
              size_t len)
{
    if (!from->cut)
        send_at(from->sim, departure(from), (struct sim_address){from->node, from_port}, to, bytes, len);
}

void sim_forge(struct sim *sim, struct sim_address from, struct sim_address to, const uint8_t *bytes,
               size_t len)
{
    send_at(sim, sim->now, from, to, bytes, len);
}

/* One packet for all, so that a thousand receivers cost no memory; faults are drawn where it arrives. */
void sim_send_group(struct sim_agent *from, const uint8_t *bytes, size_t len)
{
    struct sim_address sender = {from->node, SIM_GROUP_PORT}, group = {UINT32_MAX, SIM_GROUP_PORT};
    struct packet *packet;

    if (from->cut)
        return;
    if (from->sim->on_packet)
        from->sim->on_packet(from->sim->on_packet_userdata, sender, group, bytes, len);
    packet = new_packet(from->sim, sender, group, bytes, len);
    packet->group = true;
    packet->when = instant_add_ns(departure(from), travel_ns(from->sim));
    push(from->sim, packet);
}

static void count_received(struct sim_agent *agent)
{
    uint64_t second = (uint64_t)agent->sim->now.ns / (uint64_t)NS_PER_S;

    agent->received++;
    if (second != agent->second)
        agent->received_in_second = 0;
    agent->second = second;
    if (++agent->received_in_second > agent->worst_second)
        agent->worst_second = agent->received_in_second;
}

static void hand_over(struct sim_agent *agent, const struct packet *packet)
{
    struct peer from = sim_peer(packet->from);

    count_received(agent);
    agent->on_datagram(agent->owner, &from, packet->to.port, packet->bytes, packet->len);
    sim_refresh(agent);
}

static void hand_to_group(struct sim *sim, const struct packet *packet)
{
    struct sim_agent *sender = packet->from.node < sim->agent_count ? sim->agents[packet->from.node] : NULL;

    for (size_t i = 0; i < sim->agent_count; i++) {
        struct sim_agent *agent = sim->agents[i];

        if (agent && agent != sender && agent->in_group && !agent->cut && !sim_chance(sim, sim->faults.loss))
            hand_over(agent, packet);
    }
}

/* It arrives at a socket, and is read as soon as what came before it was; or there is no room for it. */
static bool enqueue(struct sim *sim, struct packet *packet, struct sim_agent *agent)
{
    int64_t backlog_ns = instant_since_ns(agent->reads_until, sim->now);

    if (backlog_ns > 0 && (uint64_t)(backlog_ns / READ_NS + 1) * SKB_BYTES > SIM_BUFFER_BYTES) {
        agent->dropped++;
        return false;
    }
    if (backlog_ns < 0)
        agent->reads_until = sim->now;
    agent->reads_until = instant_add_ns(agent->reads_until, READ_NS);
    packet->when = agent->reads_until;
    packet->queued = true;
    push(sim, packet);
    return true;
}

static void arrive(struct sim *sim, struct packet *packet)
{
    struct sim_agent *agent;

    if (packet->group) {
        hand_to_group(sim, packet);
        free(packet);
        return;
    }
    agent = packet->to.node < sim->agent_count ? sim->agents[packet->to.node] : NULL;
    if (agent && !agent->cut && !packet->queued && enqueue(sim, packet, agent))
        return;
    if (agent && !agent->cut && packet->queued)
        hand_over(agent, packet);
    free(packet);
}

void sim_run(struct sim *sim, struct instant until)
{
    for (;;) {
        struct instant timer = timers_next(&sim->timers), packet = TIMERS_NEVER;
        struct timer *due;

        if (sim->packet_count)
            packet = sim->heap[0]->when;
        if (timer.ns > until.ns && packet.ns > until.ns)
            break;
        sim->now.ns = timer.ns < packet.ns ? (timer.ns > sim->now.ns ? timer.ns : sim->now.ns) : packet.ns;
        if (packet.ns <= timer.ns) {
            arrive(sim, pop(sim));
            continue;
        }
        due = timers_pop(&sim->timers, sim->now);
        if (due) {
            struct sim_agent *agent = (struct sim_agent *)((char *)due - offsetof(struct sim_agent, timer));

            agent->on_tick(agent->owner);
            sim_refresh(agent);
        }
    }
    sim->now = until;
}

void sim_run_for(struct sim *sim, int64_t ns)
{
    sim_run(sim, instant_add_ns(sim->now, ns));
}

/* ---- samples ---- */

void sim_sample(struct sim_samples *samples, int64_t ns)
{
    if (samples->count == samples->cap) {
        samples->cap = samples->cap ? 2 * samples->cap : 1024;
        samples->ns = realloc(samples->ns, samples->cap * sizeof(*samples->ns));
        assert(samples->ns);
    }
    samples->ns[samples->count++] = ns;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int64_t sim_quantile(struct sim_samples *samples, double q)
{
    assert(samples->count);
    qsort(samples->ns, samples->count, sizeof(*samples->ns), compare);
    return samples->ns[(size_t)((double)(samples->count - 1) * q)];
}
