/*
 * tree.h - a folder of a test's own, and the files that the test puts into it.
 */
#ifndef PETRI_TEST_TREE_H
#define PETRI_TEST_TREE_H

#include <limits.h>

/* The folder, from tree_make() to tree_remove(); setup and teardown for cmocka. */
extern char tree[32];
int tree_make(void **state);
int tree_remove(void **state);

/* The path of what is called name in it, in the caller's buffer. Returns buf. */
const char *tree_path(char buf[PATH_MAX], const char *name);

/* Makes a folder, or a file with this text, and the folders above it. */
void tree_folder(const char *name);
void tree_file(const char *name, const char *text);

#endif
