/*
 * User names, looked up where nobody has to wait for them.
 *
 * A name service (LDAP, SSSD) can take seconds or hang for ever. So lookups run in a thread of their own,
 * one after another; the caller asks for names with users_want() and takes what is known with users_name(),
 * which reads the cache and nothing else. The thread is started when there is something to look up, ends when
 * nothing is left, and is never joined: a hung lookup delays neither users_free() nor the program's exit.
 *
 * Names are kept for 10 minutes, "no such user" for 1 minute; an old name goes on being shown while it is
 * looked up again, and after a lookup that failed. Not for use by several threads at once.
 */
#ifndef HOST_USERS_H
#define HOST_USERS_H

#include "core/clock.h"
#include "core/text.h"

#include <stdbool.h>
#include <sys/types.h>

#define USER_NAME_MAX     255  /* bytes without the NUL; longer names count as unknown */
#define USERS_MAX_CACHED  4096 /* beyond it the cache starts anew */
#define USERS_MAX_PENDING 1024 /* lookups waiting; further ones are asked for by a later users_want() */

/* How names are looked up. Called in the thread, so only with what outlives the program or never changes. */
struct users_lookup {
    /* Writes the name of uid. Returns 0, -ENOENT if there is no such user, or another negative errno. */
    int (*name_of)(void *context, uint32_t uid, char name[static USER_NAME_MAX + 1]);
    /* Writes the uid of a name. Returns as above. */
    int (*uid_of)(void *context, const char *name, uint32_t *ret_uid);
    void *context;
};

struct users;

/* lookup: NULL for the system's (getpwuid_r, getpwnam_r). Returns 0 or -ENOMEM. */
int users_new(const struct users_lookup *lookup, struct users **ret_users);
void users_free(struct users *users); /* accepts NULL; never waits */

/* Makes sure that the name is known soon, and takes in what the thread has found since the last call. */
void users_want(struct users *users, uint32_t uid, struct instant now);

/*
 * Waits until every wanted name was looked up, but no longer than until `deadline`.
 * Returns true if nothing is left to wait for.
 */
bool users_wait(struct users *users, struct instant deadline);

/*
 * The name as far as it is known, else NULL (show the number). Reads nothing but memory. The string lives
 * until the next users_want(), users_wait(), users_uid_of() or users_free().
 */
const char *users_name(const struct users *users, uint32_t uid);

/*
 * The uid of the user that the services run as, from /etc/passwd alone (a name service that hangs must keep
 * nobody waiting); (uid_t)-1 if there is none.
 */
#define USERS_SERVICE_USER "clustat"
uid_t users_service_uid(void);

enum users_outcome {
    USERS_FOUND = 0,
    USERS_UNKNOWN = 1, /* nobody has that name */
};

/*
 * The uid that a person means: a decimal number is taken as it is, a name is looked up until `deadline`.
 * Returns USERS_FOUND, USERS_UNKNOWN, -ETIMEDOUT, or another negative errno of the lookup.
 */
int users_uid_of(struct users *users, struct text name, struct instant deadline, uint32_t *ret_uid);

#endif
