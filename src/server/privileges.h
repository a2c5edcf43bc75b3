/*
 * What the responder needs no more once its sockets are open. It listens to the network, so it should be able
 * to do little; the sampler, which may have been given CAP_SYS_PTRACE to name other users' processes, gets
 * its capabilities from the ambient set, which stays.
 */
#ifndef SERVER_PRIVILEGES_H
#define SERVER_PRIVILEGES_H

/* Gives up the effective capabilities. Returns 0 or -errno. As root there is nothing to give up this way. */
int privileges_drop(void);

#endif
