/*
 * Writes the seeds of the corpora, always the same ones.  usage: make-seeds tests/fuzz/corpus
 * Run it again when the format has got something new; what the fuzzer found stays beside the seeds.
 */
#include "fuzz/fuzz.h"
#include "support/any_message.h"
#include "wire/chunk.h"
#include "wire/seal.h"
#include "wire/snapshot_codec.h"
#include "wire/snapshot_parts.h"

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

static void put_chunks(void)
{
    static const uint8_t frame[250] = "CLST\x01\x14";
    unsigned number = 0;

    for (size_t payload_size = 100; payload_size <= 400; payload_size += 100) {
        struct chunk_sender sender;

        chunk_sender_init(&sender, frame, sizeof(frame), 7, payload_size);
        for (uint32_t i = 0; i < sender.chunks; i++) {
            uint8_t bytes[512];
            struct text payload = chunk_sender_get(&sender, i, bytes);

            memcpy(bytes + CHUNK_HEADER_SIZE, payload.bytes, payload.len);
            put_seed("chunk", number++, bytes, CHUNK_HEADER_SIZE + payload.len);
        }
    }
}

/* The first byte is the type. */
static void put_messages(void)
{
    static uint8_t bytes[128u << 10];
    struct random random = {3};
    unsigned number = 0;

    for (unsigned i = 0; i < 3 * message_type_count; i++) {
        struct writer writer = writer_over(bytes, sizeof(bytes));
        uint8_t type = message_types[i % message_type_count];

        write_u8(&writer, type);
        put_random_message(&random, type, &writer);
        if (writer.pos < 1200) /* small seeds mutate better */
            put_seed("message", number++, bytes, writer.pos);
    }
}

/* Three parts, each behind a length of two bytes: readings, known and newer process facts. */
static void put_process_facts(void)
{
    static uint8_t bodies[2][1u << 16], bytes[3u << 16];
    struct snapshot snapshot;

    snapshot_init(&snapshot);
    for (unsigned i = 0; i < 8; i++) {
        struct writer writer = writer_over(bytes, sizeof(bytes));
        struct snapshot_parts parts[2];

        for (unsigned k = 0; k < 2; k++) {
            struct random random = {5 + i};
            struct writer body = writer_over(bodies[k], sizeof(bodies[k]));

            snapshot_clear(&snapshot);
            random_snapshot(&random, &snapshot, 1, 0, 6);
            for (uint32_t p = 0; p < snapshot.process_count; p++)
                if (snapshot.processes[p].command_line.len > 32)
                    snapshot.processes[p].command_line.len = 32;
            if (k && snapshot.process_count > 1)
                snapshot.process_count = i % 2 + 1; /* some of them came later */
            snapshot_encode(&snapshot, &body);
            snapshot_split(reader_over(bodies[k], body.pos), &parts[k]);
        }
        const struct reader rows[] = {parts[0].readings, parts[0].process_facts, parts[1].process_facts};

        for (unsigned k = 0; k < 3; k++) {
            write_u16(&writer, (uint16_t)rows[k].len);
            write_bytes(&writer, rows[k].bytes, rows[k].len);
        }
        put_seed("process_facts", i, bytes, writer.pos);
    }
    snapshot_deinit(&snapshot);
}

/* The first two bytes say which byte of the sealed frame is changed, and how; the rest is a body. */
static void put_sealed(void)
{
    put_seed("seal", 0, "\0\0a body that stays as it is", 27);
    put_seed("seal", 1, "\x05\x01the type is changed", 21);
    put_seed("seal", 2, "\x14\x80the key id is changed", 23);
    put_seed("seal", 3, "\x40\x01the body is changed", 21);
    put_seed("seal", 4, "\0\0", 2);
    put_seed("seal", 5, "\0\0CLST\x01\x18\0\x01\0\0\0\0\0\0\0\0\0\0\0\x2c", 22);
}

static void put_key_files(void)
{
    static const char *const files[] = {
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n",
        "# new\n\n 0f0102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F \r\n",
        ("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n" /* twice the same */
         "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"),
        "00000000000000000000000000000000000000000000000000000000000000aa",
        "key = 1\n",
        "# nothing\n",
    };

    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        put_seed("key_file", i, files[i], strlen(files[i]));
}

static void put_host_lists(void)
{
    static const char *const lists[] = {
        "node1",        "gpu[01-08,12]", "node[1-10].lan,!node3*", "r[1-2]n[1-2]", "10.0.0.0/8,fd00::/16",
        "conn-0123456", "!gpu01",        "x[0-4294967295]",        "a,b[1",        "[098-101]x[1][2][3]",
    };

    for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        put_seed("host_list", i, lists[i], strlen(lists[i]));
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
    put_chunks();
    put_messages();
    put_process_facts();
    put_sealed();
    put_key_files();
    put_host_lists();
    return 0;
}
