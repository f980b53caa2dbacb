/*
 * beside.c - a table of places, of which those are not free whose last cell is still ending.
 *
 * A layer is removed only when nothing can write to it any more: so a process that is
 * killed in the middle of a call leaves no file behind. Nobody waits here: a cell can make
 * its end take seconds, by what it has mapped, and others run meanwhile.
 */
#define _GNU_SOURCE
#include "beside.h"

#include "base/errand.h"
#include "base/slices.h"
#include "sandbox/base/system.h"
#include "sandbox/files/layers.h"
#include "sandbox/limits/resources.h"
#include "sandbox/session/session.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

static bool is_ending(const struct beside_place *place) {
    return place->ending_fd >= 0 || place->removing || place->killed.n > 0;
}

struct left_layer {
    int files_fd;
    uint64_t layer;
};

static void remove_layer(void *arg) {
    const struct left_layer *left = arg;
    layer_remove(left->files_fd, left->layer);
}

/* By an errand, for a layer may have as many files as the session's limit says. */
static void begin_removing(struct beside_place *place) {
    struct left_layer *left = malloc(sizeof *left);
    close_fd(&place->ending_fd);
    if (left)
        *left = (struct left_layer){place->files_fd, place->layer};
    place->removing = left ? errand_begin(remove_layer, left) : NULL;
    if (place->removing)
        return;
    free(left);
    layer_remove(place->files_fd, place->layer);
}

static void end_removing(struct beside_place *place) {
    if (place->removing)
        errand_await(place->removing);
    errand_leave(steal_pointer(place->removing));
}

/* Nothing has the layer any more. */
static void leave_files(struct beside_place *place) {
    snapshot_unpin(steal_pointer(place->files));
}

void beside_init(struct session *session) {
    for (unsigned i = 0; i < SANDBOX_BESIDE_MAX; i++) {
        session->beside[i] = (struct beside_place){.ending_fd = -1, .seed_memory_fd = -1};
        opened_init(&session->beside[i].opened);
    }
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
        killed_await(&session->beside[i].killed);
        end_removing(&session->beside[i]);
        leave_files(&session->beside[i]);
        close_fd(&session->beside[i].ending_fd);
        opened_fini(&session->beside[i].opened);
    }
}

bool beside_settle(struct session *session) {
    bool more = false;
    for (unsigned i = 0; i < session->host.n_beside; i++) {
        struct beside_place *place = &session->beside[i];
        if (place->killed.n > 0)
            killed_reap(&place->killed);
        if (place->ending_fd >= 0 && slices_await(place->ending_fd, 0) == 0)
            begin_removing(place);
        if (place->removing && errand_result(place->removing))
            end_removing(place);
        if (!place->taken && place->ending_fd < 0 && !place->removing)
            leave_files(place);
        more |= is_ending(place);
    }
    return more;
}

static int find_free(const struct session *session) {
    for (unsigned i = 0; i < session->host.n_beside; i++)
        if (!session->beside[i].taken && !is_ending(&session->beside[i]))
            return (int)i;
    return -EAGAIN;
}

/* Whether cells that are ending may have what the next one is to write on: then it waits until they have not. */
static bool is_full(const struct session *session) {
    bool ending = false;
    for (unsigned i = 0; i < session->host.n_beside; i++)
        ending |= session->beside[i].ending_fd >= 0 || session->beside[i].removing;
    return ending && session_files_beside_are_full(session);
}

bool session_has_place(const struct session *session) {
    return find_free(session) >= 0 && !is_full(session);
}

int beside_take(struct session *session) {
    beside_settle(session);
    const int place = session_has_place(session) ? find_free(session) : -EAGAIN;
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

bool beside_has(const struct session *session, pid_t pid) {
    for (unsigned i = 0; i < SANDBOX_BESIDE_MAX; i++)
        if (session->beside[i].seed == pid || killed_has(&session->beside[i].killed, pid))
            return pid > 0;
    return false;
}

void beside_leave(struct session *session, int place, int init_fd, uint64_t layer, struct snapshot_version *files) {
    struct beside_place *left = &session->beside[place];
    left->taken = false;
    opened_forget(&left->opened);
    left->layer = layer;
    left->files = files;
    left->files_fd = session->zygote.files_fd;
    left->ending_fd = init_fd;
    if (init_fd < 0)
        begin_removing(left);
}
