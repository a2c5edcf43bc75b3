#include "config/check.h"

#include "model/host_list.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/un.h>

#define TEXT_MAX 4095 /* PATH_MAX without the NUL, the longest thing that makes sense */

int check_plain(struct text text)
{
    if (text.len > TEXT_MAX)
        return -EINVAL;
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.bytes[i] < 0x20 || text.bytes[i] == 0x7f)
            return -EINVAL;
    }
    return 0;
}

int check_absolute_path(struct text text)
{
    return text.len && text.bytes[0] == '/' ? 0 : -EINVAL;
}

int check_socket_path(struct text text)
{
    if (text.len >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return -EINVAL;
    return check_absolute_path(text);
}

/* Writes the address in network order. `family`: AF_INET or AF_INET6. */
static bool parse_address(int family, struct text text, void *ret_address)
{
    char buf[INET6_ADDRSTRLEN];

    return text.len < sizeof(buf) && inet_pton(family, text_copy(text, buf, sizeof(buf)), ret_address) == 1;
}

/* What stands before the last `separator`; *ret_after is what follows. Absent if there is none. */
static struct text before_last(struct text text, char separator, struct text *ret_after)
{
    struct text after = text_after_last(text, separator);

    if (after.len == text.len)
        return TEXT_ABSENT;
    *ret_after = after;
    return (struct text){text.bytes, text.len - after.len - 1};
}

int check_ipv4_address(struct text text)
{
    struct in_addr address;

    return parse_address(AF_INET, text, &address) ? 0 : -EINVAL;
}

static int check_port(struct text text)
{
    unsigned long long port;

    return text_parse_decimal(text, 65535, &port) == 0 && port > 0 ? 0 : -EINVAL;
}

int check_multicast_endpoint(struct text text)
{
    struct in_addr address;
    struct text port, host = before_last(text, ':', &port);

    if (!text.len)
        return 0;
    if (!text_is_present(host) || check_port(port) < 0 || !parse_address(AF_INET, host, &address))
        return -EINVAL;
    return IN_MULTICAST(ntohl(address.s_addr)) ? 0 : -EINVAL;
}

int check_cidr(struct text text)
{
    struct in6_addr address; /* large enough for both families */
    struct text length, host = before_last(text, '/', &length);
    unsigned long long bits = 0;

    if (!text_is_present(host))
        return parse_address(AF_INET, text, &address) || parse_address(AF_INET6, text, &address) ? 0
                                                                                                 : -EINVAL;
    if (text_parse_decimal(length, 128, &bits) < 0)
        return -EINVAL;
    if (parse_address(AF_INET, host, &address))
        return bits <= 32 ? 0 : -EINVAL;
    return parse_address(AF_INET6, host, &address) ? 0 : -EINVAL;
}

static int check_one_host(void *context, struct text name)
{
    struct text port, host = before_last(name, ':', &port);
    struct in6_addr address;

    (void)context;
    if (!name.len || memchr(name.bytes, ' ', name.len))
        return -EINVAL;
    if (!text_is_present(host) || parse_address(AF_INET6, name, &address))
        return 0;
    return host.len ? check_port(port) : -EINVAL;
}

static int check_item(void *context, struct text item)
{
    return host_list_expand(item, check_one_host, NULL, context) == 0 ? 0 : -EINVAL;
}

int check_nodes(struct text text)
{
    struct host_list_error error;

    return text.len && host_list_split(text, check_item, &error, &error) == 0 ? 0 : -EINVAL;
}
