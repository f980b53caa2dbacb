/*
 * python.h - asks an interpreter for its paths and what it lacks.
 */
#ifndef PETRI_PYTHON_H
#define PETRI_PYTHON_H

#include "base/cleanup.h"
#include "base/error.h"

#include <limits.h>
#include <stddef.h>

struct python {
    char executable[PATH_MAX]; /* sys.executable: the given name may be that of a script that starts another program */
    char prefix[PATH_MAX];     /* sys.prefix */
    char missing[256]; /* those of IPython, comm and matplotlib_inline that it lacks, separated by spaces; or "" */
};

/*
 * The name of the interpreter for cells, for python_ask(): what is given, else the
 * one that petri is installed for (PETRI_PYTHON, which the program of a wheel sets),
 * else "python3". Borrowed from given or the environment.
 */
const char *python_name(const char *given);

/*
 * Runs name (a path, or a name on the PATH) once and waits for its answer. 0,
 * or -errno with one sentence in ret_error.
 */
int python_ask(const char *name, struct python *ret_python, struct error *ret_error) MUST_CHECK;

/*
 * Makes an interpreter compile the modules of a folder. Sandboxes see it
 * read-only, and would otherwise compile them at every start. 0, or -errno where
 * the folder can't be written: then starts are slower.
 */
int python_compile(const char *executable, const char *folder) MUST_CHECK;

#endif
