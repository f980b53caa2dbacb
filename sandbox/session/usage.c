/*
 * usage.c - what a cell may use and what it has used.
 *
 * Memory is what the cell has beside the image that it began with. A control group
 * is read once at the start of the cell, and the difference counts. Without one the
 * processes are watched. What can't be read quickly an errand reads: the figures are
 * then those of the last one that is back.
 */
#define _GNU_SOURCE
#include "base/errand.h"
#include "sandbox/base/difference.h"
#include "sandbox/base/system.h"
#include "sandbox/limits/measure.h"
#include "sandbox/limits/user_limits.h"
#include "sandbox/limits/watcher.h"
#include "sandbox/process/process.h"
#include "sandbox/session/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/*
 * Room for what libraries reserve and never touch, beside what a cell may
 * hold: stacks of threads, buffers of BLAS. Beyond it an allocation fails at
 * once, with a MemoryError, instead of when its pages are touched.
 */
#define RESERVE_BYTES (1ULL << 30)

enum { QUICK_MS = 2 }; /* what is read that soon is waited for */

const struct resources_group *cell_group(const struct cell *cell) {
    static const int first[] = {
        [CELL_OF_SESSION] = SANDBOX_CELLS, [CELL_EPHEMERAL] = SANDBOX_EPHEMERAL, [CELL_BESIDE] = SANDBOX_BESIDE};
    return &cell->session->host.groups[first[cell->role] + (cell->role == CELL_BESIDE ? cell->place : 0)];
}

struct habit *cell_habit(const struct cell *cell) {
    struct session *session = cell->session;
    return cell->role == CELL_EPHEMERAL ? &session->habit_ephemeral : &session->habit;
}

bool session_is_watched(const struct session *session) {
    return session->host.backend == NULL;
}

const char *sandbox_memory_backend(const struct sandbox_host *host) {
    return host->backend ? host->backend->name : "watched";
}

void session_measure_files(const struct session *session, uint64_t *ret_bytes, uint64_t *ret_files) {
    session_files_measure(session, ret_bytes, ret_files);
}

const char *session_memory_backend(const struct session *session) {
    return sandbox_memory_backend(&session->host);
}

/* The bytes of private memory that a process has asked for, as RLIMIT_DATA counts them. See: proc_pid_statm(5). */
static uint64_t data_bytes(pid_t pid) {
    enum { DATA = 5 };
    char buf[PROCESS_SMALL];
    struct procfs_text text;
    uint64_t pages;
    if (process_read(pid, "statm", buf, sizeof buf, &text) || !procfs_get_number(text, DATA, &pages))
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Where petri was started with a lower limit, and may not raise it, that one holds. */
static int set_limit(pid_t pid, __rlimit_resource_t resource, uint64_t value) {
    struct rlimit limit = {value, value}, hard;
    if (prlimit(pid, resource, &limit, NULL) == 0)
        return 0;
    const int r = -errno;
    if (r != -EPERM || prlimit(pid, resource, NULL, &hard) || hard.rlim_max >= value)
        return r;
    limit = (struct rlimit){hard.rlim_max, hard.rlim_max};
    return prlimit(pid, resource, &limit, NULL) ? -errno : 0;
}

/* Where the machine runs out of memory Linux is to kill a cell's processes, and not the image that the cell would be
 * rolled back to. */
static int set_oom_score(pid_t pid, const char *score) {
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", pid);
    return system_write_file(AT_FDCWD, path, score);
}

void cell_reset_oom_score(pid_t keeper) {
    if (set_oom_score(keeper, "0"))
        return; /* it stays a candidate: an ordinary user may not lower a score below the own one */
}

/* As many of ours as the limit says, from the session's first, or so many after it: so that sessions, and cells, side
 * by side don't all crowd the first. */
static int choose_cpus(const struct cell *cell, unsigned cpus, cpu_set_t *ret_chosen) {
    cpu_set_t ours;
    if (sched_getaffinity(0, sizeof ours, &ours))
        return -errno;
    const unsigned n = (unsigned)CPU_COUNT(&ours), wanted = cpus == 0 || cpus > n ? n : cpus;
    const int here = cell->session->first_cpu < 0 ? 0 : cell->session->first_cpu;
    unsigned seen = 0, first = (unsigned)(cell->place + 1) % n;
    CPU_ZERO(ret_chosen);
    for (size_t i = 0; seen < first + wanted; i++) {
        size_t cpu = ((size_t)here + i) % CPU_SETSIZE;
        if (CPU_ISSET(cpu, &ours) && seen++ >= first)
            CPU_SET(cpu, ret_chosen);
    }
    return 0;
}

/* The filter keeps a cell from changing it. */
static int limit_cpus(const struct cell *cell, unsigned cpus) {
    cpu_set_t chosen;
    int r = choose_cpus(cell, cpus, &chosen);
    for (size_t i = 0; i < cell->n_tids && r == 0; i++)
        if (sched_setaffinity(cell->tids[i], sizeof chosen, &chosen))
            r = -errno;
    return r;
}

/* Whether no other cell writes the file system that it writes. */
static bool writes_alone(const struct cell *cell) {
    if (cell->role == CELL_OF_SESSION)
        return true;
    for (const struct cell *other = cell->session->cells; other; other = other->next)
        if (other != cell && other->role != CELL_OF_SESSION && other->started)
            return false;
    return true;
}

/* Which of several cells beside the session's own has written what can't be told: then it is `disk` alone that bounds
 * it, or one would be ended for what another writes. */
static uint64_t files_bytes(const struct cell *cell) {
    const enum session_files_of of = cell->role == CELL_OF_SESSION ? SESSION_FILES_LIVE : SESSION_FILES_BESIDE;
    return writes_alone(cell) ? session_files_bytes(cell->session, of) : 0;
}

static int limit_memory(struct cell *cell, uint64_t bytes) {
    const struct resources_backend *backend = cell->session->host.backend;
    cell->base.memory_limit_bytes = bytes;
    if (!backend) {
        watcher_read(cell->worker, false, &cell->base.watched);
        cell->base.files_bytes = files_bytes(cell);
        return 0;
    }
    backend->read_hits(cell_group(cell), cell->session->host.common_fd, &cell->base.hits);
    int r = backend->read(cell_group(cell), &cell->base.reading);
    if (r == 0)
        r = backend->limit_memory(cell_group(cell), bytes ? cell->base.reading.memory_bytes + bytes : UINT64_MAX);
    return r;
}

int cell_limit(struct cell *cell, const struct cell_limits *limits) {
    int r = set_oom_score(cell->worker, "1000");
    if (r == 0 && limits->processes) /* the sandbox's pid 1 and the dead of earlier cells don't count */
        r = set_limit(cell->worker, RLIMIT_NPROC, limits->processes + 1 + cell->image->zombies.n);
    if (r == 0 && limits->memory_bytes)
        r = set_limit(cell->worker, RLIMIT_DATA, data_bytes(cell->worker) + limits->memory_bytes + RESERVE_BYTES);
    if (r == 0)
        r = limit_cpus(cell, limits->cpus);
    return r ? r : limit_memory(cell, limits->memory_bytes);
}

int cell_grant_memory(struct cell *cell, uint64_t bytes) {
    const struct resources_backend *backend = cell->session->host.backend;
    const struct usage_base *base = &cell->base;
    cell->granted_bytes = bytes;
    if (!backend || base->memory_limit_bytes == 0)
        return 0;
    return backend->limit_memory(cell_group(cell), base->reading.memory_bytes + base->memory_limit_bytes + bytes);
}

void cell_lift_limit(const struct cell *cell) {
    const struct resources_backend *backend = cell->session->host.backend;
    if (!backend || !cell->started || cell->role == CELL_EPHEMERAL)
        return;
    if (backend->limit_memory(cell_group(cell), UINT64_MAX))
        return; /* the next cell sets its own, or says that it can't be set */
}

static void note_tasks(struct cell *cell, unsigned tasks) {
    if (tasks > cell->usage.processes_peak)
        cell->usage.processes_peak = tasks;
}

/*
 * A process was killed because a group had reached its limit. Where it was not the
 * cell's own, and the common one has reached its bound since the cell began, it is
 * told by that; else, also where it can't be told, by the cell's.
 */
static bool is_over_common(const struct cell *cell) {
    const struct resources_hits *base = &cell->base.hits;
    struct resources_hits hits;
    cell->session->host.backend->read_hits(cell_group(cell), cell->session->host.common_fd, &hits);
    return hits.own == base->own && hits.common > base->common;
}

/* A group's own count of tasks has the images in it, too; so those are counted one by one. */
static void measure_group(struct cell *cell) {
    struct resources_reading reading;
    if (cell->session->host.backend->read(cell_group(cell), &reading))
        return; /* the last figures stand; the limit is kept by Linux all the same */
    const struct resources_reading *base = &cell->base.reading;
    cell->usage.memory_bytes = positive_difference(reading.memory_bytes, base->memory_bytes);
    cell->usage.cpu_us = reading.cpu_us - base->cpu_us;
    if (!cell->usage.over_memory && reading.oom_kills > base->oom_kills) {
        cell->usage.over_memory = true;
        cell->usage.over_common = is_over_common(cell);
    }
}

/* A worker shares its memory with its keeper, until it execs: then both have some. Linux kills the two of them
 * together where memory runs out. See: kcmp(2). */
static bool is_replaced(const struct cell *cell) {
    return cell->keeper > 0 && syscall(SYS_kcmp, cell->worker, cell->keeper, KCMP_VM, 0, 0) > 0 &&
           watcher_has_memory(cell->worker) && watcher_has_memory(cell->keeper);
}

/* What its processes are asked for. Only hostile code comes to the limit of descriptors in flight: it holds for senders
 * one by one (user_limits.h), but not for many that send at the same time. */
static struct measure_request request_of(const struct cell *cell) {
    const struct usage_base *base = &cell->base;
    const bool is_watched = session_is_watched(cell->session);
    return (struct measure_request){
        .worker = cell->worker,
        .init = cell->init.pid,
        .image = cell->image->keeper,
        .is_watched = is_watched,
        .asks_in_flight = user_limits_in_flight_exceeded(),
        .limit_bytes = is_watched && base->memory_limit_bytes ? base->memory_limit_bytes + cell->granted_bytes : 0,
        .files_bytes = is_watched ? positive_difference(files_bytes(cell), base->files_bytes) : 0,
        .before = base->watched};
}

static void take_figures(struct cell *cell, const struct measure_figures *figures) {
    note_tasks(cell, figures->tasks);
    cell->usage.over_in_flight |= figures->in_flight;
    if (!session_is_watched(cell->session))
        return;
    cell->usage.memory_bytes = figures->memory_bytes;
    cell->usage.cpu_us = figures->cpu_us;
    cell->usage.over_memory |= figures->over_memory;
}

/* A request, and what an errand has found. */
struct measuring {
    struct measure_request request;
    struct measure_figures figures;
};

static void measure_all(void *arg) {
    struct measuring *measuring = arg;
    measure_slowly(&measuring->request, &measuring->figures);
}

/* Begins an errand; where there is no memory for one, the last figures stand. */
static void begin_measuring(struct cell *cell, const struct measure_request *request) {
    struct measuring *measuring = calloc(1, sizeof *measuring);
    if (measuring)
        measuring->request = *request;
    cell->measuring = measuring ? errand_begin(measure_all, measuring) : NULL;
    if (!cell->measuring)
        free(measuring);
}

/* Takes what an errand has found. Whether there is none any more. */
static bool end_measuring(struct cell *cell) {
    const struct measuring *found = cell->measuring ? errand_result(cell->measuring) : NULL;
    if (!found)
        return !cell->measuring;
    take_figures(cell, &found->figures);
    errand_leave(steal_pointer(cell->measuring));
    return true;
}

/* Measures its processes, unless an errand still does; whether it has begun to. */
static bool measure_processes(struct cell *cell) {
    struct measure_figures figures;
    if (!end_measuring(cell))
        return false;
    const struct measure_request request = request_of(cell);
    if (measure_quickly(&request, &figures))
        take_figures(cell, &figures);
    else
        begin_measuring(cell, &request);
    return true;
}

static bool is_running(const struct cell *cell) {
    return cell->started && !cell->ended;
}

static void note_usage(struct cell *cell, struct cell_usage *ret_usage) {
    if (is_running(cell) && !session_is_watched(cell->session))
        measure_group(cell);
    if (is_running(cell))
        cell->usage.replaced = is_replaced(cell);
    if (cell->usage.memory_bytes > cell->usage.memory_peak_bytes)
        cell->usage.memory_peak_bytes = cell->usage.memory_bytes;
    *ret_usage = cell->usage;
}

void cell_measure(struct cell *cell, struct cell_usage *ret_usage) {
    if (is_running(cell))
        (void)measure_processes(cell);
    note_usage(cell, ret_usage);
}

bool cell_measure_last(struct cell *cell, struct cell_usage *ret_usage) {
    if (is_running(cell) && cell->measures_last)
        (void)end_measuring(cell);
    else if (is_running(cell))
        cell->measures_last = measure_processes(cell);
    note_usage(cell, ret_usage);
    return !is_running(cell) || (cell->measures_last && !cell->measuring);
}

/* What an image has in memory, as an errand reads it. */
struct left {
    pid_t keeper;
    struct watcher_shares shares;
};

static void read_left(void *arg) {
    struct left *left = arg;
    watcher_read_shares(left->keeper, &left->shares);
}

/* Where there is no memory for an errand, what the cell has used stands for it. */
void cell_begin_left(struct cell *cell) {
    struct left *left = session_is_watched(cell->session) ? calloc(1, sizeof *left) : NULL;
    if (!left)
        return;
    left->keeper = cell->result->keeper;
    cell->left = errand_begin(read_left, left);
    if (!cell->left)
        free(left);
}

bool cell_knows_left(const struct cell *cell) {
    return !cell->left || errand_await_for(cell->left, QUICK_MS);
}

static struct watcher_shares await_left(const struct cell *cell) {
    if (!cell->left)
        return (struct watcher_shares){.private_bytes = cell->usage.memory_bytes};
    errand_await(cell->left);
    return ((const struct left *)errand_result(cell->left))->shares;
}

uint64_t cell_changed_bytes(const struct cell *cell) {
    return await_left(cell).private_bytes;
}

uint64_t cell_new_bytes(const struct cell *cell) {
    const struct watcher_shares left = await_left(cell);
    return left.private_bytes + left.swap_bytes;
}
