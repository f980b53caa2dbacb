/*
 * workdir.h - the folder that a kernel was started in, opened once.
 *
 * The owner of a folder above it can rename it and put another folder in its
 * place. So petri uses it only through one descriptor; its path only says where
 * cells see the folder, and whether it is a home or a system folder.
 *
 * Cells don't see files that only their owner can read, nor hidden entries of any
 * home, unless the configuration's `inputs` names them. In the user's own folder
 * cells may read what its owner may read; a system folder, or one that every user
 * can write to, does not count as the user's own in this sense.
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
    bool hidden;         /* not shown because it is in a hidden entry of a home */
    bool map_owner;      /* see sandbox.h */
    bool map_group;
    char **homes; /* as session_options has them; owned */
};

/* Opens the working folder. inputs is the configuration's, NULL for none. 0, or -errno with a sentence in ret_error. */
int workdir_open(struct workdir *ret_workdir, const json_t *inputs, struct error *ret_error) MUST_CHECK;

/* All zero but fd -1 is allowed. */
void workdir_close(struct workdir *workdir);
#define auto_workdir __attribute__((cleanup(workdir_close))) struct workdir

/* A line for the user about how cells see the folder, or "". Returns buf. */
const char *workdir_note(const struct workdir *workdir, const struct session_view *view, char *buf, size_t size);

/* The folder as the sandbox's option. */
struct sandbox_folder workdir_folder(const struct workdir *workdir);

#endif
