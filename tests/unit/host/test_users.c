#include "host/users.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* A name service that can be made to hang and to fail. uid 1000 + n is "user<n>"; others do not exist. */
struct directory {
    atomic_int asked;
    atomic_int error;  /* what lookups return if not 0 */
    atomic_bool gated; /* each lookup takes a ticket from the gate first */
    sem_t gate;
};

static int directory_name_of(void *context, uint32_t uid, char name[static USER_NAME_MAX + 1])
{
    struct directory *directory = context;

    atomic_fetch_add(&directory->asked, 1);
    while (atomic_load(&directory->gated) && sem_wait(&directory->gate) < 0)
        continue;
    if (atomic_load(&directory->error))
        return atomic_load(&directory->error);
    if (uid < 1000)
        return -ENOENT;
    snprintf(name, USER_NAME_MAX + 1, "user%u", (unsigned)uid - 1000);
    return 0;
}

static int directory_uid_of(void *context, const char *name, uint32_t *ret_uid)
{
    char ignored[USER_NAME_MAX + 1];
    int r = directory_name_of(context, 1000, ignored);
    unsigned number;

    if (r < 0)
        return r;
    if (sscanf(name, "user%u", &number) != 1)
        return -ENOENT;
    *ret_uid = number + 1000;
    return 0;
}

static struct instant soon(void)
{
    return instant_add_ns(clock_now(), 20 * NS_PER_S); /* never reached unless a test fails */
}

static struct instant in_ms(int64_t ms)
{
    return instant_add_ns(clock_now(), ms * NS_PER_MS);
}

/* Lives until the program ends, as a hung lookup may. */
static struct directory *new_directory(bool gated)
{
    static struct directory directories[16];
    static unsigned used;
    struct directory *directory = &directories[used++];

    assert_true(used <= 16);
    sem_init(&directory->gate, 0, 0);
    atomic_store(&directory->gated, gated);
    return directory;
}

static void open_gate(struct directory *directory)
{
    atomic_store(&directory->gated, false);
    sem_post(&directory->gate);
}

static struct users *new_users(struct directory *directory)
{
    const struct users_lookup lookup = {directory_name_of, directory_uid_of, directory};
    struct users *users;

    assert_int_equal(users_new(&lookup, &users), 0);
    return users;
}

static void names_are_found(void **state)
{
    struct directory *directory = new_directory(false);
    struct users *users = new_users(directory);
    struct instant now = clock_now();

    (void)state;
    assert_true(users_wait(users, now)); /* nothing was asked */
    assert_null(users_name(users, 1001));
    users_want(users, 1001, now);
    users_want(users, 5, now);
    users_want(users, 1001, now);
    assert_true(users_wait(users, soon()));
    assert_string_equal(users_name(users, 1001), "user1");
    assert_null(users_name(users, 5));
    assert_null(users_name(users, 1002));
    assert_int_equal(directory->asked, 2);
    users_free(users);
    users_free(NULL);
}

static void names_age(void **state)
{
    struct directory *directory = new_directory(false);
    struct users *users = new_users(directory);
    const struct instant start = {1000 * NS_PER_S};
    static const struct {
        int64_t at_s;
        int want_asked; /* both users together */
    } steps[] = {{0, 2},   {59, 2},  {60, 3},  {119, 3},  {120, 4},
                 {599, 5}, {600, 6}, {659, 7}, {1199, 8}, {1200, 9}};

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        users_want(users, 1001, instant_add_ns(start, steps[i].at_s * NS_PER_S)); /* for 10 minutes */
        users_want(users, 5, instant_add_ns(start, steps[i].at_s * NS_PER_S));    /* for 1 minute */
        assert_true(users_wait(users, soon()));
        assert_int_equal(directory->asked, steps[i].want_asked);
        assert_string_equal(users_name(users, 1001), "user1");
    }
    users_free(users);
}

static void an_old_name_outlives_a_failing_service(void **state)
{
    struct directory *directory = new_directory(false);
    struct users *users = new_users(directory);
    struct instant now = clock_now();

    (void)state;
    users_want(users, 1001, now);
    assert_true(users_wait(users, soon()));
    directory->error = -EIO;
    now = instant_add_ns(now, 700 * NS_PER_S);
    users_want(users, 1001, now);
    assert_true(users_wait(users, soon()));
    assert_string_equal(users_name(users, 1001), "user1");
    directory->error = -ENOENT; /* but not the answer that the user is gone */
    now = instant_add_ns(now, 70 * NS_PER_S);
    users_want(users, 1001, now);
    assert_true(users_wait(users, soon()));
    assert_null(users_name(users, 1001));
    assert_int_equal(directory->asked, 3);
    users_free(users);
}

static void a_hung_lookup_delays_nobody(void **state)
{
    struct directory *directory = new_directory(true);
    struct users *users = new_users(directory);
    struct instant before = clock_now();
    uint32_t uid = 7;

    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        users_want(users, 1000 + i, clock_now());
    assert_null(users_name(users, 1000));
    assert_false(users_wait(users, in_ms(20)));
    assert_int_equal(users_uid_of(users, TEXT_LITERAL("user3"), in_ms(20), &uid), -ETIMEDOUT);
    assert_int_equal(uid, 7);
    assert_int_equal(users_uid_of(users, TEXT_LITERAL("1234"), clock_now(), &uid), USERS_FOUND);
    assert_int_equal(uid, 1234);
    users_free(users); /* the lookup still hangs */
    assert_true(instant_since_ns(clock_now(), before) < 10 * NS_PER_S);
    open_gate(directory); /* the thread ends and frees what it had */
}

static void a_name_that_comes_late_is_shown_then(void **state)
{
    struct directory *directory = new_directory(true);
    struct users *users = new_users(directory);

    (void)state;
    users_want(users, 1001, clock_now());
    assert_false(users_wait(users, in_ms(10)));
    open_gate(directory);
    assert_true(users_wait(users, soon()));
    assert_string_equal(users_name(users, 1001), "user1");
    users_free(users);
}

static void exit_does_not_wait_for_a_hung_lookup(void **state)
{
    pid_t pid;
    int status;

    (void)state;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct users *users = new_users(new_directory(true));

        alarm(20);
        users_want(users, 1001, clock_now());
        users_wait(users, in_ms(10));
        users_free(users);
        exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void uids_of_names(void **state)
{
    static const struct {
        const char *name;
        int want;
        uint32_t uid;
    } cases[] = {
        {"user3", USERS_FOUND, 1003},
        {"0", USERS_FOUND, 0},
        {"4294967294", USERS_FOUND, 4294967294},
        {"4294967295", USERS_UNKNOWN, 0},
        {"99999999999999999999", USERS_UNKNOWN, 0},
        {"nobody-of-that-name", USERS_UNKNOWN, 0},
        {"", USERS_UNKNOWN, 0},
        {"-1", USERS_UNKNOWN, 0},
    };
    struct directory *directory = new_directory(false);
    struct users *users = new_users(directory);
    char long_name[USER_NAME_MAX + 2];
    uint32_t uid = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uid = 0;
        assert_int_equal(users_uid_of(users, text_from_string(cases[i].name), soon(), &uid), cases[i].want);
        assert_int_equal(uid, cases[i].uid);
    }
    memset(long_name, 'x', sizeof(long_name));
    assert_int_equal(users_uid_of(users, (struct text){long_name, sizeof(long_name)}, soon(), &uid),
                     USERS_UNKNOWN);
    assert_int_equal(users_uid_of(users, (struct text){"user3\0x", 7}, soon(), &uid), USERS_UNKNOWN);
    directory->error = -EIO;
    assert_int_equal(users_uid_of(users, TEXT_LITERAL("user3"), soon(), &uid), -EIO);
    users_free(users);
}

static void queue_and_cache_are_bounded(void **state)
{
    struct directory *directory = new_directory(true);
    struct users *users = new_users(directory);
    unsigned named = 0;

    (void)state;
    for (uint32_t i = 0; i < 3 * USERS_MAX_CACHED; i++)
        users_want(users, 1000 + i, clock_now());
    open_gate(directory);
    assert_true(users_wait(users, soon()));
    assert_in_range(directory->asked, 1, USERS_MAX_PENDING);
    for (uint32_t i = 0; i < USERS_MAX_CACHED; i++) { /* what found no room is served when asked for again */
        users_want(users, 1000 + i, clock_now());
        if (i % 512 == 511)
            assert_true(users_wait(users, soon()));
    }
    for (uint32_t i = 0; i < 3 * USERS_MAX_CACHED; i++)
        named += users_name(users, 1000 + i) != NULL;
    assert_in_range(named, 512, USERS_MAX_CACHED);
    assert_string_equal(users_name(users, 1000 + USERS_MAX_CACHED - 1), "user4095");
    users_free(users);
}

static void the_system_knows_root(void **state)
{
    struct users *users;
    uint32_t uid = 7;

    (void)state;
    assert_int_equal(users_new(NULL, &users), 0);
    users_want(users, 0, clock_now());
    users_want(users, 3999999999, clock_now());
    assert_true(users_wait(users, soon()));
    assert_string_equal(users_name(users, 0), "root");
    assert_null(users_name(users, 3999999999));
    assert_int_equal(users_uid_of(users, TEXT_LITERAL("root"), soon(), &uid), USERS_FOUND);
    assert_int_equal(uid, 0);
    assert_int_equal(users_uid_of(users, TEXT_LITERAL("no such user"), soon(), &uid), USERS_UNKNOWN);
    users_free(users);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(names_age),
        cmocka_unit_test(an_old_name_outlives_a_failing_service),
        cmocka_unit_test(a_hung_lookup_delays_nobody),
        cmocka_unit_test(a_name_that_comes_late_is_shown_then),
        cmocka_unit_test(exit_does_not_wait_for_a_hung_lookup),
        cmocka_unit_test(uids_of_names),
        cmocka_unit_test(queue_and_cache_are_bounded),
        cmocka_unit_test(the_system_knows_root),
    };

    return cmocka_run_group_tests_name("host/users", tests, NULL, NULL);
}
