/* An image's memory goes into huge pages: what is full, once, and nothing else; it holds what it has held. */
#include "tests/sandbox/image/mapped.h"

#include <errno.h>

enum { PAGES = 4, MIB = 1 << 20, HUGE_PAGE = MAPPED_HUGE, BYTES = PAGES * HUGE_PAGE };

static bool always(void *arg) {
    (void)arg;
    return true;
}

/* So often, and no more. */
static bool still(void *arg) {
    int *left = arg;
    return (*left)-- > 0;
}

/* How many huge pages a look makes that nobody ends. */
static size_t compact(struct live *live) {
    size_t n = 0;
    CHECK_EQUAL(session_compact(live->session, always, NULL, &n), 1);
    return n;
}

static long map_full(struct live *live) {
    return mapped_make_full(live, PAGES);
}

static void full_memory_goes_into_huge_pages_once(struct live *live) {
    compact(live); /* what there was before */
    const long at = map_full(live);
    CHECK(session_grown_bytes(live->session) >= BYTES);
    for (int i = 0; i < BYTES / MIB; i++)
        mapped_put(live, at + (long)i * MIB + i, (char)(i + 1));
    const size_t n = compact(live);
    CHECK(n >= PAGES);
    for (int i = 0; i < BYTES / MIB; i++)
        CHECK_EQUAL(mapped_get(live, at + (long)i * MIB + i), i + 1);
    CHECK_EQUAL(compact(live), 0);
    mapped_fill(live, at, 4096); /* a cell writes into one, which is then in small pages again */
    CHECK_EQUAL(compact(live), 0);
    live_check_counter(live, 0);
}

static void memory_that_comes_back_is_new(struct live *live) {
    compact(live);
    const long at = map_full(live);
    CHECK(compact(live) >= PAGES);
    CHECK_EQUAL(live_call(live, SYS_madvise, "%ld %d %d", at, BYTES, MADV_DONTNEED), 0);
    CHECK_EQUAL(compact(live), 0);
    mapped_fill(live, at, BYTES);
    CHECK(compact(live) >= PAGES);
}

static void half_empty_memory_stays_as_small_as_it_is(struct live *live) {
    compact(live);
    const long at = mapped_make(live, BYTES + HUGE_PAGE), first = (at + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    for (int i = 0; i < PAGES; i++)
        mapped_fill(live, first + (long)i * HUGE_PAGE, HUGE_PAGE / 2);
    const uint64_t before = session_grown_bytes(live->session);
    CHECK_EQUAL(compact(live), 0);
    CHECK_EQUAL(session_grown_bytes(live->session), before);
}

static void shared_memory_is_left_as_it_is(struct live *live) {
    compact(live);
    const long at = live_call(live, SYS_mmap, "0 %d %d %d -1 0", BYTES + HUGE_PAGE, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS);
    mapped_fill(live, at, BYTES + HUGE_PAGE);
    CHECK_EQUAL(compact(live), 0);
}

static void what_a_program_wants_in_small_pages_is_asked_for_once(struct live *live) {
    compact(live);
    const long at = map_full(live);
    CHECK_EQUAL(live_call(live, SYS_madvise, "%ld %d %d", at, BYTES, MADV_NOHUGEPAGE), 0);
    compact(live);
    CHECK_EQUAL(live_call(live, SYS_madvise, "%ld %d %d", at, BYTES, MADV_HUGEPAGE), 0);
    CHECK_EQUAL(compact(live), 0);
}

static void look_that_was_ended_is_taken_up_again(struct live *live) {
    size_t n = 0, sum = 0;
    int looks = 0;
    compact(live);
    map_full(live);
    for (int r = 0; r == 0; looks++) {
        int left = 2 + looks; /* each look goes through what the last ones have done */
        r = session_compact(live->session, still, &left, &n);
        sum += n;
        CHECK(r >= 0 && looks < 1000);
    }
    CHECK(sum >= PAGES);
    CHECK(looks > 1);
    CHECK_EQUAL(compact(live), 0);
}

static void nothing_is_done_where_somebody_waits(struct live *live) {
    size_t n = 1;
    int left = 0;
    map_full(live);
    CHECK_EQUAL(session_compact(live->session, still, &left, &n), 0);
    CHECK_EQUAL(n, 0);
}

int main(void) {
    static const struct live_case cases[] = {
        LIVE_CASE(full_memory_goes_into_huge_pages_once),
        LIVE_CASE(memory_that_comes_back_is_new),
        LIVE_CASE(half_empty_memory_stays_as_small_as_it_is),
        LIVE_CASE(shared_memory_is_left_as_it_is),
        LIVE_CASE(what_a_program_wants_in_small_pages_is_asked_for_once),
        LIVE_CASE(look_that_was_ended_is_taken_up_again),
        LIVE_CASE(nothing_is_done_where_somebody_waits),
    };
    return live_main("huge pages", cases, sizeof cases / sizeof cases[0]);
}
