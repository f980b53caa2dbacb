/*
 * dispatch.h - which request comes on which channel, and what is done about it.
 */
#ifndef PETRI_DISPATCH_H
#define PETRI_DISPATCH_H

#include "kernel/request.h"

#include <stddef.h>

struct kernel;
struct cell_kind;
struct aside_kind;

enum dispatch_way {
    DISPATCH_NOW,   /* answer() answers it at once; busy, idle and freeing are seen to */
    DISPATCH_KEEP,  /* keep() takes it over and sees to busy, idle and freeing itself */
    DISPATCH_CELL,  /* it runs as a cell and may change the session: runner.h */
    DISPATCH_ASIDE, /* it runs in a throw-away beside the session's cell: aside.h */
};

#define ON(channel) (1u << (channel))

struct dispatch_row {
    const char *msg_type;
    unsigned channels; /* of ON(CHANNEL_...) */
    enum dispatch_way way;
    union {
        void (*answer)(struct kernel *kernel, const struct request *request);
        void (*keep)(struct kernel *kernel, struct request *request);
        const struct cell_kind *cell;
        const struct aside_kind *aside;
    };
};

/* Rows in the order of msg_type. */
extern const struct dispatch_row dispatch_rows[];
extern const size_t dispatch_n_rows;

/* The row of a message type on a channel, or NULL. */
const struct dispatch_row *dispatch_find(const char *msg_type, enum channel channel);

/* A poll_handler for a ROUTER channel (arg: its enum channel): takes some of the messages that have come. */
void dispatch_serve(struct kernel *kernel, void *arg, short events);

/* Takes at most n of the messages that have come on a channel. */
void dispatch_take(struct kernel *kernel, enum channel channel, int n);

#endif
