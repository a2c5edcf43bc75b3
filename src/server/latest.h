/*
 * The node's latest snapshot, as bytes: what every answer is made of. It comes from the sampler; where there
 * is none to ask (paused, or not to be started) the server makes one that says why. Nothing but the small
 * node sections is ever decoded.
 */
#ifndef SERVER_LATEST_H
#define SERVER_LATEST_H

#include "core/clock.h"
#include "sampler/sampler.h"
#include "wire/message.h"
#include "wire/snapshot_parts.h"

struct latest;

/* hostname: the node's name, copied. Returns 0 or -ENOMEM. About 300 KB, and as much as snapshots are long.
 */
int latest_new(struct text hostname, struct latest **ret_latest);
void latest_free(struct latest *latest);

/* Takes a copy of the sampler's snapshot. Returns 0, -EBADMSG (the one before stays) or -ENOMEM. */
int latest_take(struct latest *latest, struct reader body, struct instant received);

/*
 * Makes a snapshot without devices that says why there are none; it does not grow old.
 * `why`: details for a person, absent if none. Returns 0 or -ENOMEM.
 */
int latest_take_fault(struct latest *latest, enum node_fault fault, struct text why);

/* When it was received; its age is 0 for one that was made here. False: there is none yet. */
bool latest_age_ns(const struct latest *latest, struct instant now, int64_t *ret_age_ns);

/* What the node's sections say. Borrowed until the next one is taken; false if there is none. */
bool latest_summary(const struct latest *latest, struct snapshot_summary *ret_summary);

/* For a WELCOME: hash and bytes of the facts; 0 and none if nothing was read yet. */
uint64_t latest_facts(const struct latest *latest, struct reader *ret_facts);

/*
 * The answer to a query: all but the token. Its parts are borrowed until the next call with this `latest`.
 * call: the driver call in progress, NULL if there is none; told in the answer if the snapshot is older.
 */
void latest_reply(struct latest *latest, const struct message_query *query, const struct sampler_call *call,
                  struct instant now, struct message_reply *ret_reply);

#endif
