/*
 * harness.h - a whole kernel on a thread, with a client and a worker played by the test.
 */
#ifndef PETRI_HARNESS_H
#define PETRI_HARNESS_H

#include "fake_sandbox.h"
#include "kernel/kernel.h"

#include <pthread.h>

/* A worker that the test plays. */
struct harness_worker {
    struct cell *cell;          /* of one beside the session's */
    int fd;                     /* the end that the test has */
    struct wire_reader *reader; /* of what the kernel tells it, owned */
};

struct harness {
    const json_t *parent; /* header of what is sent next; borrowed; NULL for none */
    const char *client;   /* session of what is sent next; NULL for "client-session" */
    struct kernel kernel;
    struct session *session; /* as fake_sandbox.h knows it; the kernel owns it */
    pthread_t thread;
    char folder[64]; /* of the ipc sockets */
    void *context;   /* the client's */
    void *sockets[CHANNEL_N];
    struct signer *signer;
    struct harness_worker own;     /* of the session: the starting one, then those of its cells */
    struct harness_worker *played; /* now */
};

/* Changes limits before the kernel runs; NULL is allowed. */
typedef void harness_change(struct kernel *kernel);

/* A running kernel whose worker has not said anything yet; a client that has got its iopub_welcome. */
void harness_start(struct harness *h, harness_change *change);

/* The same, with a worker that has said hello and ready. */
void harness_start_warm(struct harness *h, harness_change *change);

/* The worker says hello: Python 3.99, banner "Hello!". */
void harness_hello(struct harness *h);

/* Asks for a shutdown, if nobody has, waits for the loop's end and frees everything. */
void harness_stop(struct harness *h);

/* One more connection of a client on a channel, under a name where one is given. The caller's: zmq_close(). */
void *harness_connect(struct harness *h, enum channel channel, const char *name);

/* The client: content is stolen; the id that the request got goes to ret_id. */
void harness_send(struct harness *h, enum channel channel, const char *msg_type, json_t *content, char ret_id[37]);
/* The same with metadata, which is stolen too. */
void harness_send_with(struct harness *h, enum channel channel, const char *msg_type, json_t *content, json_t *metadata,
                       char ret_id[37]);
void harness_execute(struct harness *h, const char *code, char ret_id[37]);

/* Waits for the next message on a channel. The caller's: message_fini(). */
void harness_receive(struct harness *h, enum channel channel, struct message *ret_message);

/*
 * Waits for the idle status of a request and returns what was published for it
 * up to there, one word a message: "busy execute_input stream:stdout:text error:ename idle"; further busys are left
 * out. The caller's: free().
 */
char *harness_heard(struct harness *h, const char *id);

/* The same for n requests that run at once: in ret_heard, in the order of ids. */
void harness_heard_all(struct harness *h, const char *const ids[], size_t n, char *ret_heard[]);

/* Waits for a reply on a channel and checks whose it is. content is the caller's: json_decref(). */
json_t *harness_reply(struct harness *h, enum channel channel, const char *msg_type, const char *id);

/* Waits until an iopub message of this type for this request comes; others are dropped. The caller's. */
void harness_wait_published(struct harness *h, const char *msg_type, const char *id, struct message *ret_message);

/* The worker: takes over the next cell that is started; waits for a request in it. The request is the caller's. */
json_t *harness_next_cell(struct harness *h);

/* The same for the next cell that is started beside the session's. worker is the caller's: harness_leave(). */
json_t *harness_next_beside(struct harness *h, struct harness_worker *worker);
void harness_leave(struct harness_worker *worker);

/* From now on the test plays this worker; NULL: the one of the session's own cell. */
void harness_play(struct harness *h, struct harness_worker *worker);

/* Waits for the next frame from the kernel. The caller's: json_decref(). */
json_t *harness_told(struct harness *h);

/* Says something to the kernel; json is stolen. */
void harness_say(struct harness *h, json_t *json);
void harness_done(struct harness *h, const char *status);

#endif
