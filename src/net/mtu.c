#include "core/cleanup.h"
#include "net/udp.h"

#include <netinet/in.h>

unsigned net_path_mtu(const struct net_address *peer, unsigned configured)
{
    struct sockaddr_storage storage;
    bool ipv4 = peer->family == NET_FAMILY_IPV4;
    struct net_address target = *peer;
    _cleanup_(cleanup_close) int fd = -1;
    socklen_t len;
    int mtu = 0;

    if (configured)
        return configured;
    if (target.port == 0)
        target.port = 9; /* connect(2) wants a port; nothing is sent to it */
    len = net_address_to_sockaddr(&target, &storage);
    fd = socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&storage, len) < 0)
        return NET_MTU_FALLBACK;
    len = sizeof(mtu);
    if (getsockopt(fd, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_MTU : IPV6_MTU, &mtu, &len) < 0 ||
        mtu <= 0)
        return NET_MTU_FALLBACK;
    if (mtu < (int)NET_MTU_MIN)
        return NET_MTU_MIN;
    return mtu > (int)NET_MTU_MAX ? NET_MTU_MAX : (unsigned)mtu;
}
