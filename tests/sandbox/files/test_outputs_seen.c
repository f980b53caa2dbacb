/* What a layer gets before a copy appears in the folder for outputs, on folders written by hand. */
#include "sandbox/files/layers.h"
#include "sandbox/files/outputs.h"
#include "sandbox/files/overlay.h"
#include "tests/sandbox/as_user.h"
#include "tests/sandbox/tmpfs.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void hidden_by_layer_mode_and_what_is_asked_for(void **state) {
    static const char *const none[] = {NULL}, *const whole[] = {"/opt", "/nb/outputs", NULL},
                             *const part[] = {"/nb/outputs/a/b", NULL}, *const others[] = {"/nb", "/nb/outputs2", NULL};
    const struct {
        const char *outputs;
        const char *const *readonly;
        bool strict;
        uint64_t layer;
        bool hidden;
    } rows[] = {
        {"outputs", none, false, LAYER_LIVE, false},
        {"outputs", none, false, 7, false},
        {"outputs", none, false, LAYER_OVER_VERSION(3) | 7, false},
        {"outputs", none, false, LAYER_OVER_FIRST | 7, true},
        {"outputs", NULL, false, LAYER_OVER_FIRST | 7, true},
        {"outputs", others, false, LAYER_OVER_FIRST | 7, true},
        {"outputs", whole, false, LAYER_OVER_FIRST | 7, false},
        {"outputs", part, false, LAYER_OVER_FIRST | 7, false},
        {"outputs", none, true, LAYER_LIVE, true},
        {"outputs", others, true, LAYER_OVER_VERSION(3) | 7, true},
        {"outputs", whole, true, LAYER_LIVE, false},
        {NULL, none, true, LAYER_OVER_FIRST | 7, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct session_options options = {
            .folder = "/nb", .outputs = rows[i].outputs, .readonly = rows[i].readonly, .hide_outputs = rows[i].strict};
        assert_int_equal(outputs_are_hidden(&options, rows[i].layer), rows[i].hidden);
    }
}

static bool is_whiteout(int dir_fd, const char *name) {
    struct stat st;
    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && overlay_is_whiteout(&st);
}

static bool is_there(int dir_fd, const char *name) {
    return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* "" for what is no file. */
static const char *text_of(int dir_fd, const char *name) {
    static char text[64];
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
    return text;
}

struct folders {
    int root, folder, layer;
    struct outputs_room room;
};

/* outputs/ with old, deep/old and a link, and the layer of a session that has begun. */
static struct folders make_folders(void) {
    struct folders made = {.root = tmpfs_enter(), .room = {100, 10}};
    static const char *const names[] = {"folder",      "folder/outputs", "folder/outputs/deep", "kept",
                                        "kept/hidden", "kept/emptied",   "kept/unseen"};
    static const char *const own[] = {".log", NULL};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        put_folder(made.root, names[i]);
    put_text(made.root, "folder/outputs/old", "old");
    put_text(made.root, "folder/outputs/deep/old", "deep");
    put_text(made.root, "folder/outputs/.log", "log");
    put_symlink(made.root, "folder/outputs/link", "old");
    made.folder = openat(made.root, "folder", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    made.layer = openat(made.root, "kept/hidden", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fchmodat(made.root, "folder/outputs/deep", 0750, 0) == 0);
    const struct session_options options = {.folder = "/nb", .outputs = "outputs", .outputs_own = own};
    CHECK_EQUAL(outputs_hide(&options, made.root, made.folder), 0);
    return made;
}

static void keep(struct folders *folders, const char *path) {
    CHECK_EQUAL(outputs_keep_seen(folders->layer, folders->folder, path, &folders->room), 0);
}

static int session_begins_with_the_folders_and_without_own_names(void *unused) {
    const struct folders folders = make_folders();
    struct stat st;
    (void)unused;
    CHECK(is_whiteout(folders.root, "kept/unseen/outputs"));
    CHECK(fstatat(folders.root, "kept/emptied/outputs", &st, 0) == 0 && S_ISDIR(st.st_mode) && st.st_nlink == 2);
    CHECK(is_whiteout(folders.layer, "outputs/.log"));
    CHECK(!is_there(folders.layer, "outputs/old") && !is_there(folders.layer, "outputs/link"));
    CHECK(fstatat(folders.layer, "outputs/deep", &st, 0) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0750);
    return 0;
}

static int session_begins_without_the_folder_and_hides_what_comes(void *unused) {
    const struct session_options options = {.folder = "/nb", .outputs = "copies"};
    struct folders folders = make_folders();
    (void)unused;
    CHECK_EQUAL(outputs_hide(&options, folders.root, folders.folder), 0);
    CHECK(is_whiteout(folders.layer, "copies") && is_whiteout(folders.root, "kept/unseen/copies"));
    CHECK(!is_there(folders.root, "kept/emptied/copies"));
    put_folder(folders.root, "folder/copies");
    keep(&folders, "copies/new/file");
    CHECK(is_whiteout(folders.layer, "copies"));
    CHECK_EQUAL(folders.room.names, 10);
    return 0;
}

static int kept_name_is_as_it_was_whatever_comes_later(void *unused) {
    struct folders folders = make_folders();
    struct stat st;
    (void)unused;
    const struct timespec times[] = {{1000, 0}, {1000, 0}};
    CHECK(utimensat(folders.folder, "outputs/old", times, 0) == 0 &&
          fchmodat(folders.folder, "outputs/old", 0640, 0) == 0);
    keep(&folders, "outputs/old");
    keep(&folders, "outputs/deep/old");
    keep(&folders, "outputs/new");
    keep(&folders, "outputs/fresh/a/b");
    CHECK(unlinkat(folders.folder, "outputs/old", 0) == 0);
    put_text(folders.root, "folder/outputs/old", "other");
    put_text(folders.root, "folder/outputs/new", "other");
    put_folder(folders.root, "folder/outputs/fresh");
    for (int again = 0; again < 2; again++) {
        CHECK_TEXT(text_of(folders.layer, "outputs/old"), "old");
        CHECK_TEXT(text_of(folders.layer, "outputs/deep/old"), "deep");
        CHECK(is_whiteout(folders.layer, "outputs/new") && is_whiteout(folders.layer, "outputs/fresh"));
        keep(&folders, "outputs/old");
        keep(&folders, "outputs/new");
        keep(&folders, "outputs/fresh/a/c");
    }
    CHECK(fstatat(folders.layer, "outputs/old", &st, 0) == 0);
    CHECK(st.st_mtim.tv_sec == 1000 && (st.st_mode & 0777) == 0640);
    CHECK_EQUAL(folders.room.names, 6);
    CHECK_EQUAL(folders.room.bytes, 93);
    return 0;
}

static int copy_is_hidden_also_where_its_folder_has_been_removed_and_made_anew(void *unused) {
    struct folders folders = make_folders();
    (void)unused;
    CHECK(unlinkat(folders.folder, "outputs/deep/old", 0) == 0);
    CHECK(unlinkat(folders.folder, "outputs/deep", AT_REMOVEDIR) == 0);
    keep(&folders, "outputs/deep/new");
    CHECK(is_whiteout(folders.layer, "outputs/deep/new"));
    return 0;
}

static int link_is_neither_followed_nor_hidden(void *unused) {
    struct folders folders = make_folders();
    (void)unused;
    keep(&folders, "outputs/link");
    keep(&folders, "outputs/link/new");
    CHECK(!is_there(folders.layer, "outputs/link"));
    CHECK_EQUAL(folders.room.names, 10);
    return 0;
}

static int file_without_room_is_hidden_and_name_without_room_refused(void *unused) {
    struct folders folders = make_folders();
    (void)unused;
    folders.room = (struct outputs_room){3, 2};
    keep(&folders, "outputs/deep/old"); /* 4 bytes */
    CHECK(is_whiteout(folders.layer, "outputs/deep/old"));
    keep(&folders, "outputs/old");
    CHECK_TEXT(text_of(folders.layer, "outputs/old"), "old");
    CHECK_EQUAL(folders.room.bytes, 0);
    CHECK_EQUAL(outputs_keep_seen(folders.layer, folders.folder, "outputs/new", &folders.room), -EDQUOT);
    CHECK(!is_there(folders.layer, "outputs/new"));
    keep(&folders, "outputs/old");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hidden_by_layer_mode_and_what_is_asked_for)};
    static const struct part parts[] = {
        PART(session_begins_with_the_folders_and_without_own_names),
        PART(session_begins_without_the_folder_and_hides_what_comes),
        PART(kept_name_is_as_it_was_whatever_comes_later),
        PART(copy_is_hidden_also_where_its_folder_has_been_removed_and_made_anew),
        PART(link_is_neither_followed_nor_hidden),
        PART(file_without_room_is_hidden_and_name_without_room_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_parts("outputs, live", parts, sizeof parts / sizeof parts[0], NULL, NULL);
}
