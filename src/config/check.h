/* Whether a text of the configuration makes sense. All return 0 or -EINVAL. Internal to src/config/. */
#ifndef CONFIG_CHECK_H
#define CONFIG_CHECK_H

#include "core/text.h"

/* Every text: at most 4,095 bytes, no control characters. */
int check_plain(struct text text);

int check_absolute_path(struct text text);
int check_socket_path(struct text text); /* absolute, fits sockaddr_un */

int check_ipv4_address(struct text text);
int check_multicast_endpoint(struct text text); /* "239.0.0.1:4000", or empty: off */
int check_cidr(struct text text);               /* "10.0.0.0/8", "fd00::/8", or a single address */

/* "gpu7", "gpu7:30000", "10.0.0.7", and host lists of them: "gpu[01-08]:30000". */
int check_nodes(struct text text);

#endif
