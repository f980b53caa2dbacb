/*
 * route.h - how a type of message is handled; the table of routes is in dispatch.c.
 */
#ifndef PETRI_ROUTE_H
#define PETRI_ROUTE_H

struct introspection_kind;
struct cell_kind;
struct kernel;
struct request;

enum route_way {
    ROUTE_NOW,           /* answer() answers it at once; dispatch.c sends busy and idle, and frees it */
    ROUTE_KEEP,          /* keep() takes it over, sends busy and idle, and frees it */
    ROUTE_CELL,          /* it runs as a cell and may change the session: runner.h */
    ROUTE_INTROSPECTION, /* it runs in a cell that is always discarded, beside the session's: introspection.h */
};

struct route {
    const char *msg_type;
    unsigned channels; /* a bit for each enum channel that it may come on */
    enum route_way way;
    union {
        void (*answer)(struct kernel *kernel, const struct request *request);
        void (*keep)(struct kernel *kernel, struct request *request);
        const struct cell_kind *cell;
        const struct introspection_kind *introspection;
    };
};

#endif
