/*
 * beside.c - a table of places, and the wait for those whose last cell is still ending.
 *
 * A layer is removed only when nothing can write to it any more: so a process that is
 * killed in the middle of a call leaves no file behind. All layers are on one file system
 * of limited size, so the next cell waits for that; until then nobody does.
 */
#define _GNU_SOURCE
#include "beside.h"

#include "sandbox/base/system.h"
#include "sandbox/files/layers.h"
#include "sandbox/limits/resources.h"
#include "sandbox/session/session.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

/* The longest waits for sandboxes that are being ended: for the room on the disk that they take, and for a place. */
enum { ROOM_MS = 1000, PLACE_MS = 10000 };

void beside_init(struct session *session) {
    for (unsigned i = 0; i < SANDBOX_BESIDE_MAX; i++)
        session->beside[i] = (struct beside_place){.ending_fd = -1, .opened_fd = -1, .seed_memory_fd = -1};
}

static void end_seed(struct session *session, struct beside_place *place) {
    if (place->seed > 0)
        kill(place->seed, SIGKILL);
    killed_add(&session->killed, place->seed);
    place->seed = 0;
    close_fd(&place->seed_memory_fd);
}

void beside_fini(struct session *session) {
    for (unsigned i = 0; i < SANDBOX_BESIDE_MAX; i++) {
        end_seed(session, &session->beside[i]);
        close_fd(&session->beside[i].ending_fd);
        close_fd(&session->beside[i].opened_fd);
    }
}

static void settle(struct session *session, struct beside_place *place) {
    layer_remove(session->zygote.files_fd, place->layer);
    close_fd(&place->ending_fd);
}

/* Settles the places whose sandboxes are gone, or are within some time, which is for all of them together. */
static void settle_within(struct session *session, int patience_ms) {
    for (unsigned i = 0; i < session->host.n_beside; i++) {
        struct beside_place *place = &session->beside[i];
        if (place->ending_fd < 0)
            continue;
        if (system_pidfd_await(place->ending_fd, patience_ms) == 0)
            settle(session, place);
        else
            patience_ms = 0;
    }
}

void beside_settle(struct session *session) {
    settle_within(session, 0);
}

static int find_free(const struct session *session) {
    for (unsigned i = 0; i < session->host.n_beside; i++)
        if (!session->beside[i].taken && session->beside[i].ending_fd < 0)
            return (int)i;
    return -EAGAIN;
}

int beside_take(struct session *session) {
    settle_within(session, find_free(session) < 0 ? PLACE_MS : ROOM_MS);
    const int place = find_free(session);
    if (place >= 0)
        session->beside[place].taken = true;
    return place;
}

static int make_seed(struct session *session, int at) {
    struct beside_place *place = &session->beside[at];
    int r = image_copy_keeper(session->first, &session->area, &place->seed, &place->seed_memory_fd);
    if (r == 0)
        r = resources_join(&session->host.groups[SANDBOX_BESIDE + at], place->seed);
    if (r)
        end_seed(session, place);
    return r;
}

/* Its copy begins on the processor that we are bound to. */
static int copy_seed(const struct session *session, int at, pid_t *ret_keeper, int *ret_memory_fd) {
    const struct beside_place *place = &session->beside[at];
    cpu_set_t here;
    if (sched_getaffinity(0, sizeof here, &here) == 0)
        (void)sched_setaffinity(place->seed, sizeof here, &here); /* it would only take longer */
    return image_copy_task(place->seed, place->seed_memory_fd, &session->area, ret_keeper, ret_memory_fd);
}

int beside_copy_first(struct session *session, int place, pid_t *ret_keeper, int *ret_memory_fd) {
    int r = session->beside[place].seed > 0 ? copy_seed(session, place, ret_keeper, ret_memory_fd) : -ESRCH;
    if (r == 0)
        return 0;
    end_seed(session, &session->beside[place]); /* Linux may have killed it for memory */
    r = make_seed(session, place);
    return r ? r : copy_seed(session, place, ret_keeper, ret_memory_fd);
}

bool beside_is_seed(const struct session *session, pid_t pid) {
    for (unsigned i = 0; i < SANDBOX_BESIDE_MAX; i++)
        if (session->beside[i].seed == pid)
            return pid > 0;
    return false;
}

void beside_leave(struct session *session, int place, int init_fd, uint64_t layer) {
    struct beside_place *left = &session->beside[place];
    left->taken = false;
    left->layer = layer;
    left->ending_fd = init_fd;
    if (init_fd < 0)
        settle(session, left);
}
