#include "net/resolve.h"

#include "core/clock.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 253u /* RFC 1035, in text form */
#define BUCKETS      2048u

/* One name: its last answer, the lookup under way, and who waits for it. */
struct name_entry {
    struct name_entry *next; /* in its bucket */
    struct net_resolver *resolver;
    struct net_resolve_request *waiting;
    struct instant asked; /* last time */
    struct instant keep_until;
    bool running;
    uv_getaddrinfo_t lookup;
    int error;
    const char *text;
    size_t count;
    struct net_address addresses[NET_RESOLVE_ADDRESSES_CAP];
    char name[NAME_MAX_LEN + 1];
};

struct net_resolve_request {
    struct net_resolve_request **list; /* where it waits: its entry's, or the resolver's numeric ones */
    struct net_resolve_request *next;
    struct name_entry *entry; /* NULL: the answer is in `numeric` */
    struct net_address numeric;
    uv_timer_t timer; /* the deadline; or due at once where the answer is there */
    bool answer_ready;
    uint16_t port;
    void (*on_answer)(void *userdata, const struct net_resolve_answer *answer);
    void *userdata;
};

struct net_resolver {
    uv_loop_t *loop;
    bool closed;
    size_t running; /* lookups in threads: they keep a closed resolver alive */
    struct net_resolve_request *numeric;
    size_t count;
    struct name_entry *buckets[BUCKETS];
};

/* --- Names --- */

static struct name_entry **bucket_of(struct net_resolver *resolver, struct text name)
{
    uint32_t hash = 2166136261u; /* FNV-1a; names come from the administrator's own file */

    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (uint8_t)name.bytes[i]) * 16777619u;
    return &resolver->buckets[hash % BUCKETS];
}

static void free_entry(struct net_resolver *resolver, struct name_entry *entry)
{
    struct name_entry **link = bucket_of(resolver, text_from_string(entry->name));

    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    resolver->count--;
    free(entry);
}

static bool make_room(struct net_resolver *resolver)
{
    struct name_entry *oldest = NULL;

    if (resolver->count < NET_RESOLVE_NAMES_CAP)
        return true;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct name_entry *entry = resolver->buckets[i]; entry; entry = entry->next) {
            if (!entry->running && !entry->waiting &&
                (!oldest || instant_since_ns(entry->asked, oldest->asked) < 0))
                oldest = entry;
        }
    }
    if (oldest)
        free_entry(resolver, oldest);
    return oldest != NULL;
}

static int find_entry(struct net_resolver *resolver, struct text name, struct name_entry **ret_entry)
{
    struct name_entry **bucket = bucket_of(resolver, name);
    struct name_entry *entry;

    for (entry = *bucket; entry; entry = entry->next) {
        if (text_equal_string(name, entry->name)) {
            *ret_entry = entry;
            return 0;
        }
    }
    if (!make_room(resolver))
        return -ENOBUFS;
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return -ENOMEM;
    entry->resolver = resolver;
    entry->text = "";
    text_copy(name, entry->name, sizeof(entry->name));
    entry->next = *bucket;
    *bucket = entry;
    resolver->count++;
    *ret_entry = entry;
    return 0;
}

static void free_resolver(struct net_resolver *resolver)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        while (resolver->buckets[i])
            free_entry(resolver, resolver->buckets[i]);
    }
    free(resolver);
}

/* --- Requests --- */

static void request_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void add_request(struct net_resolve_request **list, struct net_resolve_request *request)
{
    request->list = list;
    request->next = *list;
    *list = request;
}

/* Takes the request out of its list; its memory goes with its timer. */
static void end_request(struct net_resolve_request *request)
{
    struct net_resolve_request **link = request->list;

    while (*link != request)
        link = &(*link)->next;
    *link = request->next;
    uv_close((uv_handle_t *)&request->timer, request_closed);
}

static void answer_request(struct net_resolve_request *request, bool late)
{
    struct net_address addresses[NET_RESOLVE_ADDRESSES_CAP];
    struct net_resolve_answer answer = {.text = "", .count = 1, .addresses = addresses};
    const struct name_entry *entry = request->entry;

    if (late) {
        answer.error = -ETIMEDOUT;
        answer.text = "the name service does not answer";
        answer.count = 0;
    } else if (entry) {
        answer.error = entry->error;
        answer.text = entry->text;
        answer.count = entry->count;
        memcpy(addresses, entry->addresses, sizeof(addresses));
    } else {
        addresses[0] = request->numeric;
    }
    for (size_t i = 0; i < answer.count; i++)
        addresses[i].port = request->port;
    end_request(request);
    request->on_answer(request->userdata, &answer);
}

static void timer_fired(uv_timer_t *timer)
{
    struct net_resolve_request *request = timer->data;

    answer_request(request, !request->answer_ready);
}

void net_resolve_cancel(struct net_resolve_request *request)
{
    end_request(request);
}

/* --- Lookups --- */

static int error_of(int status)
{
    switch (status) {
    case 0:
        return 0;
    case UV_EAI_NONAME:
    case UV_EAI_NODATA:
    case UV_EAI_ADDRFAMILY:
        return -ENOENT;
    case UV_EAI_AGAIN:
        return -EAGAIN;
    case UV_EAI_MEMORY:
        return -ENOMEM;
    default:
        return -EIO;
    }
}

/* Adds the results of one family; the resolver names each address once per socket type. */
static void add_family(struct name_entry *entry, const struct addrinfo *list, int family)
{
    for (; list && entry->count < NET_RESOLVE_ADDRESSES_CAP; list = list->ai_next) {
        struct net_address address;
        bool known = false;

        if (list->ai_family != family ||
            net_address_from_sockaddr(list->ai_addr, list->ai_addrlen, &address) < 0)
            continue;
        for (size_t i = 0; i < entry->count && !known; i++)
            known = net_address_same_host(&entry->addresses[i], &address);
        if (!known)
            entry->addresses[entry->count++] = address;
    }
}

static void store_answer(struct name_entry *entry, int status, const struct addrinfo *list)
{
    unsigned keep_ms;

    entry->count = 0;
    add_family(entry, list, AF_INET);
    add_family(entry, list, AF_INET6);
    entry->error = entry->count ? 0 : error_of(status ? status : UV_EAI_NODATA);
    entry->text = entry->count ? "" : uv_strerror(status ? status : UV_EAI_NODATA);
    keep_ms = entry->count ? NET_RESOLVE_KEEP_MS : NET_RESOLVE_KEEP_ERROR_MS;
    entry->keep_until = instant_add_ns(clock_now(), keep_ms * NS_PER_MS);
}

/* One that waited for the lookup; a request made meanwhile, from a callback, has its own timer. */
static struct net_resolve_request *first_unanswered(const struct name_entry *entry)
{
    struct net_resolve_request *request = entry->waiting;

    while (request && request->answer_ready)
        request = request->next;
    return request;
}

static void lookup_done(uv_getaddrinfo_t *lookup, int status, struct addrinfo *list)
{
    struct name_entry *entry = lookup->data;
    struct net_resolver *resolver = entry->resolver;
    struct net_resolve_request *request;

    entry->running = false;
    if (!resolver->closed)
        store_answer(entry, status, list);
    uv_freeaddrinfo(list);
    /* A callback may close the resolver, which empties the list; `running` keeps it alive until we are done.
     */
    while ((request = first_unanswered(entry)))
        answer_request(request, false);
    resolver->running--;
    if (resolver->closed && resolver->running == 0)
        free_resolver(resolver);
}

static int start_lookup(struct name_entry *entry)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    int r;

    entry->lookup.data = entry;
    r = uv_getaddrinfo(entry->resolver->loop, &entry->lookup, lookup_done, entry->name, NULL, &hints);
    if (r < 0)
        return r;
    entry->running = true;
    entry->resolver->running++;
    return 0;
}

/* --- Asking --- */

static bool parse_numeric(struct text name, struct net_address *ret_address)
{
    struct net_address address;

    if (net_address_parse(name, 0, &address) < 0 || address.port != 0)
        return false;
    *ret_address = address;
    return true;
}

/* Binds the request to its name, and starts a lookup where no answer is kept. */
static int attach_entry(struct net_resolver *resolver, struct text name, struct net_resolve_request *request)
{
    struct instant now = clock_now();
    struct name_entry *entry;
    int r = find_entry(resolver, name, &entry);

    if (r < 0)
        return r;
    request->answer_ready = !entry->running && instant_since_ns(entry->keep_until, now) > 0;
    if (!request->answer_ready && !entry->running) {
        r = start_lookup(entry);
        if (r < 0)
            return r;
    }
    entry->asked = now;
    request->entry = entry;
    add_request(&entry->waiting, request);
    return 0;
}

int net_resolver_open(uv_loop_t *loop, struct net_resolver **ret_resolver)
{
    struct net_resolver *resolver = calloc(1, sizeof(*resolver));

    if (!resolver)
        return -ENOMEM;
    resolver->loop = loop;
    *ret_resolver = resolver;
    return 0;
}

int net_resolve(struct net_resolver *resolver, struct text name, uint16_t port, unsigned deadline_ms,
                void (*on_answer)(void *userdata, const struct net_resolve_answer *answer), void *userdata,
                struct net_resolve_request **ret_request)
{
    struct net_resolve_request *request;
    int r = 0;

    if (!name.len || name.len > NAME_MAX_LEN || memchr(name.bytes, '\0', name.len))
        return -EINVAL;
    request = calloc(1, sizeof(*request));
    if (!request)
        return -ENOMEM;
    *request = (struct net_resolve_request){.port = port, .on_answer = on_answer, .userdata = userdata};
    if (parse_numeric(name, &request->numeric)) {
        request->answer_ready = true;
        add_request(&resolver->numeric, request);
    } else {
        r = attach_entry(resolver, name, request);
    }
    if (r < 0) {
        free(request);
        return r;
    }
    uv_timer_init(resolver->loop, &request->timer);
    request->timer.data = request;
    uv_update_time(resolver->loop);
    uv_timer_start(&request->timer, timer_fired, request->answer_ready ? 0 : deadline_ms, 0);
    if (ret_request)
        *ret_request = request;
    return 0;
}

void net_resolver_close(struct net_resolver *resolver)
{
    if (!resolver || resolver->closed)
        return;
    resolver->closed = true;
    while (resolver->numeric)
        end_request(resolver->numeric);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct name_entry *entry = resolver->buckets[i]; entry; entry = entry->next) {
            while (entry->waiting)
                end_request(entry->waiting);
            if (entry->running)
                uv_cancel((uv_req_t *)&entry->lookup); /* only of those that no thread has begun */
        }
    }
    if (resolver->running == 0)
        free_resolver(resolver);
}
