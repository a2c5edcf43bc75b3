/* Words about clients, for people. */
#include "proto/client_internal.h"

#include <stdio.h>

static const char *const input_names[CLIENT_INPUTS] = {
    [CLIENT_INPUT_TAKEN] = "taken",
    [CLIENT_INPUT_PART] = "part",
    [CLIENT_INPUT_STRANGER] = "stranger",
    [CLIENT_INPUT_BAD_CHUNK] = "bad_chunk",
    [CLIENT_INPUT_OTHER_VERSION] = "other_version",
    [CLIENT_INPUT_DUPLICATE] = "duplicate",
    [CLIENT_INPUT_CONFLICT] = "conflict",
    [CLIENT_INPUT_BAD_FRAME] = "bad_frame",
    [CLIENT_INPUT_UNSEALED] = "unsealed",
    [CLIENT_INPUT_SEALED] = "sealed",
    [CLIENT_INPUT_BAD_SEAL] = "bad_seal",
    [CLIENT_INPUT_REPLAYED] = "replayed",
    [CLIENT_INPUT_BAD_TYPE] = "bad_type",
    [CLIENT_INPUT_BAD_MESSAGE] = "bad_message",
    [CLIENT_INPUT_UNEXPECTED] = "unexpected",
};

const char *client_input_name(enum client_input input)
{
    return input_names[input];
}

/* "1" or "1 to 3" */
static void put_versions(char *buf, size_t cap, unsigned min, unsigned max)
{
    if (min == max)
        snprintf(buf, cap, "%u", min);
    else
        snprintf(buf, cap, "%u to %u", min, max);
}

static void put_version_problem(const struct client *client, char *buf, size_t cap)
{
    char theirs[16], ours[16];

    put_versions(theirs, sizeof(theirs), client->their_version_min, client->their_version_max);
    put_versions(ours, sizeof(ours), PROTOCOL_VERSION_MIN, PROTOCOL_VERSION_MAX);
    snprintf(buf, cap, "the server speaks protocol version %s, this backend %s: upgrade the older one",
             theirs, ours);
}

static void put_refusal(const struct client *client, char *buf, size_t cap)
{
    switch (client->refusal) {
    case 0:
        buf[0] = '\0';
        break;
    case REFUSE_NOT_ALLOWED:
        snprintf(buf, cap, "refused by security.allow of the server");
        break;
    case REFUSE_VERSION:
        put_version_problem(client, buf, cap);
        break;
    case REFUSE_FULL:
        snprintf(buf, cap, "refused: the server has reached its max_connections");
        break;
    case REFUSE_SEALED_ONLY:
        snprintf(buf, cap, "refused: the server has a security.key_file, this backend has none");
        break;
    case REFUSE_RATE:
        snprintf(buf, cap, "refused: too many requests from this address");
        break;
    default:
        snprintf(buf, cap, "refused by the server (reason %u)", client->refusal);
    }
}

char *client_problem(const struct client *client, char buf[static CLIENT_PROBLEM_SIZE])
{
    if (client->state == CLIENT_UP || client->state == CLIENT_OFF)
        buf[0] = '\0';
    else if (client->their_frame_version)
        snprintf(buf, CLIENT_PROBLEM_SIZE,
                 "the server's frames have version %u, ours %u: upgrade the older one",
                 client->their_frame_version, FRAME_VERSION);
    else if (client->seal_mismatch)
        snprintf(buf, CLIENT_PROBLEM_SIZE, "security.key_file differs between server and backend");
    else
        put_refusal(client, buf, CLIENT_PROBLEM_SIZE);
    return buf;
}
