#include "server/questions.h"

#define OLD_NS       (1500 * NS_PER_MS) /* a snapshot that is older is worth waiting for a newer one */
#define LONG_CALL_NS (100 * NS_PER_MS)  /* while a call takes longer, nothing fresh is to be expected */

static void answer(struct questions *questions, const struct question *question)
{
    struct instant now = clock_now();
    struct sampler_call call;
    bool in_call = sampling_call(questions->sampling, now, &call);
    struct message_reply reply;

    latest_reply(questions->latest, &question->query, in_call ? &call : NULL, now, &reply);
    questions->on_answer(questions->userdata, &question->ticket, &reply);
}

static void answer_waiting(void *userdata)
{
    struct questions *questions = userdata;
    size_t count = questions->waiting_count;

    questions_drop(questions);
    for (size_t i = 0; i < count; i++)
        answer(questions, &questions->waiting[i]);
    questions->on_answered(questions->userdata);
}

void questions_init(struct questions *questions, uv_loop_t *loop)
{
    net_timer_init(&questions->timer, loop, answer_waiting, questions);
}

void questions_deinit(struct questions *questions)
{
    net_timer_deinit(&questions->timer);
}

/* Is a fresh reading worth waiting for, and to be had within the time that we wait? */
static bool is_worth_waiting(const struct questions *questions, bool first, struct instant now)
{
    struct sampler_call call;
    int64_t age_ns;

    if (sampling_state(questions->sampling) != SAMPLING_RUNNING ||
        questions->waiting_count == QUESTIONS_WAITING || !latest_age_ns(questions->latest, now, &age_ns))
        return false;
    if (sampling_call(questions->sampling, now, &call) && call.running_ns >= LONG_CALL_NS)
        return false;
    return age_ns >= sampling_tick_ns(questions->sampling) && (first || age_ns >= OLD_NS);
}

void questions_ask(struct questions *questions, const struct peers_query *query)
{
    struct instant now = clock_now();
    struct question question = {
        .ticket = query->ticket,
        .query = {.facts_hash = query->facts_hash, .process_generation = query->process_generation},
    };
    struct interest_outcome interest =
        interest_note(&questions->interest, (int64_t)query->interval_us * NS_PER_US, now);

    if (interest.tell)
        sampling_show_interest(questions->sampling, interest.interval_ns);
    if (!is_worth_waiting(questions, interest.first, now)) {
        answer(questions, &question);
        return;
    }
    if (!questions->waiting_count)
        net_timer_set(&questions->timer, instant_add_ns(now, QUESTIONS_WAIT_NS));
    questions->waiting[questions->waiting_count++] = question;
}

void questions_snapshot_came(struct questions *questions)
{
    if (questions->waiting_count)
        answer_waiting(questions);
}

void questions_drop(struct questions *questions)
{
    questions->waiting_count = 0;
    net_timer_stop(&questions->timer);
}
