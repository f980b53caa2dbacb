/* Ended children are there in later cells; one whose id can't be had again costs nothing but itself. */
#include "tests/sandbox/live.h"

#include "sandbox/session/session.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static long wait_for_any(struct live *live) {
    return live_call(live, SYS_wait4, "-1 0 %d 0", WNOHANG | __WALL);
}

static void child_that_was_left_is_found_dead_once(struct live *live) {
    CHECK_TEXT(live_do(live, "child still"), "ok");
    const struct zombies *zombies = &live->session->current->zombies;
    CHECK_EQUAL(zombies->n, 1);
    const pid_t pid = zombies->zombie[0].pid;
    live_check_counter(live, 0);
    CHECK_EQUAL(wait_for_any(live), pid);
    CHECK_EQUAL(wait_for_any(live), -ECHILD);
}

/* The ids of pid 1, of the worker and of the child itself are taken, and the last one is above each system's limit. */
static void child_whose_id_can_not_be_had_is_forgotten_and_others_are_found(struct live *live) {
    CHECK_TEXT(live_do(live, "child still"), "ok");
    struct image *image = live->session->current;
    struct zombies *zombies = &image->zombies;
    const pid_t pid = zombies->zombie[0].pid;
    const pid_t bad[] = {1, image->threads.thread[0].tid, pid, 1 << 30};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        zombies->zombie[zombies->n++] = (struct zombie){bad[i], 0};
    live_check_counter(live, 0);
    CHECK_EQUAL(wait_for_any(live), pid);
    CHECK_EQUAL(wait_for_any(live), -ECHILD);
}

int main(void) {
    static const struct live_case cases[] = {
        LIVE_CASE(child_that_was_left_is_found_dead_once),
        LIVE_CASE(child_whose_id_can_not_be_had_is_forgotten_and_others_are_found),
    };
    return live_main("zombies", cases, sizeof cases / sizeof cases[0]);
}
