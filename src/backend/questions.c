#include "backend/questions.h"

#include "core/cleanup.h"
#include "proto/timers.h"

#include <errno.h>
#include <string.h>

struct asker {
    void *asker;
    uint64_t request_id;
};

enum phase {
    PHASE_DISCOVERING, /* no node is known */
    PHASE_ASKING,
    PHASE_ANSWERED, /* to be freed */
};

struct question {
    struct question *next;
    enum phase phase;
    struct text filter_text; /* owned copy; absent: all nodes */
    struct node_filter *filter;
    unsigned flags;
    uint32_t *uids; /* owned */
    uint16_t uid_count;
    uint32_t interval_us;
    enum question_form form;
    struct instant until; /* deadline of the phase */
    uint8_t *waiting;     /* a bit for each slot; owned */
    size_t waiting_slots; /* bits in it */
    size_t pending;       /* bits that are set */
    struct asker *askers; /* owned */
    size_t asker_count, asker_cap;
};

struct questions {
    struct cluster *cluster;
    struct questions_times times;
    struct questions_events events;
    struct question *first;
    struct questions_discovery discovery;
    struct questions_counters counters;
    struct buffer out; /* of the answer in the making: its memory is used again */
    unsigned depth;    /* of calls into here: an answer may bring the next question */
};

#define OUT_KEPT_BYTES (8u << 20) /* memory that is kept between answers */

int questions_new(struct cluster *cluster, const struct questions_times *times,
                  const struct questions_events *events, struct questions **ret_questions)
{
    struct questions *questions = calloc(1, sizeof(*questions));

    if (!questions)
        return -ENOMEM;
    questions->cluster = cluster;
    questions->times = *times;
    questions->events = *events;
    *ret_questions = questions;
    return 0;
}

static void free_question(struct question *question)
{
    node_filter_free(question->filter);
    free((char *)question->filter_text.bytes);
    free(question->uids);
    free(question->waiting);
    free(question->askers);
    free(question);
}

void questions_free(struct questions *questions)
{
    if (!questions)
        return;
    while (questions->first) {
        struct question *question = questions->first;

        questions->first = question->next;
        free_question(question);
    }
    buffer_deinit(&questions->out);
    free(questions);
}

void questions_set_times(struct questions *questions, const struct questions_times *times)
{
    questions->times = *times;
}

void questions_set_discovery(struct questions *questions, const struct questions_discovery *discovery)
{
    questions->discovery = *discovery;
}

const struct questions_counters *questions_counters(const struct questions *questions)
{
    return &questions->counters;
}

size_t questions_under_way(const struct questions *questions)
{
    size_t count = 0;

    for (const struct question *question = questions->first; question; question = question->next)
        count += question->phase != PHASE_ANSWERED;
    return count;
}

/* ---- answering ---- */

static void make_answer(struct questions *questions, const struct question *question, struct instant now)
{
    struct answer_question answer = {.filter = question->filter,
                                     .flags = question->flags,
                                     .uids = question->uids,
                                     .uid_count = question->uid_count};
    struct answer_facts facts;

    questions->events.on_facts(questions->events.userdata, now, &facts);
    buffer_clear(&questions->out);
    if (question->form == QUESTION_JSON)
        answer_put_json(questions->cluster, &answer, &facts, &questions->out);
    else
        answer_put_frames(questions->cluster, &answer, &facts, &questions->out);
    if (buffer_error(&questions->out))
        buffer_clear(&questions->out);
}

static void answer(struct questions *questions, struct question *question, struct instant now)
{
    question->phase = PHASE_ANSWERED;
    questions->counters.answers++;
    make_answer(questions, question, now);
    for (size_t i = 0; i < question->asker_count; i++) {
        struct asker *asker = &question->askers[i];

        if (!asker->asker)
            continue;
        if (question->form == QUESTION_FRAMES)
            answer_set_request_id(&questions->out, asker->request_id);
        questions->events.on_answer(questions->events.userdata, asker->asker, question->form,
                                    questions->out.bytes, questions->out.len);
    }
    if (questions->out.cap > OUT_KEPT_BYTES)
        buffer_deinit(&questions->out);
}

/* ---- the list: whatever happens in a call, questions are answered and freed at its end ---- */

static void enter(struct questions *questions)
{
    questions->depth++;
}

static struct question *find_ready(const struct questions *questions)
{
    struct question *question = questions->first;

    while (question && (question->phase != PHASE_ASKING || question->pending))
        question = question->next;
    return question;
}

static void leave(struct questions *questions, struct instant now)
{
    struct question **at = &questions->first, *question;

    while (questions->depth == 1 && (question = find_ready(questions)))
        answer(questions, question, now);
    if (--questions->depth)
        return;
    while ((question = *at)) {
        if (question->phase != PHASE_ANSWERED) {
            at = &question->next;
            continue;
        }
        *at = question->next;
        free_question(question);
    }
}

/* ---- asking the nodes ---- */

static bool is_waiting(const struct question *question, unsigned slot)
{
    return question->phase == PHASE_ASKING && slot < question->waiting_slots &&
           question->waiting[slot / 8] >> slot % 8 & 1;
}

static void set_waiting(struct question *question, unsigned slot)
{
    question->waiting[slot / 8] |= (uint8_t)(1u << slot % 8);
    question->pending++;
}

static void clear_waiting(struct question *question, unsigned slot)
{
    question->waiting[slot / 8] &= (uint8_t) ~(1u << slot % 8);
    question->pending--;
}

/* Asks one node unless its answer is fresh. The bit is set before, as the answer may come from within. */
static void ask_node(struct questions *questions, struct question *question, struct node *node,
                     struct instant now)
{
    bool is_recent = node->has_asked && instant_since_ns(now, node->asked_at) < questions->times.cache_ttl_ns;
    bool is_worth_waiting = cluster_worth_waiting(questions->cluster, node, now);

    if (is_recent && (node->has_answer || !is_worth_waiting)) {
        questions->counters.cache_hits++;
        return;
    }
    if (is_worth_waiting)
        set_waiting(question, node->slot);
    if (is_recent && cluster_is_asking(node))
        return; /* its answer is this one's too */
    questions->counters.node_queries++;
    cluster_ask(questions->cluster, node, now, question->until, question->interval_us);
}

static void begin_asking(struct questions *questions, struct question *question, struct instant now)
{
    size_t count = cluster_count(questions->cluster);
    _cleanup_(cleanup_free) bool *selected = calloc(count + 1, sizeof(*selected));
    struct node *const *rows = cluster_rows(questions->cluster);
    bool inexact;

    question->phase = PHASE_ASKING;
    question->until = instant_add_ns(now, questions->times.deadline_ns);
    question->waiting_slots = cluster_slots(questions->cluster);
    question->waiting = calloc(question->waiting_slots / 8 + 1, 1);
    if (selected && question->waiting &&
        answer_select(questions->cluster, question->filter, selected, &inexact) > 0)
        for (size_t i = 0; i < count; i++)
            if (selected[i])
                ask_node(questions, question, rows[i], now);
}

/* Until when the question waits for discovery; a moment that has passed if it does not. */
static struct instant wait_for_discovery(const struct questions *questions, const struct question *question)
{
    const struct questions_discovery *discovery = &questions->discovery;

    if (question->interval_us || (question->flags & VIEW_NO_WAIT))
        return (struct instant){0};
    if (!cluster_count(questions->cluster))
        return discovery->wait_until;
    return discovery->began_empty ? instant_earlier(discovery->first_round, discovery->wait_until)
                                  : (struct instant){0};
}

static void begin(struct questions *questions, struct question *question, struct instant now)
{
    struct instant until = wait_for_discovery(questions, question);

    if (instant_since_ns(until, now) > 0) {
        question->phase = PHASE_DISCOVERING;
        question->until = until;
    } else {
        begin_asking(questions, question, now);
    }
}

/* ---- users ---- */

static bool same_filter(struct text a, struct text b)
{
    return a.len == b.len && (!a.len || memcmp(a.bytes, b.bytes, a.len) == 0);
}

static struct question *find_equal(struct questions *questions, const struct question_request *request)
{
    for (struct question *question = questions->first; question; question = question->next)
        if (question->phase != PHASE_ANSWERED && question->form == request->form &&
            question->flags == request->flags && same_filter(question->filter_text, request->filter) &&
            question->uid_count == request->uid_count &&
            (!request->uid_count ||
             memcmp(question->uids, request->uids, request->uid_count * sizeof(uint32_t)) == 0) &&
            (question->phase == PHASE_ASKING || !request->interval_us))
            return question;
    return NULL;
}

static int add_asker(struct question *question, void *asker, uint64_t request_id)
{
    size_t cap = question->asker_cap ? 2 * question->asker_cap : 4;
    struct asker *larger;

    if (question->asker_count == question->asker_cap) {
        larger = reallocarray(question->askers, cap, sizeof(*larger));
        if (!larger)
            return -ENOMEM;
        question->askers = larger;
        question->asker_cap = cap;
    }
    question->askers[question->asker_count++] = (struct asker){asker, request_id};
    return 0;
}

/* Copies what is asked. Returns 0, -ENOMEM, or what node_filter_new() says. */
static int fill(struct question *question, const struct question_request *request,
                struct host_list_error *ret_error)
{
    question->flags = request->flags;
    question->form = request->form;
    question->interval_us = request->interval_us;
    if (request->filter.len) {
        char *copy = strndup(request->filter.bytes, request->filter.len);

        if (!copy)
            return -ENOMEM;
        question->filter_text = (struct text){copy, request->filter.len};
    }
    if (request->uid_count) {
        question->uids = calloc(request->uid_count, sizeof(uint32_t));
        if (!question->uids)
            return -ENOMEM;
        memcpy(question->uids, request->uids, request->uid_count * sizeof(uint32_t));
        question->uid_count = request->uid_count;
    }
    return request->filter.len ? node_filter_new(request->filter, &question->filter, ret_error) : 0;
}

int questions_ask(struct questions *questions, struct instant now, const struct question_request *request,
                  void *asker, uint64_t request_id, struct host_list_error *ret_error)
{
    struct question *question = find_equal(questions, request);
    int r;

    if (question) {
        r = add_asker(question, asker, request_id);
        questions->counters.asked += r == 0;
        questions->counters.joined += r == 0;
        return r;
    }
    question = calloc(1, sizeof(*question));
    if (!question)
        return -ENOMEM;
    r = fill(question, request, ret_error);
    if (r == 0)
        r = add_asker(question, asker, request_id);
    if (r < 0) {
        free_question(question);
        return r;
    }
    questions->counters.asked++;
    enter(questions);
    question->next = questions->first;
    questions->first = question;
    begin(questions, question, now);
    leave(questions, now);
    return 0;
}

void questions_withdraw(struct questions *questions, const void *asker)
{
    for (struct question *question = questions->first; question; question = question->next)
        for (size_t i = 0; i < question->asker_count; i++)
            if (question->askers[i].asker == asker)
                question->askers[i].asker = NULL;
}

/* ---- what happens meanwhile ---- */

static void stop_waiting(struct questions *questions, const struct node *node, struct instant now)
{
    enter(questions);
    for (struct question *question = questions->first; question; question = question->next)
        if (is_waiting(question, node->slot))
            clear_waiting(question, node->slot);
    leave(questions, now);
}

void questions_settled(struct questions *questions, struct instant now, const struct node *node)
{
    stop_waiting(questions, node, now);
}

void questions_rows_changed(struct questions *questions, struct instant now, const struct node *node,
                            bool gone)
{
    if (gone) {
        stop_waiting(questions, node, now);
        return;
    }
    for (struct question *question = questions->first; question; question = question->next)
        if (question->phase == PHASE_DISCOVERING)
            question->until = instant_earlier(question->until, wait_for_discovery(questions, question));
    (void)now;
}

struct instant questions_next(const struct questions *questions)
{
    struct instant next = TIMERS_NEVER;

    for (const struct question *question = questions->first; question; question = question->next)
        if (question->phase != PHASE_ANSWERED)
            next = instant_earlier(next, question->until);
    return next;
}

/* Those who were silent have had their chance. */
static void note_silent(struct questions *questions, const struct question *question)
{
    struct node *const *rows = cluster_rows(questions->cluster);

    for (size_t i = 0; i < cluster_count(questions->cluster); i++)
        if (is_waiting(question, rows[i]->slot))
            rows[i]->asked_once = true;
}

void questions_tick(struct questions *questions, struct instant now)
{
    enter(questions);
    for (struct question *question = questions->first; question; question = question->next) {
        if (question->phase == PHASE_ANSWERED || instant_since_ns(now, question->until) < 0)
            continue;
        if (question->phase == PHASE_DISCOVERING) {
            begin_asking(questions, question, now);
            continue;
        }
        note_silent(questions, question);
        questions->counters.late++;
        question->pending = 0;
    }
    leave(questions, now);
}
