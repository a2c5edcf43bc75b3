/*
 * The kernel's packet information (IP_PKTINFO of ip(7), IPV6_PKTINFO of RFC 3542): by which interface and to
 * which of our addresses a datagram came, and the same as a wish when sending. Internal to net/.
 */
#ifndef NET_PACKET_INFO_H
#define NET_PACKET_INFO_H

#include "net/udp.h"

/* Room for the control messages of one datagram: packet information and SO_RXQ_OVFL. */
#define PACKET_INFO_CONTROL_CAP 128

/* Asks the kernel for it on a socket of this family (AF_INET, or AF_INET6 which may carry both). 0 or -errno.
 */
int packet_info_enable(int fd, int family);

/*
 * Reads local address and interface out of a received message; they stay NONE and 0 where the kernel said
 * nothing. `ret_overflow` gets the socket's count of dropped datagrams if one came along. May be NULL.
 */
void packet_info_read(struct msghdr *message, uint16_t local_port, struct net_datagram *datagram,
                      uint32_t *ret_overflow);

/*
 * Writes destination, source address and interface of `datagram` into a message that is to be sent on a
 * socket of `family`. message->msg_name and msg_control point to sockaddr_storage and PACKET_INFO_CONTROL_CAP
 * bytes.
 */
void packet_info_write(struct msghdr *message, int family, const struct net_datagram *datagram);

#endif
