/* What a layer has of its own, on layers written by hand, in both of their formats. */
#include "sandbox/files/changes.h"
#include "tests/sandbox/as_user.h"
#include "tests/sandbox/listing.h"
#include "tests/sandbox/tmpfs.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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
    check_changes((struct changes_options){.live = true},
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
    put_folder(root, "folder/remade");
    put_text(root, "folder/remade/host", "h");
    put_opaque(root, "base/remade");
    put_folder(root, "upper/remade");
    put_text(root, "upper/remade/host", "u");
    put_text(root, "upper/remade/mine", "u");
    const struct changes_options options = {
        .upper_fd = open_folder("upper"), .base_fd = open_folder("base"), .folder_fd = open_folder("folder")};
    CHECK_EQUAL(changes_list(&options, add_on_host, &listing), 0);
    CHECK_TEXT(listing_take(&listing),
               "changed host, changed sub/host, created again, created remade/host, deleted gone");
    return 0;
}

/* A file that looks old is compared, for the times of a file can be set. */
static int list_copied_layer_with_forged_times_finds_the_change(void *arg) {
    int root = make_folders();
    (void)arg;
    put_old(root, "base/forged", "aaaa");
    put_old(root, "upper/forged", "bbbb");
    check_changes((struct changes_options){.live = true}, "changed forged");
    return 0;
}

/* Adds what is there anew and holds what stood there. */
static int add_same(void *arg, const struct cell_file *file) {
    return file->same ? listing_add(arg, file) : 0;
}

static void check_same(struct changes_options options, const char *expected) {
    struct listing listing = {0};
    options.upper_fd = open_folder("upper");
    options.base_fd = open_folder("base");
    options.folder_fd = open_folder("folder");
    CHECK_EQUAL(changes_list(&options, add_same, &listing), 0);
    CHECK_TEXT(listing_take(&listing), expected);
}

/* As when a cell opens a file of the host's for writing, which copies it, or moves its times. */
static int list_copies_tells_which_hold_the_same(void *arg) {
    int root = make_folders();
    (void)arg;
    put_text(root, "folder/opened", "text");
    put_text(root, "upper/opened", "text");
    put_text(root, "folder/written", "text");
    put_text(root, "upper/written", "TEXT");
    put_text(root, "folder/longer", "text");
    put_text(root, "upper/longer", "text and");
    put_text(root, "folder/folder", "text");
    put_folder(root, "upper/folder");
    put_symlink(root, "folder/link", "opened");
    put_symlink(root, "upper/link", "opened");
    put_symlink(root, "folder/other-link", "opened");
    put_symlink(root, "upper/other-link", "written");
    put_text(root, "folder/earlier", "host");
    put_text(root, "base/earlier", "text");
    put_text(root, "upper/earlier", "text");
    put_whiteout(root, "base/again");
    put_text(root, "folder/again", "text");
    put_text(root, "upper/again", "text");
    check_same((struct changes_options){0}, "changed earlier, changed link, changed opened");
    check_same((struct changes_options){.live = true}, "changed link, changed opened");
    check_changes((struct changes_options){.live = true},
                  "changed link, changed longer, changed opened, changed other-link, changed written, created again");
    check_same((struct changes_options){.live = true, .names_only = true}, "");
    return 0;
}

/* Their names lead elsewhere, though nothing is deleted. */
static int list_of_names_tells_whiteouts_that_are_no_more(void *arg) {
    int root = make_folders();
    struct listing listing = {0};
    (void)arg;
    put_text(root, "folder/removed", "host");
    put_whiteout(root, "base/removed");
    check_changes((struct changes_options){.live = true}, "");
    check_changes((struct changes_options){.live = true, .names_only = true}, "deleted removed");
    put_folder(root, "upper/both");
    put_opaque(root, "base/both");
    check_changes((struct changes_options){.live = true}, "");
    const struct changes_options names = {.upper_fd = open_folder("upper"),
                                          .base_fd = open_folder("base"),
                                          .folder_fd = open_folder("folder"),
                                          .live = true,
                                          .names_only = true};
    CHECK_EQUAL(changes_list(&names, listing_add, &listing), -E2BIG);
    return 0;
}

/* What is no content is made anew for each cell. */
static int list_copied_layer_takes_a_fifo_made_anew_for_the_same(void *arg) {
    int root = make_folders();
    (void)arg;
    CHECK(mkfifoat(root, "base/fifo", 0600) == 0 && mkfifoat(root, "upper/fifo", 0600) == 0);
    put_symlink(root, "base/link", "a");
    put_symlink(root, "upper/link", "a");
    check_changes((struct changes_options){.live = true}, "");
    check_changes((struct changes_options){.live = true, .names_only = true}, "changed fifo, changed link");
    return 0;
}

/* A file that the snapshot knows to be unchanged is not read: here that would find another. */
static int list_live_files_reads_only_what_may_have_changed(void *arg) {
    int root = make_folders();
    struct snapshot *snapshot = NULL;
    put_folder(root, "aside");
    put_folder(root, "guards");
    (void)arg;
    put_text(root, "upper/a", "text");
    const struct snapshot_folders folders = {.live = open_folder("upper"),
                                             .live_aside = open_folder("aside"),
                                             .kept = open_folder("base"),
                                             .kept_aside = open_folder("aside"),
                                             .guards = open_folder("guards")};
    CHECK_EQUAL(snapshot_create(&folders, &snapshot), 0);
    struct timespec now, before;
    clock_gettime(CLOCK_REALTIME_COARSE, &before);
    do
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    while (memcmp(&now, &before, sizeof now) == 0);
    snapshot_begin(snapshot);
    int fd = openat(root, "base/a", O_WRONLY | O_CLOEXEC);
    CHECK(pwrite(fd, "TEXT", 4, 0) == 4);
    close(fd);
    check_changes((struct changes_options){.live = true, .snapshot = snapshot}, "");
    CHECK_EQUAL(utimensat(root, "upper/a", NULL, 0), 0);
    check_changes((struct changes_options){.live = true, .snapshot = snapshot}, "changed a");
    snapshot_destroy(snapshot);
    return 0;
}

/* Of a file that differs at its end, so that comparing it takes longest. */
static int list_compares_a_file_with_many_names_once(void *arg) {
    enum { BYTES = 1 << 20, NAMES = 40 };
    static char text[BYTES + 1];
    struct listing listing = {0};
    int root = make_folders();
    (void)arg;
    memset(text, 'x', BYTES);
    put_text(root, "base/a", text);
    text[BYTES - 1] = 'y';
    put_text(root, "upper/a", text);
    put_names(root, "base/a", NAMES);
    put_names(root, "upper/a", NAMES);
    const struct changes_options options = {.upper_fd = open_folder("upper"),
                                            .base_fd = open_folder("base"),
                                            .folder_fd = open_folder("folder"),
                                            .live = true};
    const unsigned long long before = count_read();
    CHECK_EQUAL(changes_list(&options, listing_add, &listing), 0);
    CHECK(count_read() - before < 8 * BYTES);
    return strncmp(listing_take(&listing), "changed a, changed a.0, changed a.1, ", 37) != 0;
}

/* Layers between the base and the folder count as what was there: a name that they hide was not, and what they have in
 * the place of a file was that file. */
static int list_compares_with_what_hides_the_folder(void *arg) {
    int root = make_folders();
    struct stat st;
    char text[8] = "";
    (void)arg;
    put_folder(root, "whole");
    put_folder(root, "hides");
    put_whiteout(root, "whole/gone");
    put_whiteout(root, "hides/new");
    put_text(root, "hides/old", "was");
    put_folder(root, "hides/d");
    put_whiteout(root, "hides/d/new");
    put_text(root, "folder/new", "u");
    put_text(root, "folder/old", "now");
    put_folder(root, "folder/d");
    put_text(root, "folder/d/new", "u");
    put_text(root, "folder/d/seen", "h");
    put_folder(root, "folder/gone");
    put_text(root, "folder/gone/host", "u");
    put_folder(root, "upper/gone");
    put_text(root, "upper/gone/host", "u");
    put_text(root, "upper/new", "u");
    put_text(root, "upper/old", "now");
    put_opaque(root, "upper/d");
    put_text(root, "upper/d/new", "u");
    const struct changes_options options = {.hides = (const int[]){open_folder("whole"), open_folder("hides"), -1}};
    check_changes(options, "changed old, created d/new, created gone/host, created new, deleted d/seen");
    struct changes_options before = options;
    before.base_fd = open_folder("base");
    before.folder_fd = open_folder("folder");
    CHECK(!changes_look_before(&before, "new", &st) && !changes_look_before(&before, "gone/host", &st));
    CHECK(changes_look_before(&before, "d/seen", &st) && S_ISREG(st.st_mode));
    CHECK_EQUAL(changes_open_before(&before, "d/new"), -ENOENT);
    CHECK_EQUAL(changes_open_before(&before, "d"), -EINVAL);
    CHECK_EQUAL(read(changes_open_before(&before, "old"), text, sizeof text), 3);
    CHECK_TEXT(text, "was");
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
        PART(list_copies_tells_which_hold_the_same),
        PART(list_of_names_tells_whiteouts_that_are_no_more),
        PART(list_copied_layer_takes_a_fifo_made_anew_for_the_same),
        PART(list_live_files_reads_only_what_may_have_changed),
        PART(list_compares_a_file_with_many_names_once),
        PART(list_compares_with_what_hides_the_folder),
        PART(list_deep_layer_ends_at_a_depth),
    };
    return run_parts("changes", parts, sizeof parts / sizeof parts[0], NULL, NULL);
}
