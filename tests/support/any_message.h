/* Messages of any type for tests: random ones, and decoding by number. */
#ifndef SUPPORT_ANY_MESSAGE_H
#define SUPPORT_ANY_MESSAGE_H

#include "support/random_snapshot.h"
#include "wire/message.h"

/* The types that have a body of wire/message.h. */
extern const uint8_t message_types[];
extern const unsigned message_type_count;

/* Appends the body of a random message of this type. */
void put_random_message(struct random *random, uint8_t type, struct writer *writer);

/* Decodes a body, and if that works encodes it again. Returns what the decoder returned; -ENOENT for other
 * types. */
int recode_message(uint8_t type, struct reader body, struct writer *writer);

#endif
