/* What is live when a snapshot is made: its copy is the same. */
#include "sandbox/files/snapshot.h"
#include "tests/sandbox/as_user.h"
#include "tests/sandbox/tmpfs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

static int open_new(int dir_fd, const char *name) {
    put_folder(dir_fd, name);
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static struct snapshot_folders make_folders(void) {
    int top = tmpfs_enter();
    return (struct snapshot_folders){.live = open_new(top, "live"),
                                     .live_aside = open_new(top, "live-aside"),
                                     .kept = open_new(top, "kept"),
                                     .kept_aside = open_new(top, "kept-aside"),
                                     .guards = open_new(top, "guards")};
}

static void copy(const struct snapshot_folders *f) {
    struct snapshot *snapshot = NULL;
    CHECK_EQUAL(snapshot_create(f, &snapshot), 0);
    snapshot_destroy(snapshot);
}

static struct stat look(int dir_fd, const char *name) {
    struct stat st;
    CHECK_EQUAL(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st;
}

static void check_same(const struct snapshot_folders *f, const char *name) {
    struct stat from = look(f->live, name), to = look(f->kept, name);
    CHECK_EQUAL(to.st_mode, from.st_mode);
    CHECK_EQUAL(to.st_uid, from.st_uid);
    CHECK_EQUAL(to.st_gid, from.st_gid);
    CHECK_EQUAL(to.st_rdev, from.st_rdev);
    CHECK_EQUAL(to.st_nlink, from.st_nlink);
    CHECK_EQUAL(to.st_mtim.tv_sec, from.st_mtim.tv_sec);
    CHECK_EQUAL(to.st_mtim.tv_nsec, from.st_mtim.tv_nsec);
    if (!S_ISDIR(from.st_mode))
        CHECK_EQUAL(to.st_size, from.st_size);
}

static int copy_kinds(void *argument) {
    static const char *const names[] = {"file", "folder", "folder/below", "link", "fifo", "whiteout", "closed"};
    const struct timespec old[] = {{.tv_sec = 1000}, {.tv_sec = 2000, .tv_nsec = 3}};
    struct snapshot_folders f = make_folders();
    char target[16] = "", text[16] = "";
    (void)argument;
    put_text(f.live, "file", "text");
    put_folder(f.live, "folder");
    put_text(f.live, "folder/below", "deep");
    put_symlink(f.live, "link", "../nowhere");
    put_whiteout(f.live, "whiteout");
    put_folder(f.live, "closed");
    CHECK_EQUAL(mkfifoat(f.live, "fifo", 0640), 0);
    CHECK_EQUAL(fchmodat(f.live, "file", 04711, 0), 0);
    CHECK_EQUAL(fchmodat(f.live, "closed", 0, 0), 0);
    for (size_t i = sizeof names / sizeof names[0]; i-- > 0;)
        CHECK_EQUAL(utimensat(f.live, names[i], old, AT_SYMLINK_NOFOLLOW), 0);
    copy(&f);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_same(&f, names[i]);
    CHECK(readlinkat(f.kept, "link", target, sizeof target - 1) > 0);
    CHECK_TEXT(target, "../nowhere");
    int fd = openat(f.kept, "folder/below", O_RDONLY | O_CLOEXEC);
    CHECK_EQUAL(read(fd, text, sizeof text - 1), 4);
    CHECK_TEXT(text, "deep");
    return 0;
}

/* Else a cell could make a file that takes no room, and its copy takes all there is. */
static int copy_holes(void *argument) {
    enum { AT = 1 << 30 };
    struct snapshot_folders f = make_folders();
    char byte = 0;
    (void)argument;
    put_text(f.live, "holes", "x");
    int fd = openat(f.live, "holes", O_WRONLY | O_CLOEXEC);
    CHECK_EQUAL(pwrite(fd, "y", 1, AT), 1);
    CHECK_EQUAL(ftruncate(fd, 2LL * AT), 0);
    close(fd);
    copy(&f);
    CHECK_EQUAL(look(f.kept, "holes").st_size, 2LL * AT);
    CHECK_EQUAL(look(f.kept, "holes").st_blocks, look(f.live, "holes").st_blocks);
    fd = openat(f.kept, "holes", O_RDONLY | O_CLOEXEC);
    CHECK_EQUAL(pread(fd, &byte, 1, AT), 1);
    CHECK_EQUAL(byte, 'y');
    return 0;
}

static int copy_names(void *argument) {
    struct snapshot_folders f = make_folders();
    (void)argument;
    put_text(f.live, "one", "x");
    put_folder(f.live, "folder");
    CHECK_EQUAL(linkat(f.live, "one", f.live, "two", 0), 0);
    CHECK_EQUAL(linkat(f.live, "one", f.live, "folder/three", 0), 0);
    copy(&f);
    CHECK_EQUAL(look(f.kept, "one").st_ino, look(f.kept, "two").st_ino);
    CHECK_EQUAL(look(f.kept, "one").st_ino, look(f.kept, "folder/three").st_ino);
    CHECK(look(f.kept, "one").st_ino != look(f.live, "one").st_ino);
    return 0;
}

/* Deeper than a path can say and than there are descriptors; what comes after a folder is not forgotten. */
static int copy_deep(void *argument) {
    enum { DEPTH = 5000, DESCRIPTORS = 24 };
    const struct rlimit few = {DESCRIPTORS, DESCRIPTORS};
    struct snapshot_folders f = make_folders();
    (void)argument;
    int at = dup(f.live);
    for (int i = 0; i < DEPTH; i++) {
        put_folder(at, "before");
        put_text(at, "file", "x");
        int next = open_new(at, "d");
        put_folder(at, "after");
        close(at);
        at = next;
    }
    close(at);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &few), 0);
    copy(&f);
    for (int i = 0; i < DEPTH; i++) {
        check_same(&f, "before");
        check_same(&f, "file");
        check_same(&f, "d");
        check_same(&f, "after");
        int from = openat(f.live, "d", O_RDONLY | O_CLOEXEC), to = openat(f.kept, "d", O_RDONLY | O_CLOEXEC);
        close(f.live);
        close(f.kept);
        f.live = from;
        f.kept = to;
    }
    return 0;
}

/* More than are read at once, of folders and of files. */
static int copy_wide(void *argument) {
    enum { WIDTH = 3000 };
    struct snapshot_folders f = make_folders();
    char name[32];
    (void)argument;
    for (int i = 0; i < WIDTH; i++) {
        (void)snprintf(name, sizeof name, "folder-%d", i);
        put_folder(f.live, name);
        (void)snprintf(name, sizeof name, "folder-%d/file", i);
        put_text(f.live, name, name);
        (void)snprintf(name, sizeof name, "file-%d", i);
        put_text(f.live, name, name);
    }
    copy(&f);
    for (int i = 0; i < WIDTH; i++) {
        (void)snprintf(name, sizeof name, "folder-%d/file", i);
        check_same(&f, name);
        (void)snprintf(name, sizeof name, "file-%d", i);
        check_same(&f, name);
    }
    return 0;
}

static void test_copy_keeps_kind_owner_mode_and_time(void **state) {
    (void)state;
    run_in_fork(copy_kinds, NULL, false);
}

static void test_copy_keeps_holes(void **state) {
    (void)state;
    run_in_fork(copy_holes, NULL, false);
}

static void test_copy_keeps_hard_links(void **state) {
    (void)state;
    run_in_fork(copy_names, NULL, false);
}

static void test_copy_of_a_deep_tree_is_complete(void **state) {
    (void)state;
    run_in_fork(copy_deep, NULL, false);
}

static void test_copy_of_a_wide_folder_is_complete(void **state) {
    (void)state;
    run_in_fork(copy_wide, NULL, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy_keeps_kind_owner_mode_and_time),
        cmocka_unit_test(test_copy_keeps_holes),
        cmocka_unit_test(test_copy_keeps_hard_links),
        cmocka_unit_test(test_copy_of_a_deep_tree_is_complete),
        cmocka_unit_test(test_copy_of_a_wide_folder_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
