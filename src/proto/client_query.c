/* Asking: the round trip, the window, what to ask again and when. */
#include "proto/client_internal.h"

/* So many RESENDs in a row without a chunk coming, and the whole is asked for again: the server may have
 * dropped what it kept. */
#define VAIN_RESENDS_MAX 3u

/* A reply may have lain so long at the server, which repeats its last one for PEERS_RESEND_NS. */
#define REPLY_KEPT_NS NS_PER_S

/* A reply with facts is taken to have at least so many chunks; how many is not known before the first. */
#define CHUNKS_WITH_FACTS 4u

/* Questions whose turn in the window never came within their deadline are then asked spread over this. */
#define LATE_SPREAD_NS (100 * NS_PER_MS)

/* Of a first try: the round trip and its variation, within bounds. */
static int64_t first_timeout(const struct client *client)
{
    int64_t spread_ns = 4 * client->variation_ns;

    if (!client->round_trip_ns)
        return CLIENT_TIMEOUT_FIRST_NS;
    if (spread_ns < NS_PER_MS)
        spread_ns = NS_PER_MS;
    if (client->round_trip_ns + spread_ns < CLIENT_TIMEOUT_MIN_NS)
        return CLIENT_TIMEOUT_MIN_NS;
    return client->round_trip_ns + spread_ns;
}

/* Of the next one. */
static int64_t longer_timeout(const struct client *client, int64_t timeout_ns)
{
    int64_t longest = 2 * client->round_trip_ns;

    if (client->question.slow) {
        timeout_ns *= 2;
        return timeout_ns < CLIENT_TIMEOUT_LATE_MAX_NS ? timeout_ns : CLIENT_TIMEOUT_LATE_MAX_NS;
    }
    if (longest < CLIENT_TIMEOUT_MAX_NS)
        longest = CLIENT_TIMEOUT_MAX_NS;
    timeout_ns += timeout_ns / 2;
    return timeout_ns < longest ? timeout_ns : longest;
}

static void send_query(struct client *client)
{
    struct client_question *question = &client->question;
    struct message_query query = {
        .token = client->session.token,
        .facts_hash = question->query.facts_hash,
        .process_generation = question->query.process_generation,
        .interval_us = question->query.interval_us,
    };
    struct client_counters *counters = &client->set->counters;
    struct envelope envelope;

    *(question->sends ? &counters->retries : &counters->queries) += 1;
    question->sends++;
    client_begin(client, &envelope, FRAME_QUERY, question->request_id);
    message_put_query(&envelope.writer, &query);
    client_send(client, &envelope);
}

static void send_resend(struct client *client, const struct reassembly_gaps *gaps)
{
    struct client_question *question = &client->question;
    struct message_resend resend = {
        .token = client->session.token,
        .request_id = question->request_id,
        .chunks = gaps->chunks,
    };
    struct envelope envelope;

    memcpy(resend.missing, gaps->missing, sizeof(resend.missing));
    client->set->counters.resends++;
    question->vain_resends++;
    question->resent = true;
    client_begin(client, &envelope, FRAME_RESEND, question->request_id);
    message_put_resend(&envelope.writer, &resend);
    client_send(client, &envelope);
}

/* Asks now: for what is missing, or for all. */
static void transmit(struct client *client, struct instant now)
{
    struct client_question *question = &client->question;
    struct reassembly_gaps gaps;
    int64_t timeout_ns = question->timeout_ns;

    if (question->slow)
        timeout_ns += random_under(&client->set->options.random, timeout_ns / 4 + 1);
    question->last_sent = now;
    question->retry = client->peer.stream ? TIMERS_NEVER : instant_add_ns(now, timeout_ns);
    if (!question->sends)
        question->first_sent = now;
    if (question->vain_resends < VAIN_RESENDS_MAX &&
        reassembly_gaps(client->set->reassembly, client->number, &gaps)) {
        send_resend(client, &gaps);
        return;
    }
    reassembly_forget(client->set->reassembly, client->number);
    question->vain_resends = 0;
    send_query(client);
}

/* Asks as soon as there is room for the answer. Late questions, few and slow, need none. */
static void request(struct client *client, struct instant now)
{
    struct client_question *question = &client->question;
    struct reassembly_gaps gaps;
    unsigned places = question->chunks;

    if (!question->query.facts_hash && places < CHUNKS_WITH_FACTS)
        places = CHUNKS_WITH_FACTS;
    if (reassembly_gaps(client->set->reassembly, client->number, &gaps))
        places = gaps.missing_count;
    if (client->peer.stream || question->slow ||
        window_ask(&client->set->window, &question->waiter, places ? places : 1))
        transmit(client, now);
}

void client_question_granted(struct client *client, struct instant now)
{
    transmit(client, now);
}

/* The question's first sending in this session. */
void client_question_send(struct client *client, struct instant now)
{
    struct client_question *question = &client->question;

    client_question_unsent(client);
    question->sent = true;
    question->timeout_ns = first_timeout(client);
    request(client, now);
}

/* Whatever was on its way is not coming: the session has ended, or none has begun. */
void client_question_unsent(struct client *client)
{
    struct client_question *question = &client->question;

    window_leave(&client->set->window, &question->waiter);
    reassembly_forget(client->set->reassembly, client->number);
    question->sent = question->resent = false;
    question->sends = question->vain_resends = 0;
}

static bool in_line(const struct client *client)
{
    return client->question.waiter.next != NULL;
}

/* A chunk came: the rest is near, or lost. */
void client_question_progress(struct client *client, struct instant now)
{
    struct client_question *question = &client->question;

    if (!question->asking || !question->sent)
        return;
    window_came(&client->set->window, now, &question->waiter);
    question->vain_resends = 0;
    question->timeout_ns = first_timeout(client);
    if (!in_line(client))
        question->retry = instant_add_ns(now, CLIENT_TIMEOUT_MIN_NS);
}

struct instant client_question_next(const struct client *client)
{
    const struct client_question *question = &client->question;
    struct instant next = TIMERS_NEVER;

    if (!question->asking)
        return next;
    if (question->waited)
        next = question->query.deadline;
    if (client->state == CLIENT_UP && question->sent && !in_line(client))
        next = instant_earlier(next, question->retry);
    return next;
}

static void become_late(struct client *client, struct instant now)
{
    struct client_question *question = &client->question;

    if (in_line(client))
        question->retry = instant_add_ns(now, random_under(&client->set->options.random, LATE_SPREAD_NS) + 1);
    window_leave(&client->set->window, &question->waiter);
    question->slow = true;
    question->waited = false;
    client->set->counters.deadlines_missed++;
    client->set->events.on_late(client->set->events.userdata, client);
}

void client_question_due(struct client *client, struct instant now)
{
    struct client_question *question = &client->question;

    if (question->asking && question->waited && question->query.deadline.ns <= now.ns)
        become_late(client, now);
    if (!question->asking || !question->sent || client->state != CLIENT_UP || in_line(client) ||
        question->retry.ns > now.ns)
        return;
    window_lost(&client->set->window, now, &question->waiter);
    question->timeout_ns = longer_timeout(client, question->timeout_ns);
    request(client, now);
}

/* A further asker of the question that is on its way. */
static void join(struct client *client, struct instant now, const struct client_query *query)
{
    struct client_question *question = &client->question;
    struct instant deadline = query->deadline;

    if (question->waited)
        deadline = question->query.deadline;
    question->query = *query;
    question->query.deadline = deadline;
    if (query->background || question->waited)
        return;
    question->waited = true;
    question->slow = false;
    question->timeout_ns = first_timeout(client);
    if (client->peer.stream)
        return;
    question->retry =
        instant_earlier(question->retry, instant_add_ns(question->last_sent, question->timeout_ns));
    if (question->retry.ns < now.ns)
        question->retry = now;
}

static void ask(struct client *client, struct instant now, const struct client_query *query)
{
    struct client_question *question = &client->question;

    question->asking = true;
    question->sent = false;
    question->query = *query;
    question->waited = !query->background;
    question->slow = query->background;
    question->allowed_ns = instant_since_ns(query->deadline, now);
    question->request_id = random_next(&client->set->options.random);
    if (client->state == CLIENT_UP)
        client_question_send(client, now);
    else
        client_start(client, now);
}

bool client_ask(struct client *client, struct instant now, const struct client_query *query)
{
    bool is_new = !client->question.asking;

    if (client->gone)
        return false;
    client_enter(client->set);
    if (is_new)
        ask(client, now, query);
    else
        join(client, now, query);
    client_schedule(client);
    client_leave(client->set, now);
    return is_new;
}

bool client_is_asking(const struct client *client)
{
    return client->question.asking;
}

/*
 * Which of its sendings a repeated question's reply belongs to shows when there is another reply: to the
 * first, and the repetition was in vain. Without this a server that is slower than the first time-out would
 * be asked twice for ever, since only replies to questions that were asked once are measured.
 */
static void learn_from_second_reply(struct client *client, struct instant now, uint64_t request_id)
{
    if (!client->repeated_request_id || client->repeated_request_id != request_id)
        return;
    client->repeated_request_id = 0;
    client_measured(client, now, client->repeated_round_trip_ns);
}

static void note_round_trip(struct client *client, struct instant now)
{
    const struct client_question *question = &client->question;

    client->repeated_request_id = 0;
    if (question->resent)
        return;
    if (question->sends == 1) {
        client_measured(client, now, instant_since_ns(now, question->last_sent));
        return;
    }
    client->repeated_request_id = question->request_id;
    client->repeated_round_trip_ns = instant_since_ns(now, question->first_sent);
}

enum client_input client_on_reply(struct client *client, struct instant now, uint64_t request_id,
                                  struct reader body, unsigned chunks)
{
    struct client_set *set = client->set;
    struct client_question *question = &client->question;
    struct client_reply reply;

    if (message_get_reply(body, &reply.message) < 0)
        return CLIENT_INPUT_BAD_MESSAGE;
    if (client->state != CLIENT_UP || reply.message.token != client->session.token)
        return CLIENT_INPUT_UNEXPECTED;
    if (!question->asking || !question->sent || question->request_id != request_id) {
        learn_from_second_reply(client, now, request_id);
        return CLIENT_INPUT_UNEXPECTED;
    }
    note_round_trip(client, now);
    window_came(&set->window, now, &question->waiter);
    reply.asked_at = instant_add_ns(now, -REPLY_KEPT_NS);
    if (question->first_sent.ns > reply.asked_at.ns)
        reply.asked_at = question->first_sent;
    reply.late = instant_since_ns(now, question->first_sent) > question->allowed_ns;
    *(reply.late ? &set->counters.late_replies : &set->counters.replies) += 1;
    question->chunks = chunks;
    question->asking = false;
    client_question_unsent(client);
    client_heard(client, now);
    if (!client->gone)
        set->events.on_reply(set->events.userdata, client, &reply);
    return CLIENT_INPUT_TAKEN;
}
