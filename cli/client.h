/*
 * client.h - starts a kernel and runs cells in it, without Jupyter.
 *
 * Starts `petri kernel` as a child, in the current folder, with sockets in a
 * private folder, and uses the Jupyter protocol as any client does. It is for
 * commands: its functions block, and SIGINT interrupts the cell.
 *
 * jupyter_client is Python, and `petri run` has to work without Jupyter.
 */
#ifndef PETRI_CLIENT_H
#define PETRI_CLIENT_H

#include "base/cleanup.h"
#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* Options of `petri kernel`; NULL for its defaults. Borrowed for client_start(). */
struct client_options {
    const char *profile;
    const char *config;
    const char *python;
    const char *artifacts; /* a folder for the files of cells, "" for none */
};

struct client;

/*
 * Starts a kernel and waits until it is ready for requests. ret is the caller's:
 * client_stop(). 0, or -errno with one sentence in ret_error (the kernel writes
 * its own errors to standard error); -EUSERS where it ended with EXIT_USAGE.
 */
int client_start(const struct client_options *options, struct client **ret, struct error *ret_error) MUST_CHECK;

/*
 * Runs a cell and waits for its end: code is a JSON string, petri the request's
 * metadata.petri or NULL; both borrowed. ret_report is the caller's: the run
 * report, with the cell's outputs added to it: "stdout" and "stderr" (texts),
 * "result" (the text/plain of its value, or null), "displays" [{"data",
 * "metadata"}]. 0, or -errno with one sentence in ret_error: -EMSGSIZE where the
 * request is too large for the kernel, -EINTR where the user has ended it with a
 * signal, another where the kernel has ended.
 */
int client_run(struct client *client, const json_t *code, const json_t *petri, json_t **ret_report,
               struct error *ret_error) MUST_CHECK;

/* Whether the cells that follow take a number, and go into the history, as a notebook's do. They don't at first. */
void client_count(struct client *client, bool counts);

/* Ends the kernel and frees the client. NULL is allowed. */
void client_stop(struct client *client);

/* What a command exits with after a run: 0 ok, 1 the code raised, 2 refused, 3 a limit or crash, 4 no sandbox. */
int client_exit_status(const json_t *report);

#endif
