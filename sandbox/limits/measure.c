/*
 * measure.c - sums over the processes of a cell.
 *
 * Cheap figures come first: resident memory is an upper bound of what the cell has
 * written, for most of it may be the image's. Only where that is over the limit the pages are
 * counted, which takes longer.
 */
#define _GNU_SOURCE
#include "measure.h"

#include "sandbox/base/difference.h"
#include "sandbox/limits/user_limits.h"

#include <linux/kcmp.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { QUICK_PROCESSES = 8 }; /* that have at most some hundred open files each */

struct reading {
    pid_t worker;
    size_t n, most; /* processes */
    struct watcher_reading reading;
    struct watcher_shares image;
    uint64_t written_bytes;
    uint64_t shared_bytes;
    bool in_flight;
};

typedef bool visitor(pid_t pid, void *context);

/* A child of vfork(2), of posix_spawn(3) and so of subprocess has the worker's own memory until it execs. */
static bool has_memory_of(pid_t pid, pid_t worker) {
    return pid != worker && syscall(SYS_kcmp, pid, worker, KCMP_VM, 0, 0) == 0;
}

static bool add_tasks(pid_t pid, void *context) {
    struct reading *reading = context;
    reading->reading.tasks += watcher_count_tasks(pid);
    return ++reading->n < reading->most;
}

static bool add_reading(pid_t pid, void *context) {
    struct reading *reading = context;
    watcher_read(pid, !has_memory_of(pid, reading->worker), &reading->reading);
    return ++reading->n < reading->most;
}

/*
 * What a process has written is its own, or shared with the cell's other
 * processes; what it shares with the image is neither. Of an untouched image it
 * has as large a part as each of the image's holders.
 */
static bool add_written(pid_t pid, void *context) {
    struct reading *reading = context;
    struct watcher_shares shares;
    if (has_memory_of(pid, reading->worker))
        return true;
    watcher_read_shares(pid, &shares);
    const uint64_t beside = positive_difference(shares.anon_bytes, reading->image.anon_bytes);
    reading->written_bytes += beside > shares.private_bytes ? beside : shares.private_bytes;
    reading->written_bytes += positive_difference(shares.tables_bytes, reading->image.tables_bytes);
    reading->shared_bytes += shares.shared_bytes;
    return true;
}

/* Of what several processes of the cell share, and no image has, the parts beyond what the image has itself count as
 * their own. */
static bool add_parts(pid_t pid, void *context) {
    struct reading *reading = context;
    struct watcher_shares shares;
    if (has_memory_of(pid, reading->worker))
        return true;
    watcher_read_shares(pid, &shares);
    const uint64_t beside = positive_difference(shares.anon_bytes, reading->image.anon_bytes),
                   private = positive_difference(shares.private_bytes, shares.shared_bytes),
                   own = beside > private ? beside : private;
    reading->written_bytes += own;
    reading->shared_bytes += positive_difference(shares.anon_bytes, own);
    return true;
}

static bool note_in_flight(pid_t pid, void *context) {
    struct reading *reading = context;
    reading->in_flight |= user_limits_holds_in_flight(pid);
    return true;
}

static bool visit_all(const struct measure_request *request, visitor *visit, struct reading *reading) {
    return watcher_visit(request->worker, visit, reading) && watcher_visit(request->init, visit, reading);
}

static struct measure_figures sum_up(const struct measure_request *request, const struct reading *reading) {
    const uint64_t files =
        request->is_watched ? watcher_files_beside(&reading->reading, &request->before) + request->files_bytes : 0;
    return (struct measure_figures){.memory_bytes = reading->reading.memory_bytes + files,
                                    .cpu_us = reading->reading.cpu_us,
                                    .tasks = (unsigned)positive_difference(reading->reading.tasks, 1)};
}

static bool is_enough(const struct measure_request *request, const struct measure_figures *figures) {
    return request->limit_bytes == 0 || figures->memory_bytes <= request->limit_bytes;
}

bool measure_quickly(const struct measure_request *request, struct measure_figures *ret) {
    struct reading reading = {.worker = request->worker, .most = QUICK_PROCESSES};
    if (request->asks_in_flight || !visit_all(request, request->is_watched ? add_reading : add_tasks, &reading))
        return false;
    const struct measure_figures figures = sum_up(request, &reading);
    if (!is_enough(request, &figures))
        return false;
    *ret = figures;
    return true;
}

void measure_slowly(const struct measure_request *request, struct measure_figures *ret) {
    struct reading reading = {.worker = request->worker, .most = SIZE_MAX};
    (void)visit_all(request, request->is_watched ? add_reading : add_tasks, &reading);
    *ret = sum_up(request, &reading);
    if (!is_enough(request, ret)) {
        const uint64_t files = ret->memory_bytes - reading.reading.memory_bytes;
        watcher_read_shares(request->image, &reading.image);
        (void)visit_all(request, add_written, &reading);
        ret->memory_bytes = reading.written_bytes + (reading.shared_bytes > files ? reading.shared_bytes : files);
        ret->over_memory = ret->memory_bytes > request->limit_bytes;
    }
    if (request->asks_in_flight)
        (void)visit_all(request, note_in_flight, &reading);
    ret->in_flight = reading.in_flight;
}

void measure_read_parts(pid_t keeper, pid_t worker, pid_t init, pid_t image, struct measure_parts *ret) {
    struct reading reading = {.worker = keeper, .most = SIZE_MAX};
    watcher_read_shares(image, &reading.image);
    (void)add_parts(keeper, &reading);
    if (worker > 0)
        (void)visit_all(&(struct measure_request){.worker = worker, .init = init}, add_parts, &reading);
    *ret = (struct measure_parts){reading.written_bytes, reading.shared_bytes};
}
