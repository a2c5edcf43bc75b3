#include "net/datagram_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static void slots_have_a_cap(void **state)
{
    struct datagram_queue queue;
    struct net_datagram datagram = {.bytes = (const uint8_t *)"x", .len = 1};

    (void)state;
    assert_int_equal(datagram_queue_init(&queue, 3, 100), 0);
    for (int i = 0; i < 3; i++)
        assert_true(datagram_queue_push(&queue, &datagram));
    assert_false(datagram_queue_push(&queue, &datagram));
    datagram_queue_pop(&queue, 1);
    assert_true(datagram_queue_push(&queue, &datagram));
    datagram_queue_deinit(&queue);
}

static void bytes_have_a_cap(void **state)
{
    static const uint8_t bytes[64];
    struct datagram_queue queue;
    struct net_datagram datagram = {.bytes = bytes, .len = 40};

    (void)state;
    assert_int_equal(datagram_queue_init(&queue, 100, 100), 0);
    assert_true(datagram_queue_push(&queue, &datagram));
    assert_true(datagram_queue_push(&queue, &datagram));
    assert_false(datagram_queue_push(&queue, &datagram)); /* 20 left at the end, 0 at the start */
    datagram_queue_pop(&queue, 1);
    assert_true(datagram_queue_push(&queue, &datagram)); /* at the start */
    datagram.len = 1;
    assert_false(datagram_queue_push(&queue, &datagram));
    datagram_queue_pop(&queue, 1);
    datagram.len = 64;
    assert_false(datagram_queue_push(&queue, &datagram)); /* 40 are used, 60 in one piece are left */
    datagram.len = 60;
    assert_true(datagram_queue_push(&queue, &datagram));
    datagram_queue_deinit(&queue);
}

/* A long random life against a plain model: what comes out is what went in, in order. */
static void a_random_life_keeps_order_and_bytes(void **state)
{
    const char *given = getenv("TEST_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    struct datagram_queue queue;
    unsigned pushed = 0, popped = 0, refused = 0;

    (void)state;
    printf("# TEST_SEED=%u\n", seed);
    srand(seed);
    assert_int_equal(datagram_queue_init(&queue, 16, 500), 0);
    for (int step = 0; step < 100000; step++) {
        uint8_t bytes[120];

        if (rand() % 2) {
            /* The length follows from the number, so that the reader can tell what to expect. */
            struct net_datagram datagram = {.bytes = bytes, .len = (pushed * 37) % 120, .interface = pushed};

            memset(bytes, (int)(pushed & 0xff), sizeof(bytes));
            if (datagram_queue_push(&queue, &datagram))
                pushed++;
            else
                refused++;
        } else if (queue.count) {
            struct net_datagram datagram = datagram_queue_peek(&queue, 0);

            memset(bytes, (int)(popped & 0xff), sizeof(bytes));
            assert_int_equal(datagram.interface, popped);
            assert_int_equal(datagram.len, (popped * 37) % 120);
            if (datagram.len)
                assert_memory_equal(datagram.bytes, bytes, datagram.len);
            datagram_queue_pop(&queue, 1);
            popped++;
        }
        assert_int_equal(queue.count, pushed - popped);
    }
    assert_true(popped > 10000);
    assert_true(refused > 100);
    datagram_queue_deinit(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_have_a_cap),
        cmocka_unit_test(bytes_have_a_cap),
        cmocka_unit_test(a_random_life_keeps_order_and_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
