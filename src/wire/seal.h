/*
 * Sealed frames: XChaCha20-Poly1305 over the body, the header authenticated. docs/protocol.md, "Seal".
 *
 * Body of a sealed frame: key id 4, nonce 24, then the sealed body with its tag of 16 bytes.
 * Handshake and discovery are sealed under a key of the key file, session frames under a key derived from it;
 * their nonce ends in a sequence number that wire/replay.h watches. Nothing here makes randomness, reads a
 * file or knows the time: what is random is an argument, so that simulations can be repeated.
 */
#ifndef WIRE_SEAL_H
#define WIRE_SEAL_H

#include "core/cursor.h"
#include "wire/frame.h"

#define SEAL_KEY_SIZE    32
#define SEAL_KEY_ID_SIZE 4
#define SEAL_NONCE_SIZE  24
#define SEAL_TAG_SIZE    16
#define SEAL_OVERHEAD    (SEAL_KEY_ID_SIZE + SEAL_NONCE_SIZE + SEAL_TAG_SIZE) /* 44 bytes of body more */
#define SEAL_MAX_KEYS    16                                                   /* in a key file */
#define SEAL_FILE_MAX    (64u << 10)                                          /* bytes of a key file */

/* Chooses libsodium's fastest code for this CPU. Call once at start. Returns 0 or -ENOSYS. */
int seal_start(void);

struct seal_key {
    uint8_t bytes[SEAL_KEY_SIZE];
    uint8_t id[SEAL_KEY_ID_SIZE]; /* says which key, not what it is */
};

/* The keys of a file: the first seals, all open. Wipe with seal_keys_wipe(). */
struct seal_keys {
    struct seal_key keys[SEAL_MAX_KEYS];
    unsigned count;
};

/* Which way a frame goes. Authenticated, so that nobody's frame can be sent back to him as an answer. */
enum seal_direction {
    SEAL_TO_SERVER = 1, /* HELLO, QUERY, PROBE ... */
    SEAL_TO_BACKEND = 2,
};

/* Makes a key of bytes, with its id. */
void seal_key_set(struct seal_key *key, const uint8_t bytes[SEAL_KEY_SIZE]);

/* The key of a session, from the file's key and both sides' random nonces (HELLO and WELCOME). */
void seal_key_derive(struct seal_key *ret_key, const struct seal_key *key, uint64_t client_nonce,
                     uint64_t server_nonce);

void seal_key_wipe(struct seal_key *key);
void seal_keys_wipe(struct seal_keys *keys);

/* The key that seals, or NULL if there is none (keys may be NULL). */
static inline const struct seal_key *seal_first_key(const struct seal_keys *keys)
{
    return keys && keys->count ? &keys->keys[0] : NULL;
}

/* Outcomes of seal_parse_keys(). */
enum seal_file_outcome {
    SEAL_FILE_OK = 0,
    SEAL_FILE_NO_KEY = 1,
    SEAL_FILE_BAD_LINE = 2,     /* neither 64 hex digits nor a comment nor empty */
    SEAL_FILE_REPEATED_KEY = 3, /* a key that an earlier line has */
    SEAL_FILE_WEAK_KEY = 4,     /* all bytes the same: an example, not a key */
    SEAL_FILE_TOO_MANY = 5,     /* more than SEAL_MAX_KEYS */
    SEAL_FILE_TOO_LONG = 6,     /* more than SEAL_FILE_MAX bytes */
    SEAL_FILE_OUTCOMES
};

/*
 * Parses the content of a key file: a key per line as 64 hex digits; blanks around it, empty lines and lines
 * that begin with '#' are skipped. Whether the file may be trusted (owner, permissions) is the caller's
 * business. Returns an enum seal_file_outcome. *ret_keys is written only on SEAL_FILE_OK; *ret_line is the
 * line, from 1, that is wrong (0 if no single one is).
 */
int seal_parse_keys(struct text file, struct seal_keys *ret_keys, unsigned *ret_line);

/* What is wrong, and what is allowed, in words that follow "FILE:LINE: ". Never quotes the file. */
const char *seal_file_problem(int outcome);

/* The nonce of a session frame: 16 random bytes, then the sequence number. */
void seal_nonce(const uint8_t random[16], uint64_t sequence, uint8_t ret_nonce[SEAL_NONCE_SIZE]);

/*
 * Begins a frame whose body the caller appends; seal_end() fills in the length, and encrypts the body where
 * it lies. With key NULL the frame stays plain (and nonce may be NULL), so that there is one way to write
 * frames. The same key goes into both; `mark` is the value that seal_begin() returned. header.body_len is not
 * looked at; FRAME_SEALED is set or cleared in the flags. The writer fails if the body gets longer than
 * FRAME_BODY_MAX.
 */
size_t seal_begin(struct writer *writer, const struct frame_header *header, const struct seal_key *key);
void seal_end(struct writer *writer, size_t mark, const struct seal_key *key, enum seal_direction direction,
              const uint8_t *nonce);

/* Outcomes of seal_open(), one per rung, for counters. */
enum seal_outcome {
    SEAL_OK = 0,
    SEAL_SHORT = 1,       /* no room for key id, nonce and tag, or another length than the header says */
    SEAL_UNKNOWN_KEY = 2, /* none of our keys has this id */
    SEAL_BROKEN = 3,      /* changed, of another direction, or under another key */
    SEAL_OUTCOMES
};

/* The key id of a sealed body, to find its session by; NULL if the body is shorter than SEAL_OVERHEAD. */
const uint8_t *seal_peek_key_id(struct reader body);

/*
 * Opens a sealed frame where it lies: `frame` is all of it (header, with FRAME_SEALED, and body). Tries each
 * of `keys` that has the frame's key id. On SEAL_OK the body is decrypted in place, *ret_body is a reader
 * over it and *ret_sequence the number at the nonce's end (which means something only under a session's key).
 * On any other outcome the frame is unchanged. Returns an enum seal_outcome.
 */
int seal_open(const struct seal_key *keys, size_t key_count, enum seal_direction direction, uint8_t *frame,
              size_t frame_len, struct reader *ret_body, uint64_t *ret_sequence);

#endif
