/*
 * roster.c - a kernel's own file: made and locked under the lock of the folder, rewritten as the kernel goes on.
 *
 * The file is rewritten at its place, padded with spaces to the length that it has
 * had, so that there is never a moment without a file or with half of an older
 * text at its end. A kernel that is too many has a file too, so that petri ps shows
 * it, whose name does not count.
 */

#include "roster.h"

#include "base/directory.h"
#include "kernel/base/clock.h"
#include "kernel/base/host_file.h"
#include "kernel/roster/place.h"
#include "protocol/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>

enum { PATIENCE_S = 10, LOOK_MS = 5, FILES_MAX = 10000 };

static const char counted[] = "kernel-";
static const char beyond[] = "beyond-";

static const char *const names[] = {"starting", "idle", "running", "unavailable"};
_Static_assert(sizeof names / sizeof names[0] == ROSTER_N, "one name a state");

const char *roster_state_name(enum roster_state state) {
    return names[state];
}

/* Who holds the lock of a file; false where nobody does. See: F_GETLK. */
static bool is_held(int fd, pid_t *ret_holder) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
        return false;
    *ret_holder = lock.l_pid > 0 ? lock.l_pid : 0;
    return true;
}

static void visit_file(int folder_fd, const char *name, roster_file_visitor *visit, void *arg) {
    struct roster_file file = {.name = name, .counts = strncmp(name, counted, strlen(counted)) == 0};
    struct error ignored;
    if (!file.counts && strncmp(name, beyond, strlen(beyond)) != 0)
        return;
    auto_fd fd = host_file_open(folder_fd, name, &(struct host_file){.flags = O_RDONLY | O_NOFOLLOW}, &ignored);
    file.fd = fd < 0 ? -1 : fd;
    file.held = file.fd >= 0 && is_held(file.fd, &file.holder);
    visit(arg, &file);
}

void roster_visit(int folder_fd, roster_file_visitor *visit, void *arg) {
    auto_dir dir = directory_open(folder_fd);
    struct dirent *entry;
    for (int n = 0; dir && n < FILES_MAX && (entry = readdir(dir)); n++)
        visit_file(folder_fd, entry->d_name, visit, arg);
}

/* Waits for other kernels that come in. They need some hundred microseconds; one that is stopped meanwhile is not
 * waited for without end. */
static int lock_folder(int fd) {
    const int64_t deadline_us = clock_us() + PATIENCE_S * CLOCK_S;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        if (clock_us() > deadline_us)
            return -ETIMEDOUT;
        poll(NULL, 0, LOOK_MS);
    }
    return 0;
}

/* All of them, in their order: a kernel that has found another folder counts, too. Closing them unlocks them. */
static int lock_place(const struct place *place, struct error *ret_error) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < place->n; i++)
        r = lock_folder(place->fds[i]);
    return r < 0 ? error_set(ret_error, -r, "other kernels that start can't be waited for: %s", strerror(-r)) : 0;
}

struct census {
    int folder_fd;
    size_t n;
};

/* Counts a kernel, or removes what a dead one has left: under the lock nobody is about to lock its own file. */
static void count_or_sweep(void *arg, const struct roster_file *file) {
    struct census *census = arg;
    if (!file->held)
        unlinkat(census->folder_fd, file->name, 0);
    else if (file->counts)
        census->n++;
}

static size_t count(const struct place *place) {
    struct census census = {0};
    for (size_t i = 0; i < place->n; i++) {
        census.folder_fd = place->fds[i];
        roster_visit(place->fds[i], count_or_sweep, &census);
    }
    return census.n;
}

/* Makes the file and locks it for as long as this process lives. */
static int make_file(struct roster *roster, bool counts) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    uint64_t drawn;
    if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
        return -errno;
    snprintf(roster->name, sizeof roster->name, "%s%016" PRIx64, counts ? counted : beyond, drawn);
    auto_fd fd = openat(roster->folder_fd, roster->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    if (fcntl(fd, F_SETLK, &lock) < 0) {
        int err = errno;
        unlinkat(roster->folder_fd, roster->name, 0);
        return -err;
    }
    roster->fd = steal_fd(&fd);
    return 0;
}

/* What it does goes over the rest. Text that can't be written is left as it is: the lock says that the kernel runs. */
static void rewrite(struct roster *roster) {
    json_auto_t *all = json_pack("{s:s, s:i, s:I}", "state", names[roster->now.state], "execution_count",
                                 roster->now.execution_count, "since_ms", (json_int_t)clock_date_ms());
    if (!all || json_object_update(all, roster->facts) < 0)
        return;
    auto_free char *text = json_dumps(all, JSON_COMPACT);
    const size_t n = text ? strlen(text) : 0;
    const size_t bytes = n > roster->bytes ? n : roster->bytes;
    auto_free char *padded = n > 0 ? malloc(bytes) : NULL;
    if (!padded)
        return;
    memcpy(padded, text, n);
    memset(padded + n, ' ', bytes - n);
    if (pwrite(roster->fd, padded, bytes, 0) == (ssize_t)bytes)
        roster->bytes = bytes;
}

static json_t *make_facts(const struct roster_facts *facts) {
    json_t *json = json_pack("{s:I}", "started_ms", (json_int_t)clock_date_ms());
    json_object_set_new(json, "profile", text_to_json(facts->profile, strlen(facts->profile)));
    json_object_set_new(json, "folder", text_to_json(facts->folder, strlen(facts->folder)));
    return json;
}

int roster_enter(struct roster *roster, const struct roster_facts *facts, size_t most, size_t *ret_running,
                 struct error *ret_error) {
    struct place place;
    *roster = (struct roster){.folder_fd = -1, .fd = -1};
    int r = place_open_own(&place, ret_error);
    if (r < 0)
        return r;
    r = lock_place(&place, ret_error);
    if (r == 0) {
        *ret_running = count(&place);
        roster->folder_fd = openat(place.fds[0], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = roster->folder_fd < 0 ? -errno
                                  : make_file(roster, !facts->takes_no_place && (most == 0 || *ret_running < most));
        if (r < 0)
            error_set(ret_error, -r, "its file can't be made: %s", strerror(-r));
    }
    place_close(&place);
    if (r < 0) {
        close_fd(&roster->folder_fd);
        return r;
    }
    roster->entered = true;
    roster->facts = make_facts(facts);
    rewrite(roster);
    return 0;
}

void roster_tell(struct roster *roster, const struct roster_now *now) {
    if (!roster->entered || (now->state == roster->now.state && now->execution_count == roster->now.execution_count))
        return;
    roster->now = *now;
    rewrite(roster);
}

void roster_leave(struct roster *roster) {
    if (!roster->entered)
        return;
    unlinkat(roster->folder_fd, roster->name, 0);
    close(roster->folder_fd);
    close(roster->fd);
    json_decref(roster->facts);
    *roster = (struct roster){.folder_fd = -1, .fd = -1};
}
