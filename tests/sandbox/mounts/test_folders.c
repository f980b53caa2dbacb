/* Folders that a cell leaves open: none leads past the next cell's own layer. */
#include "tests/sandbox/live.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

static long open_folder(struct live *live, const char *path, int flags) {
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"%s 0755", path), 0);
    long fd = live_call(live, SYS_open, "\"%s %d", path, flags);
    CHECK(fd > 4);
    return fd;
}

/* What Linux says of it looks like what it says of a folder that is gone. */
static void folder_named_as_if_deleted_is_opened_anew(struct live *live) {
    CHECK_TEXT(live_do(live, "put " LIVE_WORK "/victim abcdef"), "ok");
    long fd = open_folder(live, LIVE_WORK "/x~(deleted)", O_RDONLY | O_DIRECTORY);
    struct cell *lost = live_start(live);
    CHECK(live_ask(lost, "call %d %ld \"../victim %d", SYS_openat, fd, O_RDWR | O_TRUNC)[0] != '-');
    CHECK(live_ask(lost, "call %d %ld \"../new %d 0644", SYS_openat, fd, O_RDWR | O_CREAT)[0] != '-');
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "file " LIVE_WORK "/victim"), "abcdef");
    CHECK_EQUAL(live_call(live, SYS_access, "\"" LIVE_WORK "/new 0"), -ENOENT);
}

static void deleted_folder_is_refused(struct live *live) {
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "call %d \"" LIVE_WORK "/d 0755", SYS_mkdir), "0");
    CHECK(live_ask(cell, "call %d \"" LIVE_WORK "/d %d", SYS_open, O_RDONLY | O_DIRECTORY)[0] != '-');
    CHECK_TEXT(live_ask(cell, "call %d \"" LIVE_WORK "/d", SYS_rmdir), "0");
    live_check_refused(live, cell, "a folder that was deleted");
}

/* It can be opened for writing by /proc, so it is as if it were open. */
static void path_of_a_deleted_file_is_carried_on_as_the_file_is(struct live *live) {
    CHECK_TEXT(live_do(live, "put " LIVE_WORK "/f abcdef"), "ok");
    const long path = live_call(live, SYS_open, "\"" LIVE_WORK "/f %d", O_PATH);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"" LIVE_WORK "/f"), 0);
    struct cell *lost = live_start(live);
    const long fd = strtol(live_ask(lost, "call %d \"/proc/self/fd/%ld %d", SYS_open, path, O_RDWR), NULL, 10);
    CHECK_TEXT(live_ask(lost, "call %d %ld 1", SYS_ftruncate, fd), "0");
    cell_discard(lost);
    const long again = live_call(live, SYS_open, "\"/proc/self/fd/%ld %d", path, O_RDWR);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 %d", again, SEEK_END), 6);
}

static void path_of_a_deleted_link_is_refused(struct live *live) {
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "call %d \"f \"" LIVE_WORK "/s", SYS_symlink), "0");
    CHECK(live_ask(cell, "call %d \"" LIVE_WORK "/s %d", SYS_open, O_PATH | O_NOFOLLOW)[0] != '-');
    CHECK_TEXT(live_ask(cell, "call %d \"" LIVE_WORK "/s", SYS_unlink), "0");
    live_check_refused(live, cell, "a path (O_PATH) that was deleted");
}

static void namespace_is_refused(struct live *live) {
    static const int ways[] = {O_RDONLY, O_PATH};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct cell *cell = live_start(live);
        CHECK(live_ask(cell, "call %d \"/proc/self/ns/net %d", SYS_open, ways[i])[0] != '-');
        live_check_refused(live, cell, "net:[");
    }
}

/* The folder can't be opened any more; the one that an earlier sandbox has shown would lead to the session's files. */
static void folder_behind_a_shut_one_leads_nowhere(struct live *live) {
    CHECK_TEXT(live_do(live, "put " LIVE_WORK "/victim abcdef"), "ok");
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"" LIVE_WORK "/p 0755"), 0);
    long fd = open_folder(live, LIVE_WORK "/p/d", O_RDONLY | O_DIRECTORY);
    CHECK_EQUAL(live_call(live, SYS_chmod, "\"" LIVE_WORK "/p 0"), 0);
    CHECK_EQUAL(live_call(live, SYS_openat, "%ld \".. %d", fd, O_PATH), -ENOTDIR);
    CHECK_EQUAL(live_call(live, SYS_fchmod, "%ld 0755", fd), -EBADF);
    CHECK_EQUAL(live_call(live, SYS_chmod, "\"" LIVE_WORK "/p 0755"), 0);
    CHECK_EQUAL(live_call(live, SYS_access, "\"" LIVE_WORK "/p/d 0"), 0);
}

static void folder_is_carried_on(struct live *live) {
    long fd = open_folder(live, LIVE_WORK "/d", O_RDONLY | O_DIRECTORY);
    long path = live_call(live, SYS_open, "\"" LIVE_WORK "/d %d", O_PATH);
    CHECK(live_call(live, SYS_openat, "%ld \"a %d 0644", fd, O_RDWR | O_CREAT) > 4);
    CHECK(live_call(live, SYS_openat, "%ld \"b %d 0644", path, O_RDWR | O_CREAT) > 4);
    CHECK_EQUAL(live_call(live, SYS_access, "\"" LIVE_WORK "/d/a 0"), 0);
    CHECK_EQUAL(live_call(live, SYS_access, "\"" LIVE_WORK "/d/b 0"), 0);
}

int main(void) {
    static const struct live_case cases[] = {
        LIVE_CASE(folder_is_carried_on),
        LIVE_CASE(folder_named_as_if_deleted_is_opened_anew),
        LIVE_CASE(deleted_folder_is_refused),
        LIVE_CASE(path_of_a_deleted_file_is_carried_on_as_the_file_is),
        LIVE_CASE(path_of_a_deleted_link_is_refused),
        LIVE_CASE(namespace_is_refused),
        LIVE_CASE(folder_behind_a_shut_one_leads_nowhere),
    };
    return live_main("folders", cases, sizeof cases / sizeof cases[0]);
}
