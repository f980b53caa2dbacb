/* Changes to a folder, all or none: also where whoever makes them is killed, at each of its system calls. */
#include "kernel/base/clock.h"
#include "kernel/files/transaction.h"
#include "tests/kernel/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int folder_fd = -1;
static bool no_exchange; /* as on a file system that has none */

/* In the place of libc's. */
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
    if (no_exchange && (flags & RENAME_EXCHANGE)) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

static int start(void **state) {
    if (tree_make(state) < 0)
        return -1;
    folder_fd = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return folder_fd < 0 ? -1 : 0;
}

static int stop(void **state) {
    close(folder_fd);
    return tree_remove(state);
}

static struct transaction *begin(void) {
    struct transaction *transaction;
    size_t recovered;
    assert_int_equal(transaction_open(folder_fd, &transaction, &recovered), 0);
    assert_int_equal(recovered, 0);
    return transaction;
}

/* Plans to have this text at a path, in the place of what stands there, or of nothing. */
static int put(struct transaction *transaction, const char *path, const char *text, const struct stat *before) {
    struct transaction_file file;
    const struct stat content = {.st_mode = S_IFREG | 0640, .st_mtim = {1000000000, 0}};
    int r = transaction_stage(transaction, &file);
    if (r == 0 && write(file.fd, text, strlen(text)) != (ssize_t)strlen(text))
        r = -EIO;
    return r ? r : transaction_add_file(transaction, &file, path, before, &content);
}

static int replace(struct transaction *transaction, const char *path, const char *text) {
    struct stat st;
    int r = transaction_look(transaction, path, &st);
    return r ? r : put(transaction, path, text, &st);
}

static int remove_there(struct transaction *transaction, enum journal_kind kind, const char *path) {
    struct stat st;
    int r = transaction_look(transaction, path, &st);
    return r ? r : transaction_add(transaction, kind, path, &st);
}

/* Decides and makes all. */
static void make(struct transaction *transaction) {
    assert_int_equal(transaction_commit(transaction), 0);
    assert_true(transaction_step(transaction, CLOCK_NEVER));
}

static void expect_result(const struct transaction *transaction, size_t i, int result, const char *path) {
    const char *got;
    assert_int_equal(transaction_result(transaction, i, &got), result);
    assert_string_equal(got, path);
}

static void expect_failure(const struct transaction *transaction, int result, const char *path) {
    const char *got = NULL;
    assert_int_equal(transaction_failed(transaction, &got), result);
    assert_string_equal(got, path);
    assert_false(transaction_is_stuck(transaction));
}

static void expect_text(const char *name, const char *expected) {
    char path[PATH_MAX], text[96] = "";
    int fd = open(tree_path(path, name), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && !expected)
        return;
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) >= 0);
    close(fd);
    assert_non_null(expected);
    assert_string_equal(text, expected);
}

static bool is_there(const char *name) {
    char path[PATH_MAX];
    struct stat st;
    return lstat(tree_path(path, name), &st) == 0;
}

static void test_transaction_after_commit_makes_its_changes(void **state) {
    struct stat st;
    char path[PATH_MAX];
    (void)state;
    tree_file("old.txt", "old");
    tree_file("gone.txt", "gone");
    tree_file("empty/x", "x");
    struct transaction *transaction = begin();
    assert_int_equal(remove_there(transaction, JOURNAL_REMOVE, "gone.txt"), 0);
    assert_int_equal(remove_there(transaction, JOURNAL_REMOVE, "empty/x"), 0);
    assert_int_equal(remove_there(transaction, JOURNAL_REMOVE_FOLDER, "empty"), 0);
    assert_int_equal(transaction_add(transaction, JOURNAL_MAKE_FOLDER, "data", NULL), 0);
    assert_int_equal(put(transaction, "data/new.txt", "new", NULL), 0);
    assert_int_equal(replace(transaction, "old.txt", "changed"), 0);
    expect_text("old.txt", "old");
    make(transaction);
    for (size_t i = 0; i < transaction_n(transaction); i++) {
        const char *got;
        assert_int_equal(transaction_result(transaction, i, &got), 0);
    }
    transaction_close(transaction);
    expect_text("old.txt", "changed");
    expect_text("data/new.txt", "new");
    assert_false(is_there("gone.txt"));
    assert_false(is_there("empty"));
    assert_false(is_there(JOURNAL_FOLDER));
    assert_int_equal(stat(tree_path(path, "old.txt"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(st.st_mtim.tv_sec, 1000000000);
}

static void test_transaction_before_commit_changes_nothing(void **state) {
    (void)state;
    tree_file("old.txt", "old");
    struct transaction *transaction = begin();
    assert_int_equal(replace(transaction, "old.txt", "changed"), 0);
    assert_int_equal(put(transaction, "new.txt", "new", NULL), 0);
    transaction_close(transaction);
    expect_text("old.txt", "old");
    assert_false(is_there("new.txt"));
    assert_false(is_there(JOURNAL_FOLDER));
}

/* Only what it has made itself is told to be what was staged. */
static void test_transaction_folder_that_others_make_meanwhile_is_theirs(void **state) {
    struct stat ours, theirs;
    (void)state;
    struct transaction *transaction = begin();
    assert_int_equal(transaction_add(transaction, JOURNAL_MAKE_FOLDER, "ours", NULL), 0);
    assert_int_equal(transaction_add(transaction, JOURNAL_MAKE_FOLDER, "theirs", NULL), 0);
    assert_int_equal(transaction_commit(transaction), 0);
    tree_folder("theirs");
    assert_true(transaction_step(transaction, CLOCK_NEVER));
    expect_result(transaction, 1, 0, "theirs");
    assert_string_equal(transaction_change(transaction, 1)->path, "theirs");
    assert_int_equal(transaction_change(transaction, 1)->kind, JOURNAL_MAKE_FOLDER);
    assert_int_equal(transaction_look(transaction, "ours", &ours), 0);
    assert_int_equal(transaction_look(transaction, "theirs", &theirs), 0);
    assert_true(transaction_is_staged(transaction, 0, &ours));
    assert_false(transaction_is_staged(transaction, 1, &theirs));
    transaction_close(transaction);
    assert_false(is_there(JOURNAL_FOLDER));
}

static void test_transaction_keeps_files_that_others_have_changed(void **state) {
    (void)state;
    tree_file("one.txt", "one");
    tree_file("two.tar", "two");
    tree_file("three", "three");
    struct transaction *transaction = begin();
    assert_int_equal(replace(transaction, "one.txt", "ours"), 0);
    assert_int_equal(put(transaction, "two.tar", "ours", NULL), 0);
    assert_int_equal(remove_there(transaction, JOURNAL_REMOVE, "three"), 0);
    assert_int_equal(put(transaction, "four", "ours", NULL), 0);
    tree_file("one.txt", "theirs");
    tree_file("three", "theirs");
    tree_folder("four");
    make(transaction);
    expect_result(transaction, 0, -EEXIST, "one (2).txt");
    expect_result(transaction, 1, -EEXIST, "two (2).tar");
    expect_result(transaction, 2, -ESTALE, "three");
    expect_result(transaction, 3, -EEXIST, "four (2)");
    transaction_close(transaction);
    expect_text("one.txt", "theirs");
    expect_text("one (2).txt", "ours");
    expect_text("two.tar", "two");
    expect_text("two (2).tar", "ours");
    expect_text("three", "theirs");
    expect_text("four (2)", "ours");
}

static void test_transaction_follows_no_link(void **state) {
    char path[PATH_MAX];
    struct stat st;
    (void)state;
    tree_file("elsewhere/a", "a");
    assert_int_equal(symlink("elsewhere", tree_path(path, "link")), 0);
    assert_int_equal(symlink("elsewhere/a", tree_path(path, "file")), 0);
    struct transaction *transaction = begin();
    assert_int_equal(transaction_look(transaction, "link/a", &st), -ELOOP);
    assert_int_equal(replace(transaction, "file", "in its place"), 0);
    make(transaction);
    transaction_close(transaction);
    expect_text("elsewhere/a", "a");
    expect_text("file", "in its place");
    transaction = begin();
    assert_int_equal(put(transaction, "link/b", "b", NULL), 0);
    make(transaction);
    expect_failure(transaction, -ELOOP, "link/b");
    transaction_close(transaction);
    assert_false(is_there("elsewhere/b"));
}

static void test_transaction_does_not_make_removed_changes(void **state) {
    (void)state;
    tree_file("one.txt", "one");
    tree_file("two.txt", "two");
    struct transaction *transaction = begin();
    assert_int_equal(remove_there(transaction, JOURNAL_REMOVE, "one.txt"), 0);
    assert_int_equal(remove_there(transaction, JOURNAL_REMOVE, "two.txt"), 0);
    transaction_forget_from(transaction, 1);
    make(transaction);
    transaction_close(transaction);
    assert_false(is_there("one.txt"));
    expect_text("two.txt", "two");
}

static void test_transaction_keeps_a_folder_that_is_not_empty(void **state) {
    (void)state;
    tree_folder("full");
    struct transaction *transaction = begin();
    assert_int_equal(remove_there(transaction, JOURNAL_REMOVE_FOLDER, "full"), 0);
    tree_file("full/theirs", "x");
    make(transaction);
    expect_result(transaction, 0, -ENOTEMPTY, "full");
    transaction_close(transaction);
    expect_text("full/theirs", "x");
}

/* What a program that has it open writes next goes into the file that is at the path. */
static void test_transaction_keeps_files_that_others_have_open_for_writing(void **state) {
    static const char *const names[] = {"put.log", "gone.log", "read.log"};
    char path[PATH_MAX];
    int fd[3];
    (void)state;
    for (size_t i = 0; i < 3; i++)
        tree_file(names[i], "theirs");
    struct transaction *transaction = begin();
    assert_int_equal(replace(transaction, "put.log", "ours"), 0);
    assert_int_equal(remove_there(transaction, JOURNAL_REMOVE, "gone.log"), 0);
    assert_int_equal(replace(transaction, "read.log", "ours"), 0);
    for (size_t i = 0; i < 3; i++)
        fd[i] = open(tree_path(path, names[i]), (i == 2 ? O_RDONLY : O_WRONLY | O_APPEND) | O_CLOEXEC);
    assert_true(transaction_is_written(transaction, "put.log"));
    assert_false(transaction_is_written(transaction, "read.log"));
    make(transaction);
    expect_result(transaction, 0, -EEXIST, "put (2).log");
    expect_result(transaction, 1, -ESTALE, "gone.log");
    expect_result(transaction, 2, 0, "read.log");
    transaction_close(transaction);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(write(fd[i], "+", 1), i == 2 ? -1 : 1);
        close(fd[i]);
    }
    expect_text("put.log", "theirs+");
    expect_text("put (2).log", "ours");
    expect_text("gone.log", "theirs+");
    expect_text("read.log", "ours");
    assert_false(is_there(JOURNAL_FOLDER));
}

/* What was mapped stays open as long as the mapping is there, without any descriptor. */
static void test_transaction_keeps_a_file_that_others_have_mapped(void **state) {
    char path[PATH_MAX];
    (void)state;
    tree_file("data", "theirs");
    int fd = open(tree_path(path, "data"), O_RDWR | O_CLOEXEC);
    char *mapped = mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(mapped != MAP_FAILED);
    mapped[0] = 'T';
    close(fd);
    struct transaction *transaction = begin();
    assert_int_equal(replace(transaction, "data", "ours"), 0);
    mapped[5] = 'S'; /* the page is dirty already: no time of the file changes */
    make(transaction);
    transaction_close(transaction);
    munmap(mapped, 6);
    expect_text("data", "TheirS");
    expect_text("data (2)", "ours");
}

static void test_transaction_that_cant_be_made_is_taken_back(void **state) {
    char path[PATH_MAX];
    struct stat before, after;
    (void)state;
    for (int i = 0; i < 2; i++) {
        no_exchange = i;
        tree_file("old.txt", "old");
        tree_file("gone.txt", "gone");
        tree_file("folder/x", "x");
        tree_file("taken.txt", "theirs");
        tree_folder("closed");
        assert_int_equal(chmod(tree_path(path, "folder"), 0711), 0);
        assert_int_equal(stat(tree_path(path, "old.txt"), &before), 0);
        struct transaction *transaction = begin();
        assert_int_equal(remove_there(transaction, JOURNAL_REMOVE, "gone.txt"), 0);
        assert_int_equal(remove_there(transaction, JOURNAL_REMOVE, "folder/x"), 0);
        assert_int_equal(remove_there(transaction, JOURNAL_REMOVE_FOLDER, "folder"), 0);
        assert_int_equal(transaction_add(transaction, JOURNAL_MAKE_FOLDER, "new", NULL), 0);
        assert_int_equal(put(transaction, "new/x", "new", NULL), 0);
        assert_int_equal(put(transaction, "folder", "a file in its place", NULL), 0);
        assert_int_equal(replace(transaction, "old.txt", "changed"), 0);
        assert_int_equal(put(transaction, "taken.txt", "ours", NULL), 0);
        assert_int_equal(put(transaction, "closed/x", "never", NULL), 0);
        assert_int_equal(put(transaction, "later", "never", NULL), 0);
        assert_int_equal(transaction_check_folder(transaction, "closed/x"), 0);
        assert_int_equal(chmod(tree_path(path, "closed"), 0555), 0);
        assert_int_equal(transaction_check_folder(transaction, "closed/x"), -EACCES);
        make(transaction);
        expect_failure(transaction, -EACCES, "closed/x");
        transaction_close(transaction);
        expect_text("old.txt", "old");
        assert_int_equal(stat(tree_path(path, "old.txt"), &after), 0);
        assert_int_equal(after.st_ino, before.st_ino);
        expect_text("gone.txt", "gone");
        expect_text("folder/x", "x");
        assert_int_equal(stat(tree_path(path, "folder"), &after), 0);
        assert_int_equal(after.st_mode & 07777, 0711);
        expect_text("taken.txt", "theirs");
        assert_false(is_there("new") || is_there("taken (2).txt") || is_there("later") || is_there(JOURNAL_FOLDER));
        assert_int_equal(stop(state), 0);
        assert_int_equal(start(state), 0);
    }
    no_exchange = false;
}

/* What another program has made of a new file meanwhile stays, and what was there before gets a name beside it. */
static void test_transaction_that_is_taken_back_keeps_what_others_have_made_of_it(void **state) {
    char path[PATH_MAX];
    (void)state;
    tree_file("old.txt", "old");
    tree_file("gone.txt", "gone");
    tree_folder("closed");
    struct transaction *transaction = begin();
    assert_int_equal(remove_there(transaction, JOURNAL_REMOVE, "gone.txt"), 0);
    assert_int_equal(replace(transaction, "old.txt", "changed"), 0);
    assert_int_equal(put(transaction, "new.txt", "new", NULL), 0);
    assert_int_equal(put(transaction, "closed/x", "never", NULL), 0);
    assert_int_equal(chmod(tree_path(path, "closed"), 0555), 0);
    assert_int_equal(transaction_commit(transaction), 0);
    for (int i = 0; i < 3; i++)
        assert_false(transaction_step(transaction, 0)); /* one at a time */
    tree_file("gone.txt", "theirs");
    tree_file("old.txt", "theirs");
    tree_file("new.txt", "theirs");
    while (!transaction_step(transaction, 0))
        continue;
    expect_failure(transaction, -EACCES, "closed/x");
    transaction_close(transaction);
    expect_text("gone.txt", "theirs");
    expect_text("gone (2).txt", "gone");
    expect_text("old.txt", "theirs");
    expect_text("old (2).txt", "old");
    expect_text("new.txt", "theirs");
    assert_false(is_there(JOURNAL_FOLDER));
}

static void test_transaction_left_out_changes_are_not_made(void **state) {
    (void)state;
    tree_file("one.txt", "one");
    tree_file("two.txt", "two");
    struct transaction *transaction = begin();
    assert_int_equal(remove_there(transaction, JOURNAL_REMOVE, "one.txt"), 0);
    assert_int_equal(replace(transaction, "two.txt", "ours"), 0);
    assert_int_equal(transaction_add(transaction, JOURNAL_MAKE_FOLDER, "folder", NULL), 0);
    assert_int_equal(put(transaction, "three.txt", "three", NULL), 0);
    for (size_t i = 0; i < 3; i++)
        transaction_leave_out(transaction, i);
    make(transaction);
    transaction_close(transaction);
    expect_text("one.txt", "one");
    expect_text("two.txt", "two");
    expect_text("three.txt", "three");
    assert_false(is_there("folder") || is_there(JOURNAL_FOLDER));
}

static void test_transaction_locked_by_another_kernel_is_refused(void **state) {
    struct transaction *other;
    size_t recovered;
    (void)state;
    struct transaction *transaction = begin();
    assert_int_equal(transaction_open(folder_fd, &other, &recovered), -EAGAIN);
    assert_int_equal(transaction_recover(folder_fd), -EAGAIN);
    transaction_close(transaction);
    assert_int_equal(transaction_recover(folder_fd), 0);
    assert_false(is_there(JOURNAL_FOLDER));
    transaction_close(begin());
}

static const char planted[] = "{\"version\": 2, \"changes\": [[\"put\", \"hook\", \"file-0\", [1, 2, 3, 4], null]]}";

/* As it comes with a clone: whoever made it knows neither number nor time of the files that it becomes. What it is of
 * may be nowhere else. */
static void test_journal_copied_from_another_folder_is_kept_and_not_followed(void **state) {
    char path[PATH_MAX], name[96];
    struct stat st;
    int n = 0;
    (void)state;
    tree_file(JOURNAL_FOLDER "/token", "");
    tree_file(JOURNAL_FOLDER "/file-0", "#!/bin/sh");
    tree_file(JOURNAL_FOLDER "/journal", planted);
    assert_int_equal(stat(tree_path(path, JOURNAL_FOLDER "/token"), &st), 0);
    snprintf(name, sizeof name, JOURNAL_FOLDER "/journal-%jx-%jx", (uintmax_t)st.st_ino,
             (uintmax_t)clock_ns(&st.st_ctim) - 1);
    tree_file(name, planted);
    assert_int_equal(transaction_recover(folder_fd), -ESTALE);
    assert_int_equal(transaction_recover(folder_fd), 0);
    transaction_close(begin());
    assert_false(is_there("hook") || is_there(JOURNAL_FOLDER));
    DIR *dir = opendir(tree);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, JOURNAL_FOLDER "-kept-", strlen(JOURNAL_FOLDER "-kept-")) == 0) {
            snprintf(path, sizeof path, "%s/file-0", entry->d_name);
            expect_text(path, "#!/bin/sh");
            snprintf(path, sizeof path, "%s%s", entry->d_name, strrchr(name, '/'));
            expect_text(path, planted);
            n++;
        }
    closedir(dir);
    assert_int_equal(n, 1);
}

static void test_journal_that_cant_be_read_is_left_alone(void **state) {
    struct transaction *transaction = begin();
    size_t recovered;
    char path[PATH_MAX], name[96];
    struct stat st;
    (void)state;
    assert_int_equal(put(transaction, "new.txt", "new", NULL), 0);
    assert_int_equal(transaction_commit(transaction), 0);
    transaction_close(transaction); /* as if it had been killed */
    assert_int_equal(stat(tree_path(path, JOURNAL_FOLDER "/token"), &st), 0);
    snprintf(name, sizeof name, JOURNAL_FOLDER "/journal-%jx-%jx", (uintmax_t)st.st_ino,
             (uintmax_t)clock_ns(&st.st_ctim));
    tree_file(name, "{");
    assert_int_equal(transaction_open(folder_fd, &transaction, &recovered), -EBADMSG);
    assert_int_equal(transaction_recover(folder_fd), -EBADMSG);
    expect_text(name, "{");
}

static void test_transaction_folder_of_others_or_a_link_is_refused(void **state) {
    struct transaction *transaction;
    size_t recovered;
    char path[PATH_MAX];
    (void)state;
    tree_folder(JOURNAL_FOLDER);
    assert_int_equal(chmod(tree_path(path, JOURNAL_FOLDER), 0777), 0);
    assert_int_equal(transaction_open(folder_fd, &transaction, &recovered), -EPERM);
    if (geteuid() == 0) {
        assert_int_equal(chmod(path, 0700), 0);
        assert_int_equal(chown(path, 4321, 4321), 0);
        assert_int_equal(transaction_open(folder_fd, &transaction, &recovered), -EPERM);
    }
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_int_equal(transaction_open(folder_fd, &transaction, &recovered), -ELOOP);
}

static void test_transaction_keeps_other_files_in_its_folder(void **state) {
    (void)state;
    tree_file(JOURNAL_FOLDER "/mine", "mine");
    tree_file(JOURNAL_FOLDER "/file-x", "mine");
    tree_file(JOURNAL_FOLDER "/file-7", "left by a killed kernel");
    assert_int_equal(transaction_recover(folder_fd), 0);
    struct transaction *transaction = begin();
    assert_int_equal(put(transaction, "new.txt", "new", NULL), 0);
    make(transaction);
    transaction_close(transaction);
    expect_text("new.txt", "new");
    expect_text(JOURNAL_FOLDER "/mine", "mine");
    expect_text(JOURNAL_FOLDER "/file-x", "mine");
    assert_false(is_there(JOURNAL_FOLDER "/file-7"));
}

/* One of each kind of change, as a cell makes them; the last one can't be made if that folder is closed. */
static int change_all(bool closed) {
    struct transaction *transaction;
    size_t recovered;
    const char *path;
    int r = transaction_open(folder_fd, &transaction, &recovered);
    if (r == 0)
        r = remove_there(transaction, JOURNAL_REMOVE, "gone.txt");
    if (r == 0)
        r = remove_there(transaction, JOURNAL_REMOVE, "empty/x");
    if (r == 0)
        r = remove_there(transaction, JOURNAL_REMOVE_FOLDER, "empty");
    if (r == 0)
        r = transaction_add(transaction, JOURNAL_MAKE_FOLDER, "data", NULL);
    if (r == 0)
        r = put(transaction, "data/new.txt", "new", NULL);
    if (r == 0)
        r = replace(transaction, "old.txt", "changed");
    if (r == 0)
        r = put(transaction, "taken.txt", "ours", NULL);
    if (r == 0)
        r = put(transaction, "closed/last.txt", "last", NULL);
    if (r == 0 && closed)
        r = fchmodat(folder_fd, "closed", 0555, 0);
    if (r == 0)
        r = transaction_commit(transaction);
    if (r == 0 && !transaction_step(transaction, CLOCK_NEVER))
        r = -EINPROGRESS;
    if (r == 0 && transaction_failed(transaction, &path) != (closed ? -EACCES : 0))
        r = -EPROTO;
    transaction_close(transaction);
    return r;
}

static void make_old(void) {
    tree_file("old.txt", "old");
    tree_file("gone.txt", "gone");
    tree_file("empty/x", "x");
    tree_file("taken.txt", "theirs");
    tree_folder("closed");
}

/* All of the changes, or none. */
static void expect_whole(void) {
    const bool all = !is_there("gone.txt");
    expect_text("old.txt", all ? "changed" : "old");
    expect_text("gone.txt", all ? NULL : "gone");
    expect_text("data/new.txt", all ? "new" : NULL);
    expect_text("empty/x", all ? NULL : "x");
    expect_text("taken.txt", "theirs");
    expect_text("taken (2).txt", all ? "ours" : NULL);
    expect_text("closed/last.txt", all ? "last" : NULL);
    assert_int_equal(is_there("empty"), !all);
    assert_int_equal(is_there("data"), all);
    assert_false(is_there(JOURNAL_FOLDER));
}

/* Kills a child that makes the changes at the n-th stop of its system calls. Whether it came so far. */
static bool is_killed_at(int n, bool closed) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
            _exit(2);
        _exit(change_all(closed) ? 3 : 0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    for (int i = 0; WIFSTOPPED(status) && i < n; i++) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    if (!WIFSTOPPED(status)) {
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        return false;
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return true;
}

/* What can't be made after that either is left until it can. */
static void recover(bool closed) {
    char path[PATH_MAX];
    int r = transaction_recover(folder_fd);
    if (closed && r == -EUCLEAN) {
        assert_int_equal(chmod(tree_path(path, "closed"), 0755), 0);
        r = transaction_recover(folder_fd);
    }
    assert_true(r >= 0);
}

static void kill_at_any_system_call(void **state, bool closed) {
    int n = 0, without = 0, with = 0;
    bool killed = true;
    for (; killed; n++) {
        make_old();
        killed = is_killed_at(n, closed);
        recover(closed);
        expect_whole();
        *(is_there("gone.txt") ? &without : &with) += 1;
        assert_int_equal(stop(state), 0);
        assert_int_equal(start(state), 0);
    }
    print_message("killed at %d system calls: nothing was done after %d, all after %d\n", n - 1, without, with);
    assert_true(without > 20 && with > 20);
}

static void test_transaction_killed_at_any_system_call_makes_all_changes_or_none(void **state) {
    kill_at_any_system_call(state, false);
}

static void test_transaction_killed_while_it_is_taken_back_makes_all_changes_or_none(void **state) {
    kill_at_any_system_call(state, true);
}

static void test_transaction_where_no_files_can_be_exchanged_makes_all_changes_or_none(void **state) {
    no_exchange = true;
    kill_at_any_system_call(state, false);
    kill_at_any_system_call(state, true);
    no_exchange = false;
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(test_transaction_after_commit_makes_its_changes),
        TEST(test_transaction_before_commit_changes_nothing),
        TEST(test_transaction_folder_that_others_make_meanwhile_is_theirs),
        TEST(test_transaction_keeps_files_that_others_have_changed),
        TEST(test_transaction_follows_no_link),
        TEST(test_transaction_does_not_make_removed_changes),
        TEST(test_transaction_keeps_a_folder_that_is_not_empty),
        TEST(test_transaction_locked_by_another_kernel_is_refused),
        TEST(test_journal_copied_from_another_folder_is_kept_and_not_followed),
        TEST(test_journal_that_cant_be_read_is_left_alone),
        TEST(test_transaction_folder_of_others_or_a_link_is_refused),
        TEST(test_transaction_keeps_other_files_in_its_folder),
        TEST(test_transaction_keeps_files_that_others_have_open_for_writing),
        TEST(test_transaction_keeps_a_file_that_others_have_mapped),
        TEST(test_transaction_that_cant_be_made_is_taken_back),
        TEST(test_transaction_that_is_taken_back_keeps_what_others_have_made_of_it),
        TEST(test_transaction_left_out_changes_are_not_made),
        TEST(test_transaction_killed_at_any_system_call_makes_all_changes_or_none),
        TEST(test_transaction_killed_while_it_is_taken_back_makes_all_changes_or_none),
        TEST(test_transaction_where_no_files_can_be_exchanged_makes_all_changes_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
