/* Shaking hands: HELLO, CHALLENGE, WELCOME and what may come instead. */
#include "proto/client_internal.h"

#include <string.h>

/*
 * HELLOs to servers that do not answer come at least HELLO_EVERY_NS apart, and so far apart that all of a
 * set's together make at most one per HELLO_SHARE_NS: a few dead nodes are noticed to be back at once, a
 * thousand make no storm.
 */
#define HELLO_EVERY_NS      (500 * NS_PER_MS)
#define HELLO_SHARE_NS      (10 * NS_PER_MS)
#define HELLO_WITH_PLACE_NS (80 * NS_PER_MS)
#define KICK_EVERY_NS       (250 * NS_PER_MS)
#define KICK_REFUSED_NS     (15 * NS_PER_S)
#define SHORT_SESSION_NS    NS_PER_S /* one that ended sooner is not followed by the next at once */
#define REFUSED_LONG_NS     (30 * NS_PER_S)
#define REFUSED_SHORT_NS    (2 * NS_PER_S)

static int64_t jittered(struct client *client, int64_t ns)
{
    return ns - ns / 4 + random_under(&client->set->options.random, ns / 2 + 1);
}

static int64_t longest_delay(const struct client *client)
{
    int64_t longest = (int64_t)client->set->unreached * HELLO_SHARE_NS;

    if (longest < HELLO_EVERY_NS)
        return HELLO_EVERY_NS;
    return longest < CLIENT_HELLO_MAX_NS ? longest : CLIENT_HELLO_MAX_NS;
}

static void transmit_hello(struct client *client, struct instant now)
{
    struct client_shake *shake = &client->shake;
    struct message_hello hello = {
        .version_min = PROTOCOL_VERSION_MIN,
        .version_max = PROTOCOL_VERSION_MAX,
        .nonce = shake->nonce,
        .instance = client->set->options.instance,
        .has_cookie = shake->has_cookie,
    };
    struct envelope envelope;

    memcpy(hello.cookie, shake->cookie, sizeof(hello.cookie));
    client_begin(client, &envelope, FRAME_HELLO, shake->nonce);
    message_put_hello(&envelope.writer, &hello);
    client->set->counters.hellos++;
    shake->last_sent = now;
    shake->sent++;
    client_send(client, &envelope);
}

/*
 * Says HELLO as soon as there is room for the answer; a thousand servers at a time answer as many questions.
 * Those who seem to be dead are asked slowly, and keep no places.
 */
static void send_hello(struct client *client, struct instant now)
{
    struct client_shake *shake = &client->shake;

    if (shake->waiter.next)
        return;
    window_leave(&client->set->window, &shake->waiter);
    if (client->peer.stream || shake->delay_ns > HELLO_WITH_PLACE_NS ||
        window_ask(&client->set->window, &shake->waiter, 1))
        transmit_hello(client, now);
}

void client_shake_granted(struct client *client, struct instant now)
{
    client->shake.next = instant_add_ns(now, jittered(client, client->shake.delay_ns));
    transmit_hello(client, now);
}

static int64_t first_delay(const struct client *client)
{
    return client->tentative ? CLIENT_HELLO_TENTATIVE_NS : CLIENT_HELLO_FIRST_NS;
}

/* A handshake from its beginning, with numbers of its own. */
static void restart(struct client *client, struct instant now)
{
    window_leave(&client->set->window, &client->shake.waiter);
    client->shake = (struct client_shake){
        .nonce = random_next(&client->set->options.random),
        .delay_ns = first_delay(client),
        .begun = now,
        .next = now,
        .once = true,
        .waiter = {.owner = client},
    };
}

/* Opens a connection, and once it is there (or with datagrams: at once) says HELLO. */
static void begin(struct client *client, struct instant now, enum client_why why)
{
    restart(client, now);
    if (!client->peer.stream) {
        client_change(client, CLIENT_SHAKING, why);
        return;
    }
    client->shake.next = TIMERS_NEVER;
    client_change(client, CLIENT_OPENING, why);
    if (client->state == CLIENT_OPENING)
        client->set->events.on_open(client->set->events.userdata, client);
}

/* Shakes hands; what there was of a session ends. */
void client_shake(struct client *client, struct instant now, enum client_why why)
{
    bool was_short = client->session.token && instant_since_ns(now, client->session.begun) < SHORT_SESSION_NS;

    client_session_end(client);
    if (was_short && client->peer.stream) {
        client_shake_later(client, now, CLIENT_OPENING, SHORT_SESSION_NS);
        client_change(client, CLIENT_OPENING, why);
        return;
    }
    begin(client, now, why);
    if (was_short && client->state == CLIENT_SHAKING)
        client->shake.next = instant_add_ns(now, jittered(client, SHORT_SESSION_NS / 4));
}

/* The same, after a while, in which the state is `state` (which the caller announces). */
void client_shake_later(struct client *client, struct instant now, enum client_state state, int64_t delay_ns)
{
    client_session_end(client);
    restart(client, now);
    client->state = state;
    client->shake.delay_ns = delay_ns;
    client->shake.next = instant_add_ns(now, jittered(client, delay_ns));
}

/* It is time for a HELLO, or for a connection. */
void client_shake_due(struct client *client, struct instant now)
{
    struct client_shake *shake = &client->shake;

    if (client->state == CLIENT_OPENING) {
        shake->next = TIMERS_NEVER;
        client->set->events.on_open(client->set->events.userdata, client);
        return;
    }
    if (client->peer.stream) {
        client_shake(client, now, client->state == CLIENT_SHAKING ? CLIENT_WHY_SILENT : CLIENT_WHY_ASKED);
        return;
    }
    shake->once = !shake->sent;
    shake->answered_challenge = false;
    shake->next = instant_add_ns(now, jittered(client, shake->delay_ns));
    shake->delay_ns *= 2;
    if (shake->delay_ns > longest_delay(client))
        shake->delay_ns = longest_delay(client);
    send_hello(client, now);
}

/* Over a stream nothing gets lost: no HELLO is said twice, but an answer must come. */
void client_stream_opened(struct client *client, struct instant now)
{
    if (client->state != CLIENT_OPENING)
        return;
    client_enter(client->set);
    restart(client, now);
    client->shake.next = instant_add_ns(now, client->set->options.idle_timeout_ns);
    client_change(client, CLIENT_SHAKING, CLIENT_WHY_ASKED);
    if (client->state == CLIENT_SHAKING)
        send_hello(client, now);
    client_schedule(client);
    client_leave(client->set, now);
}

void client_stream_closed(struct client *client, struct instant now)
{
    int64_t delay_ns = client->state == CLIENT_OPENING ? 2 * client->shake.delay_ns : CLIENT_HELLO_FIRST_NS;

    if (client->state != CLIENT_OPENING && client->state != CLIENT_SHAKING && client->state != CLIENT_UP)
        return;
    client_enter(client->set);
    if (client->session.token && instant_since_ns(now, client->session.begun) < SHORT_SESSION_NS)
        delay_ns = SHORT_SESSION_NS;
    client_shake_later(client, now, CLIENT_OPENING,
                       delay_ns < longest_delay(client) ? delay_ns : longest_delay(client));
    client_change(client, CLIENT_OPENING, CLIENT_WHY_DISCONNECTED);
    client_schedule(client);
    client_leave(client->set, now);
}

void client_start(struct client *client, struct instant now)
{
    if (client->state != CLIENT_OFF || client->gone)
        return;
    client_enter(client->set);
    client_shake(client, now, CLIENT_WHY_ASKED);
    if (client->state == CLIENT_SHAKING)
        client_shake_due(client, now);
    client_schedule(client);
    client_leave(client->set, now);
}

void client_start_tentative(struct client *client, struct instant now)
{
    client->tentative = true;
    client_start(client, now);
}

void client_kick(struct client *client, struct instant now)
{
    int64_t pause_ns = client->state == CLIENT_REFUSED ? KICK_REFUSED_NS : KICK_EVERY_NS;
    bool waits = client->state == CLIENT_REFUSED || client->state == CLIENT_STOPPED ||
                 client->state == CLIENT_SHAKING || client->state == CLIENT_OPENING;

    if (!waits || client->shake.next.ns == TIMERS_NEVER.ns ||
        (client->peer.stream && client->state == CLIENT_SHAKING) ||
        (client->state == CLIENT_REFUSED && instant_since_ns(now, client->shake.begun) < pause_ns) ||
        (client->shake.sent && instant_since_ns(now, client->shake.last_sent) < pause_ns))
        return;
    client->shake.delay_ns = first_delay(client);
    client->shake.next = now;
    client_schedule(client);
}

static bool waits_for_answer(const struct client *client)
{
    return client->shake.sent && (client->state == CLIENT_SHAKING || client->state == CLIENT_STOPPED ||
                                  client->state == CLIENT_REFUSED);
}

static void measure(struct client *client, struct instant now)
{
    if (client->shake.once)
        client_measured(client, now, instant_since_ns(now, client->shake.last_sent));
}

enum client_input client_on_challenge(struct client *client, struct instant now, struct reader body)
{
    struct client_shake *shake = &client->shake;
    struct message_challenge challenge;

    if (message_get_challenge(body, &challenge) < 0)
        return CLIENT_INPUT_BAD_MESSAGE;
    if (!waits_for_answer(client) || challenge.nonce != shake->nonce)
        return CLIENT_INPUT_UNEXPECTED;
    window_came(&client->set->window, now, &shake->waiter);
    memcpy(shake->cookie, challenge.cookie, sizeof(shake->cookie));
    shake->has_cookie = true;
    client->tentative = false;
    client->seal_mismatch = false;
    client->their_frame_version = 0;
    /* Once per HELLO of the timer: a server that likes no cookie must not get one per round trip. */
    if (shake->answered_challenge)
        return CLIENT_INPUT_TAKEN;
    shake->answered_challenge = true;
    client_sign_of_life(client);
    if (client->gone || client->state == CLIENT_OFF)
        return CLIENT_INPUT_TAKEN;
    measure(client, now);
    shake->once = true;
    shake->delay_ns = CLIENT_HELLO_FIRST_NS;
    shake->next = instant_add_ns(now, jittered(client, shake->delay_ns));
    send_hello(client, now);
    return CLIENT_INPUT_TAKEN;
}

static enum client_why why_up(const struct client *client, const struct message_node *node)
{
    if (!client->has_node)
        return CLIENT_WHY_WELCOME;
    if (memcmp(client->node.identity, node->identity, IDENTITY_SIZE) != 0)
        return CLIENT_WHY_OTHER_NODE;
    return client->node.instance == node->instance ? CLIENT_WHY_WELCOME : CLIENT_WHY_RESTARTED;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void begin_session(struct client *client, struct instant now, const struct message_welcome *welcome,
                          const struct seal_key *key)
{
    const struct client_set_options *options = &client->set->options;
    struct client_session *session = &client->session;
    int64_t theirs = (int64_t)welcome->idle_timeout_ms * NS_PER_MS;

    *session = (struct client_session){.token = welcome->token, .begun = now, .sealed = key != NULL};
    if (key)
        seal_key_derive(&session->key, key, welcome->nonce, welcome->server_nonce);
    session->idle_timeout_ns = options->idle_timeout_ns;
    session->heartbeat_ns = at_most(options->heartbeat_ns, options->idle_timeout_ns / 2);
    if (theirs)
        session->heartbeat_ns = at_most(session->heartbeat_ns, theirs / 2);
    if (session->heartbeat_ns < 100 * NS_PER_MS)
        session->heartbeat_ns = 100 * NS_PER_MS;
    client->node = welcome->node;
    client->has_node = true;
    client->refusal = 0;
    client->seal_mismatch = false;
    client->their_frame_version = 0;
}

enum client_input client_on_welcome(struct client *client, struct instant now, struct reader body,
                                    const struct seal_key *key)
{
    struct client_set *set = client->set;
    struct message_welcome welcome;
    enum client_why why;

    if (message_get_welcome(body, &welcome) < 0)
        return CLIENT_INPUT_BAD_MESSAGE;
    if (!waits_for_answer(client) || welcome.nonce != client->shake.nonce)
        return CLIENT_INPUT_UNEXPECTED;
    if (welcome.version < PROTOCOL_VERSION_MIN || welcome.version > PROTOCOL_VERSION_MAX)
        return CLIENT_INPUT_OTHER_VERSION;
    window_came(&client->set->window, now, &client->shake.waiter);
    measure(client, now);
    why = why_up(client, &welcome.node);
    begin_session(client, now, &welcome, key);
    set->counters.sessions++;
    client->state = CLIENT_UP;
    client_heard(client, now);
    if (!client->gone && set->events.on_welcome)
        set->events.on_welcome(set->events.userdata, client, &welcome);
    if (!client->gone && client->state == CLIENT_UP)
        client_change(client, CLIENT_UP, why);
    if (client->state == CLIENT_UP && client->question.asking && !client->question.sent)
        client_question_send(client, now);
    return CLIENT_INPUT_TAKEN;
}

/* How long a refusal is taken for an answer. */
static int64_t refusal_delay(uint8_t reason)
{
    return reason == REFUSE_FULL || reason == REFUSE_RATE ? REFUSED_SHORT_NS : REFUSED_LONG_NS;
}

static bool answers_us(const struct client *client, const struct message_refuse *refuse)
{
    if (waits_for_answer(client))
        return refuse->echo == client->shake.nonce;
    return client->state == CLIENT_UP &&
           ((client->question.asking && client->question.sent &&
             refuse->echo == client->question.request_id) ||
            (client->session.ping_stamp && refuse->echo == client->session.ping_stamp));
}

enum client_input client_on_refuse(struct client *client, struct instant now, struct reader body)
{
    struct message_refuse refuse;
    bool is_news;

    if (message_get_refuse(body, &refuse) < 0)
        return CLIENT_INPUT_BAD_MESSAGE;
    if (!answers_us(client, &refuse))
        return CLIENT_INPUT_UNEXPECTED;
    if (refuse.reason == REFUSE_UNKNOWN_SESSION) {
        if (client->state != CLIENT_UP)
            return CLIENT_INPUT_UNEXPECTED;
        client_shake(client, now, CLIENT_WHY_UNKNOWN_SESSION);
        return CLIENT_INPUT_TAKEN;
    }
    if (refuse.reason == REFUSE_RATE && client->state == CLIENT_UP)
        return CLIENT_INPUT_TAKEN; /* what was asked is asked again, as if it were lost */
    is_news = client->state != CLIENT_REFUSED || client->refusal != refuse.reason;
    client->refusal = refuse.reason;
    client->their_version_min = refuse.version_min;
    client->their_version_max = refuse.version_max;
    client_shake_later(client, now, CLIENT_REFUSED, refusal_delay(refuse.reason));
    client_sign_of_life(client);
    if (is_news && client->state == CLIENT_REFUSED)
        client_change(client, CLIENT_REFUSED, CLIENT_WHY_REFUSED);
    return CLIENT_INPUT_TAKEN;
}
