/* Shared memory and files without a name: what can't be given in reasonable time is refused, what can is put back. */
#include "sandbox/image/shared.h"
#include "tests/sandbox/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void map(const struct cell *cell, int protection, long fd) {
    const int flags = MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0);
    CHECK(live_ask(cell, "call %d 0 4096 %d %d %ld 0", SYS_mmap, protection, flags, fd)[0] != '-');
}

static void pieces_to_the_limit_are_given_and_one_more_is_refused(struct live *live) {
    struct cell *cell = live_start(live);
    for (int i = 0; i < SHARED_MAX_PIECES; i++)
        map(cell, PROT_READ | PROT_WRITE, -1);
    CHECK_EQUAL(live_commit(cell), 0);
    live_check_counter(live, 0);
    cell = live_start(live);
    map(cell, PROT_READ | PROT_WRITE, -1);
    live_check_refused(live, cell, "pieces of shared memory");
}

static long make_unnamed(struct live *live, const char *path, long bytes) {
    long fd = live_call(live, SYS_open, "\"%s %d 0600", path, O_RDWR | O_CREAT);
    CHECK(fd > 4);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"%s", path), 0);
    CHECK_EQUAL(live_call(live, SYS_pwrite64, "%ld \"abc 3 %ld", fd, bytes - 3), 3);
    return fd;
}

/* Each of them would have to be looked up. */
static void mappings_that_are_read_only_are_refused_past_the_limit(struct live *live) {
    long fd = make_unnamed(live, "/tmp/f", 4096);
    struct cell *cell = live_start(live);
    char path[64];
    (void)snprintf(path, sizeof path, "%s", live_ask(cell, "call %d \"/proc/self/fd/%ld %d", SYS_open, fd, O_RDONLY));
    long read_only = strtol(path, NULL, 10);
    CHECK(read_only > 4);
    for (int i = 0; i <= SHARED_MAX_MAPPINGS; i++)
        map(cell, PROT_READ, read_only);
    live_check_refused(live, cell, "mappings of such");
}

/* The mode that a rolled-back cell has left, and the room on the disk that it has taken. */
static void files_are_put_back_where_the_disk_is_full(struct live *live) {
    enum { BYTES = 4 << 20 };
    long first = make_unnamed(live, "/tmp/a", BYTES);
    CHECK_TEXT(live_do(live, "fill /tmp/filler"), "ENOSPC");
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/filler"), 0);
    long second = make_unnamed(live, "/tmp/b", 3);
    struct cell *cell = live_start(live);
    for (int at = 0; at < BYTES; at += 4096) /* no hole */
        CHECK_TEXT(live_ask(cell, "call %d %ld \"x 1 %d", SYS_pwrite64, first, at), "1");
    CHECK_EQUAL(live_commit(cell), 0);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "call %d %ld 0", SYS_ftruncate, first), "0");
    CHECK_TEXT(live_ask(lost, "fill /proc/self/fd/%ld", second), "ENOSPC");
    CHECK_TEXT(live_ask(lost, "call %d %ld 0", SYS_fchmod, first), "0");
    cell_discard(lost);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld %d 0", first, BYTES - 3), BYTES - 3);
    CHECK_TEXT(live_do(live, "take %ld", first), "abc");
    CHECK(live_call(live, SYS_open, "\"/proc/self/fd/%ld %d", first, O_RDWR) > 4);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 2", second), 3);
}

/* For its owner can open it once more. */
static void file_that_is_open_for_reading_only_is_put_back(struct live *live) {
    long writable = make_unnamed(live, "/tmp/a", 3);
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%ld", writable);
    long fd = live_call(live, SYS_open, "\"%s %d", link, O_RDONLY);
    CHECK(fd > 4);
    CHECK_EQUAL(live_call(live, SYS_close, "%ld", writable), 0);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%ld", fd);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "put %s changed", link), "ok");
    CHECK_TEXT(live_ask(lost, "call %d %ld 0", SYS_fchmod, fd), "0");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "file %s", link), "abc");
    CHECK_TEXT(live_do(live, "put %s kept", link), "ok");
    CHECK_TEXT(live_do(live, "file %s", link), "kept");
}

/* Neither can be opened anew by a cell; the contents of the first are put back, those of the second are too many. */
static void files_behind_a_shut_way_are_shared_as_far_as_they_can_be_saved(struct live *live) {
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"/tmp/d 0700"), 0);
    long small = live_call(live, SYS_open, "\"/tmp/d/small %d 0600", O_RDWR | O_CREAT);
    long large = live_call(live, SYS_open, "\"/tmp/d/large %d 0600", O_RDWR | O_CREAT);
    CHECK(small > 4 && large > 4);
    CHECK_EQUAL(live_call(live, SYS_pwrite64, "%ld \"abc 3 0", small), 3);
    CHECK_EQUAL(live_call(live, SYS_ftruncate, "%ld %llu", large, SHARED_MAX_BYTES), 0);
    CHECK_EQUAL(live_call(live, SYS_chmod, "\"/tmp/d 0"), 0);
    struct cell *lost = live_start(live);
    char failure[16];
    (void)snprintf(failure, sizeof failure, "%d", -EBADF);
    CHECK_TEXT(live_ask(lost, "call %d %ld 0", SYS_ftruncate, small), "0");
    CHECK_TEXT(live_ask(lost, "call %d %ld 0", SYS_ftruncate, large), failure);
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "take %ld", small), "abc");
    live_check_counter(live, 0);
}

/* A rolled-back cell has moved the room from one file to the other, and filled the rest. */
static void holes_are_put_back_where_the_disk_is_full(struct live *live) {
    enum { BYTES = 4 << 20 };
    long dense = make_unnamed(live, "/tmp/a", BYTES), sparse = make_unnamed(live, "/tmp/b", BYTES);
    struct cell *cell = live_start(live);
    for (int at = 0; at < BYTES; at += 4096)
        CHECK_TEXT(live_ask(cell, "call %d %ld \"x 1 %d", SYS_pwrite64, dense, at), "1");
    CHECK_TEXT(live_ask(cell, "fill /tmp/filler"), "ENOSPC");
    CHECK_EQUAL(live_commit(cell), 0);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "call %d %ld 3 0 %d", SYS_fallocate, dense, BYTES), "0");
    for (int at = 0; at < BYTES - 4096; at += 4096)
        CHECK_TEXT(live_ask(lost, "call %d %ld \"y 1 %d", SYS_pwrite64, sparse, at), "1");
    (void)live_ask(lost, "fill /tmp/another");
    cell_discard(lost);
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%ld", dense);
    CHECK_TEXT(live_do(live, "file %s", link), "x");
    (void)snprintf(link, sizeof link, "/proc/self/fd/%ld", sparse);
    CHECK_TEXT(live_do(live, "file %s", link), "");
    live_check_counter(live, 0);
}

int main(void) {
    static const struct live_case cases[] = {
        LIVE_CASE(pieces_to_the_limit_are_given_and_one_more_is_refused),
        LIVE_CASE(mappings_that_are_read_only_are_refused_past_the_limit),
        LIVE_CASE(files_are_put_back_where_the_disk_is_full),
        LIVE_CASE(holes_are_put_back_where_the_disk_is_full),
        LIVE_CASE(file_that_is_open_for_reading_only_is_put_back),
        LIVE_CASE(files_behind_a_shut_way_are_shared_as_far_as_they_can_be_saved),
    };
    return live_main("shared", cases, sizeof cases / sizeof cases[0]);
}
