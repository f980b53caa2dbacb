/*
 * client.h - a client of a kernel of one's own: cells without Jupyter.
 *
 * Starts `petri kernel` as a child, in the current folder, on sockets in a
 * private folder, and speaks the protocol as any client does. For commands:
 * functions here wait, and SIGINT interrupts the cell that is waited for.
 *
 * Ours, because jupyter_client is Python, and `petri run` has to work without
 * any Jupyter.
 */
#ifndef PETRI_CLIENT_H
#define PETRI_CLIENT_H

#include "base/cleanup.h"
#include "base/error.h"

#include <jansson.h>

/* Options of `petri kernel`; NULL where they are left to it. Borrowed for client_start(). */
struct client_options {
    const char *profile;
    const char *config;
    const char *python;
    const char *artifacts; /* a folder for the files of cells, "" for none */
};

struct client;

/*
 * Starts a kernel and waits until it can be asked. ret is the caller's:
 * client_stop(). 0, or -errno with one sentence in ret_error (the kernel itself
 * writes what is wrong to standard error); -EUSERS where it ended with
 * EXIT_USAGE.
 */
int client_start(const struct client_options *options, struct client **ret, struct error *ret_error) MUST_CHECK;

/*
 * Runs a cell and waits for its end: code is a JSON string, petri the request's
 * metadata.petri or NULL; both borrowed. ret_report is the caller's: the run
 * report, with what the cell put out added to it: "stdout" and "stderr" (texts),
 * "result" (the text/plain of its value, or null), "displays" [{"data",
 * "metadata"}]. 0, or -errno with one sentence in ret_error: the kernel is gone;
 * -EMSGSIZE, it takes no request as large as this; or -EINTR, the user has ended
 * it.
 */
int client_run(struct client *client, const json_t *code, const json_t *petri, json_t **ret_report,
               struct error *ret_error) MUST_CHECK;

/* Ends the kernel and frees the client. NULL is allowed. */
void client_stop(struct client *client);

/* What a command exits with after a run: 0 ok, 1 the code raised, 2 refused, 3 a limit or crash, 4 no sandbox. */
int client_exit_status(const json_t *report);

#endif
