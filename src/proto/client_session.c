/* A session in peace: heartbeats, silence, goodbyes. */
#include "proto/client_internal.h"

#define PING_AGAIN_NS    (100 * NS_PER_MS) /* after one that was not answered; doubles */
#define STOPPED_FIRST_NS (500 * NS_PER_MS)

/* Forgets the session, and what was on its way in it; the question stays. */
void client_session_end(struct client *client)
{
    client_question_unsent(client);
    window_leave(&client->set->window, &client->shake.waiter);
    seal_key_wipe(&client->session.key);
    client->session = (struct client_session){0};
}

static struct instant silent_at(const struct client *client)
{
    return instant_add_ns(client->session.last_heard, client->session.idle_timeout_ns);
}

struct instant client_session_next(const struct client *client)
{
    return instant_earlier(silent_at(client), client->session.ping_next);
}

static void send_ping(struct client *client, struct instant now)
{
    struct client_session *session = &client->session;
    struct message_ping ping = {.token = session->token};
    struct envelope envelope;

    session->ping_once = !session->ping_stamp;
    if (!session->ping_stamp)
        session->ping_stamp = random_next(&client->set->options.random) | 1;
    ping.stamp = session->ping_stamp;
    session->ping_sent = now;
    session->ping_delay_ns = session->ping_delay_ns ? 2 * session->ping_delay_ns : PING_AGAIN_NS;
    if (session->ping_delay_ns > session->heartbeat_ns)
        session->ping_delay_ns = session->heartbeat_ns;
    session->ping_next = instant_add_ns(
        now, session->ping_delay_ns / 2 + random_under(&client->set->options.random, session->ping_delay_ns));
    client_begin(client, &envelope, FRAME_PING, session->ping_stamp);
    message_put_ping(&envelope.writer, &ping);
    client_send(client, &envelope);
}

void client_session_due(struct client *client, struct instant now)
{
    if (silent_at(client).ns <= now.ns) {
        client->set->counters.sessions_silent++;
        client_shake(client, now, CLIENT_WHY_SILENT);
        return;
    }
    if (client->session.ping_next.ns <= now.ns)
        send_ping(client, now);
}

enum client_input client_on_pong(struct client *client, struct instant now, struct reader body)
{
    struct client_session *session = &client->session;
    struct message_ping pong;

    if (message_get_pong(body, &pong) < 0)
        return CLIENT_INPUT_BAD_MESSAGE;
    if (client->state != CLIENT_UP || pong.token != session->token || !session->ping_stamp ||
        pong.stamp != session->ping_stamp)
        return CLIENT_INPUT_UNEXPECTED;
    if (session->ping_once)
        client_measured(client, now, instant_since_ns(now, session->ping_sent));
    client_heard(client, now);
    return CLIENT_INPUT_TAKEN;
}

enum client_input client_on_goodbye(struct client *client, struct instant now, struct reader body)
{
    struct message_goodbye goodbye;

    if (message_get_goodbye(body, &goodbye) < 0)
        return CLIENT_INPUT_BAD_MESSAGE;
    if (client->state != CLIENT_UP || goodbye.token != client->session.token)
        return CLIENT_INPUT_UNEXPECTED;
    if (goodbye.reason == GOODBYE_IDLE && client->question.asking) {
        client_shake(client, now, CLIENT_WHY_DROPPED);
        return CLIENT_INPUT_TAKEN;
    }
    if (goodbye.reason == GOODBYE_IDLE) {
        client_session_end(client);
        client_change(client, CLIENT_OFF, CLIENT_WHY_DROPPED);
        return CLIENT_INPUT_TAKEN;
    }
    client_shake_later(client, now, CLIENT_STOPPED, STOPPED_FIRST_NS);
    client_change(client, CLIENT_STOPPED, CLIENT_WHY_GOODBYE);
    return CLIENT_INPUT_TAKEN;
}

void client_close(struct client *client, struct instant now, enum goodbye_reason reason)
{
    struct message_goodbye goodbye = {.token = client->session.token, .reason = (uint8_t)reason};
    struct envelope envelope;

    if (client->state == CLIENT_OFF)
        return;
    client_enter(client->set);
    if (client->state == CLIENT_UP) {
        client_begin(client, &envelope, FRAME_GOODBYE, 0);
        message_put_goodbye(&envelope.writer, &goodbye);
        client_send(client, &envelope);
    }
    client_session_end(client);
    client->question.asking = false;
    if (!client->gone)
        client_change(client, CLIENT_OFF, CLIENT_WHY_ASKED);
    client_schedule(client);
    client_leave(client->set, now);
}
