/*
 * session.c - the life of a session, from its options to image 0 and to its end.
 *
 * From the options to image 0: pipes and control socket are made, the zygote is
 * started, and the worker warms up. session_capture() then stops that worker,
 * copies it into the cage as the first keeper and installs the filter there, which
 * every later task inherits; and the files of that moment become the first
 * snapshot. The worker itself is killed: no task of the session runs between two
 * cells.
 */
#define _GNU_SOURCE
#include "sandbox/filter/filter_listener.h"
#include "sandbox/session/cell.h"
#include "sandbox/session/kept.h"

#include "base/cleanup.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/files/folder.h"
#include "sandbox/files/layers.h"
#include "sandbox/inject/helper.h"
#include "sandbox/inject/tracee.h"
#include "sandbox/limits/resources.h"
#include "sandbox/limits/user_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Keepers may have some descriptors more than cells: so one can open what it needs when its cell has used up all. */
enum { EXTRA_DESCRIPTORS = 16, PIPE_BYTES = 1 << 20 };

/* Both ends of everything between us and the worker. */
struct plumbing {
    int control[2], out[2], err[2], trace[2];
};

static void close_pair(int pair[2]) {
    close_fd(&pair[0]);
    close_fd(&pair[1]);
}

static void plumbing_fini(struct plumbing *p) {
    close_pair(p->control);
    close_pair(p->out);
    close_pair(p->err);
    close_pair(p->trace);
}

/* A pipe whose read end does not block; as large as the user may have it. */
static int make_pipe(int pair[2]) {
    if (pipe2(pair, O_CLOEXEC))
        return -errno;
    if (fcntl(pair[1], F_SETPIPE_SZ, PIPE_BYTES) < 0 && errno != EPERM)
        return -errno;
    return fcntl(pair[0], F_SETFL, O_NONBLOCK) ? -errno : 0;
}

static int plumbing_init(struct plumbing *p) {
    *p = (struct plumbing){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    int r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->control) ? -errno : 0;
    if (r == 0 && fcntl(p->control[0], F_SETFL, O_NONBLOCK))
        r = -errno;
    if (r == 0)
        r = make_pipe(p->out);
    if (r == 0)
        r = make_pipe(p->err);
    if (r == 0)
        r = make_pipe(p->trace);
    if (r == 0 && fcntl(p->trace[1], F_SETFL, O_NONBLOCK))
        r = -errno; /* a worker that crashes must not wait there */
    if (r)
        plumbing_fini(p);
    return r;
}

static void take_ends(struct session *session, struct plumbing *p) {
    session->control_fd = steal_fd(&p->control[0]);
    session->outputs[SESSION_STDOUT] = steal_fd(&p->out[0]);
    session->outputs[SESSION_STDERR] = steal_fd(&p->err[0]);
    session->outputs[SESSION_TRACE] = steal_fd(&p->trace[0]);
}

/* Blocks SIGCHLD, so that a stop of a task can be waited for with it; see tracee.h. */
static void block_child_signal(void) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
}

/* Notes the homes that are to be watched, with no time, so that the first look finds them changed. */
static int note_homes(struct session *session, const struct session_options *options) {
    struct folder_rules rules;
    int r = folder_rules_init(&rules, options->folder, options->homes, NULL);
    for (size_t i = 0; r == 0 && session->folder_fd >= 0 && rules.homes[i]; i++)
        r = folder_seen_add(&session->homes, rules.homes[i], &(struct timespec){0});
    if (r == 0)
        folder_rules_fini(&rules);
    return r;
}

int session_hide_added(struct session *session) {
    return folder_seen_renew(&session->homes, session->folder_fd) ? zygote_hide_added(&session->zygote) : 0;
}

static int start(struct session *session, const struct session_options *options, struct error *error) {
    struct plumbing plumbing;
    int r = plumbing_init(&plumbing);
    if (r)
        return step_failed(error, STEP_PIPE, -r, "%s", "");
    struct worker_fds worker_fds = {plumbing.control[1], plumbing.out[1], plumbing.err[1], plumbing.trace[1]};
    r = zygote_start(options, &worker_fds, &session->zygote, &session->worker, error);
    if (r == 0)
        take_ends(session, &plumbing);
    plumbing_fini(&plumbing);
    if (r == 0 && (r = session_outputs_open(&session->outputs_seen, &session->zygote)))
        r = step_failed(error, STEP_LAYER, -r, "outputs");
    if (r)
        return r;
    session->worker_pidfd = system_pidfd_open(session->worker);
    if (session->worker_pidfd < 0)
        return step_failed(error, STEP_ZYGOTE, -session->worker_pidfd, "pidfd_open");
    r = user_limits_lower(session->worker, EXTRA_DESCRIPTORS, &session->descriptors);
    if (r)
        return step_failed(error, STEP_USER_LIMITS, -r, "%s", "");
    r = resources_join(&session->host.groups[SANDBOX_CELLS], session->worker);
    if (r)
        return step_failed(error, STEP_CGROUP, -r, "%s", session_memory_backend(session));
    r = filter_compile(SECCOMP_RET_USER_NOTIF, &session->filter);
    return r ? step_failed(error, STEP_FILTER, -r, "compiling") : 0;
}

int session_create(const struct session_options *options, struct session **ret_session, struct error *ret_error) {
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return step_failed(ret_error, STEP_MEMORY, ENOMEM, "%s", "");
    session->host = *options->host;
    session->next_layer = LAYER_LIVE + 1;
    session->first_cpu = sched_getcpu();
    session->zygote = (struct zygote){-1, -1, -1, -1, {0}};
    session->control_fd = session->worker_pidfd = -1;
    for (size_t i = 0; i < DESCRIPTORS_OUTPUTS; i++)
        session->outputs[i] = -1;
    session->denied_fd = session->folder_fd = session->files.view_fd = -1;
    opened_init(&session->opened);
    session_outputs_init(&session->outputs_seen, options);
    beside_init(session);
    if (options->host->folder_fd >= 0)
        session->folder_fd = fcntl(options->host->folder_fd, F_DUPFD_CLOEXEC, 0);
    block_child_signal();
    session->folder = strdup(options->folder);
    int r = session->folder ? note_homes(session, options) : -ENOMEM;
    r = r ? step_failed(ret_error, STEP_MEMORY, -r, "%s", "") : start(session, options, ret_error);
    if (r)
        session_destroy(session);
    else
        *ret_session = session;
    return r;
}

/* Ends the session's first process, with threads that may be tracees. */
static void end_worker(struct session *session) {
    kill(session->worker, SIGKILL);
    tracee_reap_process(session->worker, NULL);
    session->worker = 0;
}

void session_destroy(struct session *session) {
    pid_t killed;
    if (!session)
        return;
    if (session->worker > 0)
        end_worker(session);
    beside_fini(session);
    kept_fini(session);
    image_unref(session->current, &killed);
    killed_add(&session->killed, killed);
    image_unref(session->first, &killed);
    killed_add(&session->killed, killed);
    killed_await(&session->killed);
    killed_await(&session->killed_ephemeral);
    session_files_end(session);
    zygote_stop(&session->zygote);
    close_fd(&session->worker_pidfd);
    close_fd(&session->control_fd);
    for (size_t i = 0; i < DESCRIPTORS_OUTPUTS; i++)
        close_fd(&session->outputs[i]);
    close_fd(&session->denied_fd);
    close_fd(&session->folder_fd);
    session_outputs_fini(&session->outputs_seen);
    opened_fini(&session->opened);
    folder_seen_fini(&session->homes);
    free(session->folder);
    filter_fini(&session->filter);
    huge_pages_fini(&session->huge);
    free(session);
}

struct session_view session_view(const struct session *session) {
    return session->zygote.view;
}

int session_control_fd(const struct session *session) {
    return session->control_fd;
}

int session_exit_fd(const struct session *session) {
    return session->worker_pidfd;
}

int session_stdout_fd(const struct session *session) {
    return session->outputs[SESSION_STDOUT];
}

int session_denied_fd(const struct session *session) {
    return session->denied_fd;
}

/* The cell in whose sandbox a task is; NULL where there is none. */
static const struct cell *find_cell(const struct session *session, pid_t pid) {
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
    const struct cell *cell = stat(path, &st) ? NULL : session->cells;
    while (cell && cell->pid_namespace != st.st_ino)
        cell = cell->next;
    return cell;
}

int session_take_denied(struct session *session, struct denied_call *ret_call) {
    pid_t pid;
    int r = filter_listener_take(session->denied_fd, ret_call, &pid);
    if (r == 0 && strcmp(ret_call->syscall, "memfd_create") == 0)
        session->memories++;
    if (r == 1) {
        const struct cell *cell = find_cell(session, pid);
        ret_call->cell = cell && cell->role != CELL_EPHEMERAL ? cell : NULL;
    }
    return r;
}

int session_stderr_fd(const struct session *session) {
    return session->outputs[SESSION_STDERR];
}

unsigned session_take_strays(struct session *session) {
    unsigned n = session->strays;
    session->strays = 0;
    return n;
}

bool session_settle(struct session *session) {
    killed_reap(&session->killed);
    killed_reap(&session->killed_ephemeral);
    const bool more = beside_settle(session);
    return more || session->killed.n > 0 || session->killed_ephemeral.n > 0;
}

/* The first keeper gives up, in the cage, what it has; all later ones are its copies. */
static int settle_keeper(const struct inject_task *keeper, int init_fd) {
    int r = helper_do(keeper, (struct inject_call){.number = SYS_close, .argument = {(uint64_t)init_fd}});
    if (r == 0)
        r = helper_do(keeper, (struct inject_call){.number = SYS_prctl, .argument = {PR_SET_DUMPABLE, 1}});
    for (uint64_t cap = 0; r == 0 && cap <= CAP_LAST_CAP; cap++)
        r = helper_do(keeper, (struct inject_call){.number = SYS_prctl, .argument = {PR_CAPBSET_DROP, cap}});
    return r ? r : helper_keep_capabilities(keeper, 0);
}

/*
 * Makes a keeper of a copy of the stopped worker: a new task on its memory, in
 * the cage. A new task has no restartable sequences, no robust list and no
 * signal stack; so no keeper has, for all are copies of this one.
 */
static int make_first_keeper(struct session *session, const struct image *worker, pid_t *ret_keeper, int *ret_memory_fd,
                             struct error *error) {
    const struct helper_target target = {.init = session->zygote.cage};
    pid_t copy = 0, keeper = 0;
    int memory_fd = -1, init_fd = -1;
    int r = image_copy_keeper(worker, &session->area, &copy, &memory_fd);
    if (r)
        return step_failed(error, STEP_IMAGE, -r, "%s", "");
    const struct inject_task outside = {copy, 0, memory_fd, &session->area};
    r = helper_spawn(&outside, &target, &keeper, &init_fd, error);
    tracee_kill(copy);
    const struct inject_task inside = {keeper, 0, memory_fd, &session->area};
    if (r == 0 && (r = settle_keeper(&inside, init_fd)))
        r = step_failed(error, STEP_CREDENTIALS, -r, "the first keeper");
    if (r) {
        close_fd(&memory_fd);
        killed_add(&session->killed, keeper);
        if (keeper > 0)
            kill(keeper, SIGKILL);
        return r;
    }
    *ret_keeper = keeper;
    *ret_memory_fd = memory_fd;
    return 0;
}

/* Records the stopped worker's threads. */
static int record_worker(struct session *session, int memory_fd, const pid_t *tids, size_t n,
                         struct threads *ret_threads) {
    int r = inject_make_area(session->worker, memory_fd, &session->area);
    if (r == 0)
        r = threads_record_registers(tids, n, ret_threads);
    return r ? r : threads_record_registrations(tids, memory_fd, &session->area, ret_threads);
}

/* Records the stopped worker and gives its memory to a keeper. */
static int make_first_image(struct session *session, const pid_t *tids, size_t n, struct error *error) {
    struct threads threads = {0};
    pid_t keeper = 0;
    int memory_fd = -1;
    auto_fd worker_memory = tracee_open_memory(session->worker);
    if (worker_memory < 0)
        return step_failed(error, STEP_PTRACE, -worker_memory, "/proc/pid/mem");
    int r = record_worker(session, worker_memory, tids, n, &threads);
    const struct image worker = {.keeper = session->worker, .memory_fd = worker_memory, .threads = threads};
    r = r ? step_failed(error, STEP_INJECT, -r, "recording the worker")
          : make_first_keeper(session, &worker, &keeper, &memory_fd, error);
    if (r) {
        threads_fini(&threads);
        return r;
    }
    struct image *image = image_create(keeper, memory_fd, &threads);
    if (!image) {
        threads_fini(&threads);
        close_fd(&memory_fd);
        kill(keeper, SIGKILL);
        killed_add(&session->killed, keeper);
        return step_failed(error, STEP_MEMORY, ENOMEM, "%s", "");
    }
    r = prefault_keep_tables(image->keeper, image->memory_fd);
    if (r == 0)
        r = image_read_place(image, session->worker);
    session->first = image;
    session->current = image_ref(image);
    if (r)
        return step_failed(error, STEP_IMAGE, -r, "working directory");
    return image_find_shared(image, session->worker, NULL, session->outputs, NULL, error);
}

static struct inject_task first_keeper(const struct session *session) {
    const struct image *image = session->first;
    return (struct inject_task){image->keeper, 0, image->memory_fd, &session->area};
}

/* Takes the listener out of the keeper, so that this process alone has it. */
static int take_listener(struct session *session, int fd) {
    const struct inject_task keeper = first_keeper(session);
    auto_fd pidfd = system_pidfd_open(keeper.tid);
    session->denied_fd = pidfd < 0 ? pidfd : system_pidfd_getfd(pidfd, fd);
    if (session->denied_fd < 0)
        return session->denied_fd;
    return helper_do(&keeper, (struct inject_call){.number = SYS_close, .argument = {(uint64_t)fd}});
}

/* Has the first keeper install the filter, with these flags of seccomp(2). What the call returns, or -errno. */
static int put_filter(const struct session *session, unsigned flags) {
    const struct filter *filter = &session->filter;
    const uint64_t at = session->area.scratch;
    struct {
        uint16_t n;
        uint64_t program;
    } header = {.n = (uint16_t)filter->n, .program = at + sizeof header};
    unsigned char put[INJECT_SCRATCH_BYTES];
    size_t bytes = filter->n * sizeof *filter->program;
    if (sizeof header + bytes > sizeof put)
        return -E2BIG;
    memcpy(put, &header, sizeof header);
    memcpy(put + sizeof header, filter->program, bytes);
    const struct inject_task keeper = first_keeper(session);
    const struct inject_memory memory = {at, put, sizeof header + bytes};
    struct inject_call call = {.number = SYS_seccomp, .argument = {SECCOMP_SET_MODE_FILTER, flags, at}};
    int r = inject_checked(&keeper, &call, &memory, NULL);
    return r ? r : inject_result_descriptor(call.result);
}

/* Puts every task under a filter that refuses the same calls, and tells of none. */
static int install_silent_filter(struct session *session) {
    filter_fini(&session->filter);
    int r = filter_compile(SECCOMP_RET_ERRNO, &session->filter);
    return r ? r : put_filter(session, 0);
}

/*
 * Puts the first keeper, and so every task to come, under the filter. It has
 * no_new_privs from its start. Of all filters of a task one alone may have a
 * listener; where a container's runtime has it, refused calls go unreported.
 */
static int install_filter(struct session *session) {
    const int fd = put_filter(session, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    if (fd == -EBUSY)
        return install_silent_filter(session);
    return fd < 0 ? fd : take_listener(session, fd);
}

int session_capture(struct session *session, struct error *ret_error) {
    auto_free pid_t *tids = NULL;
    size_t n = 0;
    int r = threads_stop(session->worker, &tids, &n);
    if (r)
        return step_failed(ret_error, r == -EPERM ? STEP_PTRACE : STEP_THREADS, -r, "%s", "");
    r = make_first_image(session, tids, n, ret_error);
    int filtered = r == 0 ? install_filter(session) : 0;
    if (filtered)
        r = step_failed(ret_error, STEP_FILTER, -filtered, "%s", "");
    end_worker(session);
    close_fd(&session->worker_pidfd);
    close_fd(&session->control_fd);
    if (r == 0)
        r = session_files_begin(session);
    if (r == 0)
        kept_bound_begin(session);
    return r < 0 && ret_error->step == STEP_NONE ? step_failed(ret_error, STEP_LAYER, -r, "committing") : r;
}
