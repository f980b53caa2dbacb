/* What a layer has of its own, on layers written by hand, in both of their formats. */
#include "as_user.h"
#include "sandbox/changes.h"
#include "tmpfs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINES = 64 };

struct listed {
    size_t n;
    char *line[LINES];
};

static int note(void *arg, const struct cell_file *file) {
    static const char *const words[] = {"created", "changed", "deleted"};
    struct listed *listed = arg;
    CHECK(listed->n < LINES);
    CHECK(asprintf(&listed->line[listed->n++], "%s %s%s", words[file->change], file->path,
                   S_ISDIR(file->mode) ? "/" : "") > 0);
    return 0;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int open_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

/* The changes as one text, in the order of their lines. */
static void check_changes(bool copied, const char *expected) {
    struct listed listed = {0};
    char text[2048] = "";
    struct changes_options options = {.upper_fd = open_folder("upper"),
                                      .base_fd = open_folder("base"),
                                      .folder_fd = open_folder("folder"),
                                      .copied = copied};
    CHECK_EQUAL(clock_gettime(CLOCK_REALTIME, &options.since), 0);
    options.since.tv_sec += 100; /* all of this was made before */
    CHECK_EQUAL(changes_list(&options, note, &listed), 0);
    qsort(listed.line, listed.n, sizeof listed.line[0], by_text);
    for (size_t i = 0; i < listed.n; i++) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? ", " : "", listed.line[i]);
        free(listed.line[i]);
    }
    CHECK_TEXT(text, expected);
}

static int make_folders(void) {
    int root = tmpfs_enter();
    put_folder(root, "upper");
    put_folder(root, "base");
    put_folder(root, "folder");
    return root;
}

/* A file with the times that a copy keeps. */
static void put_old(int root, const char *path, const char *text) {
    const struct timespec times[] = {{1000, 0}, {1000, 0}};
    put_text(root, path, text);
    CHECK_EQUAL(utimensat(root, path, times, 0), 0);
}

static int list_overlay_layer(void *arg) {
    int root = make_folders();
    (void)arg;
    check_changes(false, "");
    put_text(root, "folder/host", "h");
    put_text(root, "folder/gone", "h");
    put_folder(root, "folder/kept");
    put_text(root, "folder/kept/a", "h");
    put_folder(root, "folder/new");
    put_text(root, "folder/new/host", "h");
    put_text(root, "folder/new/both", "h");
    put_text(root, "base/earlier", "b");
    put_text(root, "base/removed", "b");
    put_whiteout(root, "base/again");
    put_text(root, "folder/again", "h");
    put_folder(root, "base/new");
    put_text(root, "base/new/base", "b");
    check_changes(false, "");
    put_text(root, "upper/host", "u");
    put_text(root, "upper/again", "u");
    put_text(root, "upper/earlier", "u");
    put_text(root, "upper/mine", "u");
    put_symlink(root, "upper/link", "/etc/passwd");
    put_whiteout(root, "upper/gone");
    put_whiteout(root, "upper/removed");
    put_folder(root, "upper/kept");
    put_text(root, "upper/kept/b", "u");
    put_opaque(root, "upper/new");
    put_text(root, "upper/new/both", "u");
    put_folder(root, "upper/empty");
    check_changes(false, "changed earlier, changed host, changed new/both, created again, created kept/b,"
                         " created link, created mine, deleted gone, deleted new/base, deleted new/host,"
                         " deleted removed");
    return 0;
}

static int list_copied_layer(void *arg) {
    int root = make_folders();
    (void)arg;
    put_text(root, "folder/host", "h");
    put_folder(root, "base/sub");
    put_old(root, "base/sub/same", "same");
    put_old(root, "base/touched", "same");
    put_old(root, "base/other", "aaaa");
    put_old(root, "base/removed", "b");
    put_whiteout(root, "base/earlier");
    put_folder(root, "base/tree");
    put_folder(root, "upper/sub");
    put_old(root, "upper/sub/same", "same");
    put_text(root, "upper/touched", "same");
    put_text(root, "upper/other", "bbbb");
    put_text(root, "upper/mine", "u");
    put_whiteout(root, "upper/earlier");
    put_whiteout(root, "upper/host");
    check_changes(true, "changed other, created mine, deleted host, deleted removed, deleted tree/");
    return 0;
}

/* The times of a file can be set, all but the one of its last change: a copy that looks old is compared. */
static int list_copied_layer_with_forged_times(void *arg) {
    int root = make_folders();
    struct listed listed = {0};
    (void)arg;
    put_old(root, "base/forged", "aaaa");
    put_old(root, "upper/forged", "bbbb");
    const struct changes_options options = {.upper_fd = open_folder("upper"),
                                            .base_fd = open_folder("base"),
                                            .folder_fd = -1,
                                            .copied = true,
                                            .since = {1000, 0}};
    CHECK_EQUAL(changes_list(&options, note, &listed), 0);
    CHECK_EQUAL(listed.n, 1);
    CHECK_TEXT(listed.line[0], "changed forged");
    free(listed.line[0]);
    return 0;
}

static int list_deep_layer(void *arg) {
    struct listed listed = {0};
    int root = make_folders();
    (void)arg;
    int fd = openat(root, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 60; i++) {
        put_folder(fd, "d");
        int inner = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = inner;
    }
    put_text(fd, "end", "x");
    const struct changes_options options = {.upper_fd = open_folder("upper"), .base_fd = -1, .folder_fd = -1};
    CHECK_EQUAL(changes_list(&options, note, &listed), 0);
    CHECK_EQUAL(listed.n, 1);
    CHECK(strncmp(listed.line[0], "created d/d/d/", 14) == 0);
    free(listed.line[0]);
    return 0;
}

#define IN_FORK(part)                                                                                                  \
    static void test_##part##_as_this_user(void **state) {                                                             \
        (void)state;                                                                                                   \
        run_in_fork(part, NULL, false);                                                                                \
    }                                                                                                                  \
    static void test_##part##_as_an_ordinary_user(void **state) {                                                      \
        (void)state;                                                                                                   \
        run_in_fork(part, NULL, true);                                                                                 \
    }

IN_FORK(list_overlay_layer)
IN_FORK(list_copied_layer)
IN_FORK(list_copied_layer_with_forged_times)
IN_FORK(list_deep_layer)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_overlay_layer_as_this_user),
        cmocka_unit_test(test_list_overlay_layer_as_an_ordinary_user),
        cmocka_unit_test(test_list_copied_layer_as_this_user),
        cmocka_unit_test(test_list_copied_layer_as_an_ordinary_user),
        cmocka_unit_test(test_list_copied_layer_with_forged_times_as_this_user),
        cmocka_unit_test(test_list_copied_layer_with_forged_times_as_an_ordinary_user),
        cmocka_unit_test(test_list_deep_layer_as_this_user),
        cmocka_unit_test(test_list_deep_layer_as_an_ordinary_user),
    };
    return cmocka_run_group_tests_name("changes", tests, NULL, NULL);
}
