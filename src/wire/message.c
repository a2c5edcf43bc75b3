/* Sizes and names of all messages, and the rule against amplification. */
#include "wire/message.h"

#include "wire/message_format.h"
#include "wire/seal.h"

/* The longest part of a message: what is left of a frame that is sealed. */
#define BODY_MAX (FRAME_BODY_MAX - SEAL_OVERHEAD)

struct message_info {
    const char *name;
    uint32_t body_min, body_max;
};

/* A text? of at most so many bytes. */
#define TEXT_SIZE(max) ((max) + ((max) < 127 ? 1u : (max) < 16383 ? 2u : 3u))

static const struct message_info infos[256] = {
    [FRAME_SNAPSHOT] = {"SNAPSHOT", 35, FRAME_BODY_MAX},
    [FRAME_INTEREST] = {"INTEREST", 1, 10},
    [FRAME_HELLO] = {"HELLO", HELLO_BODY_SIZE, HELLO_BODY_SIZE},
    [FRAME_CHALLENGE] = {"CHALLENGE", 24, 24},
    [FRAME_WELCOME] = {"WELCOME", 66, BODY_MAX},
    [FRAME_REFUSE] = {"REFUSE", 11, 11},
    [FRAME_QUERY] = {"QUERY", 28, 28},
    [FRAME_REPLY] = {"REPLY", 54, BODY_MAX},
    [FRAME_RESEND] = {"RESEND", 19, 18 + MESSAGE_BITMAP_MAX},
    [FRAME_GOODBYE] = {"GOODBYE", 9, 9},
    [FRAME_PING] = {"PING", 16, 16},
    [FRAME_PONG] = {"PONG", 16, 16},
    [FRAME_ANNOUNCE] = {"ANNOUNCE", ANNOUNCE_BODY_MIN, 38 + TEXT_SIZE(MESSAGE_TEXT_MAX) + 2},
    [FRAME_PROBE] = {"PROBE", PROBE_BODY_MIN, 21 + MESSAGE_BLOOM_MAX + 2},
    [FRAME_VIEW_QUERY] = {"VIEW_QUERY", 9, 8 + TEXT_SIZE(MESSAGE_FILTER_MAX) + 4 * MESSAGE_USERS_MAX},
    [FRAME_VIEW_NODE] = {"VIEW_NODE", 12, BODY_MAX},
    [FRAME_VIEW_END] = {"VIEW_END", 14, 14},
    [FRAME_API_ERROR] = {"API_ERROR", 2, 1 + TEXT_SIZE(MESSAGE_ERROR_MAX)},
    [FRAME_FORGET] = {"FORGET", 2, TEXT_SIZE(MESSAGE_FILTER_MAX)},
    [FRAME_FORGOTTEN] = {"FORGOTTEN", 8, 8},
};

_Static_assert(PROBE_BODY_MIN == 38 + TEXT_SIZE(MESSAGE_TEXT_MAX) + 2,
               "a probe is as long as any announce that answers it");

size_t message_body_min(uint8_t type)
{
    return infos[type].body_min;
}

size_t message_body_max(uint8_t type)
{
    return infos[type].body_max;
}

const char *message_type_name(uint8_t type)
{
    return infos[type].name ? infos[type].name : "unknown";
}

bool message_may_answer_stranger(uint8_t request, uint8_t reply)
{
    switch (request) {
    case FRAME_HELLO:
        return reply == FRAME_CHALLENGE || reply == FRAME_REFUSE;
    case FRAME_QUERY:
    case FRAME_RESEND:
    case FRAME_PING:
        return reply == FRAME_REFUSE;
    case FRAME_PROBE:
        return reply == FRAME_ANNOUNCE;
    case FRAME_ANNOUNCE:
        return reply == FRAME_HELLO;
    default:
        return false;
    }
}
