/*
 * zygote.c - the zygote, and the kernel process' end of its socket.
 *
 * It is the program started anew, with nothing of the kernel's memory: the options
 * of the session come in a memfd (zygote_options.h), the descriptors at fixed
 * numbers. It unshares a mount namespace, builds the template there, makes the
 * cage and starts the worker. Then it serves one request after the other.
 *
 * One sandbox is always prepared: its namespaces, root and /proc are made before
 * it is requested, and only the layer is missing. A request uses it up, and the next
 * one is prepared once the answer is sent, while the kernel goes on. A prepared
 * sandbox has the mounts of its time; so whatever mounts the session's folder anew
 * discards it first.
 *
 * Requests are answered in order, and one that asks for a sandbox is answered
 * later than it is sent: so nothing else may be asked while one is outstanding.
 */
#define _GNU_SOURCE
#include "zygote.h"

#include "base/cleanup.h"
#include "base/slices.h"
#include "sandbox/base/difference.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/files/folder.h"
#include "sandbox/files/layers.h"
#include "sandbox/files/outputs.h"
#include "sandbox/mounts/mounts.h"
#include "sandbox/spawn/channel.h"
#include "sandbox/spawn/spawn.h"
#include "sandbox/spawn/zygote_options.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

enum { STOP_MS = 2000, ANSWER_MS = 5 };

#define ZYGOTE_NAME "petri-zygote"

/* More than a sandbox takes of the session's files: its layer's folders, and what overlays make in theirs. */
enum { SANDBOX_INODES = 64, SANDBOX_BYTES = 1 << 20 };

/* One answer of the zygote. */
struct answer {
    int result;
    struct sandbox_init init; /* a sandbox's, or the cage's; without its pidfd */
    pid_t worker;             /* in the first */
    struct session_view view; /* the same */
    struct error error;
};

struct request {
    enum {
        REQUEST_SANDBOX,
        REQUEST_RAISE_LIMIT,
        REQUEST_LOWER_LIMIT,
        REQUEST_HIDE,
        REQUEST_REFRESH,
        REQUEST_RENEW
    } what;
    uint64_t layer; /* of a sandbox */
};

static int answer(int socket, struct answer packet) {
    return channel_send(socket, &packet, sizeof packet, -1);
}

/* Puts whiteouts for the hidden entries of the folder's homes, and for those that have been added since the last time.
 */
static int hide_entries(struct template *template, int files_fd) {
    if (!template->rules.homes[0] || template->options->host->folder_fd < 0 || template->submounts.used)
        return 0;
    auto_fd folder_fd = open(MOUNTS_FOLDER_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_fd layer_fd = openat(files_fd, "kept/hidden", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder_fd < 0 || layer_fd < 0 ? -errno : folder_hide(folder_fd, layer_fd, &template->rules, &template->seen);
}

/* Makes the folders that the parts of the notebook's folder need in a layer. */
static int make_parts(const struct template *template, int files_fd, const char *folder, const char *work) {
    const struct sandbox_host *host = template->options->host;
    if (template->submounts.n == 0)
        return 0;
    auto_fd from_fd = open(MOUNTS_PARTED_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd folder_fd = openat(files_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd work_fd = openat(files_fd, work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return from_fd < 0 || folder_fd < 0 || work_fd < 0 ? -errno
                                                       : submounts_prepare(&template->submounts, from_fd, folder_fd,
                                                                           work_fd, host->worker_uid, host->worker_gid);
}

/* What is copied out was there before, or is hidden. */
static int hide_outputs(const struct template *template, int files_fd) {
    if (template->options->host->folder_fd < 0)
        return 0;
    auto_fd folder_fd = open(MOUNTS_FOLDER_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return folder_fd < 0 ? -errno : outputs_hide(template->options, files_fd, folder_fd);
}

/* Makes the live files, and shows them. */
static int prepare(struct template *template, int files_fd, struct error *error) {
    const struct session_options *options = template->options;
    uid_t uid = options->host->worker_uid;
    gid_t gid = options->host->worker_gid;
    int r = layers_init(files_fd, uid, gid);
    for (int i = 0; r == 0 && i < template->n_on_top; i++)
        r = layers_make_mount_point(files_fd, template->on_top[i], !mounts_is_file_on_top(i), uid, gid);
    if (r == 0 && mounts_shows_folder_path(options))
        r = layers_make_mount_point(files_fd, options->folder, true, uid, gid);
    if (r == 0)
        r = make_parts(template, files_fd, "live/files/folder", "live");
    if (r == 0)
        r = hide_entries(template, files_fd);
    if (r == 0)
        r = hide_outputs(template, files_fd);
    return r ? step_failed(error, STEP_LAYER, -r, "the session's") : mounts_show_session(template, error);
}

static int create_layer(const struct template *template, int files_fd, uint64_t layer) {
    const struct sandbox_host *host = template->options->host;
    char name[LAYER_NAME_SIZE], folder[LAYER_NAME_SIZE + 16];
    layer_name(layer, name);
    snprintf(folder, sizeof folder, "%s/folder", name);
    int r = layer_create(files_fd, layer, host->worker_uid, host->worker_gid);
    return r ? r : make_parts(template, files_fd, folder, name);
}

/* Of the session's files: what they take, or what may be added. */
struct room {
    uint64_t bytes, inodes;
};

static int measure_room(int files_fd, const char *which, struct room *ret_taken, struct room *ret_left) {
    struct statvfs now;
    auto_fd fd = openat(files_fd, which, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstatvfs(fd, &now))
        return -errno;
    *ret_taken = (struct room){(now.f_blocks - now.f_bfree) * now.f_frsize, now.f_files - now.f_ffree};
    *ret_left = (struct room){now.f_bfree * now.f_frsize, now.f_ffree};
    return 0;
}

/*
 * Cells may use up all the room that there is for layers, and go on: what a
 * sandbox takes before its cell runs is added to the limit. Returns 1 where it was,
 * or -errno.
 */
static int add_room(int files_fd) {
    struct room taken = {0}, left = {0};
    int r = measure_room(files_fd, "cells", &taken, &left);
    if (r || (left.inodes >= SANDBOX_INODES && left.bytes >= SANDBOX_BYTES))
        return r;
    r = mounts_set_room(MOUNTS_CELLS_FILES, taken.bytes + SANDBOX_BYTES, taken.inodes + SANDBOX_INODES);
    return r ? r : 1;
}

/* Puts a limit back: what is taken may stay, and nothing may be added beyond the session's limits. */
static int restore_limit(const struct session_options *options, int files_fd, enum mounts_files which) {
    struct room taken = {0}, left = {0};
    int r = measure_room(files_fd, which == MOUNTS_LIVE_FILES ? "live" : "cells", &taken, &left);
    return r ? r
             : mounts_set_room(which, taken.bytes + positive_difference(options->disk_bytes, taken.bytes),
                               taken.inodes + positive_difference(options->disk_inodes, taken.inodes));
}

/* Guards and files that lie aside count for the limit, too: there may be as many of them as files. */
static int raise_file_limit(const struct session_options *options, int files_fd) {
    struct room taken = {0}, left = {0};
    int r = measure_room(files_fd, "live", &taken, &left);
    return r ? r
             : mounts_set_room(MOUNTS_LIVE_FILES, taken.bytes + options->disk_bytes + SANDBOX_BYTES,
                               taken.inodes + 2 * options->disk_inodes + SANDBOX_INODES);
}

static int make_layer(struct template *template, int files_fd, uint64_t layer, struct error *error) {
    int r = hide_entries(template, files_fd);
    if (r)
        return step_failed(error, STEP_FOLDER, -r, "hiding entries of a home");
    r = layer == LAYER_LIVE ? 0 : create_layer(template, files_fd, layer);
    return r ? step_failed(error, STEP_LAYER, -r, "%s", r == -ENOSPC ? "the disk limit is reached" : "") : 0;
}

/* What the zygote has. */
struct state {
    struct spawn_context context;
    int files_fd; /* root of the session's files */
    int socket;
};

/*
 * A host name for all that is spawned from here: a new UTS namespace begins with a
 * copy of its maker's names. A container's filter may refuse either call, and no
 * promise depends on them: then cells see the container's own names.
 */
static void name_host(void) {
    static const char name[] = "petri", domain[] = "(none)";
    if (unshare(CLONE_NEWUTS))
        return;
    (void)!sethostname(name, sizeof name - 1);
    (void)!setdomainname(domain, sizeof domain - 1);
}

/* Builds the template, makes the cage and starts the worker. */
static int prepare_state(const struct session_options *options, const struct worker_fds *worker_fds,
                         struct state *state, struct answer *first) {
    struct template *template = state->context.template;
    struct error *error = &first->error;
    init_leave_out_libraries();
    int r = init_find_kept(&state->context.kept);
    if (r)
        return step_failed(error, STEP_ZYGOTE, -r, "/proc/self/maps");
    if (unshare(CLONE_NEWNS))
        return step_failed(error, STEP_MOUNT_NAMESPACE, errno, "%s", "");
    name_host();
    r = mounts_build_template(options, template, error);
    if (r == 0 && (state->files_fd = open(MOUNTS_FILES_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        r = step_failed(error, STEP_LAYER, errno, MOUNTS_FILES_DIR);
    if (r == 0)
        r = prepare(template, state->files_fd, error);
    if (r == 0)
        r = spawn_cage(&state->context, error);
    if (r == 0)
        r = spawn_worker(template, worker_fds, &first->worker, error);
    first->init.pid = state->context.cage;
    first->view = template->submounts.view;
    return r;
}

/* Finishes the prepared sandbox, or else a new one: somebody may have killed that while it waited. */
static int finish_sandbox(const struct state *state, struct prepared *prepared, uint64_t layer,
                          struct sandbox_init *ret_init, struct error *error) {
    int r = -ESRCH;
    for (int tries = prepared->pid ? 2 : 1; r && tries > 0; tries--) {
        r = prepared->pid ? 0 : spawn_prepare(&state->context, prepared, error);
        *ret_init = (struct sandbox_init){.pid = prepared->pid, .pid_in_cage = prepared->pid_in_cage};
        if (r == 0)
            r = spawn_finish(prepared, layer, error);
        *prepared = (struct prepared){0};
    }
    return r;
}

/* Makes the sandbox asked for, from the prepared one or from a new one. */
static int make_sandbox(const struct state *state, uint64_t layer, struct prepared *ready,
                        struct sandbox_init *ret_init, struct error *error) {
    struct template *template = state->context.template;
    const int files_fd = state->files_fd;
    struct prepared prepared = *ready;
    *ready = (struct prepared){0};
    int added = layer == LAYER_LIVE ? 0 : add_room(files_fd);
    int r = added < 0 ? step_failed(error, STEP_LAYER, -added, "room") : make_layer(template, files_fd, layer, error);
    if (r == 0)
        r = finish_sandbox(state, &prepared, layer, ret_init, error);
    int ended = added > 0 ? restore_limit(template->options, files_fd, MOUNTS_CELLS_FILES) : 0;
    return r || ended == 0 ? r : step_failed(error, STEP_LAYER, -ended, "room");
}

/* A prepared sandbox has the mounts that there were when it was made. The new mount needs some names, and the session's
 * files may have taken all. */
static int renew(const struct state *state, struct prepared *ready, struct error *error) {
    const struct template *template = state->context.template;
    if (ready->pid)
        spawn_discard(ready);
    int r = raise_file_limit(template->options, state->files_fd);
    if (r)
        return step_failed(error, STEP_LAYER, -r, "room");
    r = mounts_renew_session(template, error);
    int ended = restore_limit(template->options, state->files_fd, MOUNTS_LIVE_FILES);
    return r || ended == 0 ? r : step_failed(error, STEP_LAYER, -ended, "room");
}

/* Does what is answered with a result alone. */
static int serve_request(const struct state *state, const struct request *request, struct prepared *ready) {
    struct answer packet = {0};
    struct template *template = state->context.template;
    int r = 0;
    switch (request->what) {
    case REQUEST_RAISE_LIMIT:
        r = raise_file_limit(template->options, state->files_fd);
        break;
    case REQUEST_LOWER_LIMIT:
        r = restore_limit(template->options, state->files_fd, MOUNTS_LIVE_FILES);
        break;
    case REQUEST_HIDE:
        r = hide_entries(template, state->files_fd);
        if (r == 0)
            r = mounts_refresh_session(template);
        break;
    case REQUEST_REFRESH:
        r = mounts_refresh_session(template);
        break;
    case REQUEST_RENEW:
        r = renew(state, ready, &packet.error);
        break;
    case REQUEST_SANDBOX:
        r = make_sandbox(state, request->layer, ready, &packet.init, &packet.error);
        break;
    }
    packet.result = r;
    return answer(state->socket, packet);
}

/* Answers requests; before each, prepares a sandbox if none is, for its namespaces are most of the work. */
static void serve(const struct state *state) {
    struct prepared ready = {0};
    struct request request;
    int none, r = 0;
    while (r == 0) {
        struct error error = {0};
        if (ready.pid == 0 && spawn_prepare(&state->context, &ready, &error))
            ready = (struct prepared){0}; /* the request tries again, and its answer says what failed */
        if (channel_receive(state->socket, &request, sizeof request, &none))
            return;
        r = serve_request(state, &request, &ready);
    }
}

/* The whole life of the zygote. Ended children need no wait: they are reaped as they end. */
static void zygote_main(const struct session_options *options, const struct worker_fds *worker_fds, int socket) {
    prctl(PR_SET_NAME, ZYGOTE_NAME);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN); /* a prepared sandbox may have been killed; the worker resets all signals */
    struct answer first = {0};
    struct state state = {
        .context.template = calloc(1, sizeof *state.context.template), .files_fd = -1, .socket = socket};
    first.result = state.context.template ? prepare_state(options, worker_fds, &state, &first)
                                          : step_failed(&first.error, STEP_MEMORY, ENOMEM, "%s", "");
    int sent = channel_send(socket, &first, sizeof first, first.result ? -1 : state.files_fd);
    if (sent == 0 && first.result == 0) {
        close(worker_fds->control_fd);
        close(worker_fds->stdout_fd);
        close(worker_fds->stderr_fd);
        close(worker_fds->trace_fd);
        serve(&state);
    }
    _exit(0);
}

/* The descriptors that it is started with, by number. */
enum { SOCKET_FD = 3, OPTIONS_FD, CONTROL_FD, STDOUT_FD, STDERR_FD, TRACE_FD, FOLDER_FD, END_FD };

void sandbox_begin(void) {
    struct zygote_options parsed;
    const struct worker_fds worker_fds = {CONTROL_FD, STDOUT_FD, STDERR_FD, TRACE_FD};
    if (strcmp(program_invocation_name, ZYGOTE_NAME) != 0)
        return;
    for (int fd = SOCKET_FD; fd < END_FD; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (zygote_options_read(OPTIONS_FD, &parsed))
        _exit(1);
    close(OPTIONS_FD);
    parsed.options.host = &parsed.host;
    parsed.host.folder_fd = parsed.has_folder_fd ? FOLDER_FD : -1;
    zygote_main(&parsed.options, &worker_fds, SOCKET_FD);
}

/* Puts the descriptors in their places, and closes all others. */
static int arrange_descriptors(const int from[END_FD]) {
    int high[END_FD];
    for (int fd = SOCKET_FD; fd < END_FD; fd++)
        if ((high[fd] = from[fd] < 0 ? -1 : fcntl(from[fd], F_DUPFD_CLOEXEC, 64)) < 0 && from[fd] >= 0)
            return -errno;
    for (int fd = SOCKET_FD; fd < END_FD; fd++)
        if (high[fd] >= 0 ? dup2(high[fd], fd) < 0 : close(fd) && errno != EBADF)
            return -errno;
    return close_range(END_FD, ~0U, 0) ? -errno : 0;
}

/* LD_LIBRARY_PATH, by which a program that is not installed finds its libraries, is all of the environment that is
 * passed on. */
static void leave_out_path(char *buf, size_t size, char *ret_env[2]) {
    const char *path = getenv("LD_LIBRARY_PATH");
    int n = path ? snprintf(buf, size, "LD_LIBRARY_PATH=%s", path) : -1;
    ret_env[0] = n >= 0 && (size_t)n < size ? buf : NULL;
    ret_env[1] = NULL;
}

/* In a copy of the kernel process: starts the program anew, as the zygote. */
static void become_zygote(const int from[END_FD]) {
    static char name[] = ZYGOTE_NAME;
    char *env[2], path[PATH_MAX], *argv[] = {name, NULL};
    struct answer failed = {0};
    leave_out_path(path, sizeof path, env);
    int r = arrange_descriptors(from);
    if (r == 0) {
        execve("/proc/self/exe", argv, env);
        r = -errno;
    }
    failed.result = step_failed(&failed.error, STEP_ZYGOTE, -r, "starting it");
    (void)answer(r == -EMFILE ? from[SOCKET_FD] : SOCKET_FD, failed);
    _exit(1);
}

/* Waits for what the zygote says once it is ready. 0 or -errno. */
static int await_zygote(int socket, pid_t pid, struct zygote *ret_zygote, pid_t *ret_worker, struct error *error) {
    int files_fd = -1;
    struct answer first;
    int r = channel_receive(socket, &first, sizeof first, &files_fd);
    if (r)
        return step_failed(error, STEP_ZYGOTE, -r, "starting");
    if (first.result) {
        close_fd(&files_fd);
        *error = first.error;
        return first.result;
    }
    *ret_zygote =
        (struct zygote){.pid = pid, .cage = first.init.pid, .socket = socket, .files_fd = files_fd, .view = first.view};
    *ret_worker = first.worker;
    return 0;
}

int zygote_start(const struct session_options *options, const struct worker_fds *worker_fds, struct zygote *ret_zygote,
                 pid_t *ret_worker, struct error *ret_error) {
    int pair[2];
    auto_fd options_fd = zygote_options_write(options);
    if (options_fd < 0)
        return step_failed(ret_error, STEP_ZYGOTE, -options_fd, "writing its options");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return step_failed(ret_error, STEP_PIPE, errno, "%s", "");
    auto_fd ours = pair[0], theirs = pair[1];
    pid_t pid = fork();
    if (pid == 0)
        become_zygote((const int[END_FD]){[SOCKET_FD] = theirs,
                                          [OPTIONS_FD] = options_fd,
                                          [CONTROL_FD] = worker_fds->control_fd,
                                          [STDOUT_FD] = worker_fds->stdout_fd,
                                          [STDERR_FD] = worker_fds->stderr_fd,
                                          [TRACE_FD] = worker_fds->trace_fd,
                                          [FOLDER_FD] = options->host->folder_fd});
    close_fd(&theirs);
    if (pid < 0)
        return step_failed(ret_error, STEP_FORK, errno, "%s", "");
    int r = await_zygote(ours, pid, ret_zygote, ret_worker, ret_error);
    if (r == 0) {
        (void)steal_fd(&ours);
        return 0;
    }
    close_fd(&ours);
    waitpid(pid, NULL, 0);
    return r;
}

/*
 * Ends the cage first, with all that is in it: its inits are children of the
 * zygote, which reaps them; without it they would be left to us. Then the zygote,
 * by closing its socket: killed while it prepares a sandbox, it would leave us the
 * process that it has sent into the cage.
 */
void zygote_stop(struct zygote *zygote) {
    auto_fd cage_fd = zygote->cage > 0 ? system_pidfd_open(zygote->cage) : -1;
    auto_fd zygote_fd = zygote->pid > 0 ? system_pidfd_open(zygote->pid) : -1;
    if (cage_fd >= 0 && system_pidfd_signal(cage_fd, SIGKILL) == 0)
        (void)slices_await(cage_fd, STOP_MS);
    close_fd(&zygote->socket);
    close_fd(&zygote->files_fd);
    if (zygote_fd >= 0)
        (void)slices_await(zygote_fd, STOP_MS);
    if (zygote->pid > 0) {
        kill(zygote->pid, SIGKILL);
        waitpid(zygote->pid, NULL, 0);
    }
    *zygote = (struct zygote){-1, -1, -1, -1, {0}};
}

bool zygote_has_ended(const struct zygote *zygote) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)zygote->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == zygote->pid;
}

int zygote_request_sandbox(const struct zygote *zygote, uint64_t layer, struct error *ret_error) {
    struct request request = {.what = REQUEST_SANDBOX, .layer = layer};
    int r = channel_send(zygote->socket, &request, sizeof request, -1);
    return r ? step_failed(ret_error, STEP_ZYGOTE, -r, "asking for a sandbox") : 0;
}

/* Linux forgets names for a request, as many as cells have made. */
static void await_answer(int socket) {
    struct pollfd answer = {.fd = socket, .events = POLLIN};
    while (poll(&answer, 1, ANSWER_MS) == 0)
        slices_wait();
}

static int ask_and_await(const struct zygote *zygote, struct request request) {
    struct answer packet;
    int none, r = channel_send(zygote->socket, &request, sizeof request, -1);
    if (r == 0)
        await_answer(zygote->socket);
    if (r == 0)
        r = channel_receive(zygote->socket, &packet, sizeof packet, &none);
    return r ? r : packet.result;
}

int zygote_raise_file_limit(const struct zygote *zygote) {
    return ask_and_await(zygote, (struct request){.what = REQUEST_RAISE_LIMIT});
}

int zygote_lower_file_limit(const struct zygote *zygote) {
    return ask_and_await(zygote, (struct request){.what = REQUEST_LOWER_LIMIT});
}

int zygote_hide_added(const struct zygote *zygote) {
    return ask_and_await(zygote, (struct request){.what = REQUEST_HIDE});
}

int zygote_refresh(const struct zygote *zygote) {
    return ask_and_await(zygote, (struct request){.what = REQUEST_REFRESH});
}

int zygote_renew(const struct zygote *zygote) {
    return ask_and_await(zygote, (struct request){.what = REQUEST_RENEW});
}

int zygote_take_sandbox(const struct zygote *zygote, struct sandbox_init *ret_init, struct error *ret_error) {
    struct answer packet;
    int none, r = channel_receive(zygote->socket, &packet, sizeof packet, &none);
    if (r)
        return step_failed(ret_error, STEP_ZYGOTE, -r, "taking a sandbox");
    if (packet.result) {
        *ret_error = packet.error;
        return packet.result;
    }
    int pidfd = system_pidfd_open(packet.init.pid);
    if (pidfd < 0)
        return step_failed(ret_error, STEP_ZYGOTE, -pidfd, "pidfd_open");
    *ret_init = packet.init;
    ret_init->pidfd = pidfd;
    return 0;
}
