#include "tree.h"

#include "kernel/base/paths.h"

#include <ftw.h>
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

char tree[32];

int tree_make(void **state) {
    (void)state;
    strcpy(tree, "/tmp/petri-test-XXXXXX");
    return mkdtemp(tree) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

int tree_remove(void **state) {
    (void)state;
    return nftw(tree, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *tree_path(char buf[PATH_MAX], const char *name) {
    assert_in_range(snprintf(buf, PATH_MAX, "%s/%s", tree, name), 1, PATH_MAX - 1);
    return buf;
}

void tree_folder(const char *name) {
    char path[PATH_MAX];
    assert_int_equal(paths_make_folders(tree_path(path, name), 0755), 0);
}

void tree_file(const char *name, const char *text) {
    char path[PATH_MAX], above[PATH_MAX];
    tree_path(above, name);
    assert_int_equal(paths_make_folders(dirname(above), 0755), 0);
    FILE *file = fopen(tree_path(path, name), "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}
