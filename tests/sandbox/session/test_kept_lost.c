/*
 * Kept images that can't be gone back to: the session stays what it was.
 */
#include "sandbox/image/image.h"
#include "sandbox/session/kept.h"
#include "sandbox/session/session.h"
#include "tests/sandbox/live.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

/* A file with a name, and one without whose descriptor is returned. */
static long begin(struct live *live) {
    CHECK_TEXT(live_do(live, "put a.txt one"), "ok");
    const long fd = live_call(live, SYS_open, "\"/tmp/u %d 0600", O_RDWR | O_CREAT);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/u"), 0);
    CHECK_EQUAL(live_call(live, SYS_pwrite64, "%ld \"one 3 0", fd), 3);
    return fd;
}

/* Cells that change all that begin() has made; the state is kept. */
static struct kept_image *go_on(struct live *live, long fd) {
    CHECK_TEXT(live_do(live, "add 1"), "1");
    CHECK_TEXT(live_do(live, "put a.txt two"), "ok");
    CHECK_EQUAL(live_call(live, SYS_pwrite64, "%ld \"two 3 0", fd), 3);
    return live_keep(live);
}

static void check_went_on(struct live *live, long fd) {
    for (int i = 0; i < 2; i++) {
        CHECK_TEXT(live_do(live, "add 0"), "1");
        CHECK_TEXT(live_do(live, "file a.txt"), "two");
        CHECK_TEXT(live_do(live, "read %ld", fd), "two");
        CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 %d", fd, SEEK_SET), 0);
    }
}

static void check_refused(const struct live *live, struct kept_image *kept, const char *reason) {
    struct error error = {0};
    char text[512];
    CHECK(session_restore(live->session, kept, &error) < 0);
    CHECK(strstr(sandbox_error_text(&error, text, sizeof text), reason) != NULL);
}

/* Nobody waits until it has ended. */
static void kill_keeper(const struct kept_image *kept) {
    CHECK_EQUAL(kill(kept->image->keeper, SIGKILL), 0);
}

/* As Linux does where the machine has no memory left. */
static void state_whose_keeper_was_killed_is_refused(struct live *live) {
    const long fd = begin(live);
    struct kept_image *one = live_keep(live);
    struct kept_image *two = go_on(live, fd);
    kill_keeper(one);
    for (int i = 0; i < 3; i++) {
        check_refused(live, one, "reading the memory of the state failed");
        check_went_on(live, fd);
    }
    struct cell *cell;
    struct error error = {0};
    const struct cell_options options = {.source = CELL_FROM_KEPT, .kept = one, .role = CELL_BESIDE};
    CHECK(cell_create(live->session, &options, &cell, &error) < 0);
    CHECK(strstr(error.text, "rolled back") == NULL);
    CHECK_TEXT(live_do(live, "add 1"), "2");
    CHECK_EQUAL(session_restore(live->session, two, &error), 0);
    check_went_on(live, fd);
}

/* The files are those of the other state by the time that its file without a name can't be written. */
static void state_whose_shared_files_cannot_be_put_back_is_left_again(struct live *live) {
    enum { NO_DESCRIPTOR = 1 << 20 };
    const long fd = begin(live);
    struct kept_image *one = live_keep(live);
    struct kept_image *two = go_on(live, fd);
    CHECK(one->image->shared.n > 0);
    for (size_t i = 0; i < one->image->shared.n; i++)
        one->image->descriptors.at[one->image->shared.piece[i].descriptor].fd = NO_DESCRIPTOR;
    for (int i = 0; i < 3; i++) {
        check_refused(live, one, i == 0 ? "its files without a name" : "keeping open files");
        check_went_on(live, fd);
    }
    CHECK_TEXT(live_do(live, "add 1"), "2");
    struct error error = {0};
    CHECK_EQUAL(session_restore(live->session, two, &error), 0);
    check_went_on(live, fd);
}

/* Nothing of it is there, and the session can go elsewhere. */
static void session_whose_keeper_was_killed_goes_to_another_state(struct live *live) {
    const long fd = begin(live);
    struct kept_image *one = live_keep(live);
    struct kept_image *two = go_on(live, fd);
    kill_keeper(two);
    check_refused(live, two, "reading the memory of the state failed");
    struct error error = {0};
    CHECK_EQUAL(session_restore(live->session, one, &error), 0);
    CHECK_TEXT(live_do(live, "add 0"), "0");
    CHECK_TEXT(live_do(live, "file a.txt"), "one");
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 %d", fd, SEEK_SET), 0);
    CHECK_TEXT(live_do(live, "read %ld", fd), "one");
}

int main(void) {
    const struct live_case cases[] = {
        LIVE_CASE(state_whose_keeper_was_killed_is_refused),
        LIVE_CASE(state_whose_shared_files_cannot_be_put_back_is_left_again),
        LIVE_CASE(session_whose_keeper_was_killed_goes_to_another_state),
    };
    return live_main("kept images that are lost", cases, sizeof cases / sizeof cases[0]);
}
