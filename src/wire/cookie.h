/*
 * Keyed hashes of the handshake: the cookie that proves an address, and a node's identity.
 * docs/protocol.md, "Cookie" and "Identity".
 */
#ifndef WIRE_COOKIE_H
#define WIRE_COOKIE_H

#include "core/text.h"

#include <stdint.h>

#define COOKIE_SIZE        16
#define COOKIE_SECRET_SIZE 32
#define COOKIE_EPOCH_SECS  60
#define IDENTITY_SIZE      16

/*
 * The cookie for a peer: only who holds the secret can make it, so the server keeps nothing.
 *
 * secret: random, made at start, COOKIE_SECRET_SIZE bytes. address: the peer's address and port as bytes, in
 * any form that is always the same. nonce: of its HELLO. epoch: monotonic seconds / COOKIE_EPOCH_SECS.
 */
void cookie_make(const uint8_t *secret, struct text address, uint64_t nonce, uint64_t epoch,
                 uint8_t ret_cookie[COOKIE_SIZE]);

/* True if the cookie was made in this epoch or the one before. Takes as long whatever differs. */
bool cookie_check(const uint8_t *secret, struct text address, uint64_t nonce, uint64_t epoch,
                  const uint8_t cookie[COOKIE_SIZE]);

/* A node's identity: a hash of machine id and node name. The machine id itself is never sent. */
void identity_make(struct text machine_id, struct text node_name, uint8_t ret_identity[IDENTITY_SIZE]);

#define CONNECTION_ID_SIZE 16 /* "conn-", ten hex digits, NUL */

/* The connection id that follows from an identity: "conn-" and its first ten hex digits. */
void identity_connection_id(const uint8_t identity[IDENTITY_SIZE], char ret_id[CONNECTION_ID_SIZE]);

#endif
