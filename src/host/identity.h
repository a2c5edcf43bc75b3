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

#define MACHINE_ID_MAX 64 /* bytes without the NUL; systemd's has 32 */

/*
 * The machine's id, as /etc/machine-id has it, else D-Bus's copy; an empty string where there is neither.
 * Machines that start from one image may share it, so it identifies nothing alone. buf holds
 * MACHINE_ID_MAX + 1 bytes. Never fails. Returns buf.
 */
char *identity_machine_id(char buf[static MACHINE_ID_MAX + 1]);

#endif
