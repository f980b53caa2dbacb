/*
 * usage.c - what a cell may use and what it has used.
 *
 * Memory is what the cell has beside the image that it began with. A control group
 * is read once at the start of the cell, and the difference counts. Without one the
 * processes are watched: cheap figures first, which are too high by what is shared
 * with the image, and the exact ones only where those are over the limit.
 */
#define _GNU_SOURCE
#include "sandbox/base/difference.h"
#include "sandbox/base/system.h"
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

static int set_limit(pid_t pid, __rlimit_resource_t resource, uint64_t value) {
    struct rlimit limit = {value, value};
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

/* A cell's processes, being read one by one. */
struct watching {
    pid_t worker;
    struct watcher_reading reading;
    struct watcher_shares image; /* of one of those that share the image's memory with the cell */
    uint64_t written_bytes;
    uint64_t shared_bytes;
};

/* A child of vfork(2), of posix_spawn(3) and so of subprocess has the worker's own memory until it execs. */
static bool has_memory_of(pid_t pid, pid_t worker) {
    return pid != worker && syscall(SYS_kcmp, pid, worker, KCMP_VM, 0, 0) == 0;
}

static void add_reading(pid_t pid, void *context) {
    struct watching *watching = context;
    watcher_read(pid, !has_memory_of(pid, watching->worker), &watching->reading);
}

/*
 * What a process has written is its own, or shared with the cell's other
 * processes; what it shares with the image is neither. Of an untouched image it
 * has as large a part as each of the image's holders.
 */
static void add_written(pid_t pid, void *context) {
    struct watching *watching = context;
    struct watcher_shares shares;
    if (has_memory_of(pid, watching->worker))
        return;
    watcher_read_shares(pid, &shares);
    uint64_t beside = positive_difference(shares.anon_bytes, watching->image.anon_bytes);
    watching->written_bytes += beside > shares.private_bytes ? beside : shares.private_bytes;
    watching->written_bytes += positive_difference(shares.tables_bytes, watching->image.tables_bytes);
    watching->shared_bytes += shares.shared_bytes;
}

static void visit_all(const struct cell *cell, void (*visit)(pid_t pid, void *context), struct watching *watching) {
    watcher_visit(cell->worker, visit, watching);
    watcher_visit(cell->init.pid, visit, watching);
}

static void note_tasks(struct cell *cell, const struct watcher_reading *reading) {
    unsigned tasks = (unsigned)positive_difference(reading->tasks, 1); /* without the sandbox's pid 1 */
    if (tasks > cell->usage.processes_peak)
        cell->usage.processes_peak = tasks;
}

/*
 * Resident memory is quick to read, and an upper bound of what the cell has written:
 * most of it may be the image's. Only where that is over the limit the pages are
 * counted, which takes longer.
 */
static void measure_watched(struct cell *cell) {
    struct watching watching = {.worker = cell->worker};
    uint64_t limit = cell->base.memory_limit_bytes + cell->granted_bytes;
    visit_all(cell, add_reading, &watching);
    uint64_t files = watcher_files_beside(&watching.reading, &cell->base.watched) +
                     positive_difference(files_bytes(cell), cell->base.files_bytes);
    cell->usage.memory_bytes = watching.reading.memory_bytes + files;
    cell->usage.cpu_us = watching.reading.cpu_us;
    note_tasks(cell, &watching.reading);
    if (cell->base.memory_limit_bytes == 0 || cell->usage.memory_bytes <= limit)
        return;
    watcher_read_shares(cell->image->keeper, &watching.image);
    visit_all(cell, add_written, &watching);
    cell->usage.memory_bytes = watching.written_bytes + (watching.shared_bytes > files ? watching.shared_bytes : files);
    cell->usage.over_memory |= cell->usage.memory_bytes > limit;
}

static void add_tasks(pid_t pid, void *context) {
    struct watching *watching = context;
    watching->reading.tasks += watcher_count_tasks(pid);
}

/* A group's own count has the images in it, too; so tasks are counted, and nothing else is read. */
static void count_tasks(struct cell *cell) {
    struct watching watching = {.worker = cell->worker};
    visit_all(cell, add_tasks, &watching);
    note_tasks(cell, &watching.reading);
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

static void measure_grouped(struct cell *cell) {
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
    count_tasks(cell);
}

/* A worker shares its memory with its keeper, until it execs: then both have some. Linux kills the two of them
 * together where memory runs out. See: kcmp(2). */
static bool is_replaced(const struct cell *cell) {
    return cell->keeper > 0 && syscall(SYS_kcmp, cell->worker, cell->keeper, KCMP_VM, 0, 0) > 0 &&
           watcher_has_memory(cell->worker) && watcher_has_memory(cell->keeper);
}

static void note_in_flight(pid_t pid, void *context) {
    bool *holds = context;
    *holds |= user_limits_holds_in_flight(pid);
}

/* Where the user has too many descriptors in flight, whether some of them are the cell's. Only hostile code gets that
 * far: the limit holds for senders one by one (user_limits.h), but not for many that send at the same time. */
static void measure_in_flight(struct cell *cell) {
    bool holds = false;
    if (!user_limits_in_flight_exceeded())
        return;
    watcher_visit(cell->worker, note_in_flight, &holds);
    watcher_visit(cell->init.pid, note_in_flight, &holds);
    cell->usage.over_in_flight |= holds;
}

void cell_measure(struct cell *cell, struct cell_usage *ret_usage) {
    if (cell->started && !cell->ended) {
        if (cell->session->host.backend)
            measure_grouped(cell);
        else
            measure_watched(cell);
        measure_in_flight(cell);
        cell->usage.replaced = is_replaced(cell);
        if (cell->usage.memory_bytes > cell->usage.memory_peak_bytes)
            cell->usage.memory_peak_bytes = cell->usage.memory_bytes;
    }
    *ret_usage = cell->usage;
}

static const struct watcher_shares *read_left(struct cell *cell) {
    if (!cell->left_known)
        watcher_read_shares(cell->result->keeper, &cell->left);
    cell->left_known = true;
    return &cell->left;
}

uint64_t cell_changed_bytes(struct cell *cell) {
    return cell->session->host.backend || !cell->result ? cell->usage.memory_bytes : read_left(cell)->private_bytes;
}

uint64_t cell_new_bytes(struct cell *cell) {
    const struct watcher_shares *left = read_left(cell);
    return left->private_bytes + left->swap_bytes;
}

/* Of what several processes of the cell share, and no image has, the parts beyond what the image has itself count as
 * their own. */
static void add_parts(pid_t pid, void *context) {
    struct watching *watching = context;
    struct watcher_shares shares;
    if (has_memory_of(pid, watching->worker))
        return;
    watcher_read_shares(pid, &shares);
    const uint64_t beside = positive_difference(shares.anon_bytes, watching->image.anon_bytes),
                   private = positive_difference(shares.private_bytes, shares.shared_bytes),
                   own = beside > private ? beside : private;
    watching->written_bytes += own;
    watching->shared_bytes += positive_difference(shares.anon_bytes, own);
}

void cell_read_parts(const struct cell *cell, struct cell_parts *ret_parts) {
    struct watching watching = {.worker = cell->result ? cell->result->keeper : cell->keeper};
    if (watching.worker > 0)
        watcher_read_shares(cell->image->keeper, &watching.image);
    if (watching.worker > 0)
        add_parts(watching.worker, &watching);
    if (cell->started && !cell->ended)
        visit_all(cell, add_parts, &watching);
    *ret_parts = (struct cell_parts){watching.written_bytes, watching.shared_bytes};
}
