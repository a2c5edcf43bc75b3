#include "net/packet_info.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

int packet_info_enable(int fd, int family)
{
    const int on = 1;
    int level = family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
    int option = family == AF_INET6 ? IPV6_RECVPKTINFO : IP_PKTINFO;

    return setsockopt(fd, level, option, &on, sizeof(on)) < 0 ? -errno : 0;
}

static void read_ipv4(const struct cmsghdr *header, struct net_datagram *datagram)
{
    struct in_pktinfo info;
    struct in_addr address;

    memcpy(&info, CMSG_DATA(header), sizeof(info));
    /* ipi_spec_dst differs from the destination for broadcasts: there it is the address to answer from. */
    address = IN_MULTICAST(ntohl(info.ipi_addr.s_addr)) ? info.ipi_addr : info.ipi_spec_dst;
    datagram->local = net_address_ipv4(ntohl(address.s_addr), 0);
    datagram->interface = (uint32_t)info.ipi_ifindex;
}

static void read_ipv6(const struct cmsghdr *header, struct net_datagram *datagram)
{
    struct in6_pktinfo info;
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

    memcpy(&info, CMSG_DATA(header), sizeof(info));
    in6.sin6_addr = info.ipi6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
        in6.sin6_scope_id = info.ipi6_ifindex;
    net_address_from_sockaddr((const struct sockaddr *)&in6, sizeof(in6), &datagram->local);
    datagram->interface = info.ipi6_ifindex;
}

void packet_info_read(struct msghdr *message, uint16_t local_port, struct net_datagram *datagram,
                      uint32_t *ret_overflow)
{
    datagram->local = NET_ADDRESS_NONE;
    datagram->interface = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO)
            read_ipv4(header, datagram);
        else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO)
            read_ipv6(header, datagram);
        else if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SO_RXQ_OVFL && ret_overflow)
            memcpy(ret_overflow, CMSG_DATA(header), sizeof(*ret_overflow));
    }
    if (datagram->local.family != NET_FAMILY_NONE)
        datagram->local.port = local_port;
}

static void write_control(struct msghdr *message, int level, int type, const void *info, size_t size)
{
    struct cmsghdr *header;

    memset(message->msg_control, 0, CMSG_SPACE(size));
    message->msg_controllen = CMSG_SPACE(size);
    header = CMSG_FIRSTHDR(message);
    header->cmsg_level = level;
    header->cmsg_type = type;
    header->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(header), info, size);
}

static void write_ipv4(struct msghdr *message, const struct net_address *local, uint32_t interface)
{
    struct in_pktinfo info = {.ipi_ifindex = (int)interface};

    memcpy(&info.ipi_spec_dst, local->bytes, 4);
    write_control(message, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
}

/* On a socket of the family AF_INET6 the kernel takes this for IPv4 too, with a mapped address. */
static void write_ipv6(struct msghdr *message, const struct net_address *local, uint32_t interface)
{
    struct in6_pktinfo info = {.ipi6_ifindex = interface};
    struct sockaddr_storage storage;
    struct sockaddr_in6 in6;

    net_address_to_sockaddr_mapped(local, &storage);
    memcpy(&in6, &storage, sizeof(in6));
    info.ipi6_addr = in6.sin6_addr;
    write_control(message, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
}

void packet_info_write(struct msghdr *message, int family, const struct net_datagram *datagram)
{
    struct net_address local = datagram->local;
    struct sockaddr_storage *name = message->msg_name;

    message->msg_namelen = family == AF_INET6 ? net_address_to_sockaddr_mapped(&datagram->peer, name)
                                              : net_address_to_sockaddr(&datagram->peer, name);
    if (local.family != datagram->peer.family || net_address_is_multicast(&local))
        local = (struct net_address){.family = datagram->peer.family};
    if (net_address_is_any(&local) && datagram->interface == 0)
        message->msg_controllen = 0;
    else if (family == AF_INET6)
        write_ipv6(message, &local, datagram->interface);
    else
        write_ipv4(message, &local, datagram->interface);
}
