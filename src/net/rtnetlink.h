/*
 * The dump requests of rtnetlink(7): every link, every IPv4 address. Internal to net/; interfaces.c makes the
 * list out of it.
 */
#ifndef NET_RTNETLINK_H
#define NET_RTNETLINK_H

#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

/* Called for each message of the dump; `message` and its attributes are borrowed. 0, or -errno to give up. */
typedef int rtnetlink_visit(void *userdata, const struct nlmsghdr *message);

/*
 * Asks for a dump of `type` (RTM_GETLINK, RTM_GETADDR) and visits each message. The list may have changed
 * meanwhile: then -EAGAIN comes at the end. Returns 0 or -errno.
 */
int rtnetlink_dump(uint16_t type, uint8_t family, rtnetlink_visit *visit, void *userdata);

/*
 * Finds an attribute among `len` bytes of them. Returns its payload and size, or NULL.
 */
const void *rtnetlink_find(const void *attributes, size_t len, uint16_t type, size_t *ret_size);

/* The same inside a message whose own header (struct ifinfomsg, struct ifaddrmsg) takes `header_size` bytes.
 */
const void *rtnetlink_find_in(const struct nlmsghdr *message, size_t header_size, uint16_t type,
                              size_t *ret_size);

/* An attribute that is a u32; 0 if it is not there. */
uint32_t rtnetlink_u32_in(const struct nlmsghdr *message, size_t header_size, uint16_t type);

#endif
