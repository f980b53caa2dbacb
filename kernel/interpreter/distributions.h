/*
 * distributions.h - the distributions of an interpreter, read from its folders without running it.
 *
 * A distribution is a folder NAME-VERSION.dist-info (or .egg-info) in one of
 * the folders that the interpreter imports from, or NAME-VERSION-….egg, which
 * holds its modules, too, or NAME.egg-link. See: PyPA, "Recording installed
 * projects"; setuptools, "The Internal Structure of Python Eggs"; PEP 405.
 *
 * importlib.metadata reads the same, but would have to run in that interpreter,
 * outside of the sandbox, at every start of a kernel.
 */
#ifndef PETRI_DISTRIBUTIONS_H
#define PETRI_DISTRIBUTIONS_H

#include "base/cleanup.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { DISTRIBUTIONS_FOLDERS = 20 };

struct distribution {
    char *name;    /* normalised: lower case, one - between words */
    char *version; /* "" where the name has none */
    char *info;    /* the name of its folder, or file, of metadata */
    size_t folder; /* which of the folders it is in */
};

struct distributions {
    char named[PATH_MAX];       /* the interpreter's path as the user gave it */
    char interpreter[PATH_MAX]; /* its real path */
    char version[32];           /* of the interpreter, from its files: "3.11.2", or only "3.11" */
    char *folders[DISTRIBUTIONS_FOLDERS];
    size_t n_folders;
    struct distribution *all; /* in the order of folder and name */
    size_t n;
};

/* python: the interpreter as its user names it, absolute; site: petri's own copy of IPython, or "". ret is the
 * caller's: distributions_fini(). 0, -errno where the interpreter does not exist,
 * or -ENOMEM. */
int distributions_find(const char *python, const char *site, struct distributions *ret) MUST_CHECK;
void distributions_fini(struct distributions *distributions);

/* The distributions in one folder, given by its real path; sets nothing about an interpreter. */
int distributions_in(const char *folder, struct distributions *ret) MUST_CHECK;

/*
 * Opens a file that an installer should have written, but anybody may have
 * replaced: NULL where there is none, where it is not a regular file (opening
 * a FIFO would block), and where it is larger than 64 MiB. The caller's:
 * fclose().
 */
FILE *distributions_open(const char *path);

/* The value of a key of PREFIX/pyvenv.cfg. Returns whether there is one. */
bool distributions_venv_value(const char *prefix, const char *key, char *buf, size_t size);

/* The normalised form of a distribution's name, which has n bytes. The caller's: free(); NULL on ENOMEM. */
char *distributions_normal_name(const char *name, size_t n);

#endif
