/*
 * The service manager's notifications (sd_notify(3), the protocol only: one datagram of KEY=VALUE lines to
 * the socket named by NOTIFY_SOCKET). Without that variable everything is a no-op. Opening takes the
 * variables out of the environment, so that children cannot speak for us.
 */
#ifndef NET_NOTIFY_H
#define NET_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct net_notify {
    int fd;               /* -1: nobody listens */
    uint64_t watchdog_us; /* WATCHDOG_USEC if it is meant for this process, else 0: send at half of it */
};

/* Reads and clears NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. Returns 0 or -errno (it is usable all the
 * same). */
int net_notify_open(struct net_notify *ret_notify);
void net_notify_close(struct net_notify *notify);

/* All of these return 0 (also where nobody listens) or -errno; failing to notify is no reason to stop. */
int net_notify_ready(const struct net_notify *notify, const char *status); /* READY=1; status may be NULL */
int net_notify_status(const struct net_notify *notify,
                      const char *status);                 /* one line for systemctl status */
int net_notify_reloading(const struct net_notify *notify); /* RELOADING=1 with the time; then ready() again */
int net_notify_stopping(const struct net_notify *notify);
int net_notify_watchdog(const struct net_notify *notify); /* WATCHDOG=1 */

#endif
