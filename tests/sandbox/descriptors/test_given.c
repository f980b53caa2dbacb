/* What a cell leaves can be given to each later one, or the cell that left it is refused: no session is lost by it. */
#include "tests/sandbox/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { PIECE_BYTES = 200000, STREAM = SOCK_STREAM | SOCK_NONBLOCK };

struct pair {
    int a, b;
};

static struct pair make_pair(const struct cell *cell, const char *what) {
    struct pair pair;
    CHECK_EQUAL(sscanf(live_ask(cell, "make %s", what), "%d %d", &pair.a, &pair.b), 2);
    return pair;
}

static long call(const struct cell *cell, long number, const char *arguments) {
    return strtol(live_ask(cell, "call %ld %s", number, arguments), NULL, 10);
}

#define CALL(cell, number, ...)                                                                                        \
    ({                                                                                                                 \
        char arguments_[256];                                                                                          \
        (void)snprintf(arguments_, sizeof arguments_, __VA_ARGS__);                                                    \
        call(cell, number, arguments_);                                                                                \
    })

/* Two sockets, of which the first has a buffer as large as Linux allows: the text is a large number. */
static struct pair make_sockets(const struct cell *cell) {
    char what[32];
    (void)snprintf(what, sizeof what, "pair %d", STREAM);
    const struct pair pair = make_pair(cell, what);
    CHECK_EQUAL(CALL(cell, SYS_setsockopt, "%d %d %d \"zzz 4", pair.a, SOL_SOCKET, SO_SNDBUF), 0);
    return pair;
}

/* Memory of the worker's, zeros. */
static long map_zeros(const struct cell *cell, long bytes) {
    return CALL(cell, SYS_mmap, "0 %ld %d %d -1 0", bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
}

/*
 * Fills a pipe from a socket until no slot of it is left: a slot then holds what
 * the socket had in one piece, which is more than a page. How many bytes.
 */
static long fill_by_splice(const struct cell *cell, int writer, long at_most) {
    const struct pair sockets = make_sockets(cell);
    const long zeros = map_zeros(cell, PIECE_BYTES);
    long all = 0, n = 1;
    while (n > 0 && all < at_most) {
        CALL(cell, SYS_write, "%d %ld %d", sockets.a, zeros, PIECE_BYTES);
        n = CALL(cell, SYS_splice, "%d 0 %d 0 %d 2", sockets.b, writer, 1 << 20); /* SPLICE_F_NONBLOCK */
        all += n > 0 ? n : 0;
    }
    CHECK_EQUAL(CALL(cell, SYS_close, "%d", sockets.a), 0);
    CHECK_EQUAL(CALL(cell, SYS_close, "%d", sockets.b), 0);
    CHECK_EQUAL(CALL(cell, SYS_munmap, "%ld %d", zeros, PIECE_BYTES), 0);
    return all;
}

static long read_all(const struct cell *cell, int reader) {
    const long room = map_zeros(cell, 1 << 20);
    long all = 0, n;
    while ((n = CALL(cell, SYS_read, "%d %ld %d", reader, room, 1 << 20)) > 0)
        all += n;
    CHECK_EQUAL(CALL(cell, SYS_munmap, "%ld %d", room, 1 << 20), 0);
    return all;
}

static void pipe_filled_by_splice_beyond_its_size_goes_on(struct live *live) {
    struct cell *cell = live_start(live);
    const struct pair pipe = make_pair(cell, "pipe 04000");
    CHECK_TEXT(live_ask(cell, "say %d first", pipe.b), "5");
    const long all = fill_by_splice(cell, pipe.b, LONG_MAX);
    CHECK(all > 65536);
    live_commit(cell);
    live_check_counter(live, 0);
    struct cell *lost = live_start(live);
    CHECK_EQUAL(read_all(lost, pipe.a), all + 5);
    cell_discard(lost);
    cell = live_start(live);
    CHECK_EQUAL(CALL(cell, SYS_read, "%d %ld 5", pipe.a, map_zeros(cell, 4096)), 5);
    CHECK_EQUAL(read_all(cell, pipe.a), all);
    CHECK_TEXT(live_ask(cell, "say %d more", pipe.b), "4");
    live_commit(cell);
    CHECK_TEXT(live_do(live, "take %d", pipe.a), "more");
}

/* The pipe of each cell is larger than the last one's, and each slot of it holds more than a page again. */
static void pipe_that_no_user_could_make_is_refused(struct live *live) {
    struct cell *cell = live_start(live);
    const struct pair pipe = make_pair(cell, "pipe 04000");
    while (fill_by_splice(cell, pipe.b, LONG_MAX) <= 1 << 20) {
        live_commit(cell);
        cell = live_start(live);
        CHECK(read_all(cell, pipe.a) > 65536);
    }
    live_check_refused(live, cell, "a pipe that holds more data than");
}

/* 64 pages each, as sizes are powers of two. */
static void large_pipes_beyond_a_users_pages_are_refused(struct live *live) {
    struct cell *cell = live_start(live);
    for (int i = 0; i < 65; i++)
        CHECK(fill_by_splice(cell, make_pair(cell, "pipe 04000").b, LONG_MAX) > 32 * 4096);
    live_check_refused(live, cell, "pages at most");
}

/* By copying; it takes what its buffers take. */
static void full_socket_goes_on(struct live *live) {
    struct cell *cell = live_start(live);
    const struct pair sockets = make_sockets(cell);
    const long zeros = map_zeros(cell, PIECE_BYTES);
    long all = 0, n;
    while ((n = CALL(cell, SYS_write, "%d %ld %d", sockets.a, zeros, PIECE_BYTES)) > 0)
        all += n;
    CHECK(n == -EAGAIN && all > PIECE_BYTES);
    live_commit(cell);
    live_check_counter(live, 0);
    cell = live_start(live);
    CHECK_EQUAL(read_all(cell, sockets.b), all);
    live_commit(cell);
}

/* A file's pages count for less than copies of them. */
static void socket_that_a_file_was_sent_to_beyond_its_buffers_is_refused(struct live *live) {
    struct cell *cell = live_start(live);
    const struct pair sockets = make_sockets(cell);
    const long file = CALL(cell, SYS_memfd_create, "\"file 0");
    CHECK_EQUAL(CALL(cell, SYS_write, "%ld %ld %d", file, map_zeros(cell, 1 << 20), 1 << 20), 1 << 20);
    long all = 0, n;
    do {
        CHECK_EQUAL(CALL(cell, SYS_lseek, "%ld 0 0", file), 0);
        n = CALL(cell, SYS_sendfile, "%d %ld 0 %d", sockets.a, file, 1 << 20);
        all += n > 0 ? n : 0;
    } while (n > 0 && all < 8 << 20);
    CHECK(all > 2 << 20);
    live_check_refused(live, cell, "a socket that holds more data than a new socket can");
}

/* Opens the session's pipes anew in a cell that is rolled back, and locks them: 0 or -errno. */
static long try_pipes(struct live *live) {
    struct error error = {0};
    struct cell *cell;
    long r = 0;
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){0}, &cell, &error), 0);
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){0}), 0);
    for (int fd = 1; r == 0 && fd <= 2; fd++) {
        const long opened = CALL(cell, SYS_open, "\"/proc/self/fd/%d %d", fd, O_WRONLY);
        r = opened < 0 ? opened : CALL(cell, SYS_flock, "%ld %d", opened, LOCK_EX | LOCK_NB);
    }
    cell_discard(cell);
    return r;
}

/* As root they are the kernel's, not the cell's. */
static struct cell *start_to_mark_pipes(struct live *live) {
    struct cell *cell = live_start(live);
    for (int fd = 1; fd <= 2; fd++) {
        const long changed = CALL(cell, SYS_fchmod, "%d 0", fd);
        CHECK(changed == 0 || changed == -EPERM);
        CHECK_EQUAL(CALL(cell, SYS_flock, "%d %d", fd, LOCK_EX | LOCK_NB), 0);
    }
    return cell;
}

static void modes_and_locks_of_the_sessions_pipes_end_with_a_rolled_back_cell(struct live *live) {
    const long before = try_pipes(live);
    cell_discard(start_to_mark_pipes(live));
    CHECK_EQUAL(try_pipes(live), before);
}

static void modes_and_locks_of_the_sessions_pipes_end_with_a_good_cell(struct live *live) {
    const long before = try_pipes(live);
    live_commit(start_to_mark_pipes(live));
    CHECK_EQUAL(try_pipes(live), before);
}

static const struct live_case cases[] = {
    LIVE_CASE(pipe_filled_by_splice_beyond_its_size_goes_on),
    LIVE_CASE(pipe_that_no_user_could_make_is_refused),
    LIVE_CASE(large_pipes_beyond_a_users_pages_are_refused),
    LIVE_CASE(full_socket_goes_on),
    LIVE_CASE(modes_and_locks_of_the_sessions_pipes_end_with_a_rolled_back_cell),
    LIVE_CASE(modes_and_locks_of_the_sessions_pipes_end_with_a_good_cell),
    LIVE_CASE(socket_that_a_file_was_sent_to_beyond_its_buffers_is_refused),
};

int main(void) {
    return live_main("given", cases, sizeof cases / sizeof cases[0]);
}
