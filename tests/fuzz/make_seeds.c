/*
 * Writes the seeds of the corpora, always the same ones.  usage: make-seeds tests/fuzz/corpus
 * Run it again when the format has got something new; what the fuzzer found stays beside the seeds.
 */
#include "fuzz/fuzz.h"
#include "support/random_snapshot.h"
#include "wire/frame.h"
#include "wire/snapshot_codec.h"

#include <string.h>

static const char *corpus;

static void put_seed(const char *target, unsigned number, const void *bytes, size_t len)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s/seed-%02u", corpus, target, number);
    file = fopen(path, "w");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static void put_frames(void)
{
    static const struct frame_header headers[] = {
        {FRAME_VERSION, FRAME_SNAPSHOT, 0, 0, 100},
        {FRAME_VERSION, FRAME_INTEREST, 0, 0, 3},
        {FRAME_VERSION + 1, FRAME_SNAPSHOT, 0xffff, UINT64_MAX, 0},
        {FRAME_VERSION, FRAME_SNAPSHOT, 0, 1, FRAME_BODY_MAX},
        {FRAME_VERSION, FRAME_SNAPSHOT, 0, 1, FRAME_BODY_MAX + 1},
    };

    for (unsigned i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        uint8_t bytes[FRAME_HEADER_SIZE + 3];
        struct writer writer = writer_over(bytes, sizeof(bytes));

        frame_write_header(&writer, &headers[i]);
        write_varint(&writer, 2000000);
        put_seed("frame", i, bytes, writer.pos);
    }
    put_seed("frame", 90, "CLST\x01", 5);
    put_seed("frame", 91, "clst a frame of someone else", 28);
}

static void put_snapshots(void)
{
    static uint8_t bytes[FRAME_BODY_MAX];
    struct random random = {2};
    struct snapshot snapshot;

    snapshot_init(&snapshot);
    for (unsigned i = 0; i < 24; i++) {
        struct writer writer = writer_over(bytes, sizeof(bytes));

        snapshot_clear(&snapshot);
        if (i)
            random_snapshot(&random, &snapshot, i % 4, i % 6, i % 5);
        for (uint32_t k = 0; k < snapshot.process_count; k++) /* small seeds mutate better */
            if (snapshot.processes[k].command_line.len > 64)
                snapshot.processes[k].command_line.len = 64;
        snapshot_encode(&snapshot, &writer);
        put_seed("snapshot", i, bytes, writer.pos);
    }
    snapshot_deinit(&snapshot);
}

static void put_texts(void)
{
    /* The first byte holds the columns times 2, plus 1 for an ellipsis beyond ASCII. */
    static const char *const texts[] = {
        "\x50"
        "plain",
        "\x07"
        "plain and too long",
        "\x06"
        "too long in ASCII",
        "\x29"
        "\xe4\xb8\xad\xe6\x96\x87 wide",
        "\x07"
        "\xe4\xb8\xad\xe6\x96\x87 wide and cut",
        "\x51"
        "e\xcc\x81 combining",
        "\x51"
        "\x1b[31mred\x1b[0m",
        "\x51"
        "line\nfeed\r\ttab \x7f",
        "\x51"
        "C1 \xc2\x9b and bidi \xe2\x80\xae",
        "\x51"
        "bad \xff\xfe \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80",
        "\x51"
        "cut off \xf0\x9f\x98",
        "\x51"
        "\xf0\x9f\x98\x80 face, tag \xf3\xa0\x81\x81",
        "\x01"
        "no room",
        "\x03"
        "\xe4\xb8\xad",
    };

    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        put_seed("utf8", i, texts[i], strlen(texts[i]));
    put_seed("utf8", 90, "\x51nul\0inside", 11);
}

int main(int argc, char *argv[])
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s tests/fuzz/corpus\n", argv[0]);
        return 2;
    }
    corpus = argv[1];
    put_frames();
    put_snapshots();
    put_texts();
    return 0;
}
