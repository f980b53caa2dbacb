/* A state that has reserved more than the machine's memory, side by side, has cells all the same. */
#include "tests/sandbox/live.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TENTHS = 4, PIECES = 5 };

/* Each piece alone is no more than Linux lets a process reserve at once. */
static void reserve(struct live *live, int flags) {
    const long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES) / 10 * TENTHS;
    CHECK(live_call(live, SYS_mmap, "0 %ld %d %d -1 0", pages * page, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | flags) > 0);
}

/* Whatever a cell is made for. */
static void check_cells(struct live *live, long value) {
    const struct cell_options look = {.role = CELL_EPHEMERAL};
    struct error error = {0};
    struct cell *cell;
    live_check_counter(live, value);
    CHECK_EQUAL(cell_create(live->session, &look, &cell, &error), 0);
    cell_discard(cell);
    struct kept_image *kept = live_keep(live);
    struct kept_image *branch = live_keep_branch(live_branch(live, kept));
    CHECK_EQUAL(session_restore(live->session, branch, &error), 0);
    live_check_counter(live, value);
    CHECK_EQUAL(session_restore(live->session, kept, &error), 0);
    live_check_counter(live, value);
    session_forget(live->session, branch);
    session_forget(live->session, kept);
}

static void session_with_more_reserved_than_there_is_goes_on(struct live *live) {
    static const int flags[] = {0, MAP_NORESERVE, MAP_STACK};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        for (int piece = 0; piece < PIECES; piece++) {
            reserve(live, flags[i]);
            CHECK(live_do(live, "add 1") != NULL);
            check_cells(live, (long)i * PIECES + piece + 1);
        }
}

/* What it is advised by itself makes no difference. */
static void mapping_that_its_program_keeps_out_of_core_dumps_is_copied(struct live *live) {
    const long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES) / 10 * TENTHS;
    struct cell *cell = live_start(live);
    for (int piece = 0; piece < PIECES; piece++) {
        const char *at = live_ask(cell, "call %d 0 %ld %d %d -1 0", SYS_mmap, pages * page, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS);
        char address[64];
        (void)snprintf(address, sizeof address, "%s", at);
        CHECK_TEXT(live_ask(cell, "call %d %s %ld %d", SYS_madvise, address, pages * page, MADV_DONTDUMP), "0");
    }
    live_commit(cell);
    check_cells(live, 0);
}

int main(void) {
    const struct live_case cases[] = {
        LIVE_CASE(session_with_more_reserved_than_there_is_goes_on),
        LIVE_CASE(mapping_that_its_program_keeps_out_of_core_dumps_is_copied),
    };
    return live_main("large mappings", cases, sizeof cases / sizeof cases[0]);
}
