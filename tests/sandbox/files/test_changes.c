/* What a layer has of its own, on layers written by hand, in both of their formats. */
#include "sandbox/files/changes.h"
#include "tests/sandbox/as_user.h"
#include "tests/sandbox/listing.h"
#include "tests/sandbox/tmpfs.h"

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

static int open_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static void check_changes(struct changes_options options, const char *expected) {
    struct listing listing = {0};
    options.upper_fd = open_folder("upper");
    options.base_fd = open_folder("base");
    options.folder_fd = open_folder("folder");
    CHECK_EQUAL(changes_list(&options, listing_add, &listing), 0);
    CHECK_TEXT(listing_take(&listing), expected);
}

/* What all files of a test were made before. */
static struct timespec later(void) {
    struct timespec time;
    CHECK_EQUAL(clock_gettime(CLOCK_REALTIME, &time), 0);
    time.tv_sec += 100;
    return time;
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
    check_changes((struct changes_options){0}, "");
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
    check_changes((struct changes_options){0}, "");
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
    check_changes((struct changes_options){0},
                  "changed earlier, changed host, changed new/both, created again, created kept/b,"
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
    check_changes((struct changes_options){.live = true, .since = later()},
                  "changed other, created mine, deleted host, deleted removed, deleted tree/");
    return 0;
}

/* Adds the path of a file that the host has, too. */
static int add_on_host(void *arg, const struct cell_file *file) {
    return file->on_host ? listing_add(arg, file) : 0;
}

static int list_files_of_the_host(void *arg) {
    int root = make_folders();
    struct listing listing = {0};
    (void)arg;
    put_text(root, "folder/host", "h");
    put_text(root, "folder/gone", "h");
    put_text(root, "folder/again", "h");
    put_whiteout(root, "base/again");
    put_text(root, "base/earlier", "b");
    put_folder(root, "folder/sub");
    put_text(root, "folder/sub/host", "h");
    put_text(root, "upper/host", "u");
    put_whiteout(root, "upper/gone");
    put_text(root, "upper/again", "u");
    put_text(root, "upper/earlier", "u");
    put_text(root, "upper/mine", "u");
    put_folder(root, "upper/sub");
    put_text(root, "upper/sub/host", "u");
    const struct changes_options options = {
        .upper_fd = open_folder("upper"), .base_fd = open_folder("base"), .folder_fd = open_folder("folder")};
    CHECK_EQUAL(changes_list(&options, add_on_host, &listing), 0);
    CHECK_TEXT(listing_take(&listing), "changed host, changed sub/host, created again, deleted gone");
    return 0;
}

/* The times of a file can be set, all but the one of its last change: a copy that looks old is compared. */
static int list_copied_layer_with_forged_times_finds_the_change(void *arg) {
    int root = make_folders();
    (void)arg;
    put_old(root, "base/forged", "aaaa");
    put_old(root, "upper/forged", "bbbb");
    check_changes((struct changes_options){.live = true, .since = {1000, 0}}, "changed forged");
    return 0;
}

static int list_deep_layer_ends_at_a_depth(void *arg) {
    enum { LOOKED_INTO = 40 };
    char expected[128] = "created ";
    int fd = openat(make_folders(), "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)arg;
    for (int i = 0; i < LOOKED_INTO + 20; i++) {
        put_folder(fd, "d");
        int inner = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = inner;
    }
    put_text(fd, "end", "x");
    close(fd);
    for (int i = 0; i <= LOOKED_INTO; i++)
        strcat(expected, "d/");
    check_changes((struct changes_options){0}, expected);
    return 0;
}

int main(void) {
    static const struct part parts[] = {
        PART(list_overlay_layer),
        PART(list_copied_layer),
        PART(list_files_of_the_host),
        PART(list_copied_layer_with_forged_times_finds_the_change),
        PART(list_deep_layer_ends_at_a_depth),
    };
    return run_parts("changes", parts, sizeof parts / sizeof parts[0], NULL, NULL);
}
