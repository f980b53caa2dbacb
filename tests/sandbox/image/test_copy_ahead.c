/* What a running cell writes through is copied ahead: behind what it has written, and no more than that. */
#include "tests/sandbox/image/mapped.h"

#include "sandbox/process/process.h"
#include "sandbox/session/cell.h"

#include <errno.h>
#include <fcntl.h>

enum { RANGES = 24, LEAST = 4, MIB = 1 << 20 };

static bool always(void *arg) {
    (void)arg;
    return true;
}

static bool never(void *arg) {
    (void)arg;
    return false;
}

/* Ranges that cells have written, each with its number in each MiB. */
static long make(struct live *live) {
    const long at = mapped_make_full(live, RANGES);
    for (int i = 0; i < RANGES * MAPPED_HUGE / MIB; i++)
        mapped_put(live, at + (long)i * MIB, (char)(i + 1));
    return at;
}

static void check_content(const struct live *live, long at) {
    for (int i = 0; i < RANGES * MAPPED_HUGE / MIB; i++)
        CHECK_EQUAL(mapped_get(live, at + (long)i * MIB), i + 1);
}

/* The cell writes some of it, as it is. */
static void write_through(const struct cell *cell, long at, size_t bytes) {
    const char *answer = live_ask(cell, "call %d %ld %zu %d", SYS_madvise, at, bytes, MADV_POPULATE_WRITE);
    CHECK_TEXT(answer, "0");
}

/* Whole ranges, and half of the next. */
static void write_ranges(const struct cell *cell, long at, size_t n) {
    write_through(cell, at, n * MAPPED_HUGE + MAPPED_HUGE / 2);
}

/* A cell that has written whole ranges, and half of the next. */
static struct cell *start_writing(struct live *live, long at, size_t n) {
    struct cell *cell = live_start(live);
    write_ranges(cell, at, n);
    return cell;
}

/* cell_copy_ahead(), once what it looks for is known. */
static int look_and_copy(struct cell *cell, cell_is_idle *has_time, void *arg, uint64_t *ret_bytes) {
    int r;
    do
        r = cell_copy_ahead(cell, has_time, arg, ret_bytes);
    while (r == -EAGAIN);
    return r;
}

/* How many ranges are copied now. */
static size_t copy(struct cell *cell) {
    uint64_t bytes = 1;
    CHECK_EQUAL(look_and_copy(cell, always, NULL, &bytes), 0);
    CHECK_EQUAL(bytes % MAPPED_HUGE, 0);
    return bytes / MAPPED_HUGE;
}

/* Whether a page is the cell's own, and no longer the image's too. */
static bool is_own(const struct cell *cell, long at) {
    uint64_t entry = 0;
    auto_fd pagemap = process_open_fd(cell->worker, "pagemap", O_RDONLY);
    CHECK(pread(pagemap, &entry, sizeof entry, (off_t)(at / MAPPED_PAGE * (long)sizeof entry)) == sizeof entry);
    return procfs_page_is_exclusive(entry);
}

/* The pages of a range that are. */
static int count_own(const struct cell *cell, long at) {
    int n = 0;
    for (long page = at; page < at + MAPPED_HUGE; page += MAPPED_PAGE)
        n += is_own(cell, page);
    return n;
}

static void as_much_as_was_written_is_copied(struct live *live) {
    const long at = make(live);
    struct cell *cell = start_writing(live, at, LEAST);
    CHECK_EQUAL(copy(cell), LEAST);
    for (int i = LEAST + 1; i <= 2 * LEAST; i++)
        CHECK_EQUAL(count_own(cell, at + (long)i * MAPPED_HUGE), MAPPED_HUGE / MAPPED_PAGE);
    CHECK_EQUAL(count_own(cell, at + (2L * LEAST + 1) * MAPPED_HUGE), 0);
    live_commit(cell);
    check_content(live, at);
    live_check_counter(live, 0);
}

static void next_piece_is_copied_once_the_cell_has_come_to_it(struct live *live) {
    const long at = make(live);
    struct cell *cell = start_writing(live, at, LEAST);
    CHECK_EQUAL(copy(cell), LEAST);
    CHECK_EQUAL(copy(cell), 0);
    write_ranges(cell, at, 2 * LEAST - 1); /* within what was copied */
    CHECK_EQUAL(copy(cell), 0);
    write_ranges(cell, at, 2 * LEAST + 1);
    CHECK_EQUAL(copy(cell), 2 * LEAST + 1);
    live_commit(cell);
    check_content(live, at);
}

static void state_before_is_still_there_when_the_cell_fails(struct live *live) {
    const long at = make(live);
    struct cell *cell = start_writing(live, at, LEAST);
    CHECK_EQUAL(copy(cell), LEAST);
    for (int i = 0; i < RANGES; i++)
        CHECK_EQUAL(memory_write(cell->memory_fd, (uint64_t)at + (uint64_t)i * MAPPED_HUGE, "x", 1), 0);
    cell_discard(cell);
    check_content(live, at);
    live_check_counter(live, 0);
}

static void copied_pages_take_what_the_cell_writes(struct live *live) {
    const long at = make(live);
    struct cell *cell = start_writing(live, at, LEAST);
    CHECK_EQUAL(copy(cell), LEAST);
    CHECK_EQUAL(memory_write(cell->memory_fd, (uint64_t)at + (LEAST + 1) * MAPPED_HUGE, "x", 1), 0);
    live_commit(cell);
    CHECK_EQUAL(mapped_get(live, at + (LEAST + 1L) * MAPPED_HUGE), 'x');
    CHECK_EQUAL(mapped_get(live, at + (LEAST + 1L) * MAPPED_HUGE + MIB), (char)(2 * LEAST + 4));
}

static void too_little_is_no_sign(struct live *live) {
    const long at = make(live);
    struct cell *cell = start_writing(live, at, LEAST - 1);
    CHECK_EQUAL(copy(cell), 0);
    live_commit(cell);
    cell = live_start(live);
    for (int i = 0; i < RANGES; i++) /* here and there */
        write_through(cell, at + (long)i * MAPPED_HUGE, MAPPED_HUGE / 4);
    CHECK_EQUAL(copy(cell), 0);
    CHECK_EQUAL(copy(cell), 0); /* nothing was written since */
    live_commit(cell);
}

static struct cell *start_with(struct live *live, uint64_t memory_bytes) {
    struct cell *cell;
    struct error error;
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){0}, &cell, &error), 0);
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){.memory_bytes = memory_bytes}), 0);
    return cell;
}

static void a_sixteenth_of_the_limit_is_copied_and_the_limit_grows_by_that(struct live *live) {
    const uint64_t part = LEAST * MAPPED_HUGE;
    const long at = make(live);
    struct cell *cell = start_with(live, 16 * part - 1);
    write_ranges(cell, at, LEAST);
    CHECK_EQUAL(copy(cell), LEAST - 1);
    CHECK_EQUAL(cell->granted_bytes, part - MAPPED_HUGE);
    write_ranges(cell, at, 2 * LEAST + 1);
    CHECK_EQUAL(copy(cell), 0);
    live_commit(cell);
}

static void ranges_with_holes_are_left_as_they_are(struct live *live) {
    const long at = make(live);
    CHECK_EQUAL(
        live_call(live, SYS_madvise, "%ld %d %d", at + (LEAST + 3L) * MAPPED_HUGE + MIB, MAPPED_PAGE, MADV_DONTNEED),
        0);
    struct cell *cell = start_writing(live, at, LEAST);
    CHECK_EQUAL(copy(cell), 2);
    live_commit(cell);
}

/* Time is over when the first call has begun. */
static bool until_begun(void *arg) {
    const struct cell *cell = arg;
    return !cell->copy.pending.is_begun;
}

static void call_that_nobody_waits_for_goes_on(struct live *live) {
    const long at = make(live);
    struct cell *cell = start_writing(live, at, LEAST);
    uint64_t bytes = 1;
    CHECK_EQUAL(look_and_copy(cell, until_begun, cell, &bytes), 0);
    CHECK(cell->copy.pending.is_begun);
    CHECK_EQUAL(bytes, 0);
    CHECK_TEXT(live_ask(cell, "add 1"), "1"); /* the cell goes on, too */
    CHECK_EQUAL(copy(cell), LEAST);
    live_commit(cell);
    check_content(live, at);
    live_check_counter(live, 1);
}

static void call_that_is_at_work_at_the_end_is_waited_for(struct live *live) {
    const long at = make(live);
    struct cell *cell = start_writing(live, at, LEAST);
    uint64_t bytes;
    CHECK_EQUAL(look_and_copy(cell, until_begun, cell, &bytes), 0);
    CHECK(cell->copy.pending.is_begun);
    live_commit(cell);
    check_content(live, at);
    live_check_counter(live, 0);
    cell = start_writing(live, at, LEAST);
    CHECK_EQUAL(look_and_copy(cell, until_begun, cell, &bytes), 0);
    cell_discard(cell);
    check_content(live, at);
}

static void nothing_is_copied_without_time(struct live *live) {
    const long at = make(live);
    struct cell *cell = start_writing(live, at, LEAST);
    uint64_t bytes = 1;
    CHECK_EQUAL(look_and_copy(cell, never, NULL, &bytes), 0);
    CHECK_EQUAL(bytes, 0);
    live_commit(cell);
}

static void what_can_not_be_huge_is_not_tried_again_and_stays_as_it_is(struct live *live) {
    const long at = make(live);
    struct cell *cell = live_start(live);
    uint64_t bytes = 0;
    CHECK_TEXT(live_ask(cell, "call %d %ld %d %d", SYS_madvise, at, RANGES * MAPPED_HUGE, MADV_NOHUGEPAGE), "0");
    write_ranges(cell, at, LEAST);
    CHECK_EQUAL(look_and_copy(cell, always, NULL, &bytes), -EINVAL);
    live_commit(cell);
    check_content(live, at);
}

int main(void) {
    static const struct live_case cases[] = {
        LIVE_CASE(as_much_as_was_written_is_copied),
        LIVE_CASE(next_piece_is_copied_once_the_cell_has_come_to_it),
        LIVE_CASE(state_before_is_still_there_when_the_cell_fails),
        LIVE_CASE(copied_pages_take_what_the_cell_writes),
        LIVE_CASE(too_little_is_no_sign),
        LIVE_CASE(a_sixteenth_of_the_limit_is_copied_and_the_limit_grows_by_that),
        LIVE_CASE(ranges_with_holes_are_left_as_they_are),
        LIVE_CASE(call_that_nobody_waits_for_goes_on),
        LIVE_CASE(call_that_is_at_work_at_the_end_is_waited_for),
        LIVE_CASE(nothing_is_copied_without_time),
        LIVE_CASE(what_can_not_be_huge_is_not_tried_again_and_stays_as_it_is),
    };
    return live_main("copy ahead", cases, sizeof cases / sizeof cases[0]);
}
