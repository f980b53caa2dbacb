/* What cells write again and again is copied before they run, where there is time. */
#include "tests/sandbox/image/mapped.h"

#include "sandbox/process/process.h"
#include "sandbox/session/cell.h"

enum { PAGES = 400, HALF = PAGES / 2, BYTES = PAGES * MAPPED_PAGE, FEW = 40 };

static int n_left; /* so often there is time */

static bool has_time(void *arg) {
    (void)arg;
    return n_left-- > 0;
}

/* A cell that is made while nobody waits, n_left times. */
static struct cell *start(struct live *live, enum cell_role role) {
    struct cell *cell = NULL;
    struct error error;
    const struct cell_options options = {.role = role, .is_idle = has_time};
    CHECK_EQUAL(cell_create(live->session, &options, &cell, &error), 0);
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){0}), 0);
    return cell;
}

static uint64_t faults_of(const struct cell *cell) {
    struct procfs_stat stat;
    CHECK_EQUAL(process_read_stat(cell->worker, &stat), 0);
    return stat.faults;
}

/* How many faults a cell has when it writes so many pages. */
static uint64_t write_pages(const struct cell *cell, long at, int pages) {
    const uint64_t before = faults_of(cell);
    CHECK_TEXT(live_ask(cell, "call %d %ld %d %d", SYS_madvise, at, pages * MAPPED_PAGE, MADV_POPULATE_WRITE), "0");
    return faults_of(cell) - before;
}

static uint64_t run(struct live *live, int times, long at, int pages) {
    n_left = times;
    struct cell *cell = start(live, CELL_OF_SESSION);
    const uint64_t faults = write_pages(cell, at, pages);
    live_commit(cell);
    return faults;
}

static uint64_t run_paced(struct live *live, long at, int pages) {
    return run(live, PAGES, at, pages);
}

static uint64_t look(struct live *live, long at, int pages) {
    n_left = PAGES;
    struct cell *cell = start(live, CELL_EPHEMERAL);
    const uint64_t faults = write_pages(cell, at, pages);
    cell_discard(cell);
    return faults;
}

/* Memory of the image, of which no habit knows. */
static long make_written(struct live *live) {
    const long at = mapped_make(live, BYTES);
    mapped_fill(live, at, BYTES);
    habit_forget(&live->session->habit);
    habit_forget(&live->session->habit_ephemeral);
    return at;
}

static void what_two_cells_have_written_is_there_in_the_third(struct live *live) {
    const long at = make_written(live);
    CHECK(run_paced(live, at, HALF) >= HALF);
    CHECK(run_paced(live, at, HALF) >= HALF);
    CHECK_EQUAL(run_paced(live, at, HALF), 0);
    CHECK(run_paced(live, at, PAGES) >= HALF); /* the rest */
}

static void what_a_single_cell_has_written_is_no_habit(struct live *live) {
    const long at = make_written(live), other = at + HALF * MAPPED_PAGE;
    run_paced(live, at, HALF);
    run_paced(live, other, HALF);
    CHECK(run_paced(live, at, HALF) >= HALF);
}

static void later_cells_teach_what_they_write_again(struct live *live) {
    const long at = make_written(live), other = at + HALF * MAPPED_PAGE;
    for (int i = 0; i < 3; i++)
        run_paced(live, at, 1);
    CHECK(run_paced(live, other, HALF) >= HALF);
    CHECK(run_paced(live, other, HALF) >= HALF);
    CHECK_EQUAL(run_paced(live, other, HALF), 0);
    CHECK_EQUAL(run_paced(live, at, 1), 0); /* what was known still is */
}

static void few_faults_teach_nothing(struct live *live) {
    const long at = make_written(live), other = at + HALF * MAPPED_PAGE;
    for (int i = 0; i < 3; i++)
        run_paced(live, at, 1);
    const unsigned n_cells = live->session->habit.n_cells;
    for (int i = 0; i < 3; i++)
        CHECK(run_paced(live, other, FEW) >= FEW);
    CHECK_EQUAL(live->session->habit.n_cells, n_cells);
}

static void nothing_is_copied_or_learned_while_somebody_waits(struct live *live) {
    const long at = make_written(live);
    for (int i = 0; i < 4; i++)
        CHECK(run(live, 0, at, HALF) >= HALF);
    CHECK_EQUAL(live->session->habit.n_cells, HABIT_FIRST);
    CHECK_EQUAL(run_paced(live, at, HALF), 0);
}

/* The looks at it are over as soon as a request comes, however long a run of pages is. */
static void copying_ends_in_the_middle_once_somebody_waits(struct live *live) {
    const long at = make_written(live);
    run_paced(live, at, PAGES);
    run_paced(live, at, PAGES);
    const uint64_t faults = run(live, 1, at, PAGES);
    CHECK(faults > 0 && faults < PAGES);
}

static void looks_have_a_habit_of_their_own(struct live *live) {
    const long at = make_written(live);
    CHECK(look(live, at, HALF) >= HALF);
    CHECK(look(live, at, HALF) >= HALF);
    CHECK_EQUAL(look(live, at, HALF), 0);
    CHECK(run_paced(live, at, HALF) >= HALF);
}

static void memory_that_went_is_passed_over(struct live *live) {
    const long at = make_written(live), rest = at + HALF * MAPPED_PAGE;
    run_paced(live, at, PAGES);
    run_paced(live, at, PAGES);
    CHECK_EQUAL(live_call(live, SYS_munmap, "%ld %d", at, HALF * MAPPED_PAGE), 0);
    CHECK(run_paced(live, rest, HALF) < FEW); /* the run that had a part of what went */
}

/* Every second page of so many, from the first-th on. */
static void every_second(struct prefault *pages, size_t first, size_t n) {
    pages->n = 0;
    for (size_t i = 0; i < n; i++)
        pages->page[pages->n++] = (first + 2 * i) * MAPPED_PAGE;
}

static void habit_that_is_full_stays_as_it_is(struct live *live) {
    static struct prefault known, more;
    (void)live;
    every_second(&known, 1, PREFAULT_MAX_PAGES - 3);
    every_second(&more, 0, PREFAULT_MAX_PAGES);
    prefault_add_common(&known, &more, &more);
    CHECK_EQUAL(known.n, PREFAULT_MAX_PAGES);
    for (size_t i = 0; i < 6; i++)
        CHECK_EQUAL(known.page[i], i * MAPPED_PAGE); /* three between those that were there */
    for (size_t i = 1; i < known.n; i++)
        CHECK(known.page[i - 1] < known.page[i]);
}

int main(void) {
    static const struct live_case cases[] = {
        LIVE_CASE(what_two_cells_have_written_is_there_in_the_third),
        LIVE_CASE(what_a_single_cell_has_written_is_no_habit),
        LIVE_CASE(later_cells_teach_what_they_write_again),
        LIVE_CASE(few_faults_teach_nothing),
        LIVE_CASE(nothing_is_copied_or_learned_while_somebody_waits),
        LIVE_CASE(copying_ends_in_the_middle_once_somebody_waits),
        LIVE_CASE(looks_have_a_habit_of_their_own),
        LIVE_CASE(memory_that_went_is_passed_over),
        LIVE_CASE(habit_that_is_full_stays_as_it_is),
    };
    return live_main("habit", cases, sizeof cases / sizeof cases[0]);
}
