/* Who this machine is. */
#ifndef HOST_IDENTITY_H
#define HOST_IDENTITY_H

#include <stddef.h>

#define NODE_NAME_MAX 255 /* bytes without the NUL; the kernel's own names have at most 64 */

/*
 * The node's name: CLUSTAT_HOSTNAME where it is set and not empty, else the kernel's node name, unresolved.
 * buf holds NODE_NAME_MAX + 1 bytes; a longer name is cut. Never fails. Returns buf.
 */
char *identity_node_name(char buf[static NODE_NAME_MAX + 1]);

#endif
