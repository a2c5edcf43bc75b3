/* Outbox and inbox over a socketpair: what one sends, the other takes in. */
#include "sampler/inbox.h"
#include "sampler/outbox.h"
#include "wire/frame.h"
#include "wire/snapshot_codec.h"
#include "wire/snapshot_fit.h"

#include "support/random_snapshot.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

struct fixture {
    int fds[2];
    struct outbox outbox;
    struct inbox inbox;
    struct picture_bytes newest;
    struct snapshot sent, got;
    struct random random;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, f->fds), 0);
    f->outbox.fd = f->fds[0];
    snapshot_init(&f->sent);
    snapshot_init(&f->got);
    f->random = random_from_environment();
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 2; i++)
        if (f->fds[i] >= 0)
            close(f->fds[i]);
    outbox_deinit(&f->outbox);
    inbox_deinit(&f->inbox);
    picture_bytes_deinit(&f->newest);
    snapshot_deinit(&f->sent);
    snapshot_deinit(&f->got);
    free(f);
    return 0;
}

static void make(struct fixture *f, uint32_t entries, uint64_t sequence)
{
    snapshot_clear(&f->sent);
    random_snapshot(&f->random, &f->sent, 8, entries, entries / 2);
    f->sent.sequence = sequence;
}

/* The sequence of the newest picture, decoded. */
static uint64_t received_sequence(struct fixture *f)
{
    struct reader body = picture_bytes_body(&f->newest);
    struct snapshot_need need;

    snapshot_clear(&f->got);
    assert_int_equal(snapshot_measure(body, &need), 0);
    assert_int_equal(snapshot_reserve(&f->got, need.devices, need.entries, need.processes), 0);
    assert_int_equal(snapshot_decode(body, &f->got), 0);
    return f->got.sequence;
}

static void test_picture_arrives(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_NOTHING);
    assert_int_equal(picture_bytes_body(&f->newest).len, 0);
    make(f, 16, 7);
    assert_int_equal(outbox_send(&f->outbox, &f->sent, SNAPSHOT_BODY_TARGET), OUTBOX_SENT);
    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_SNAPSHOT);
    assert_int_equal(received_sequence(f), 7);
    assert_null(snapshot_difference(&f->sent, &f->got));
    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_NOTHING);
    assert_int_equal(received_sequence(f), 7); /* stays */
}

static void test_only_the_newest_is_kept(void **state)
{
    struct fixture *f = *state;

    for (uint64_t sequence = 1; sequence <= 5; sequence++) {
        make(f, 8, sequence);
        assert_int_equal(outbox_send(&f->outbox, &f->sent, SNAPSHOT_BODY_TARGET), OUTBOX_SENT);
    }
    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_SNAPSHOT);
    assert_int_equal(received_sequence(f), 5);
}

/* A reader that sleeps gets whole frames and then the newest, never a backlog. */
static void test_slow_reader(void **state)
{
    struct fixture *f = *state;
    const int room = 32768; /* few pictures, however large the random ones are */
    uint64_t last = 0;

    assert_int_equal(setsockopt(f->fds[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
    for (uint64_t sequence = 1; sequence <= 400; sequence++) {
        int r;

        make(f, 600, sequence);
        r = outbox_send(&f->outbox, &f->sent, SNAPSHOT_BODY_TARGET);
        assert_in_range(r, OUTBOX_SENT, OUTBOX_BUSY);
        last = r == OUTBOX_SENT ? sequence : last;
        assert_true(f->outbox.cap < (2u << 20));
    }
    assert_true(outbox_is_busy(&f->outbox)); /* the socket is full, and one picture waits: no more */
    while (outbox_is_busy(&f->outbox)) {
        inbox_read(&f->inbox, f->fds[1], &f->newest);
        assert_in_range(outbox_flush(&f->outbox), OUTBOX_SENT, OUTBOX_BUSY);
    }
    inbox_read(&f->inbox, f->fds[1], &f->newest);
    assert_int_equal(received_sequence(f), last);
    make(f, 16, 1000);
    assert_int_equal(outbox_send(&f->outbox, &f->sent, SNAPSHOT_BODY_TARGET), OUTBOX_SENT);
    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_SNAPSHOT);
    assert_int_equal(received_sequence(f), 1000);
}

static void test_encoded_frame_gives_way(void **state)
{
    struct fixture *f = *state;

    make(f, 8, 1);
    assert_int_equal(outbox_encode(&f->outbox, &f->sent, SNAPSHOT_BODY_TARGET), 0);
    assert_true(outbox_is_busy(&f->outbox));
    make(f, 8, 2);
    assert_int_equal(outbox_send(&f->outbox, &f->sent, SNAPSHOT_BODY_TARGET), OUTBOX_SENT);
    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_SNAPSHOT);
    assert_int_equal(received_sequence(f), 2);
}

static void test_reader_is_gone(void **state)
{
    struct fixture *f = *state;

    close(f->fds[1]);
    f->fds[1] = -1;
    make(f, 8, 1);
    assert_int_equal(outbox_send(&f->outbox, &f->sent, SNAPSHOT_BODY_TARGET), -EPIPE);
}

static void test_writer_is_gone(void **state)
{
    struct fixture *f = *state;

    make(f, 8, 3);
    assert_int_equal(outbox_send(&f->outbox, &f->sent, SNAPSHOT_BODY_TARGET), OUTBOX_SENT);
    close(f->fds[0]);
    f->fds[0] = -1;
    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_SNAPSHOT); /* its last word first */
    assert_int_equal(received_sequence(f), 3);
    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_ENDED);
}

/* Whatever the pieces are in which a stream comes. */
static void test_any_cut(void **state)
{
    struct fixture *f = *state;
    uint8_t *frame;
    size_t len;

    make(f, 4, 9);
    assert_int_equal(outbox_encode(&f->outbox, &f->sent, SNAPSHOT_BODY_TARGET), 0);
    frame = f->outbox.bytes;
    len = f->outbox.len;
    for (size_t cut = 1; cut < len; cut++) {
        assert_int_equal(send(f->fds[0], frame, cut, 0), cut);
        assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_NOTHING);
        assert_int_equal(send(f->fds[0], frame + cut, len - cut, 0), len - cut);
        assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_SNAPSHOT);
    }
    assert_int_equal(received_sequence(f), 9);
}

static void send_header(struct fixture *f, uint8_t type, uint32_t body_len)
{
    uint8_t bytes[FRAME_HEADER_SIZE];
    struct writer writer = writer_over(bytes, sizeof(bytes));

    frame_write_header(&writer,
                       &(struct frame_header){.version = FRAME_VERSION, .type = type, .body_len = body_len});
    assert_int_equal(send(f->fds[0], bytes, sizeof(bytes), 0), sizeof(bytes));
}

static void test_unknown_types_are_skipped(void **state)
{
    struct fixture *f = *state;

    send_header(f, 200, 5);
    assert_int_equal(send(f->fds[0], "12345", 5, 0), 5);
    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_NOTHING);
    make(f, 4, 2);
    assert_int_equal(outbox_send(&f->outbox, &f->sent, SNAPSHOT_BODY_TARGET), OUTBOX_SENT);
    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), INBOX_SNAPSHOT);
    assert_int_equal(received_sequence(f), 2);
}

static void test_lengths_are_checked_before_memory_is_taken(void **state)
{
    struct fixture *f = *state;

    send_header(f, FRAME_SNAPSHOT, FRAME_BODY_MAX + 1);
    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), -EBADMSG);
    assert_true(f->inbox.cap <= 4096);
}

static void test_noise_is_no_stream(void **state)
{
    struct fixture *f = *state;
    char noise[64];

    memset(noise, 'x', sizeof(noise));
    assert_int_equal(send(f->fds[0], noise, sizeof(noise), 0), sizeof(noise));
    assert_int_equal(inbox_read(&f->inbox, f->fds[1], &f->newest), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_picture_arrives, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_the_newest_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slow_reader, setup, teardown),
        cmocka_unit_test_setup_teardown(test_encoded_frame_gives_way, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reader_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writer_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_any_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_types_are_skipped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lengths_are_checked_before_memory_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_noise_is_no_stream, setup, teardown),
    };

    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
