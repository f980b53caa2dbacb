/*
 * paths.h - finds petri's own files, from the place of its program.
 *
 * An installed petri, PREFIX/bin/petri, has them in PREFIX/share/petri; in a
 * checkout they are above the build folder.
 */
#ifndef PETRI_PATHS_H
#define PETRI_PATHS_H

#include "base/cleanup.h"

#include <limits.h>
#include <sys/types.h>

struct paths {
    char program[PATH_MAX];      /* the running petri, absolute */
    char worker[PATH_MAX];       /* the folder that holds the package petri_worker */
    char kernelspec[PATH_MAX];   /* the folder with the logos and the page for help menus */
    char labextension[PATH_MAX]; /* the extension of JupyterLab; "" where it is missing */
    char seccomp[PATH_MAX];      /* the seccomp profile for containers; "" where it is missing */
    char site[PATH_MAX];         /* petri's own copy of IPython; "" where there is none */
};

/* Finds them. 0, -ENOENT where they are not there, or another -errno. */
int paths_find(struct paths *ret_paths) MUST_CHECK;

/* The same for a program at this path; for tests. */
int paths_find_for(const char *program, struct paths *ret_paths) MUST_CHECK;

/*
 * The path of a file of the user: name below the folder that the environment
 * variable names, or else below that folder of the home ("XDG_DATA_HOME",
 * ".local/share", "petri/history.sqlite"). 0, -ENOENT where there is no home, or
 * -ENAMETOOLONG. See: XDG Base Directory Specification.
 */
int paths_of_user(const char *variable, const char *otherwise, const char *name, char *buf, size_t size) MUST_CHECK;

/*
 * Whether others than its owner and group can't get to a path: 1 with the first
 * folder or file on the way, through its links, that is closed to them, in
 * ret_closed; else 0, also where that is not known.
 */
int paths_closed_to_others(const char *path, char ret_closed[PATH_MAX]);

/* Makes a folder and those above it, unless they exist. 0 or -errno. */
int paths_make_folders(const char *path, mode_t mode) MUST_CHECK;

#endif
