/* Rate-limited lines of the log: see core/event_log.h, which the backend uses too. */
#ifndef SERVER_EVENT_LOG_H
#define SERVER_EVENT_LOG_H

#include "core/event_log.h"

#endif
