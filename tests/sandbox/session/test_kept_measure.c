/*
 * What kept images hold beside the present one, with control groups (as root) and without (as an ordinary user). In a
 * random walk it is compared with a model, of regions of memory that cells write and give up; PETRI_SEED takes up one
 * seed, PETRI_WALK as many steps as one wants.
 */
#include "tests/sandbox/live.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REGIONS = 6, REGION_BYTES = 4 << 20, SLACK_BYTES = 2 << 20, KEPT = 6, BRANCHES = 2 };

static void go(struct live *live, struct kept_image *kept) {
    struct error error = {0};
    CHECK_EQUAL(session_restore(live->session, kept, &error), 0);
}

/* What has ended is gone before. The bound is above it. */
static void check_kept(struct live *live, uint64_t least, uint64_t most) {
    while (session_settle(live->session))
        usleep(1000);
    const uint64_t bound = session_kept_bound(live->session), bytes = live_kept_bytes(live);
    if (bytes + SLACK_BYTES < least || bytes > most + SLACK_BYTES || bound + SLACK_BYTES < bytes)
        (void)fprintf(stderr, "%llu KiB are kept, at most %llu; expected: %llu to %llu\n",
                      (unsigned long long)bytes >> 10, (unsigned long long)bound >> 10, (unsigned long long)least >> 10,
                      (unsigned long long)most >> 10);
    CHECK(bytes + SLACK_BYTES >= least);
    CHECK(bytes <= most + SLACK_BYTES);
    CHECK(bound + SLACK_BYTES >= bytes);
}

static long map_regions(struct live *live) {
    return live_call(live, SYS_mmap, "0 %d 3 %d -1 0", REGIONS * REGION_BYTES, MAP_PRIVATE | MAP_ANONYMOUS);
}

static void write_region(const struct cell *cell, long at, int region) {
    char all[32];
    (void)snprintf(all, sizeof all, "%d", REGION_BYTES);
    CHECK_TEXT(live_ask(cell, "call %d %ld %d 0", SYS_getrandom, at + (long)region * REGION_BYTES, REGION_BYTES), all);
}

static void give_up_region(const struct cell *cell, long at, int region) {
    CHECK_TEXT(
        live_ask(cell, "call %d %ld %d %d", SYS_madvise, at + (long)region * REGION_BYTES, REGION_BYTES, MADV_DONTNEED),
        "0");
}

static void do_with_region(struct live *live, void (*what)(const struct cell *cell, long at, int region), long at,
                           int region) {
    struct cell *cell = live_start(live);
    what(cell, at, region);
    CHECK_EQUAL(live_commit(cell), 0);
}

/* What its cell has written is in the later image, too. */
static void memory_of_a_state_that_is_gone_counts_while_a_later_one_has_it(struct live *live) {
    const long at = map_regions(live);
    do_with_region(live, write_region, at, 0);
    struct kept_image *made = live_keep(live);
    live_check_counter(live, 0);
    (void)live_keep(live);
    session_forget(live->session, made);
    check_kept(live, 0, 0);
    do_with_region(live, give_up_region, at, 0);
    check_kept(live, REGION_BYTES, REGION_BYTES);
}

/* It is charged to the group of the place where the branch ran. */
static void memory_that_a_branch_has_made_counts_once_the_session_is_there_and_has_given_it_up(struct live *live) {
    const long at = map_regions(live);
    struct kept_image *first = live_keep(live);
    struct cell *branch = live_branch(live, first);
    write_region(branch, at, 0);
    check_kept(live, 0, 0); /* nor while it runs */
    struct kept_image *made = live_keep_branch(branch);
    check_kept(live, REGION_BYTES, REGION_BYTES);
    go(live, made);
    check_kept(live, 0, 0);
    live_check_counter(live, 0);
    struct kept_image *later = live_keep(live);
    session_forget(live->session, made);
    do_with_region(live, write_region, at, 1);
    check_kept(live, 0, 0);
    do_with_region(live, give_up_region, at, 0);
    check_kept(live, REGION_BYTES, REGION_BYTES);
    session_forget(live->session, later);
    check_kept(live, 0, 0);
}

/* Each image has its own. */
static void shared_memory_counts_for_each_state_but_the_present_one(struct live *live) {
    const long at = live_call(live, SYS_mmap, "0 %d 3 %d -1 0", REGION_BYTES, MAP_SHARED | MAP_ANONYMOUS);
    do_with_region(live, write_region, at, 0);
    (void)live_keep(live);
    check_kept(live, 0, 0);
    live_check_counter(live, 0);
    (void)live_keep(live);
    check_kept(live, REGION_BYTES, REGION_BYTES);
    live_check_counter(live, 0);
    check_kept(live, 2 * REGION_BYTES, 2 * REGION_BYTES);
}

/* The versions of the regions; 0: nobody has written it, or it was given up. */
struct state {
    unsigned version[REGIONS];
};

struct walk {
    struct live *live;
    long at;
    unsigned n_versions;
    struct state now;
    struct {
        struct kept_image *kept;
        struct state state;
    } kept[KEPT];
    struct {
        struct cell *cell;
        struct state state, began;
    } branch[BRANCHES];
};

static uint64_t random_state;

static unsigned draw(unsigned n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

static bool has(const struct state *state, int region, unsigned version) {
    return state->version[region] == version;
}

/* Whether a state before the first i of them has it. */
static bool is_counted(const struct state *states, size_t n, int region, unsigned version) {
    for (size_t i = 0; i < n; i++)
        if (has(&states[i], region, version))
            return true;
    return false;
}

/* Bytes that the first n states have and the present one has not. */
static uint64_t beside_present(const struct walk *walk, const struct state *states, size_t n) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        for (int region = 0; region < REGIONS; region++) {
            const unsigned version = states[i].version[region];
            if (version && !has(&walk->now, region, version) && !is_counted(states, i, region, version))
                bytes += REGION_BYTES;
        }
    return bytes;
}

/* The image that a running branch began with is there as long as that runs, and may count. */
static void check_model(const struct walk *walk) {
    struct state states[KEPT + BRANCHES];
    size_t n = 0;
    for (int i = 0; i < KEPT; i++)
        if (walk->kept[i].kept)
            states[n++] = walk->kept[i].state;
    const size_t n_kept = n;
    for (int i = 0; i < BRANCHES; i++)
        if (walk->branch[i].cell)
            states[n++] = walk->branch[i].began;
    check_kept(walk->live, beside_present(walk, states, n_kept), beside_present(walk, states, n));
}

static void change(struct walk *walk, const struct cell *cell, struct state *state) {
    const int region = (int)draw(REGIONS);
    if (draw(3)) {
        write_region(cell, walk->at, region);
        state->version[region] = ++walk->n_versions;
    } else {
        give_up_region(cell, walk->at, region);
        state->version[region] = 0;
    }
}

static void put(struct walk *walk, struct kept_image *kept, const struct state *state) {
    const unsigned i = draw(KEPT);
    session_forget(walk->live->session, walk->kept[i].kept);
    walk->kept[i].kept = kept;
    walk->kept[i].state = *state;
}

/* Begins one of those that run beside, or goes on with it and perhaps ends it. */
static void run_branch(struct walk *walk) {
    const unsigned i = draw(BRANCHES), from = draw(KEPT);
    struct cell **cell = &walk->branch[i].cell;
    if (!*cell && walk->kept[from].kept) {
        *cell = live_branch(walk->live, walk->kept[from].kept);
        walk->branch[i].state = walk->branch[i].began = walk->kept[from].state;
    } else if (*cell) {
        change(walk, *cell, &walk->branch[i].state);
        if (draw(3) == 0)
            return;
        if (draw(2))
            put(walk, live_keep_branch(*cell), &walk->branch[i].state);
        else
            cell_discard(*cell);
        *cell = NULL;
    }
}

static void run_cell(struct walk *walk) {
    struct state after = walk->now;
    struct cell *cell = live_start(walk->live);
    for (unsigned n = draw(3); n > 0; n--)
        change(walk, cell, &after);
    run_branch(walk);
    if (draw(4) == 0)
        check_model(walk); /* what the running cell has does not count */
    if (draw(4) == 0) {
        cell_discard(cell);
    } else {
        CHECK_EQUAL(live_commit(cell), 0);
        walk->now = after;
    }
}

static unsigned number_from(const char *variable, unsigned otherwise) {
    const char *text = getenv(variable);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void random_walk_holds_what_its_model_does(struct live *live) {
    struct walk walk = {.live = live, .at = map_regions(live)};
    const unsigned seed = number_from("PETRI_SEED", (unsigned)getpid() * 7919U + (unsigned)getuid());
    const unsigned steps = number_from("PETRI_WALK", (unsigned)live_times(100));
    (void)fprintf(stderr, "PETRI_SEED=%u\n", seed);
    random_state = UINT64_C(88172645463325252) + seed * UINT64_C(2654435761);
    for (unsigned i = 0; i < steps; i++) {
        run_cell(&walk);
        if (draw(2))
            put(&walk, draw(4) ? live_keep(live) : NULL, &walk.now);
        const unsigned to = draw(KEPT);
        if (draw(4) == 0 && walk.kept[to].kept) {
            go(live, walk.kept[to].kept);
            walk.now = walk.kept[to].state;
        }
        if (draw(2))
            check_model(&walk);
    }
    for (int i = 0; i < BRANCHES; i++)
        cell_discard(walk.branch[i].cell);
}

int main(void) {
    const struct live_case cases[] = {
        LIVE_CASE(memory_of_a_state_that_is_gone_counts_while_a_later_one_has_it),
        LIVE_CASE(memory_that_a_branch_has_made_counts_once_the_session_is_there_and_has_given_it_up),
        LIVE_CASE(shared_memory_counts_for_each_state_but_the_present_one),
        LIVE_CASE(random_walk_holds_what_its_model_does),
    };
    return live_main("memory of kept images", cases, sizeof cases / sizeof cases[0]);
}
