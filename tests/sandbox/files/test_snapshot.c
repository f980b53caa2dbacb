/* Files that cells write, kept and restored: what a rolled-back cell has done, each kind of it, is undone in the same
 * inodes.
 */
#include "sandbox/files/snapshot.h"
#include "sandbox/files/tree.h"
#include "tests/sandbox/as_user.h"
#include "tests/sandbox/tmpfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAPPED_BYTES = 64 << 10 };

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

static struct stat look(int dir_fd, const char *name) {
    struct stat st;
    CHECK_EQUAL(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ? errno : 0, 0);
    return st;
}

static bool is_there(int dir_fd, const char *name) {
    return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* In a buffer that the next call uses again. */
static const char *read_text(int dir_fd, const char *name) {
    static char text[64];
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    ssize_t n = read(fd, text, sizeof text - 1);
    CHECK(n >= 0);
    text[n] = 0;
    close(fd);
    return text;
}

static void write_text(int dir_fd, const char *name, const char *text) {
    int fd = openat(dir_fd, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* The tree that each of the following changes begins with. */
static struct snapshot *make_tree(const struct snapshot_folders *f) {
    struct snapshot *snapshot = NULL;
    put_text(f->live, "a", "first");
    put_folder(f->live, "d");
    put_text(f->live, "d/b", "second");
    put_folder(f->live, "d/e");
    put_text(f->live, "d/e/c", "third");
    put_symlink(f->live, "link", "a");
    CHECK_EQUAL(linkat(f->live, "d/b", f->live, "hard", 0), 0);
    CHECK_EQUAL(mkfifoat(f->live, "fifo", 0600), 0);
    CHECK_EQUAL(snapshot_create(f, &snapshot), 0);
    return snapshot;
}

static void replace_by_rename(int live) {
    put_text(live, "new", "other");
    CHECK_EQUAL(renameat(live, "new", live, "a"), 0);
}

static void write_over(int live) {
    write_text(live, "a", "FIRST");
}

static void lengthen(int live) {
    CHECK_EQUAL(truncate("/mnt/live/a", 1 << 20), 0);
    (void)live;
}

static void shorten(int live) {
    CHECK_EQUAL(truncate("/mnt/live/a", 1), 0);
    (void)live;
}

static void unlink_file(int live) {
    CHECK_EQUAL(unlinkat(live, "a", 0), 0);
}

static void move_into_folder(int live) {
    CHECK_EQUAL(renameat(live, "a", live, "d/e/a"), 0);
}

static void move_folder(int live) {
    CHECK_EQUAL(renameat(live, "d/e", live, "e"), 0);
    CHECK_EQUAL(renameat(live, "d", live, "e/d"), 0);
}

static void move_into_new_folder(int live) {
    put_folder(live, "new");
    CHECK_EQUAL(renameat(live, "d", live, "new/d"), 0);
    CHECK_EQUAL(renameat(live, "a", live, "new/d/e/a"), 0);
}

static void exchange(int live) {
    CHECK_EQUAL(renameat2(live, "a", live, "d", RENAME_EXCHANGE), 0);
}

static void change_modes(int live) {
    CHECK_EQUAL(fchmodat(live, "a", 0, 0), 0);
    CHECK_EQUAL(fchmodat(live, "d", 0, 0), 0);
}

static void change_times(int live) {
    const struct timespec old[] = {{.tv_sec = 1000}, {.tv_sec = 2000, .tv_nsec = 3}};
    CHECK_EQUAL(utimensat(live, "a", old, 0), 0);
    CHECK_EQUAL(utimensat(live, "d/e", old, 0), 0);
}

static void break_link(int live) {
    CHECK_EQUAL(unlinkat(live, "hard", 0), 0);
    put_text(live, "hard", "alone");
}

static void add_links(int live) {
    CHECK_EQUAL(linkat(live, "a", live, "d/also", 0), 0);
    CHECK_EQUAL(linkat(live, "hard", live, "d/e/also", 0), 0);
    write_text(live, "d/e/also", "changed");
}

static void replace_link(int live) {
    CHECK_EQUAL(unlinkat(live, "link", 0), 0);
    put_symlink(live, "link", "elsewhere");
}

static void replace_kinds(int live) {
    CHECK_EQUAL(unlinkat(live, "fifo", 0), 0);
    put_folder(live, "fifo");
    put_text(live, "fifo/inside", "x");
    CHECK_EQUAL(unlinkat(live, "a", 0), 0);
    put_symlink(live, "a", "/etc/passwd");
}

static void remove_all(int live) {
    CHECK_EQUAL(tree_remove(live, "d"), 0);
    CHECK_EQUAL(tree_remove(live, "a"), 0);
    CHECK_EQUAL(tree_remove(live, "hard"), 0);
}

static void add_deep(int live) {
    int fd = dup(live);
    for (int i = 0; i < 2000; i++) {
        put_folder(fd, "deep");
        CHECK_EQUAL(tree_go(&fd, "deep"), 0);
    }
    put_text(fd, "bottom", "x");
    close(fd);
}

/* keeps: every inode number is to be the one of before even without a guard. */
static const struct {
    const char *name;
    void (*change)(int live);
    bool keeps;
} changes[] = {
    {"replaced by rename", replace_by_rename, false},
    {"written over", write_over, true},
    {"made longer", lengthen, true},
    {"made shorter", shorten, true},
    {"unlinked", unlink_file, false},
    {"moved into a folder", move_into_folder, true},
    {"folders moved into each other", move_folder, true},
    {"moved into a new folder", move_into_new_folder, true},
    {"exchanged", exchange, true},
    {"modes", change_modes, true},
    {"times", change_times, true},
    {"a hard link broken", break_link, true},
    {"hard links added", add_links, true},
    {"a symbolic link replaced", replace_link, false},
    {"kinds replaced", replace_kinds, false},
    {"all removed", remove_all, false},
    {"a deep folder added", add_deep, true},
};

static const char *const names[] = {"a", "d", "d/b", "d/e", "d/e/c", "link", "hard", "fifo"};
enum { N_NAMES = sizeof names / sizeof names[0] };

static void look_at_all(int dir_fd, struct stat ret[N_NAMES]) {
    for (size_t i = 0; i < N_NAMES; i++)
        ret[i] = look(dir_fd, names[i]);
}

static void check_tree(const struct snapshot_folders *f, const struct stat before[N_NAMES], bool same_inodes) {
    struct stat now[N_NAMES];
    look_at_all(f->live, now);
    for (size_t i = 0; i < N_NAMES; i++) {
        CHECK_EQUAL(now[i].st_mode, before[i].st_mode);
        CHECK_EQUAL(now[i].st_mtim.tv_sec, before[i].st_mtim.tv_sec);
        CHECK_EQUAL(now[i].st_mtim.tv_nsec, before[i].st_mtim.tv_nsec);
        if (!S_ISDIR(now[i].st_mode))
            CHECK_EQUAL(now[i].st_size, before[i].st_size);
        if (same_inodes)
            CHECK_EQUAL(now[i].st_ino, before[i].st_ino);
    }
    CHECK_TEXT(read_text(f->live, "a"), "first");
    CHECK_TEXT(read_text(f->live, "d/b"), "second");
    CHECK_TEXT(read_text(f->live, "d/e/c"), "third");
    CHECK_EQUAL(now[2].st_ino, now[6].st_ino); /* d/b and hard */
    CHECK(!is_there(f->live, "new") && !is_there(f->live, "deep") && !is_there(f->live, "d/also"));
}

static int restores_each_change(void *argument) {
    struct snapshot_folders f = make_folders();
    struct snapshot *snapshot = make_tree(&f);
    struct stat before[N_NAMES];
    (void)argument;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        look_at_all(f.live, before);
        changes[i].change(f.live);
        CHECK_EQUAL(snapshot_restore(snapshot), 0);
        check_tree(&f, before, changes[i].keeps);
    }
    snapshot_destroy(snapshot);
    return 0;
}

/* With a guard, nothing that a cell can do makes another file of it. */
static int guards_keep_inodes(void *argument) {
    struct snapshot_folders f = make_folders();
    struct snapshot *snapshot = make_tree(&f);
    struct stat before[N_NAMES];
    (void)argument;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        look_at_all(f.live, before);
        CHECK_EQUAL(snapshot_guard(snapshot, (ino_t[]){before[2].st_ino, before[0].st_ino}, 2), 0);
        int fd = openat(f.live, "a", O_RDONLY | O_CLOEXEC);
        changes[i].change(f.live);
        CHECK_EQUAL(snapshot_restore(snapshot), 0);
        check_tree(&f, before, false);
        CHECK_EQUAL(look(f.live, "a").st_ino, before[0].st_ino);
        CHECK_EQUAL(look(f.live, "d/b").st_ino, before[2].st_ino);
        struct stat opened;
        CHECK(fstat(fd, &opened) == 0 && opened.st_ino == before[0].st_ino);
        close(fd);
        CHECK_EQUAL(snapshot_guard(snapshot, NULL, 0), 0);
        CHECK_EQUAL(look(f.live, "a").st_nlink, 1);
    }
    snapshot_destroy(snapshot);
    return 0;
}

/* And each is kept when it is committed: what comes after it is undone back to it. */
static int commits_each_change(void *argument) {
    const size_t i = *(const size_t *)argument;
    struct snapshot_folders f = make_folders();
    struct snapshot *snapshot = make_tree(&f);
    changes[i].change(f.live);
    CHECK_EQUAL(snapshot_commit(snapshot), 0);
    put_folder(f.live, "later");
    CHECK_EQUAL(tree_remove(f.live, "fifo"), 0);
    CHECK_EQUAL(snapshot_restore(snapshot), 0);
    CHECK(!is_there(f.live, "later") && is_there(f.live, "fifo"));
    CHECK_EQUAL(snapshot_commit(snapshot), 0);
    snapshot_destroy(snapshot);
    return 0;
}

/* Begins once what has changed before can be told from what changes now: when the clock of files has moved on. */
static void begin_later(struct snapshot *snapshot) {
    struct timespec before, now;
    clock_gettime(CLOCK_REALTIME_COARSE, &before);
    do
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    while (memcmp(&before, &now, sizeof now) == 0);
    snapshot_begin(snapshot);
}

/* A mapped write changes no time where the page was read before. */
static int suspected_files_are_compared(void *argument) {
    struct snapshot_folders f = make_folders();
    struct snapshot *snapshot = NULL;
    (void)argument;
    put_text(f.live, "m", "");
    int fd = openat(f.live, "m", O_RDWR | O_CLOEXEC);
    CHECK_EQUAL(ftruncate(fd, MAPPED_BYTES), 0);
    char *mapped = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(mapped != MAP_FAILED);
    memset(mapped, 1, MAPPED_BYTES);
    CHECK_EQUAL(snapshot_create(&f, &snapshot), 0);
    begin_later(snapshot);
    mapped[5000] = 7;
    snapshot_suspect(snapshot, look(f.live, "m").st_ino);
    CHECK_EQUAL(snapshot_restore(snapshot), 0);
    CHECK_EQUAL(mapped[0], 1);
    CHECK_EQUAL(mapped[5000], 1);
    CHECK_EQUAL(snapshot_commit(snapshot), 0);
    begin_later(snapshot);
    mapped[6000] = 8;
    snapshot_suspect(snapshot, look(f.live, "m").st_ino);
    CHECK_EQUAL(snapshot_commit(snapshot), 0);
    begin_later(snapshot);
    mapped[6000] = 9;
    snapshot_suspect(snapshot, look(f.live, "m").st_ino);
    CHECK_EQUAL(snapshot_restore(snapshot), 0);
    CHECK_EQUAL(mapped[6000], 8);
    snapshot_destroy(snapshot);
    return 0;
}

static bool is_unchanged(const struct snapshot *snapshot, const struct snapshot_folders *f, const char *name) {
    const struct stat live = look(f->live, name);
    return snapshot_is_unchanged(snapshot, &live, look(f->kept, name).st_ino);
}

/* Of a file that nothing has written, that is known without reading it, also where it has got a guard or lost it. */
static int unchanged_files_are_told_by_their_times(void *argument) {
    struct snapshot_folders f = make_folders();
    struct snapshot *snapshot = make_tree(&f);
    ino_t a = look(f.live, "a").st_ino;
    (void)argument;
    CHECK(!is_unchanged(snapshot, &f, "a")); /* when it was written is not known */
    begin_later(snapshot);
    CHECK(is_unchanged(snapshot, &f, "a") && is_unchanged(snapshot, &f, "link"));
    for (int guarded = 1; guarded >= 0; guarded--) {
        CHECK_EQUAL(snapshot_commit(snapshot), 0);
        CHECK_EQUAL(snapshot_guard(snapshot, &a, (size_t)guarded), 0);
        CHECK_EQUAL(look(f.live, "a").st_nlink, 1 + guarded);
        begin_later(snapshot);
        CHECK(is_unchanged(snapshot, &f, "a"));
    }
    snapshot_suspect(snapshot, a);
    CHECK(!is_unchanged(snapshot, &f, "a"));
    CHECK_EQUAL(snapshot_commit(snapshot), 0);
    begin_later(snapshot);
    CHECK(is_unchanged(snapshot, &f, "a"));
    const struct stat live = look(f.live, "a");
    CHECK(!snapshot_is_unchanged(snapshot, &live, look(f.kept, "d/b").st_ino));
    write_text(f.live, "a", "FIRST");
    CHECK(!is_unchanged(snapshot, &f, "a"));
    snapshot_destroy(snapshot);
    return 0;
}

/* Where Linux's times of files are ticks, what is written in the one in which cells began has the times that a file had
 * before. */
static int files_written_in_the_tick_of_the_beginning_are_compared(void *argument) {
    enum { TICKS = 20 };
    struct snapshot_folders f = make_folders();
    struct snapshot *snapshot = make_tree(&f);
    (void)argument;
    for (int ticks = 0; ticks < TICKS;) {
        struct timespec before, after;
        clock_gettime(CLOCK_REALTIME_COARSE, &before);
        write_text(f.live, "a", "first");
        CHECK_EQUAL(snapshot_commit(snapshot), 0);
        snapshot_begin(snapshot);
        write_text(f.live, "a", "other");
        clock_gettime(CLOCK_REALTIME_COARSE, &after);
        CHECK(!is_unchanged(snapshot, &f, "a"));
        ticks += memcmp(&before, &after, sizeof before) == 0;
    }
    snapshot_destroy(snapshot);
    return 0;
}

/* A copy that has been found the same isn't read at the next commit, and is at the one after it. */
static int files_found_to_be_the_same_are_not_compared_again(void *argument) {
    struct snapshot_folders f = make_folders();
    struct snapshot *snapshot = make_tree(&f);
    (void)argument;
    write_text(f.kept, "a", "other"); /* as nobody does: to see whether it is looked at */
    snapshot_note_same(snapshot, look(f.live, "a").st_ino, look(f.kept, "a").st_ino);
    CHECK_EQUAL(fchmodat(f.live, "a", 0600, 0), 0);
    CHECK_EQUAL(snapshot_commit(snapshot), 0);
    CHECK_TEXT(read_text(f.kept, "a"), "other");
    CHECK_EQUAL(look(f.kept, "a").st_mode & 0777, 0600);
    snapshot_note_same(snapshot, look(f.live, "a").st_ino, look(f.kept, "d/b").st_ino); /* no pair */
    CHECK_EQUAL(snapshot_commit(snapshot), 0);
    CHECK_TEXT(read_text(f.kept, "a"), "first");
    snapshot_destroy(snapshot);
    return 0;
}

/* A hole of a gigabyte is neither filled nor read. */
static int holes_stay_holes(void *argument) {
    struct snapshot_folders f = make_folders();
    struct snapshot *snapshot = NULL;
    (void)argument;
    put_text(f.live, "sparse", "begin");
    CHECK_EQUAL(truncate("/mnt/live/sparse", 1L << 40), 0);
    CHECK_EQUAL(snapshot_create(&f, &snapshot), 0);
    int fd = openat(f.live, "sparse", O_RDWR | O_CLOEXEC);
    CHECK_EQUAL(pwrite(fd, "x", 1, 1L << 39), 1);
    CHECK_EQUAL(snapshot_restore(snapshot), 0);
    CHECK_EQUAL(look(f.live, "sparse").st_size, 1L << 40);
    CHECK_EQUAL(look(f.live, "sparse").st_blocks, 8);
    CHECK_EQUAL(look(f.kept, "sparse").st_blocks, 8);
    snapshot_destroy(snapshot);
    return 0;
}

/* A rolled-back cell that has filled all there is leaves room for what it has deleted. */
static int a_full_disk_is_restored(void *argument) {
    enum { BYTES = 900 << 10 };
    struct snapshot_folders f = make_folders();
    static char kib[1024];
    struct snapshot *snapshot = NULL;
    (void)argument;
    memset(kib, 'k', sizeof kib);
    int mounted = mount("petri", "/mnt/live", "tmpfs", 0, "size=1m,mode=0755") ? errno : 0;
    CHECK_EQUAL(mounted, 0);
    int top = open("/mnt/live", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    f.live = open_new(top, "files");
    f.live_aside = open_new(top, "aside");
    f.guards = open_new(top, "guards");
    put_text(f.live, "a", "");
    put_text(f.live, "b", "");
    int a = openat(f.live, "a", O_RDWR | O_CLOEXEC), b = openat(f.live, "b", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < BYTES / 1024; i++)
        CHECK_EQUAL(write(a, kib, sizeof kib), sizeof kib);
    CHECK_EQUAL(snapshot_create(&f, &snapshot), 0);
    CHECK_EQUAL(ftruncate(a, 0), 0);
    while (write(b, kib, sizeof kib) > 0)
        continue;
    CHECK_EQUAL(snapshot_restore(snapshot), 0);
    CHECK_EQUAL(look(f.live, "a").st_size, BYTES);
    CHECK_EQUAL(look(f.live, "b").st_size, 0);
    snapshot_destroy(snapshot);
    return 0;
}

/* As a cell can make them: opened by one of them, which moves its times. */
static int file_with_many_names_is_compared_once(void *argument) {
    enum { BYTES = 1 << 20, NAMES = 100 };
    static char text[BYTES];
    struct snapshot_folders f = make_folders();
    struct snapshot *snapshot = NULL;
    (void)argument;
    memcpy(text, "first", 6);
    memset(text + 6, 'x', BYTES - 6);
    put_text(f.live, "a", "");
    int fd = openat(f.live, "a", O_RDWR | O_CLOEXEC);
    CHECK_EQUAL(write(fd, text, BYTES), BYTES);
    put_names(f.live, "a", NAMES);
    CHECK_EQUAL(snapshot_create(&f, &snapshot), 0);
    for (int round = 0; round < 3; round++) {
        CHECK_EQUAL(pwrite(fd, "FIRST", 5, BYTES - 5), 5);
        const unsigned long long before = count_read();
        CHECK_EQUAL(round == 1 ? snapshot_commit(snapshot) : snapshot_restore(snapshot), 0);
        CHECK(count_read() - before < 8 * BYTES);
    }
    CHECK_TEXT(read_text(f.live, "a.7"), "first");
    CHECK_EQUAL(look(f.live, "a").st_nlink, NAMES + 1);
    snapshot_destroy(snapshot);
    return 0;
}

static int attributes_are_restored(void *argument) {
    char value[8] = "";
    struct snapshot_folders f = make_folders();
    struct snapshot *snapshot = NULL;
    (void)argument;
    put_text(f.live, "a", "x");
    put_folder(f.live, "d");
    if (setxattr("/mnt/live/a", "user.one", "1", 1, 0))
        return errno == EOPNOTSUPP ? 0 : 1; /* a tmpfs before Linux 6.6 has none */
    CHECK_EQUAL(setxattr("/mnt/live/d", "user.overlay.opaque", "y", 1, 0), 0);
    CHECK_EQUAL(snapshot_create(&f, &snapshot), 0);
    CHECK_EQUAL(setxattr("/mnt/live/a", "user.one", "22", 2, 0), 0);
    CHECK_EQUAL(setxattr("/mnt/live/a", "user.two", "2", 1, 0), 0);
    CHECK_EQUAL(removexattr("/mnt/live/d", "user.overlay.opaque"), 0);
    CHECK_EQUAL(snapshot_restore(snapshot), 0);
    CHECK_EQUAL(getxattr("/mnt/live/a", "user.one", value, sizeof value), 1);
    CHECK_EQUAL(value[0], '1');
    CHECK_EQUAL(getxattr("/mnt/live/a", "user.two", value, sizeof value), -1);
    CHECK_EQUAL(getxattr("/mnt/live/d", "user.overlay.opaque", value, sizeof value), 1);
    CHECK_EQUAL(getxattr("/mnt/kept/d", "user.overlay.opaque", value, sizeof value), 1);
    snapshot_destroy(snapshot);
    return 0;
}

static void test_commits_each_change(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        run_in_fork(commits_each_change, &i, false);
}

int main(void) {
    static const struct part parts[] = {PART(restores_each_change),
                                        PART(guards_keep_inodes),
                                        PART(suspected_files_are_compared),
                                        PART(holes_stay_holes),
                                        PART(a_full_disk_is_restored),
                                        PART(file_with_many_names_is_compared_once),
                                        PART(attributes_are_restored),
                                        PART(unchanged_files_are_told_by_their_times),
                                        PART(files_written_in_the_tick_of_the_beginning_are_compared),
                                        PART(files_found_to_be_the_same_are_not_compared_again)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_commits_each_change)};
    int failed = cmocka_run_group_tests_name("snapshot: commits", tests, NULL, NULL);
    return run_parts("snapshot", parts, sizeof parts / sizeof parts[0], NULL, NULL) || failed;
}
