/* Cells of kept images, beside the session's own: each begins in the state and with the files of its time. */
#include "base/cleanup.h"
#include "sandbox/session/cell.h"
#include "tests/sandbox/listing.h"
#include "tests/sandbox/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Each has what it has written, and nobody else has it. */
static void branches_of_one_image_have_nothing_in_common(struct live *live) {
    CHECK_TEXT(live_do(live, "put a.txt one"), "ok");
    CHECK_TEXT(live_do(live, "map -1 4096 3"), "0");
    CHECK_TEXT(live_do(live, "store 0 one"), "ok");
    struct kept_image *one = live_keep(live);
    struct cell *a = live_branch(live, one), *b = live_branch(live, one), *own = live_start(live);
    CHECK_TEXT(live_ask(a, "store 0 a"), "ok");
    CHECK_TEXT(live_ask(a, "put a.txt a"), "ok");
    CHECK_TEXT(live_ask(own, "store 0 own"), "ok");
    CHECK_TEXT(live_ask(own, "put a.txt own"), "ok");
    CHECK_TEXT(live_ask(b, "load 0"), "one");
    CHECK_TEXT(live_ask(b, "file a.txt"), "one");
    CHECK_TEXT(live_ask(b, "call %d %d 9", SYS_kill, live_worker_of(a)), "-3");
    cell_discard(b);
    CHECK_TEXT(live_ask(a, "load 0"), "a");
    CHECK_TEXT(live_ask(a, "file a.txt"), "a");
    live_commit(own);
    CHECK_TEXT(live_ask(a, "file a.txt"), "a");
    cell_discard(a);
    CHECK_TEXT(live_do(live, "load 0"), "own");
    CHECK_TEXT(live_do(live, "file a.txt"), "own");
}

static void branch_goes_on_when_its_image_is_forgotten_or_gone_back_to(struct live *live) {
    struct error error = {0};
    CHECK_TEXT(live_do(live, "put a.txt one"), "ok");
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"sub2 0755"), 0);
    CHECK_TEXT(live_do(live, "put sub2/b.txt one"), "ok");
    struct kept_image *one = live_keep(live);
    CHECK_TEXT(live_do(live, "put a.txt two"), "ok");
    struct cell *a = live_branch(live, one);
    CHECK_TEXT(live_ask(a, "file sub2/b.txt"), "one");
    CHECK_EQUAL(session_restore(live->session, one, &error), 0);
    CHECK_TEXT(live_do(live, "put sub2/b.txt three"), "ok");
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"a.txt"), 0);
    CHECK_TEXT(live_ask(a, "list sub2"), "b.txt");
    CHECK_TEXT(live_ask(a, "file sub2/b.txt"), "one");
    session_forget(live->session, one);
    CHECK_TEXT(live_ask(a, "file a.txt"), "one");
    CHECK_TEXT(live_ask(a, "put a.txt four"), "ok");
    CHECK_TEXT(live_ask(a, "file a.txt"), "four");
    cell_discard(a);
    CHECK_TEXT(live_do(live, "file sub2/b.txt"), "three");
    CHECK_TEXT(live_do(live, "file a.txt"), "ENOENT");
}

static void changes_of_a_branch_are_those_of_the_files_of_its_time(struct live *live) {
    struct cell_end end;
    struct error error = {0};
    struct listing listing = {0};
    CHECK_TEXT(live_do(live, "put a.txt one"), "ok");
    struct kept_image *one = live_keep(live);
    CHECK_TEXT(live_do(live, "put a.txt two"), "ok");
    CHECK_TEXT(live_do(live, "put later.txt two"), "ok");
    struct cell *a = live_branch(live, one);
    CHECK_TEXT(live_ask(a, "append a.txt +a"), "ok");
    CHECK_TEXT(live_ask(a, "file later.txt"), "ENOENT");
    CHECK_EQUAL(cell_freeze(a, &end, &error), 0);
    CHECK_EQUAL(cell_list_changes(a, CELL_FILES, listing_add, &listing), 0);
    CHECK_TEXT(listing_take(&listing), "changed a.txt");
    auto_fd before_fd = cell_open_before(a, "a.txt");
    auto_fd after_fd = cell_open_change(a, "a.txt");
    char text[16] = "";
    CHECK_EQUAL(read(before_fd, text, sizeof text - 1), 3);
    CHECK_TEXT(text, "one");
    CHECK_EQUAL(read(after_fd, text, sizeof text - 1), 5);
    CHECK_TEXT(text, "one+a");
    cell_discard(a);
}

/* The session's cell has it open, too, and has changed it; so has an earlier cell. */
static void file_without_a_name_is_a_copy_of_what_it_was_then(struct live *live) {
    const long fd = live_call(live, SYS_open, "\"/tmp/u %d 0600", O_RDWR | O_CREAT);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/u"), 0);
    CHECK_EQUAL(live_call(live, SYS_write, "%ld \"one 3", fd), 3);
    struct kept_image *one = live_keep(live);
    CHECK_EQUAL(live_call(live, SYS_pwrite64, "%ld \"two 3 0", fd), 3);
    struct kept_image *two = live_keep(live);
    struct cell *own = live_start(live);
    CHECK_TEXT(live_ask(own, "call %d %ld \"six 3 0", SYS_pwrite64, fd), "3");
    struct cell *a = live_branch(live, one), *b = live_branch(live, two);
    CHECK_TEXT(live_ask(a, "call %d %ld 0 %d", SYS_lseek, fd, SEEK_CUR), "3");
    CHECK_TEXT(live_ask(a, "call %d %ld \"+ 1", SYS_write, fd), "1");
    CHECK_TEXT(live_ask(a, "call %d %ld 0 0", SYS_lseek, fd), "0");
    CHECK_TEXT(live_ask(a, "read %ld", fd), "one+");
    CHECK_TEXT(live_ask(b, "call %d %ld 0 0", SYS_lseek, fd), "0");
    CHECK_TEXT(live_ask(b, "read %ld", fd), "two");
    cell_discard(a);
    cell_discard(b);
    CHECK_TEXT(live_ask(own, "call %d %ld 0 0", SYS_lseek, fd), "0");
    CHECK_TEXT(live_ask(own, "read %ld", fd), "six");
    live_commit(own);
}

static void branch_writes_its_files_by_its_mappings_also_under_its_locks(struct live *live) {
    CHECK_TEXT(live_do(live, "put map.dat one"), "ok");
    const long fd = live_call(live, SYS_open, "\"map.dat %d", O_RDWR);
    CHECK_EQUAL(live_call(live, SYS_ftruncate, "%ld 4096", fd), 0);
    CHECK_TEXT(live_do(live, "map %ld 4096 3", fd), "0");
    CHECK_TEXT(live_do(live, "map %ld 4096 3", fd), "1");
    CHECK_EQUAL(live_call(live, SYS_flock, "%ld %d", fd, LOCK_EX), 0);
    struct kept_image *one = live_keep(live);
    CHECK_TEXT(live_do(live, "store 0 two"), "ok");
    struct cell *a = live_branch(live, one), *b = live_branch(live, one);
    CHECK_TEXT(live_ask(a, "load 1"), "one");
    CHECK_TEXT(live_ask(a, "store 0 six"), "ok");
    CHECK_TEXT(live_ask(a, "load 1"), "six");
    CHECK(strncmp(live_ask(a, "file map.dat"), "six", 3) == 0);
    CHECK(strncmp(live_ask(b, "file map.dat"), "one", 3) == 0);
    const long other = strtol(live_ask(a, "call %d \"map.dat %d", SYS_open, O_RDWR), NULL, 10);
    CHECK(other > 0);
    CHECK_TEXT(live_ask(a, "call %d %ld %d", SYS_flock, other, LOCK_EX | LOCK_NB), "-11");
    cell_discard(a);
    cell_discard(b);
    CHECK_TEXT(live_do(live, "load 1"), "two");
}

/* Over 256 MiB it would be a while before the cell begins. It has what they hold, and its changes are in its memory. */
static void large_mapped_file_is_there_and_not_copied(struct live *live) {
    enum { MANY = 9 };
    for (int i = 0; i < MANY; i++) {
        const long fd = live_call(live, SYS_open, "\"m%d %d 0600", i, O_RDWR | O_CREAT);
        CHECK_EQUAL(live_call(live, SYS_ftruncate, "%ld %d", fd, 32 << 20), 0);
        char number[16];
        (void)snprintf(number, sizeof number, "%d", i);
        CHECK_TEXT(live_do(live, "map %ld %d 3", fd, 32 << 20), number);
        CHECK_TEXT(live_do(live, "store %d n%d", i, i), "ok");
        CHECK_EQUAL(live_call(live, SYS_close, "%ld", fd), 0);
    }
    struct kept_image *kept = live_keep(live);
    struct cell *a = live_branch(live, kept);
    CHECK_TEXT(live_ask(a, "load 0"), "n0");
    CHECK_TEXT(live_ask(a, "load %d", MANY - 1), "n8");
    CHECK_TEXT(live_ask(a, "store %d changed", MANY - 1), "ok");
    CHECK_TEXT(live_ask(a, "load %d", MANY - 1), "changed");
    cell_discard(a);
    CHECK_TEXT(live_do(live, "load %d", MANY - 1), "n8");
}

/* What a branch leaves, as a state of the session; and a branch of that. */
static struct kept_image *keep_branch(struct cell *cell) {
    struct kept_image *kept = NULL;
    struct cell_end end;
    struct error error = {0};
    CHECK_EQUAL(cell_freeze(cell, &end, &error), 0);
    CHECK_EQUAL(cell_keep(cell, &kept), 0);
    cell_discard(cell);
    return kept;
}

static void go(struct live *live, struct kept_image *kept) {
    struct error error = {0};
    CHECK_EQUAL(session_restore(live->session, kept, &error), 0);
}

static void branch_that_is_kept_is_a_state_like_others(struct live *live) {
    CHECK_TEXT(live_do(live, "put a.txt one"), "ok");
    CHECK_TEXT(live_do(live, "put gone.txt one"), "ok");
    const long fd = live_call(live, SYS_open, "\"a.txt %d", O_RDWR | O_APPEND);
    struct kept_image *one = live_keep(live);
    struct cell *cell = live_branch(live, one);
    CHECK_TEXT(live_ask(cell, "add 5"), "5");
    CHECK_TEXT(live_ask(cell, "call %d %ld \"+ 1", SYS_write, fd), "1");
    CHECK_TEXT(live_ask(cell, "call %d \"gone.txt", SYS_unlink), "0");
    CHECK_TEXT(live_ask(cell, "call %d \"host.txt", SYS_unlink), "0");
    CHECK_TEXT(live_ask(cell, "put /dev/shm/new.txt new"), "ok");
    CHECK_TEXT(live_ask(cell, "say 1 one"), "3");
    struct kept_image *five = keep_branch(cell);
    live_check_counter(live, 0);
    CHECK_TEXT(live_do(live, "file a.txt"), "one");
    for (int i = 0; i < 3; i++) {
        struct cell *next = live_branch(live, five);
        CHECK_TEXT(live_ask(next, "add %d", i), i == 0 ? "5" : i == 1 ? "6" : "7");
        CHECK_TEXT(live_ask(next, "file a.txt"), "one+");
        CHECK_TEXT(live_ask(next, "file host.txt"), "ENOENT");
        go(live, i == 1 ? one : five);
        CHECK_TEXT(live_do(live, "file gone.txt"), i == 1 ? "one" : "ENOENT");
        CHECK_TEXT(live_do(live, "file /dev/shm/new.txt"), i == 1 ? "ENOENT" : "new");
        CHECK_EQUAL(live_call(live, SYS_write, "%ld \"! 1", fd), 1);
        CHECK_TEXT(live_do(live, "file a.txt"), i == 1 ? "one!" : "one+!");
        live_check_counter(live, i == 1 ? 0 : 5);
        cell_discard(next);
    }
    session_forget(live->session, one);
    session_forget(live->session, five);
    CHECK_TEXT(live_do(live, "file a.txt"), "one+!");
}

static ino_t number_of(const struct live *live, const char *path) {
    struct stat st;
    CHECK_EQUAL(fstatat(live->session->zygote.files_fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_ino;
}

/* As sqlite looks whether its file has been moved. */
static void file_that_a_branch_has_changed_is_the_same_one_when_the_session_goes_there(struct live *live) {
    CHECK_TEXT(live_do(live, "put a.txt one"), "ok");
    CHECK_TEXT(live_do(live, "put /tmp/b.txt one"), "ok");
    const ino_t a = number_of(live, "live/files/folder/a.txt"), b = number_of(live, "live/files/private/tmp/b.txt");
    struct cell *cell = live_branch(live, live_keep(live));
    CHECK_TEXT(live_ask(cell, "append a.txt two"), "ok");
    CHECK_TEXT(live_ask(cell, "append /tmp/b.txt two"), "ok");
    CHECK_TEXT(live_ask(cell, "put c.txt new"), "ok");
    struct kept_image *two = keep_branch(cell);
    CHECK_TEXT(live_do(live, "append a.txt six"), "ok");
    CHECK_EQUAL(live_call(live, SYS_rename, "\"/tmp/b.txt \"/tmp/d.txt"), 0);
    go(live, two);
    CHECK_TEXT(live_do(live, "file a.txt"), "onetwo");
    CHECK_TEXT(live_do(live, "file c.txt"), "new");
    CHECK_TEXT(live_do(live, "file /tmp/b.txt"), "onetwo");
    CHECK_TEXT(live_do(live, "file /tmp/d.txt"), "ENOENT");
    CHECK_EQUAL(number_of(live, "live/files/folder/a.txt"), a);
    CHECK_EQUAL(number_of(live, "live/files/private/tmp/b.txt"), b);
}

/* The overlay remembers the name of a file that is open. */
static void file_of_the_host_that_is_open_stays_removed_in_a_branch_that_the_session_goes_to(struct live *live) {
    CHECK(live_call(live, SYS_open, "\"host.txt %d", O_RDONLY) > 0);
    struct kept_image *one = live_keep(live);
    struct cell *cell = live_branch(live, one);
    CHECK_TEXT(live_ask(cell, "call %d \"host.txt", SYS_unlink), "0");
    struct kept_image *two = keep_branch(cell);
    for (int i = 0; i < 2; i++) {
        go(live, two);
        CHECK_TEXT(live_do(live, "file host.txt"), "ENOENT");
        go(live, one);
        CHECK_TEXT(live_do(live, "file host.txt"), "host");
    }
}

/* The kernel reads its output where the cell says. */
static void session_that_goes_to_a_branch_speaks_by_its_pipes(struct live *live) {
    struct kept_image *one = live_keep(live);
    struct kept_image *two = keep_branch(live_branch(live, one));
    char text[16] = "";
    for (int i = 0; i < 2; i++) {
        go(live, two);
        struct cell *cell = live_start(live);
        CHECK_TEXT(live_ask(cell, "say 1 two"), "3");
        CHECK_EQUAL(read(cell_stdout_fd(cell), text, sizeof text - 1), 3);
        CHECK_TEXT(text, "two");
        if (i == 0)
            cell_discard(cell);
        else
            live_commit(cell);
    }
    struct cell *after = live_start(live);
    CHECK_TEXT(live_ask(after, "say 2 six"), "3");
    CHECK_EQUAL(read(cell_stderr_fd(after), text, sizeof text - 1), 3);
    CHECK_TEXT(text, "six");
    cell_discard(after);
    go(live, one);
    struct cell *first = live_start(live);
    CHECK_TEXT(live_ask(first, "say 1 one"), "3");
    CHECK_EQUAL(cell_stdout_fd(first), session_stdout_fd(live->session));
    CHECK_EQUAL(read(cell_stdout_fd(first), text, sizeof text - 1), 3);
    cell_discard(first);
}

static int count_entries(const struct live *live, const char *folder) {
    auto_fd fd = openat(live->session->zygote.files_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return live_count_entries(path);
}

static void hundred_branches_leave_nothing(struct live *live) {
    int tasks = 0, descriptors = 0, mounts = 0;
    CHECK_TEXT(live_do(live, "thread wait"), "0");
    CHECK_TEXT(live_do(live, "put a.txt one"), "ok");
    for (int i = 0; i < live_times(102); i++) {
        struct kept_image *kept = live_keep(live);
        struct cell *a = live_branch(live, kept), *b = live_branch(live, kept);
        CHECK_TEXT(live_ask(a, "append a.txt +a"), "ok");
        CHECK_TEXT(live_ask(b, "add 1"), "1");
        CHECK_TEXT(live_do(live, "put a.txt %d", i), "ok");
        session_forget(live->session, kept);
        cell_discard(a);
        cell_discard(b);
        if (i == 2) {
            while (session_settle(live->session))
                usleep(1000);
            tasks = live_count_processes();
            descriptors = live_count_entries("/proc/self/fd");
            mounts = live_count_lines("/proc/self/mounts");
        }
    }
    live_await_processes(live, tasks);
    CHECK_EQUAL(live_count_entries("/proc/self/fd"), descriptors);
    CHECK_EQUAL(live_count_lines("/proc/self/mounts"), mounts);
    CHECK_EQUAL(count_entries(live, "kept/versions"), count_entries(live, "kept/aside")); /* which is empty */
}

int main(void) {
    const struct live_case cases[] = {
        LIVE_CASE(branches_of_one_image_have_nothing_in_common),
        LIVE_CASE(branch_goes_on_when_its_image_is_forgotten_or_gone_back_to),
        LIVE_CASE(changes_of_a_branch_are_those_of_the_files_of_its_time),
        LIVE_CASE(file_without_a_name_is_a_copy_of_what_it_was_then),
        LIVE_CASE(branch_writes_its_files_by_its_mappings_also_under_its_locks),
        LIVE_CASE(large_mapped_file_is_there_and_not_copied),
        LIVE_CASE(branch_that_is_kept_is_a_state_like_others),
        LIVE_CASE(file_that_a_branch_has_changed_is_the_same_one_when_the_session_goes_there),
        LIVE_CASE(file_of_the_host_that_is_open_stays_removed_in_a_branch_that_the_session_goes_to),
        LIVE_CASE(session_that_goes_to_a_branch_speaks_by_its_pipes),
        LIVE_CASE(hundred_branches_leave_nothing),
    };
    return live_main("branches", cases, sizeof cases / sizeof cases[0]);
}
