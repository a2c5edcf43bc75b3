#include "host/users.h"

#include "core/cleanup.h"
#include "host/name_worker.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>

#define NAME_TTL_NS    (600 * NS_PER_S)
#define NO_NAME_TTL_NS (60 * NS_PER_S)
#define SLOTS_FIRST    32
#define PASSWD_BUF_MAX (256 * 1024) /* an entry's text; a few hundred bytes as a rule */

struct user_entry {
    bool used;
    bool pending; /* being looked up */
    uint32_t uid;
    struct instant asked, expires;
    char *name; /* NULL: not known (yet) */
};

struct users {
    struct name_worker *worker;
    struct user_entry *slots; /* open addressing; at least half are free, none is ever removed alone */
    uint32_t slot_count;      /* a power of two */
    uint32_t used_count;
};

/* ---- the system's lookups ---- */

/* Calls getpwuid_r or, if name is not NULL, getpwnam_r, with a buffer that is large enough. */
static int get_passwd(uint32_t uid, const char *name, struct passwd *entry, char **ret_buf)
{
    for (size_t cap = 1024; cap <= PASSWD_BUF_MAX; cap *= 2) {
        _cleanup_(cleanup_free) char *buf = malloc(cap);
        struct passwd *found = NULL;
        int r;

        if (!buf)
            return -ENOMEM;
        r = name ? getpwnam_r(name, entry, buf, cap, &found) : getpwuid_r(uid, entry, buf, cap, &found);
        if (r == ERANGE)
            continue;
        if (!found && (r == 0 || r == ENOENT || r == ESRCH || r == EBADF || r == EPERM))
            return -ENOENT; /* getpwnam(3): all of these are in use for "no such user" */
        if (!found)
            return -r;
        *ret_buf = steal_pointer(&buf);
        return 0;
    }
    return -ERANGE;
}

static int system_name_of(void *context, uint32_t uid, char name[static USER_NAME_MAX + 1])
{
    _cleanup_(cleanup_free) char *buf = NULL;
    struct passwd entry;
    int r = get_passwd(uid, NULL, &entry, &buf);

    (void)context;
    if (r < 0)
        return r;
    if (!*entry.pw_name || strlen(entry.pw_name) > USER_NAME_MAX)
        return -ENOENT;
    strcpy(name, entry.pw_name);
    return 0;
}

static int system_uid_of(void *context, const char *name, uint32_t *ret_uid)
{
    _cleanup_(cleanup_free) char *buf = NULL;
    struct passwd entry;
    int r = get_passwd(0, name, &entry, &buf);

    (void)context;
    if (r < 0)
        return r;
    *ret_uid = entry.pw_uid;
    return 0;
}

static const struct users_lookup system_lookup = {.name_of = system_name_of, .uid_of = system_uid_of};

/* ---- the cache ---- */

int users_new(const struct users_lookup *lookup, struct users **ret_users)
{
    struct users *users = calloc(1, sizeof(*users));
    int r;

    if (!users)
        return -ENOMEM;
    users->slots = calloc(SLOTS_FIRST, sizeof(*users->slots));
    users->slot_count = SLOTS_FIRST;
    r = users->slots ? name_worker_new(lookup ? lookup : &system_lookup, &users->worker) : -ENOMEM;
    if (r < 0) {
        users_free(users);
        return r;
    }
    *ret_users = users;
    return 0;
}

static void forget_all(struct users *users)
{
    for (uint32_t i = 0; users->slots && i < users->slot_count; i++) {
        free(users->slots[i].name);
        users->slots[i] = (struct user_entry){0};
    }
    users->used_count = 0;
}

void users_free(struct users *users)
{
    if (!users)
        return;
    name_worker_release(users->worker);
    forget_all(users);
    free(users->slots);
    free(users);
}

/* The entry of uid, or the free slot where it belongs. */
static struct user_entry *slot_of(struct user_entry *slots, uint32_t slot_count, uint32_t uid)
{
    uint32_t i = uid & (slot_count - 1);

    while (slots[i].used && slots[i].uid != uid)
        i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

static bool widen(struct users *users)
{
    uint32_t wide_count = users->slot_count * 2;
    struct user_entry *wide = calloc(wide_count, sizeof(*wide));

    if (!wide)
        return false;
    for (uint32_t i = 0; i < users->slot_count; i++) {
        if (users->slots[i].used)
            *slot_of(wide, wide_count, users->slots[i].uid) = users->slots[i];
    }
    free(users->slots);
    users->slots = wide;
    users->slot_count = wide_count;
    return true;
}

/* The entry of uid, made if there is none; NULL without memory. */
static struct user_entry *get_entry(struct users *users, uint32_t uid)
{
    struct user_entry *entry = slot_of(users->slots, users->slot_count, uid);

    if (entry->used)
        return entry;
    if (users->used_count >= USERS_MAX_CACHED)
        forget_all(users);
    if (users->used_count >= users->slot_count / 2 && !widen(users))
        return NULL;
    entry = slot_of(users->slots, users->slot_count, uid);
    *entry = (struct user_entry){.used = true, .uid = uid};
    users->used_count++;
    return entry;
}

static void note_answer(struct users *users, const struct name_request *answer)
{
    struct user_entry *entry = slot_of(users->slots, users->slot_count, answer->uid);
    char *name = NULL;

    if (answer->kind != NAME_OF_UID || !entry->used)
        return;
    if (answer->result == 0)
        name = strdup(answer->name);
    entry->pending = false;
    entry->expires = instant_add_ns(entry->asked, name ? NAME_TTL_NS : NO_NAME_TTL_NS);
    if (!name && answer->result != -ENOENT)
        return; /* the name service failed: an old name is better than none */
    free(entry->name);
    entry->name = name;
}

/* Takes in the answers. Returns whether `awaited` is among them, and then its result and uid. */
static bool collect(struct users *users, const struct name_request *awaited, int *ret_result,
                    uint32_t *ret_uid)
{
    struct name_request *answer = name_worker_collect(users->worker);
    bool found = false;

    while (answer) {
        struct name_request *next = answer->next;

        note_answer(users, answer);
        if (awaited && answer == awaited) {
            found = true;
            *ret_result = answer->result;
            *ret_uid = answer->uid;
        }
        free(answer);
        answer = next;
    }
    return found;
}

void users_want(struct users *users, uint32_t uid, struct instant now)
{
    struct user_entry *entry;
    struct name_request *request;

    collect(users, NULL, NULL, NULL);
    entry = get_entry(users, uid);
    if (!entry || entry->pending || instant_since_ns(entry->expires, now) > 0)
        return;
    request = calloc(1, sizeof(*request));
    if (!request)
        return;
    request->kind = NAME_OF_UID;
    request->uid = uid;
    if (name_worker_submit(users->worker, request) < 0) {
        free(request);
        return; /* asked for again by the next call */
    }
    entry->pending = true;
    entry->asked = now;
}

bool users_wait(struct users *users, struct instant deadline)
{
    bool idle;

    do {
        idle = name_worker_wait(users->worker, deadline);
        collect(users, NULL, NULL, NULL);
    } while (!idle && instant_since_ns(deadline, clock_now()) > 0);
    return idle;
}

const char *users_name(const struct users *users, uint32_t uid)
{
    const struct user_entry *entry = slot_of(users->slots, users->slot_count, uid);

    return entry->used ? entry->name : NULL;
}

/* Queues the lookup of a name. Returns 0 and the request, which now belongs to the worker. */
static int submit_name(struct users *users, struct text name, const struct name_request **ret_request)
{
    struct name_request *request = calloc(1, sizeof(*request));
    int r;

    if (!request)
        return -ENOMEM;
    request->kind = UID_OF_NAME;
    text_copy(name, request->name, sizeof(request->name));
    r = name_worker_submit(users->worker, request);
    if (r < 0)
        free(request);
    else
        *ret_request = request;
    return r;
}

int users_uid_of(struct users *users, struct text name, struct instant deadline, uint32_t *ret_uid)
{
    const struct name_request *request;
    unsigned long long number;
    uint32_t uid;
    int r = text_parse_decimal(name, UINT32_MAX - 1, &number), result; /* the last one means "no user" */

    if (r == 0) {
        *ret_uid = (uint32_t)number;
        return USERS_FOUND;
    }
    if (r == -ERANGE || !name.len || name.len > USER_NAME_MAX || memchr(name.bytes, '\0', name.len))
        return USERS_UNKNOWN;
    r = submit_name(users, name, &request);
    if (r < 0)
        return r;
    while (!collect(users, request, &result, &uid)) {
        if (instant_since_ns(deadline, clock_now()) <= 0)
            return -ETIMEDOUT; /* the answer, when it comes, is freed by a later collect() */
        name_worker_wait(users->worker, deadline);
    }
    if (result == 0)
        *ret_uid = uid;
    return result == -ENOENT ? USERS_UNKNOWN : result;
}

uid_t users_service_uid(void)
{
    _cleanup_(cleanup_fclose) FILE *file = fopen("/etc/passwd", "re");
    struct passwd *entry;

    while (file && (entry = fgetpwent(file)))
        if (strcmp(entry->pw_name, USERS_SERVICE_USER) == 0)
            return entry->pw_uid;
    return (uid_t)-1;
}
