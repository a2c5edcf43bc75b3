/* What the two halves of the local API share: frames (api.c) and lines (api_text.c). */
#ifndef BACKEND_API_INTERNAL_H
#define BACKEND_API_INTERNAL_H

#include "backend/api.h"
#include "proto/rate.h"

struct connection {
    struct connection *next, *previous;
    struct api *api;
    struct net_stream *stream;
    uid_t uid;
    bool is_over_limit; /* the user has too many: told when it speaks */
    bool has_question;  /* one is under way */
    bool input_ended;   /* to be finished when everything is answered */
    bool is_finishing;
    bool is_taking;      /* lines, one after the other */
    struct buffer lines; /* text lines that wait for their turn */
};

struct api {
    struct api_events events;
    struct net_listener *listener;
    struct questions *questions;
    uid_t owner;
    struct connection connections; /* ring */
    size_t count;
    struct rate *requests, *texts;
    struct api_counters counters;
    struct event_limit logged;
};

/* May this connection's user make a request that counts as so many? */
bool api_take_request(struct connection *connection, struct rate *rate, size_t weight, struct instant now);

bool api_may_forget(const struct connection *connection);

/* Sends what must arrive. Ends the connection where it does not read. */
void api_send(struct connection *connection, const void *bytes, size_t len);

/* No more requests: sends what is owed and closes. */
void api_finish(struct connection *connection);

/* A line: taken when those before it are answered. */
void api_text_line(struct connection *connection, struct text line);

/* The question is answered: the next line. */
void api_text_next(struct connection *connection);

/* Sends "ERR text". */
void api_text_error(struct connection *connection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
