/*
 * workdir.h - the folder that a kernel was started in, opened once.
 *
 * The owner of a folder above it can rename it and put something else in its
 * place. So all that petri does with it goes through one descriptor, and its name
 * is a name only: it says where cells see the folder, and what kind of folder it
 * is.
 *
 * What a file's owner keeps from others, and hidden entries of any home, cells
 * don't see unless the configuration's `inputs` names them. The folder's owner
 * usually runs its cells, so they may read what the owner may; but not in a
 * folder of the system, or one that all users can write to.
 */
#ifndef PETRI_WORKDIR_H
#define PETRI_WORKDIR_H

#include "base/cleanup.h"
#include "base/error.h"
#include "sandbox/sandbox.h"

#include <jansson.h>
#include <limits.h>

struct workdir {
    int fd;              /* O_PATH, owned */
    char path[PATH_MAX]; /* its name when the kernel started */
    bool shown;          /* to cells; else they begin with an empty folder */
    bool hidden;         /* not shown because it lies in a hidden entry of a home */
    bool map_owner;      /* see sandbox.h */
    bool map_group;
    char **homes; /* as session_options has them; owned */
};

/* Opens the working folder. inputs is the configuration's, NULL for none. 0, or -errno with a sentence in ret_error. */
int workdir_open(struct workdir *ret_workdir, const json_t *inputs, struct error *ret_error) MUST_CHECK;

/* All zero but fd -1 is allowed. */
void workdir_close(struct workdir *workdir);
#define auto_workdir __attribute__((cleanup(workdir_close))) struct workdir

/* What a user should be told about how cells see it, as a line; "" for nothing. Returns buf. */
const char *workdir_note(const struct workdir *workdir, const struct session_view *view, char *buf, size_t size);

/* How the sandbox is to have it. */
struct sandbox_folder workdir_folder(const struct workdir *workdir);

#endif
