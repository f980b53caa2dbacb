/*
 * cell.c - the life and the two ends of a cell.
 *
 * Order is what counts at the ends. cell_freeze() stops the threads, then kills all
 * other processes, then looks at petri's pages: only then nothing can change them any
 * more. cell_commit() ends the sandbox before it looks at files, and sets the new
 * image the session's last. cell_discard() waits until no process of the cell is in
 * the middle of a call before it puts files and shared memory back. What can't be put
 * back marks the image as broken, and no cell is made of it any more.
 */
#define _GNU_SOURCE
#include "cell.h"

#include "base/cleanup.h"
#include "base/errand.h"
#include "base/slices.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/descriptors/locks.h"
#include "sandbox/files/layers.h"
#include "sandbox/inject/tracee.h"
#include "sandbox/process/descendants.h"
#include "sandbox/process/process.h"
#include "sandbox/session/kept.h"
#include "sandbox/session/strays.h"
#include "sandbox/spawn/init.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { ROOM_MS = 1000, GONE_MS = 120000, KILL_ROUNDS = 10000, KILL_NAP_US = 1000 };

struct killed *cell_killed(const struct cell *cell) {
    struct session *session = cell->session;
    return cell->role == CELL_EPHEMERAL ? &session->killed_ephemeral
           : cell->place < 0            ? &session->killed
                                        : &session->beside[cell->place].killed;
}

static struct cell *cell_new(struct session *session, const struct cell_options *options) {
    struct cell *cell = calloc(1, sizeof *cell);
    if (!cell)
        return NULL;
    *cell = (struct cell){.session = session,
                          .role = options->role,
                          .is_idle = options->is_idle,
                          .idle_arg = options->arg,
                          .place = -1,
                          .outputs = {-1, -1, -1},
                          .init = {-1, -1, -1},
                          .memory_fd = -1,
                          .worker_pidfd = -1,
                          .control_fd = -1,
                          .names_fd = -1,
                          .next = session->cells,
                          .image = image_ref(options->source == CELL_FROM_FIRST  ? session->first
                                             : options->source == CELL_FROM_KEPT ? options->kept->image
                                                                                 : session->current)};
    session->cells = cell;
    return cell;
}

/* Gives a cell a layer over the files of its image. */
static int choose_layer(struct cell *cell, const struct cell_options *options) {
    uint64_t version = 0;
    if (cell->role == CELL_OF_SESSION)
        return 0;
    cell->layer = cell->session->next_layer++;
    if (options->source == CELL_FROM_FIRST)
        cell->layer |= LAYER_OVER_FIRST;
    if (options->source != CELL_FROM_KEPT)
        return 0;
    int r = snapshot_pin(options->kept->files, &version);
    if (r)
        return r;
    cell->files = options->kept->files;
    cell->layer |= LAYER_OVER_VERSION(version);
    return version <= LAYER_VERSION_MAX ? 0 : -EOVERFLOW;
}

/*
 * While a cell is made, this process and the tasks that it injects calls into run in
 * turn, and on one processor a turn costs a fraction of a wake-up on another. The
 * cell gets the processors of its limit when it starts. Where the affinity can't be
 * set, making a cell is only slower.
 */
static int assemble_on_one_cpu(struct cell *cell, struct error *error) {
    cpu_set_t before, here;
    int cpu = sched_getcpu();
    CPU_ZERO(&here);
    CPU_SET((size_t)(cpu < 0 ? 0 : cpu), &here);
    bool pinned = cpu >= 0 && sched_getaffinity(0, sizeof before, &before) == 0 &&
                  sched_setaffinity(0, sizeof here, &here) == 0 &&
                  sched_setaffinity(cell->image->keeper, sizeof here, &here) == 0;
    int r = cell_assemble(cell, error);
    if (pinned)
        pinned = sched_setaffinity(0, sizeof before, &before) == 0;
    return r;
}

/* Gives a cell what it needs of the session, and asks for its sandbox. */
static int prepare(struct cell *cell, const struct cell_options *options, struct error *error) {
    struct session *session = cell->session;
    int r = choose_layer(cell, options);
    if (r)
        return step_failed(error, STEP_LAYER, -r, "the files of an earlier image");
    if (cell->role == CELL_BESIDE)
        cell->place = beside_take(session);
    if (cell->role == CELL_BESIDE && cell->place < 0)
        return step_failed(error, STEP_PLACE, -cell->place, "%s", "");
    r = zygote_request_sandbox(&session->zygote, cell->layer, error);
    cell->sandbox_asked = r == 0;
    return r;
}

int cell_create(struct session *session, const struct cell_options *options, struct cell **ret_cell,
                struct error *ret_error) {
    if (options->role == CELL_OF_SESSION && options->source != CELL_FROM_CURRENT)
        return step_failed(ret_error, STEP_IMAGE, EINVAL, "the session's own cell can begin from its image alone");
    session_settle(session);
    struct cell *cell = cell_new(session, options);
    if (!cell)
        return step_failed(ret_error, STEP_MEMORY, ENOMEM, "%s", "");
    int r = prepare(cell, options, ret_error);
    if (r == 0)
        r = assemble_on_one_cpu(cell, ret_error);
    if (r && ret_error->step != STEP_ZYGOTE) { /* whichever step has met it: without its keeper there is no image */
        int lost = image_check(cell->image, ret_error);
        r = lost ? lost : r;
    }
    session_settle(session); /* those that ended meanwhile; cell_start() waits for the rest */
    strays_end(session);
    if (r)
        cell_discard(cell);
    else
        *ret_cell = cell;
    return r;
}

bool cell_is_whole(const struct cell *cell) {
    bool whole = tracee_check_stopped(cell->keeper) == 0 && slices_await(cell->init.pidfd, 0) == -ETIMEDOUT;
    for (size_t i = 0; whole && i < cell->n_tids; i++)
        whole = tracee_check_stopped(cell->tids[i]) == 0;
    return whole;
}

/* Detaches the worker last: all threads that it may wait for run by then. */
int cell_start(struct cell *cell, const struct cell_limits *limits) {
    const bool own = cell->role == CELL_OF_SESSION;
    killed_await(cell_killed(cell));
    cell_renew_watches(cell);
    int r = session_hide_added(cell->session);
    if (r == 0 && own)
        r = session_files_refresh(cell->session);
    if (r == 0 && own)
        r = image_save_shared(cell->image);
    if (r == 0)
        r = cell_limit(cell, limits);
    if (r)
        return r;
    cell->started = true;
    cell->memories = cell->session->memories;
    cell->wrote = own;
    if (own)
        snapshot_begin(cell->session->files.snapshot);
    for (size_t i = cell->n_tids; i-- > 0;)
        if (ptrace(PTRACE_DETACH, cell->tids[i], 0, 0))
            return -errno;
    cell->n_tids = 0;
    return 0;
}

int cell_control_fd(const struct cell *cell) {
    return cell->control_fd;
}

int cell_names_fd(struct cell *cell) {
    if (cell->names_fd < 0 && cell->init.pidfd >= 0) {
        int fd = system_pidfd_getfd(cell->init.pidfd, INIT_KEPT_FD);
        cell->names_fd = fd < 0 ? -1 : fd;
    }
    return cell->names_fd;
}

int cell_exit_fd(const struct cell *cell) {
    return cell->worker_pidfd;
}

const int *cell_outputs(const struct cell *cell) {
    return cell->role == CELL_BESIDE ? cell->outputs
           : cell->image->outputs    ? cell->image->outputs->fd
                                     : cell->session->outputs;
}

int cell_stdout_fd(const struct cell *cell) {
    return cell_outputs(cell)[SESSION_STDOUT];
}

int cell_stderr_fd(const struct cell *cell) {
    return cell_outputs(cell)[SESSION_STDERR];
}

int cell_trace_fd(const struct cell *cell) {
    return cell_outputs(cell)[SESSION_TRACE];
}

void cell_signal_group(const struct cell *cell, int signal) {
    if (!cell->ended)
        kill(-cell->worker, signal);
}

void cell_kill(const struct cell *cell) {
    if (cell->init.pidfd >= 0)
        (void)system_pidfd_signal(cell->init.pidfd, SIGKILL); /* where it has ended, so have all others */
    cell_signal(cell, SIGKILL);
}

void cell_signal(const struct cell *cell, int signal) {
    if (!cell->ended)
        kill(cell->worker, signal);
}

bool cell_computes(const struct cell *cell) {
    struct procfs_stat stat;
    return !cell->ended && process_read_stat(cell->worker, &stat) == 0 && stat.state == 'R';
}

/* Reaps the worker, and measures it before: a reaped process has no figures any more. */
static void reap_worker(struct cell *cell) {
    struct cell_usage usage;
    if (cell->ended || cell->worker <= 0)
        return;
    if (!cell->result) /* a frozen cell has been measured, and has done nothing since */
        cell_measure(cell, &usage);
    tracee_reap_process(cell->worker, &cell->status);
    cell->n_tids = 0;
    cell->ended = true;
}

void cell_end_of(struct cell *cell, struct cell_end *ret_end) {
    reap_worker(cell);
    *ret_end = (struct cell_end){.exited = WIFEXITED(cell->status),
                                 .signaled = WIFSIGNALED(cell->status),
                                 .code = WIFEXITED(cell->status) ? WEXITSTATUS(cell->status) : 0,
                                 .signal = WIFSIGNALED(cell->status) ? WTERMSIG(cell->status) : 0,
                                 .usage = cell->usage};
}

/*
 * Kills every process of the cell but its own thread group, in one call that
 * no fork can slip through: the stopped worker makes it, and kill(2) spares the
 * caller and pid 1. The calls take no argument in memory, which other
 * processes may still change. It is repeated until there is no process left to kill:
 * one that is in the middle of a long call goes on with it, in memory that is to be
 * the image's, and the lists of children, with which we wait, may miss it while its
 * parents die one after the other.
 */
static int kill_children(struct cell *cell) {
    const struct inject_task worker = {cell->worker, 0, cell->memory_fd, &cell->session->area};
    for (int round = 0; round < KILL_ROUNDS; round++) {
        struct inject_call kill_all = {.number = SYS_kill, .argument = {(uint64_t)-1, SIGKILL}};
        int r = inject_checked(&worker, &kill_all, NULL, NULL);
        if (r || kill_all.result == -ESRCH)
            return r;
        if (kill_all.result < 0)
            return (int)kill_all.result;
        r = descendants_await_dead(cell->tids, cell->n_tids, cell->init.pid);
        if (r == 0)
            r = zombies_reap(&worker, &cell->zombies);
        if (r)
            return r;
        if (round > 0)
            nanosleep(&(struct timespec){.tv_nsec = KILL_NAP_US * 1000L}, NULL);
    }
    return -ETIMEDOUT;
}

/*
 * In this order: records the registers, which our calls destroy; kills all processes
 * that share the memory; checks our pages, which can't be changed any more; asks the
 * threads for what only they know. A process may escape being counted, by forking
 * meanwhile, but not that there is one: then all are killed.
 */
static int record(struct cell *cell, unsigned *ret_leftovers, struct error *error) {
    struct descendants found = {0};
    int r = inject_write_code(cell->memory_fd, &cell->session->area);
    if (r)
        return step_failed(error, STEP_INJECT, -r, "the cell unmapped petri's page of code");
    r = threads_record_registers(cell->tids, cell->n_tids, &cell->threads);
    if (r)
        return step_failed(error, STEP_THREADS, -r, "a thread has registers that no other cell could have");
    r = descendants_count(cell->tids, cell->n_tids, cell->init.pid, &found);
    if (r == 0 && found.any)
        r = kill_children(cell);
    if (r)
        return step_failed(error, STEP_THREADS, -r, "ending the cell's other processes");
    *ret_leftovers = found.alive;
    r = cell_end_copy_ahead(cell);
    if ((r == 0 || r == -ESRCH) && !cell->misled && tracee_check_stopped(cell->keeper))
        return step_failed(error, STEP_KEEPER, EOWNERDEAD, "%s", "");
    if (r == 0 && cell->misled)
        r = -EUCLEAN;
    if (r == 0)
        r = inject_check_area(cell->keeper, cell->memory_fd, &cell->session->area);
    if (r == -ESRCH)
        r = -EUCLEAN;
    if (r == 0)
        r = inject_renew_area(
            &(struct inject_task){cell->worker, cell->threads.thread[0].tid, cell->memory_fd, &cell->session->area});
    if (r)
        return step_failed(error, STEP_INJECT, -r, "the cell replaced petri's pages");
    r = threads_record_registrations(cell->tids, cell->memory_fd, &cell->session->area, &cell->threads);
    return r ? step_failed(error, STEP_INJECT, -r, "recording the threads") : 0;
}

static int make_result(struct cell *cell, struct error *error) {
    cell->result = image_create(cell->keeper, cell->memory_fd, &cell->threads);
    if (!cell->result)
        return step_failed(error, STEP_MEMORY, ENOMEM, "%s", "");
    cell->result->zombies = cell->zombies;
    cell->result->may_hide = cell->session->denied_fd < 0 || cell->memories != cell->session->memories ||
                             cell->image->descriptors.of_kind[DESCRIPTOR_MEMFD] > 0;
    image_share_outputs(cell->result, cell->image);
    cell->keeper = 0;
    cell->memory_fd = -1;
    int r = image_read_place(cell->result, cell->worker);
    return r ? step_failed(error, STEP_IMAGE, -r, "its working directory, or the path of that is too long") : 0;
}

/* Once the cell's limit is lifted, for what is replaced is there twice for a moment. */
static int settle_shared(struct cell *cell, struct error *error) {
    struct inject_task worker = {cell->worker, cell->result->threads.thread[0].tid, cell->result->memory_fd,
                                 &cell->session->area};
    struct restorer restorer = {.task = &worker};
    int r = shared_settle(&cell->result->shared, &cell->made, cell->result->memory_fd, &restorer);
    return r ? step_failed(error, STEP_DESCRIPTORS, r == -EUCLEAN ? EUCLEAN : ENOTSUP,
                           "shared memory that can't be replaced: %s", strerror(-r))
             : 0;
}

/* Whether a process has had children that it has waited for: their faults are counted with its own. */
static bool has_reaped(pid_t pid) {
    struct procfs_stat stat;
    return process_read_stat(pid, &stat) || stat.child_faults > 0;
}

int cell_freeze(struct cell *cell, struct cell_end *ret_end, struct error *ret_error) {
    struct cell_usage usage;
    unsigned leftovers = 0;
    free(cell->tids);
    int r = threads_stop(cell->worker, &cell->tids, &cell->n_tids);
    if (r)
        r = step_failed(ret_error, STEP_THREADS, -r, "its threads could not be stopped");
    cell_measure(cell, &usage);
    if (r == 0 && usage.over_memory)
        r = step_failed(ret_error, STEP_MEMORY, ENOMEM, "the cell's limit");
    if (r == 0) {
        r = record(cell, &leftovers, ret_error);
        if (r && r != -ESRCH && ret_error->step != STEP_KEEPER)
            r = -EUCLEAN; /* an errno that the worker's calls have told is no answer of ours */
    }
    if (r == 0)
        r = make_result(cell, ret_error);
    if (r == 0)
        r = image_find_shared(cell->result, cell->worker, cell->image, cell_outputs(cell),
                              cell->layer == LAYER_LIVE ? cell->session->files.snapshot : NULL, ret_error);
    if (r == 0) {
        cell_lift_limit(cell);
        r = settle_shared(cell, ret_error);
    }
    if (r) {
        kill(cell->worker, SIGKILL);
        cell_end_of(cell, ret_end);
        return r == -ESRCH || r == -ENOMEM || r == -ENOTSUP || r == -EOWNERDEAD ? r : -EUCLEAN;
    }
    cell_begin_left(cell);
    cell->left_processes = leftovers > 0;
    cell->had_children = leftovers > 0 || usage.processes_peak > cell->image->threads.n || has_reaped(cell->worker);
    if (cell->layer == LAYER_LIVE)
        session_files_freeze(cell);
    *ret_end = (struct cell_end){.leftovers = leftovers, .usage = usage};
    return 0;
}

/* Ends the sandbox with all that is in it. The zygote's children are reaped as they end. */
static void end_sandbox(struct cell *cell) {
    if (cell->worker > 0 && !cell->ended)
        kill(cell->worker, SIGKILL);
    if (cell->init.pidfd >= 0)
        system_pidfd_signal(cell->init.pidfd, SIGKILL);
    reap_worker(cell);
}

/*
 * The same, and waits for nothing. A frozen worker's end changes nothing any more: its robust lists and what
 * its threads would clear at their ends are taken back. The worker comes first, for it is reaped last.
 */
static void leave_sandbox(struct cell *cell) {
    kill(cell->worker, SIGKILL);
    system_pidfd_signal(cell->init.pidfd, SIGKILL);
    for (size_t i = 0; i < cell->n_tids; i++)
        killed_add(cell_killed(cell), cell->tids[i]);
    cell->n_tids = 0;
    cell->ended = true;
}

/*
 * Waits for the end of the sandbox: until then the files of its layer take disk, and
 * its dead processes count for the limit of the next cell.
 */
static void await_room(struct cell *cell) {
    if (cell->init.pidfd >= 0 && slices_await(cell->init.pidfd, ROOM_MS))
        return; /* the next cell waits for it */
}

/*
 * As long as a process of the cell is in the middle of a call, it may change
 * what is put back. One that is killed still ends its call; where it does not
 * in time, the image may not be what it was, and is broken.
 */
static void await_gone(const struct cell *cell) {
    int r = cell->init.pidfd >= 0 ? slices_await(cell->init.pidfd, GONE_MS) : 0;
    if (r && cell->image->broken == 0)
        cell->image->broken = r;
    if (r && cell->session->current->broken == 0)
        cell->session->current->broken = r;
}

static void drop_result(struct cell *cell) {
    pid_t killed;
    image_unref(cell->result, &killed);
    killed_add(cell_killed(cell), killed);
    cell->result = NULL;
}

static void cell_free(struct cell *cell) {
    pid_t killed;
    struct cell **at = &cell->session->cells;
    while (*at != cell)
        at = &(*at)->next;
    *at = cell->next;
    image_unref(cell->image, &killed);
    killed_add(&cell->session->killed, killed);
    drop_result(cell);
    threads_fini(&cell->threads);
    if (cell->place >= 0)
        beside_leave(cell->session, cell->place, steal_fd(&cell->init.pidfd), cell->layer, steal_pointer(cell->files));
    snapshot_unpin(cell->files);
    for (size_t i = 0; i < DESCRIPTORS_OUTPUTS; i++)
        close_fd(&cell->outputs[i]);
    close_fd(&cell->memory_fd);
    close_fd(&cell->init.pidfd);
    close_fd(&cell->control_fd);
    close_fd(&cell->names_fd);
    close_fd(&cell->worker_pidfd);
    errand_leave(cell->copy.look);
    errand_leave(cell->measuring);
    errand_leave(cell->left);
    free(cell->made.own);
    free(cell->tids);
    free(cell);
}

struct lesson {
    struct habit *habit;
    pid_t worker;
};

static void learn(void *arg) {
    const struct lesson *lesson = arg;
    habit_learn(lesson->habit, lesson->worker);
}

/* Has the session learn from a cell: from its first ones, and where somebody takes their time from those that have had
 * many faults although what they were expected to write was copied ahead. What is read grows with the cell's memory,
 * and a cell that runs may hold the lock on that. */
static void learn_writes(const struct cell *cell) {
    struct lesson lesson = {cell_habit(cell), cell->worker};
    struct procfs_stat stat;
    if (cell->prefaulted ? process_read_stat(cell->worker, &stat) == 0 && habit_has_to_learn(lesson.habit, stat.faults)
                         : lesson.habit->n_cells < HABIT_FIRST)
        errand_do(learn, &lesson);
}

/* Ends the cell's locks, and what it has set of modes. */
static void end_locks_and_modes(const struct cell *cell) {
    descriptors_end_cell(&cell->image->descriptors, cell->image->keeper, cell_outputs(cell));
}

/* Ends the locks of the new image; its cells take them again. */
static void end_locks(const struct cell *cell) {
    struct image *image = cell->result;
    const struct inject_task keeper = {image->keeper, 0, image->memory_fd, &cell->session->area};
    int r = locks_end(&image->descriptors, &keeper);
    image->broken = r;
}

void cell_commit(struct cell *cell) {
    learn_writes(cell);
    kept_bound_add_cell(cell);
    if (!kept_has(cell->session, cell->image))
        shared_forget(&cell->image->shared);
    if (cell->left_processes) {
        end_sandbox(cell); /* pid 1 ends after all others of its namespace are reaped */
        await_room(cell);
    } else {
        leave_sandbox(cell);
    }
    end_locks_and_modes(cell);
    end_locks(cell);
    cell_reset_oom_score(cell->result->keeper);
    kept_leave(cell->session, cell->image, cell->result);
    session_files_commit(cell);
    session_set_current(cell->session, cell->result);
    cell->result = NULL;
    cell_free(cell);
}

/* Puts the session's files back, once the cell's watches and its keeper don't hold any. Where that fails no cell is
 * made of the image. */
static void put_files_back(struct cell *cell) {
    opened_forget(&cell->session->opened);
    killed_await(&cell->session->killed);
    int r = session_files_restore(cell);
    if (r && cell->image->broken == 0)
        cell->image->broken = r;
}

/* Puts back what the session's cell shared with its image. */
static void put_back(const struct cell *cell) {
    end_locks_and_modes(cell);
    image_put_back_shared(cell->image);
}

/* Undoes what the session's cell has changed. */
static void undo(struct cell *cell) {
    await_gone(cell);
    put_files_back(cell);
    if (cell->started)
        put_back(cell);
}

void cell_discard(struct cell *cell) {
    struct error none;
    if (!cell)
        return;
    if (cell->sandbox_asked)
        (void)cell_take_sandbox(cell, &none); /* or the next cell would get it */
    if (cell->role == CELL_EPHEMERAL && cell->started && !cell->ended)
        learn_writes(cell); /* it may run: then its sample is as good as it gets */
    end_sandbox(cell);
    cell_lift_limit(cell);
    if (cell->keeper > 0) {
        kill(cell->keeper, SIGKILL);
        killed_add(cell_killed(cell), cell->keeper); /* to free a gigabyte takes a while, and the client waits */
    }
    if (cell->role == CELL_EPHEMERAL)
        layer_remove(cell->session->zygote.files_fd, cell->layer); /* of the other kind beside.h does it */
    drop_result(cell); /* what it has open would be kept by the folder's overlay */
    if (cell->role == CELL_OF_SESSION && cell->wrote)
        undo(cell);
    if (cell->role == CELL_OF_SESSION && !cell->started)
        end_locks_and_modes(cell); /* it has taken the image's, and what it could not open anew is the image's own */
    cell_free(cell);
}
