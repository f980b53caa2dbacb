/* Committing a layer: what each kind of entry over each other kind becomes, on layers written by hand. */
#include "as_user.h"
#include "sandbox/layers.h"
#include "tmpfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { LAYER = 7 };

enum entry { NOTHING, TEXT, FOLDER, OPAQUE, WHITEOUT, SYMLINK };

static const char *const entry_names[] = {"nothing", "a file", "a folder", "an opaque folder", "a whiteout", "a link"};

/*
 * One row for each pair. Folders hold the file "upper" or "lower", after the
 * layer that they are from. In what comes out, "!" marks an opaque folder,
 * which hides the notebook's own folder of that name; the private area has
 * nothing below it, so there "!" and whiteouts don't matter, and NULL repeats
 * what stands before.
 */
static const struct {
    enum entry upper, lower;
    const char *folder, *private;
} rows[] = {
    {NOTHING, NOTHING, "nothing", NULL},
    {NOTHING, TEXT, "file lower", NULL},
    {NOTHING, FOLDER, "folder (lower)", NULL},
    {NOTHING, WHITEOUT, "whiteout", NULL},
    {TEXT, NOTHING, "file upper", NULL},
    {TEXT, TEXT, "file upper", NULL},
    {TEXT, FOLDER, "file upper", NULL},
    {TEXT, WHITEOUT, "file upper", NULL},
    {TEXT, SYMLINK, "file upper", NULL},
    {FOLDER, NOTHING, "folder (upper)", NULL},
    {FOLDER, TEXT, "folder! (upper)", "folder (upper)"},
    {FOLDER, FOLDER, "folder (lower upper)", NULL},
    {FOLDER, OPAQUE, "folder! (lower upper)", NULL},
    {FOLDER, WHITEOUT, "folder! (upper)", "folder (upper)"},
    {FOLDER, SYMLINK, "folder! (upper)", "folder (upper)"},
    {OPAQUE, NOTHING, "folder! (upper)", NULL},
    {OPAQUE, TEXT, "folder! (upper)", NULL},
    {OPAQUE, FOLDER, "folder! (upper)", NULL},
    {OPAQUE, OPAQUE, "folder! (upper)", NULL},
    {OPAQUE, WHITEOUT, "folder! (upper)", NULL},
    {OPAQUE, SYMLINK, "folder! (upper)", NULL},
    {WHITEOUT, NOTHING, "whiteout", "nothing"},
    {WHITEOUT, TEXT, "whiteout", "nothing"},
    {WHITEOUT, FOLDER, "whiteout", "nothing"},
    {WHITEOUT, OPAQUE, "whiteout", "nothing"},
    {WHITEOUT, WHITEOUT, "whiteout", "nothing"},
    {WHITEOUT, SYMLINK, "whiteout", "nothing"},
    {SYMLINK, NOTHING, "link upper", NULL},
    {SYMLINK, TEXT, "link upper", NULL},
    {SYMLINK, FOLDER, "link upper", NULL},
    {SYMLINK, WHITEOUT, "link upper", NULL},
    {SYMLINK, SYMLINK, "link upper", NULL},
};

static int open_folder(int dir_fd, const char *path) {
    int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static void put_entry(int dir_fd, enum entry kind, const char *name, const char *layer) {
    if (kind == TEXT)
        put_text(dir_fd, name, layer);
    if (kind == SYMLINK)
        put_symlink(dir_fd, name, layer);
    if (kind == WHITEOUT)
        put_whiteout(dir_fd, name);
    if (kind != FOLDER && kind != OPAQUE)
        return;
    if (kind == FOLDER)
        put_folder(dir_fd, name);
    else
        put_opaque(dir_fd, name);
    int fd = open_folder(dir_fd, name);
    put_text(fd, layer, layer);
    close(fd);
}

static void describe_folder(int fd, char *text, size_t size) {
    char value[2] = "";
    bool opaque = fgetxattr(fd, "user.overlay.opaque", value, sizeof value) == 1 && value[0] == 'y';
    struct dirent **entries;
    int n = scandirat(fd, ".", &entries, NULL, alphasort), used = snprintf(text, size, "folder%s (", opaque ? "!" : "");
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.')
            used += snprintf(text + used, size - (size_t)used, "%s%s", text[used - 1] == '(' ? "" : " ",
                             entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    (void)snprintf(text + used, size - (size_t)used, ")");
}

/* What name is, in the words of the rows. */
static void describe(int dir_fd, const char *name, char *text, size_t size) {
    struct stat st;
    char content[64] = "";
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
        (void)snprintf(text, size, "%s", errno == ENOENT ? "nothing" : strerror(errno));
    } else if (S_ISLNK(st.st_mode)) {
        CHECK(readlinkat(dir_fd, name, content, sizeof content - 1) > 0);
        (void)snprintf(text, size, "link %s", content);
    } else if (S_ISCHR(st.st_mode)) {
        (void)snprintf(text, size, "%s", st.st_rdev == makedev(0, 0) ? "whiteout" : "device");
    } else if (S_ISREG(st.st_mode)) {
        int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0 && read(fd, content, sizeof content - 1) > 0);
        close(fd);
        (void)snprintf(text, size, "file %s", content);
    } else {
        int fd = open_folder(dir_fd, name);
        describe_folder(fd, text, size);
        close(fd);
    }
}

/* Opens area of the committed layers and of the cell's. */
static void open_area(int root, const char *area, int *ret_upper, int *ret_lower) {
    char path[64], layer[LAYER_NAME_SIZE];
    layer_name(LAYER, layer);
    (void)snprintf(path, sizeof path, "%s/%s", layer, area);
    *ret_upper = open_folder(root, path);
    (void)snprintf(path, sizeof path, "committed/%s", area);
    *ret_lower = open_folder(root, path);
}

static void start_layers(int root) {
    CHECK_EQUAL(layers_init(root, 0, 0), 0);
    CHECK_EQUAL(layer_create(root, LAYER, 0, 0), 0);
    put_folder(root, "cells/7/private/tmp");
}

static void check_layer_is_gone(int root) {
    char layer[LAYER_NAME_SIZE];
    layer_name(LAYER, layer);
    CHECK(faccessat(root, layer, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT);
}

/* All rows at once, in folders named after their numbers; opacity is left out of what is compared in private. */
static void check_rows(const char *area, bool private) {
    int root = tmpfs_enter(), upper, lower;
    char name[16], got[128], line[256], expected[256];
    start_layers(root);
    open_area(root, area, &upper, &lower);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(name, sizeof name, "%zu", i);
        if (private && rows[i].lower == WHITEOUT)
            continue; /* can't be */
        put_entry(upper, rows[i].upper, name, "upper");
        put_entry(lower, rows[i].lower, name, "lower");
    }
    CHECK_EQUAL(layer_commit(root, LAYER), 0);
    check_layer_is_gone(root);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(name, sizeof name, "%zu", i);
        if (private && rows[i].lower == WHITEOUT)
            continue;
        describe(lower, name, got, sizeof got);
        const char *outcome = private && rows[i].private ? rows[i].private : rows[i].folder;
        (void)snprintf(line, sizeof line, "%s over %s: %s", entry_names[rows[i].upper], entry_names[rows[i].lower],
                       got);
        (void)snprintf(expected, sizeof expected, "%s over %s: %s", entry_names[rows[i].upper],
                       entry_names[rows[i].lower], outcome);
        CHECK_TEXT(line, expected);
    }
}

static int commit_over_the_folder(void *unused) {
    (void)unused;
    check_rows("folder", false);
    return 0;
}

static int commit_private(void *unused) {
    (void)unused;
    check_rows("private/tmp", true);
    return 0;
}

/* A file that is deleted in a folder which hides what is below it needs no whiteout there. */
static int commit_whiteout_in_an_opaque_folder_leaves_no_whiteout(void *unused) {
    int root = tmpfs_enter(), upper, lower;
    char got[64];
    (void)unused;
    start_layers(root);
    open_area(root, "folder", &upper, &lower);
    put_entry(lower, OPAQUE, "hidden", "lower");
    put_entry(lower, FOLDER, "shown", "lower");
    put_folder(upper, "hidden");
    put_folder(upper, "shown");
    int hidden = open_folder(upper, "hidden"), shown = open_folder(upper, "shown");
    put_whiteout(hidden, "lower");
    put_whiteout(shown, "lower");
    CHECK_EQUAL(layer_commit(root, LAYER), 0);
    describe(lower, "hidden", got, sizeof got);
    CHECK_TEXT(got, "folder! ()");
    describe(lower, "shown", got, sizeof got);
    CHECK_TEXT(got, "folder (lower)");
    int after = open_folder(lower, "shown");
    describe(after, "lower", got, sizeof got);
    CHECK_TEXT(got, "whiteout");
    return 0;
}

static int commit_keeps_attributes(void *unused) {
    int root = tmpfs_enter(), upper, lower;
    struct stat st;
    struct timespec times[] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
    (void)unused;
    start_layers(root);
    open_area(root, "folder", &upper, &lower);
    put_folder(lower, "merged");
    put_folder(upper, "merged");
    put_text(upper, "file", "x");
    CHECK_EQUAL(fchmodat(upper, "merged", 0751, 0) | fchmodat(upper, "file", 04711, 0), 0);
    CHECK_EQUAL(utimensat(upper, "merged", times, 0) | utimensat(upper, "file", times, 0), 0);
    CHECK_EQUAL(layer_commit(root, LAYER), 0);
    CHECK_EQUAL(fstatat(lower, "merged", &st, 0), 0);
    CHECK_EQUAL(st.st_mode & 07777, 0751);
    CHECK_EQUAL(st.st_mtim.tv_sec, 2000);
    CHECK_EQUAL(fstatat(lower, "file", &st, 0), 0);
    CHECK_EQUAL(st.st_mode & 07777, 04711);
    CHECK_EQUAL(st.st_mtim.tv_sec, 2000);
    return 0;
}

/* Folders that are in both layers, deeper than a path can say and than there are descriptors. */
static int commit_deep(void *unused) {
    enum { DEPTH = 5000, DESCRIPTORS = 24 };
    const struct rlimit few = {DESCRIPTORS, DESCRIPTORS};
    const struct timespec times[] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
    int root = tmpfs_enter(), upper, lower, before = dup(root);
    char got[64];
    struct stat st;
    (void)unused;
    close(before);
    start_layers(root);
    open_area(root, "folder", &upper, &lower);
    int top = dup(lower);
    for (int i = 0; i < DEPTH; i++) {
        put_folder(upper, "d");
        put_folder(lower, "d");
        int down[] = {open_folder(upper, "d"), open_folder(lower, "d")};
        put_text(upper, "upper", "upper");
        put_text(lower, "lower", "lower");
        CHECK_EQUAL(futimens(upper, times), 0);
        close(upper);
        close(lower);
        upper = down[0];
        lower = down[1];
    }
    put_text(upper, "last", "upper");
    put_whiteout(upper, "gone");
    put_text(lower, "gone", "lower");
    close(upper);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK_EQUAL(layer_commit(root, LAYER), 0);
    check_layer_is_gone(root);
    describe(lower, "last", got, sizeof got);
    CHECK_TEXT(got, "file upper");
    describe(lower, "gone", got, sizeof got);
    CHECK_TEXT(got, "whiteout");
    for (int i = 0; i < DEPTH; i++) {
        describe_folder(top, got, sizeof got);
        CHECK_TEXT(got, "folder (d lower upper)");
        CHECK(fstat(top, &st) == 0 && (i == 0 || st.st_mtim.tv_sec == 2000));
        int down = open_folder(top, "d");
        close(top);
        top = down;
    }
    close(top);
    close(lower);
    CHECK_EQUAL(dup(root), before);
    return 0;
}

/* More than are read at once, of folders that are in both layers and of files. */
static int commit_wide(void *unused) {
    enum { WIDTH = 3000 };
    int root = tmpfs_enter(), upper, lower;
    char name[32], got[64];
    (void)unused;
    start_layers(root);
    open_area(root, "folder", &upper, &lower);
    for (int i = 0; i < WIDTH; i++) {
        (void)snprintf(name, sizeof name, "folder-%d", i);
        put_entry(upper, FOLDER, name, "upper");
        put_entry(lower, FOLDER, name, "lower");
        (void)snprintf(name, sizeof name, "file-%d", i);
        put_text(upper, name, "upper");
    }
    CHECK_EQUAL(layer_commit(root, LAYER), 0);
    check_layer_is_gone(root);
    for (int i = 0; i < WIDTH; i++) {
        (void)snprintf(name, sizeof name, "folder-%d", i);
        describe(lower, name, got, sizeof got);
        CHECK_TEXT(got, "folder (lower upper)");
        (void)snprintf(name, sizeof name, "file-%d", i);
        describe(lower, name, got, sizeof got);
        CHECK_TEXT(got, "file upper");
    }
    return 0;
}

/* What hides the notebook's folder does so for what is below it, and not for its neighbours. */
static int commit_beside_an_opaque_folder_hides_no_neighbour(void *unused) {
    static const char *const names[] = {"hidden", "hidden/in", "shown"};
    int root = tmpfs_enter(), upper, lower;
    char got[64], path[32];
    (void)unused;
    start_layers(root);
    open_area(root, "folder", &upper, &lower);
    put_entry(lower, OPAQUE, "hidden", "lower");
    put_folder(upper, "hidden");
    put_entry(lower, FOLDER, "hidden/in", "lower");
    put_folder(upper, "hidden/in");
    put_entry(lower, FOLDER, "shown", "lower");
    put_folder(upper, "shown");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/lower", names[i]);
        put_whiteout(upper, path);
    }
    put_whiteout(upper, "beside");
    CHECK_EQUAL(layer_commit(root, LAYER), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/lower", names[i]);
        describe(lower, path, got, sizeof got);
        CHECK_TEXT(got, i < 2 ? "nothing" : "whiteout");
    }
    describe(lower, "beside", got, sizeof got);
    CHECK_TEXT(got, "whiteout");
    return 0;
}

static int make_mount_points_creates_folders_of_private_areas_only(void *unused) {
    int root = tmpfs_enter();
    struct stat st;
    (void)unused;
    start_layers(root);
    CHECK_EQUAL(layers_make_mount_point(root, "/tmp/a/b/c", true, 0, 0), 0);
    CHECK_EQUAL(layers_make_mount_point(root, "/tmp/a/b/c", true, 0, 0), 0);
    CHECK_EQUAL(layers_make_mount_point(root, "/home/petri/x", true, 0, 0), 0);
    CHECK_EQUAL(layers_make_mount_point(root, "/tmp/a/file", false, 0, 0), 0);
    CHECK_EQUAL(layers_make_mount_point(root, "/opt/elsewhere", true, 0, 0), 0);
    CHECK_EQUAL(layers_make_mount_point(root, "/tmpelsewhere/x", true, 0, 0), 0);
    CHECK(fstatat(root, "committed/private/tmp/a/b/c", &st, 0) == 0 && S_ISDIR(st.st_mode));
    CHECK(fstatat(root, "committed/private/home/x", &st, 0) == 0 && S_ISDIR(st.st_mode));
    CHECK(fstatat(root, "committed/private/tmp", &st, 0) == 0 && (st.st_mode & 07777) == 01777);
    CHECK(fstatat(root, "committed/private/tmp/opt", &st, 0) < 0 && errno == ENOENT);
    return 0;
}

static int remove_layer_leaves_the_committed_one_unchanged(void *unused) {
    int root = tmpfs_enter(), upper, lower;
    char got[64];
    (void)unused;
    start_layers(root);
    open_area(root, "folder", &upper, &lower);
    put_entry(lower, TEXT, "kept", "lower");
    put_entry(upper, WHITEOUT, "kept", "upper");
    put_entry(upper, OPAQUE, "new", "upper");
    CHECK_EQUAL(layer_remove(root, LAYER), 0);
    check_layer_is_gone(root);
    describe(lower, "kept", got, sizeof got);
    CHECK_TEXT(got, "file lower");
    describe(lower, "new", got, sizeof got);
    CHECK_TEXT(got, "nothing");
    return 0;
}

int main(void) {
    static const struct part parts[] = {
        PART(commit_over_the_folder),
        PART(commit_private),
        PART(commit_whiteout_in_an_opaque_folder_leaves_no_whiteout),
        PART(commit_keeps_attributes),
        PART(commit_deep),
        PART(commit_wide),
        PART(commit_beside_an_opaque_folder_hides_no_neighbour),
        PART(make_mount_points_creates_folders_of_private_areas_only),
        PART(remove_layer_leaves_the_committed_one_unchanged),
    };
    return run_parts("layers", parts, sizeof parts / sizeof parts[0], NULL, NULL);
}
