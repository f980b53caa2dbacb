/* What a kept image has of the notebook's folder, and the host has by now: its cells and the session see the host's. */
#include "base/cleanup.h"
#include "sandbox/session/cell.h"
#include "tests/sandbox/live.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void go(struct live *live, struct kept_image *kept) {
    struct error error = {0};
    CHECK_EQUAL(session_restore(live->session, kept, &error), 0);
}

static void host_put(const struct live *live, const char *path, const char *text) {
    char whole[PATH_MAX + 64];
    (void)snprintf(whole, sizeof whole, "%s/%s", live->folder, path);
    auto_fd fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static bool release(struct live *live, struct kept_image *kept, const char *path) {
    bool released = false;
    CHECK_EQUAL(session_release_kept(live->session, kept, &path, 1, &released), 0);
    return released;
}

/* A file, a removal, what is in a folder made anew; by the session and by branches, one of which has begun before. */
static void files_that_are_released_are_the_hosts_for_the_session_and_for_branches(struct live *live) {
    static const char *const paths[] = {"a.txt", "host.txt", "sub/deep.txt", "none/none.txt"};
    bool released[4] = {0};
    struct kept_image *one = live_keep(live);
    struct cell *cell = live_branch(live, one);
    CHECK_TEXT(live_ask(cell, "put a.txt branch"), "ok");
    CHECK_TEXT(live_ask(cell, "put other.txt branch"), "ok");
    CHECK_TEXT(live_ask(cell, "call %d \"host.txt", SYS_unlink), "0");
    CHECK_TEXT(live_ask(cell, "put sub/deep.txt branch"), "ok");
    struct kept_image *two = live_keep_branch(cell);
    struct cell *before = live_branch(live, two);
    for (size_t i = 0; i < 3; i++)
        host_put(live, paths[i], "the host's");
    CHECK_EQUAL(session_release_kept(live->session, two, paths, 4, released), 0);
    CHECK(released[0] && released[1] && released[2] && released[3]);
    CHECK_TEXT(live_ask(before, "file a.txt"), "branch");
    cell_discard(before);
    struct cell *after = live_branch(live, two);
    CHECK_TEXT(live_ask(after, "file a.txt"), "the host's");
    CHECK_TEXT(live_ask(after, "file host.txt"), "the host's");
    CHECK_TEXT(live_ask(after, "file sub/deep.txt"), "the host's");
    CHECK_TEXT(live_ask(after, "file other.txt"), "branch");
    cell_discard(after);
    for (int i = 0; i < 2; i++) {
        go(live, two);
        CHECK_TEXT(live_do(live, "file a.txt"), "the host's");
        CHECK_TEXT(live_do(live, "file host.txt"), "the host's");
        CHECK_TEXT(live_do(live, "file other.txt"), "branch");
        host_put(live, "a.txt", "the host's");
        go(live, one);
        CHECK_TEXT(live_do(live, "file other.txt"), "ENOENT");
    }
}

/* Also of the state in which the session is: its kept files are the version that is given up. */
static void state_in_which_the_session_is_is_released_too(struct live *live) {
    CHECK_TEXT(live_do(live, "put a.txt mine"), "ok");
    CHECK_TEXT(live_do(live, "put b.txt mine"), "ok");
    struct kept_image *one = live_keep(live);
    host_put(live, "a.txt", "the host's");
    CHECK(release(live, one, "a.txt"));
    CHECK_TEXT(live_do(live, "put b.txt more"), "ok");
    go(live, one);
    CHECK_TEXT(live_do(live, "file a.txt"), "the host's");
    CHECK_TEXT(live_do(live, "file b.txt"), "mine");
    session_forget(live->session, one);
    CHECK_TEXT(live_do(live, "file a.txt"), "the host's");
}

static void file_that_is_open_or_has_two_names_stays(struct live *live) {
    CHECK_TEXT(live_do(live, "put open.txt one"), "ok");
    CHECK_TEXT(live_do(live, "put a.txt one"), "ok");
    CHECK_EQUAL(live_call(live, SYS_link, "\"a.txt \"b.txt"), 0);
    CHECK_EQUAL(live_call(live, SYS_symlink, "\"a.txt \"link"), 0);
    const long fd = live_call(live, SYS_open, "\"open.txt %d", O_RDWR);
    CHECK(fd > 3);
    struct kept_image *one = live_keep(live);
    static const char *const paths[] = {"open.txt", "a.txt", "b.txt", "link"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        host_put(live, paths[i], "the host's");
        CHECK(!release(live, one, paths[i]));
    }
    CHECK_TEXT(live_do(live, "add 1"), "1");
    go(live, one);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        CHECK_TEXT(live_do(live, "file %s", paths[i]), "one");
    CHECK_EQUAL(live_call(live, SYS_write, "%ld \"! 1", fd), 1);
    CHECK_TEXT(live_do(live, "file open.txt"), "!ne");
}

int main(void) {
    const struct live_case cases[] = {
        LIVE_CASE(files_that_are_released_are_the_hosts_for_the_session_and_for_branches),
        LIVE_CASE(state_in_which_the_session_is_is_released_too),
        LIVE_CASE(file_that_is_open_or_has_two_names_stays),
    };
    return live_main("kept_release", cases, sizeof cases / sizeof cases[0]);
}
