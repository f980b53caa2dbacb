/*
 * sandbox.h - images, sandboxes and cells: all of this folder that others may include.
 *
 * A *session* is one notebook: its namespaces, its files and its state. The
 * state is an *image*: an address space with a file table and the registers of
 * each thread, held by a keeper task that never runs. A *cell* is a copy of an
 * image, placed into namespaces that did not exist before it. A cell ends in
 * one of two ways: cell_commit() makes what it has become the session's image,
 * cell_discard() leaves the session's image as it was.
 *
 * All functions must be called from one thread, the one that called
 * session_create(): ptrace(2) ties a tracee to its tracing thread. That call
 * blocks SIGCHLD in it, and it must stay blocked, there and in all threads. None of
 * them logs or exits. Functions return 0 or -errno; outputs come last, are
 * named ret_, and are untouched on failure. Nothing here waits for code of a
 * cell; every call is bounded by the kernel's own work: some milliseconds, and at the
 * end of a session's own cell as long as its files take to be kept or put back; but
 * others get their turn meanwhile (base/slices.h), who may call cell_measure(),
 * cell_measure_last(), cell_kill(), cell_signal() and what only tells something, and
 * no other function here.
 *
 * See: docs/sandbox.md, ptrace(2), namespaces(7), compel in CRIU.
 */
#ifndef PETRI_SANDBOX_H
#define PETRI_SANDBOX_H

#include "base/cleanup.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;
struct cell;

/*
 * To be called first in main() of a program that makes sessions. A session has a
 * process that is the same program started anew, and so has nothing of the memory and
 * the environment of the one that started it: in that process this never returns. In
 * any other it does nothing.
 */
void sandbox_begin(void);

/*
 * What fails here fills an error with the step that failed, its errno (0 where the
 * step failed without one), and as its text a clause: what it failed on. This
 * makes it one sentence for a person: what failed, why, and how to mend it. Writes
 * at most size bytes with the NUL into buf and returns buf.
 */
const char *sandbox_error_text(const struct error *error, char *buf, size_t size);

/* How to mend it: the end of that sentence, constant, for who knows it better; "" where nothing is known. */
const char *sandbox_error_mend(const struct error *error);

/*
 * Whether it is what a security module such as AppArmor does to user namespaces: it refuses them with EACCES, which
 * seccomp's filters and the switches of Linux don't, or takes the privileges away that map their ids.
 */
bool sandbox_error_is_of_module(const struct error *error);

/* A control group of the session's: its folders, or -1. See: cgroups(7). */
struct resources_group {
    int memory_fd;
    int cpu_fd;
    int pids_fd; /* of a group of its own that counts processes; -1 where none does, or the one of memory_fd */
};
struct resources_backend;

/* The most that the cells of all sessions of a user may have together; 0 for no bound. */
struct sandbox_bounds {
    uint64_t memory_bytes;
    uint64_t processes; /* and threads */
};

/* The groups of a session: one for its own cells and their images, one for all ephemeral cells, and one for each place
 * beside the session's own cell. */
enum { SANDBOX_BESIDE_MAX = 17 }; /* one more than run at once: a place is not free as soon as its cell is discarded */
enum sandbox_group {
    SANDBOX_CELLS,
    SANDBOX_EPHEMERAL,
    SANDBOX_BESIDE,
    SANDBOX_GROUPS = SANDBOX_BESIDE + SANDBOX_BESIDE_MAX,
};

/* The host, as sandbox_enter() has found and prepared it; plain values, kept by the caller for session_create(). */
struct sandbox_host {
    unsigned worker_uid; /* in this process' user namespace: the user that cells are on the outside */
    unsigned worker_gid;
    int folder_fd; /* a detached mount of the notebook's folder, owned; -1 where cells see none */
    const struct resources_backend *backend; /* NULL where no control group is to be had: then processes are watched */
    struct resources_group groups[SANDBOX_GROUPS]; /* by enum sandbox_group */
    unsigned n_beside;             /* how many cells there may be beside the session's own: by the processors */
    int common_fd;                 /* of the group above those of all sessions of the user; -1 for none */
    struct sandbox_bounds bounded; /* what Linux enforces of the bounds that were asked for; 0: it does not */
};

/*
 * The notebook's folder: it is known by its descriptor alone, for users who may
 * rename a folder above it can change what its name leads to.
 */
struct sandbox_folder {
    int fd;         /* the caller's, O_PATH is enough; -1: cells have an empty folder of their own */
    bool map_owner; /* as root: cells read what its owner may, and not only what everybody may */
    bool map_group; /* and what its group may, which so should be one of its owner's */
};

/*
 * Goes into a user, pid and mount namespace of its own. Returns 0 in a new
 * process, pid 1 of that namespace; the process that called stays behind,
 * passes SIGINT, SIGTERM and SIGHUP on, dies with the new one and exits with
 * its status: it never returns from here. On failure returns -errno in the
 * process that called, which may go on without sandboxes.
 *
 * The folder becomes the working folder. bounds hold as far as a control group can
 * be had: ret_host->bounded. moving_fds, which -1 ends, are descriptors that only the
 * new process is to have: the one that stays behind closes them; or NULL. Call it
 * once, before any thread exists.
 *
 * See: user_namespaces(7), pid_namespaces(7), PR_SET_PDEATHSIG in prctl(2).
 */
int sandbox_enter(const struct sandbox_folder *folder, const struct sandbox_bounds *bounds, const int *moving_fds,
                  struct sandbox_host *ret_host, struct error *ret_error) MUST_CHECK;

/* The policy on system calls as text, a line a row, so that two can be compared. The caller's: free(); NULL on ENOMEM.
 */
char *sandbox_policy(void);

/*
 * Whether Linux tells which descriptors of a process are copies of each other, and what
 * an epoll watches: 0, or -errno where a container's filter or the configuration of
 * the kernel refuses kcmp(2). Cells run without it; then copies part from one cell to
 * the next, and an epoll may lose what it watches.
 */
int sandbox_try_compare(void) MUST_CHECK;

/* How the limit of memory will be enforced on this host, as session_memory_backend() will say. */
const char *sandbox_memory_backend(const struct sandbox_host *host);

/* Masked paths (OCI runtime specification): what cells don't see of a folder of the host, wherever they see it. */
struct session_mask {
    char *folder; /* absolute, without links */
    char **names; /* paths below it, through no link; NULL-ended, or NULL for all that there is and will be */
};

/* What a session is made of. Everything is borrowed until session_create() returns. */
struct session_options {
    const struct sandbox_host *host;  /* from sandbox_enter() */
    const char *folder;               /* where cells see the notebook's folder beside /work: an absolute path */
    const char *const *homes;         /* of which hidden entries are not shown: absolute, without links, NULL-ended;
                                         or NULL */
    bool hide_folder_path;            /* show it at /work only (profile strict) */
    const char *python;               /* the interpreter as its user names it; its prefixes are shown read-only */
    const char *const *readonly;      /* more files and folders shown read-only at their own paths; NULL-ended */
    const char *const *argv;          /* command that starts the worker; argv[0] is absolute; NULL-ended */
    const char *const *env;           /* its whole environment, "NAME=value"; NULL-ended */
    const char *outputs;              /* a name in the notebook's folder that the caller copies files of cells to, for
                                         people: cells see what was there when the session began, and those of image 0
                                         nothing of it, unless readonly names it; NULL for none */
    const char *const *outputs_own;   /* names in it that no cell sees; NULL-ended */
    bool hide_outputs;                /* no cell sees anything of it, unless readonly names it */
    const struct session_mask *masks; /* what is not shown of all that; a folder comes before those in it; borrowed
                                         for the session's life */
    size_t n_masks;
    uint64_t disk_bytes;  /* cap on all that the session's cells have written */
    uint64_t disk_inodes; /* cap on the number of files */
};

/* How cells see the notebook's folder. */
struct session_view {
    bool in_parts;      /* something is mounted in it, so it is shown in parts: files there as they were when the
                           session began */
    unsigned only_read; /* large files that cells can read and not change, in that case */
    unsigned omitted;   /* entries that are not shown, in that case */
};
struct session_view session_view(const struct session *session);

/* The file descriptor that is the worker's control socket, a SOCK_STREAM. */
#define SANDBOX_CONTROL_FD 3

/*
 * Makes a session and starts its worker. The worker warms up outside this
 * call; talk to it on session_control_fd(), and call session_capture() once it
 * has said that it is ready. ret_session is the caller's: session_destroy().
 */
int session_create(const struct session_options *options, struct session **ret_session,
                   struct error *ret_error) MUST_CHECK;

/*
 * The caller is about to put a file at path, which is below the notebook's folder and in outputs, or to make a folder
 * there: cells go on seeing what is there now. Of a file that is replaced a copy is made, as long as all of them take
 * no more than disk_bytes; one that does not fit is not seen any more. 0; -EDQUOT where there were more than
 * disk_inodes names; or -errno. Blocks for as long as that copy takes.
 */
int session_keep_output(struct session *session, const char *path) MUST_CHECK;

/* Ends every process of the session and frees it. NULL is allowed. */
void session_destroy(struct session *session);

/*
 * How many children of ours were found in a sandbox's namespace that the session had
 * not started, since the last call. They are dead. There should be none, so it should
 * be logged.
 */
unsigned session_take_strays(struct session *session);

/* The starting worker's control socket, and a pidfd that becomes readable when it ends. Borrowed until
 * session_capture(). */
int session_control_fd(const struct session *session);
int session_exit_fd(const struct session *session);

/* Read ends of the pipes behind descriptors 1 and 2 of the starting worker; non-blocking, borrowed. */
int session_stdout_fd(const struct session *session);
int session_stderr_fd(const struct session *session);

/*
 * Makes the started worker image 0: stops it for good, with all its threads.
 * It must be blocked reading its control socket, at the start of a frame.
 */
int session_capture(struct session *session, struct error *ret_error) MUST_CHECK;

/*
 * An image that is kept, with the files of its time: what a session can go back to. It is a process that never runs; of
 * its memory and its files only what has changed since is there twice. To make a cell none of them is looked at.
 */
struct kept_image;

/* The second and the third are for a cell that is not the session's own. */
enum cell_source {
    CELL_FROM_CURRENT, /* the last committed image */
    CELL_FROM_FIRST,   /* image 0, over the files of that time */
    CELL_FROM_KEPT,    /* a kept image, over the files of its time */
};

/* What a cell is to its session. */
enum cell_role {
    CELL_OF_SESSION, /* the session's own, of which one runs at a time; it alone can be committed */
    CELL_BESIDE,     /* a whole run beside it: with outputs, limits and watches of its own */
    CELL_EPHEMERAL,  /* a short look: without outputs, with limits together with all others of the kind */
};

/* Whether nobody waits for a cell that is being made. */
typedef bool cell_is_idle(void *arg);

/* is_idle is asked before each step that only makes the cell quicker, and those are left out once somebody waits;
 * NULL: somebody does. */
struct cell_options {
    enum cell_source source;
    struct kept_image *kept; /* of CELL_FROM_KEPT; it may be forgotten as soon as the cell is made */
    enum cell_role role;
    cell_is_idle *is_idle;
    void *arg;
};

/*
 * Takes back what cells that have ended have left, as far as nothing of them is there any
 * more: their processes and memory, and of those beside the session's own their files and
 * places. Doesn't wait. True while there is more to come: call it again in some milliseconds.
 */
bool session_settle(struct session *session);

/* Keeps the session's present state. ret_kept is the caller's until session_forget() or session_destroy(). 0; -errno of
 * what keeps the session from going on where it can't; or -errno. */
int session_keep(struct session *session, struct kept_image **ret_kept) MUST_CHECK;

/* NULL is allowed. */
void session_forget(struct session *session, struct kept_image *kept);

/* Whether cells can be made of the session's present state: 0, or -errno with the reason, where its memory is lost. */
int session_check(const struct session *session, struct error *ret_error) MUST_CHECK;

/*
 * Makes a kept image the session's state, and its files the session's: as if it had been committed last. There must be
 * no cell of the session's own, started or not. What was the state is lost unless it is kept, too. Takes as long as the
 * files that differ take to be written. 0; or -errno, then the session is as it was, or no cell is made of it any more.
 */
int session_restore(struct session *session, struct kept_image *kept, struct error *ret_error) MUST_CHECK;

/*
 * Gives up what a kept image has at n paths of the notebook's folder, as cell_release_file() does of a cell: the host's
 * folder has that by now, and cells that are made of the image, and the session once it goes there, see the host's. A
 * file that the image has open or mapped stays. *ret_released gets n flags: whether it is given up. 0; -ESTALE where
 * the files are lost; or -errno, then all is as it was. It takes a link for each of the image's files.
 */
int session_release_kept(struct session *session, struct kept_image *kept, const char *const *paths, size_t n,
                         bool *ret_released) MUST_CHECK;

/*
 * What the kept images hold that the present one does not: memory, copies of files, contents of files without a name,
 * and what this process keeps for each. Without a control group a thread walks the page tables of all of them, some
 * milliseconds for each gigabyte that one has; with one, those of cells that run. True with the figure; false as long
 * as the thread takes, and while the memory of what was forgotten, or has ended, is not free yet: call it again in some
 * milliseconds.
 */
bool session_measure_kept(struct session *session, uint64_t *ret_bytes);

/* Its figure is at most this, which takes some 100 microseconds: what is of cells that run counts too, and
 * without a control group what no image has any more. session_measure_kept() makes it exact. */
uint64_t session_kept_bound(const struct session *session);

/* Whether what is kept leaves this process too few descriptors, of the limit of open files that ret_limit then is: some
 * is to be forgotten, or it makes no more cells. Cheap where that limit is not low for as many. */
bool session_lacks_descriptors(const struct session *session, uint64_t *ret_limit);

/* Bytes of private memory that the session's image has more than image 0; 0 where that can't be told. */
uint64_t session_grown_bytes(const struct session *session);

/*
 * Puts the image's memory into huge pages where it can, because cells of a large image are
 * made sooner then; and has the next cells tell anew which pages they write. For an idle
 * session without cells: what a cell that was made before shares with the image is there
 * twice afterwards. *ret_n: how many huge pages were made.
 * 1; 0 where is_idle(arg) ended it before; -EUCLEAN where the image is lost; or -errno.
 */
int session_compact(struct session *session, cell_is_idle *is_idle, void *arg, size_t *ret_n) MUST_CHECK;

/* Whether a cell beside the session's own can be made now. Where not, it can once enough of them are discarded and
 * session_settle() has taken back what they have left. */
bool session_has_place(const struct session *session);

/*
 * Makes a cell, up to the point where only cell_start() is missing: sandbox,
 * copy of the image, filter, registers. May be done long before it is needed.
 * ret_cell is the caller's: cell_commit() or cell_discard(). -EAGAIN for a cell
 * beside the session's own where there is no place: session_has_place().
 */
int cell_create(struct session *session, const struct cell_options *options, struct cell **ret_cell,
                struct error *ret_error) MUST_CHECK;

/* Whether a cell that has not started is all there: false if one of its processes was killed, by hand or by Linux
 * for want of memory. See: ptrace(2), "Death under ptrace". */
bool cell_is_whole(const struct cell *cell);

/* What the operating system holds a running cell to. 0 stands for no limit. */
struct cell_limits {
    uint64_t memory_bytes; /* what the cell's processes may hold beside the image they began with */
    unsigned processes;    /* tasks at once */
    unsigned cpus;
};

/*
 * Puts a file into the notebook's folder as a cell sees it, before
 * cell_start(): below the folder, its parents made as needed, in the place of a
 * file or link that was there. It belongs to the cell's user, and to what the
 * cell has changed. path is relative and has no "." or ".." in it. -ELOOP
 * where a parent is a link, -EISDIR where a folder stands there, -EXDEV where a
 * part of petri's or the interpreter's does, -ENOSPC, or another -errno.
 */
int cell_put_file(struct cell *cell, const char *path, const void *data, size_t bytes) MUST_CHECK;

/*
 * From now on it is noted which files of the notebook's folder the cell opens;
 * before cell_start(). Takes as long as reading the folders, of which so many
 * are watched and no more. 0 or -errno, then nothing is noted.
 */
int cell_watch_opened(struct cell *cell) MUST_CHECK;

/* Lets the cell run, within limits: its worker goes on with the read of its control socket. */
int cell_start(struct cell *cell, const struct cell_limits *limits) MUST_CHECK;

/* What a cell has used since its start. */
struct cell_usage {
    uint64_t memory_bytes;      /* now */
    uint64_t memory_peak_bytes; /* the most that was seen, here or in an earlier call */
    uint64_t cpu_us;            /* of all its processes */
    unsigned processes_peak;    /* tasks at once, the most that was seen */
    bool replaced;              /* the worker has become another program (exec) */
    bool over_memory;           /* it is to be ended: held more than its limit, or was killed for it */
    bool over_common;           /* over_memory, and it was the bound of all sessions that was reached, not its limit */
    bool over_in_flight;        /* the same: it left descriptors in sockets, and its user has too many there */
};

/*
 * Measures a running cell; some 20 microseconds. Where session_is_watched(),
 * this is what enforces the limit of memory: call it every 10 ms; else, it only
 * tells: every 100 ms will do. Of many processes, and where pages have to be counted, the figures are of an earlier
 * moment, when a thread has last been through with it.
 */
void cell_measure(struct cell *cell, struct cell_usage *ret_usage);

/* The same until the figures are of a moment after the first of these calls: then true. Call it again in some
 * milliseconds. */
bool cell_measure_last(struct cell *cell, struct cell_usage *ret_usage);

/*
 * Has the memory that a running cell is about to write copied in large pieces where it
 * writes through much of what it shares with the image, as long as has_time(arg) says so:
 * a sixteenth of its limit at most, and the limit grows by that. Some 20 microseconds where it doesn't.
 * *ret_bytes: how much was copied. 0; -EAGAIN where a look at the memory goes on: call it again
 * in a millisecond; or -errno, or -EUCLEAN for hostile memory: not to be called for this cell again.
 */
int cell_copy_ahead(struct cell *cell, cell_is_idle *has_time, void *arg, uint64_t *ret_bytes) MUST_CHECK;

/* A system call that a cell was refused. */
struct denied_call {
    char syscall[32];
    char detail[96];         /* the address of a network call, or why the call is refused */
    const struct cell *cell; /* that has made it; borrowed; NULL where it was an ephemeral one, or is gone */
};

/*
 * Readable while a call waits for its answer; -1 where there can be no such
 * listener: then refused calls are not reported. Borrowed; there from
 * session_capture() on.
 */
int session_denied_fd(const struct session *session);

/*
 * Whether a filter of a session can have a listener. Puts the process under a filter
 * that allows all, for good: ask it in a process that soon ends. 0, -EBUSY where the
 * filters that this process began with have one already, or another -errno where
 * filters are refused. See: seccomp(2).
 */
int sandbox_try_listener(void) MUST_CHECK;

/*
 * Answers one waiting call; call it once each time session_denied_fd() is
 * readable, for it blocks where no call waits. 1 with ret_call, 0 where there was nothing to tell, or -errno.
 */
int session_take_denied(struct session *session, struct denied_call *ret_call) MUST_CHECK;

/* Whether limits are kept by watching (no control group): see cell_measure(). */
bool session_is_watched(const struct session *session);

/* What the session's cells have written: bytes, and the number of files. */
void session_measure_files(const struct session *session, uint64_t *ret_bytes, uint64_t *ret_files);

/* How each kind of isolation is enforced, for the run report: "cgroup v1", "watched". */
const char *session_memory_backend(const struct session *session);

/* Our end of the cell's control socket (SOCK_STREAM, non-blocking), and a pidfd, readable once the cell's worker is
 * dead. Borrowed. */
int cell_control_fd(const struct cell *cell);
int cell_exit_fd(const struct cell *cell);

/*
 * Read ends of the pipes behind the cell's descriptors 1, 2 and 4, to which the worker
 * writes its stack when it is asked to; non-blocking, borrowed. The session's own cells
 * have those of their image, a cell beside them has its own. Not for an ephemeral one,
 * which has no output: what it says of its stack comes out of its image's.
 */
int cell_stdout_fd(const struct cell *cell);
int cell_stderr_fd(const struct cell *cell);
int cell_trace_fd(const struct cell *cell);

/*
 * A UDP socket in the cell's network namespace, non-blocking and bound to where
 * its programs send questions for names: nobody answers them but whoever reads
 * it. -1 where there is none. Borrowed.
 */
int cell_names_fd(struct cell *cell);

/* Sends a signal to the cell's process group, as Ctrl-C does; nothing happens where it is already dead. */
void cell_signal_group(const struct cell *cell, int signal);

/* Kills all processes of a running cell, and waits for none of them: cell_discard() is to follow. */
void cell_kill(const struct cell *cell);

/* Sends a signal to the cell's worker alone. */
void cell_signal(const struct cell *cell, int signal);

/* Whether the worker's first thread computes now. One that waits in a system call would be woken by a signal with a
 * handler, as pause(2) is, and the code would see it. See: signal(7). */
bool cell_computes(const struct cell *cell);

/* How a cell ended, measured from outside. */
struct cell_end {
    bool exited;        /* the worker ended by itself: code is valid */
    bool signaled;      /* the worker was killed: signal is valid */
    int code;           /* exit status */
    int signal;         /* signal number */
    unsigned leftovers; /* child processes that were still alive and are ended */
    struct cell_usage usage;
};

/*
 * Ends the running of a cell: stops its threads, kills its other processes and
 * records what would be the new image. Afterwards cell_commit() can't fail.
 * -ESRCH: the worker is dead (ret_end says how); -ENOMEM: it held more memory
 * than its limit; -EUCLEAN: it is alive, but its memory no longer has what
 * petri needs (detail in ret_error); -ENOTSUP: it leaves open what no later cell
 * could have (detail says what, in words for a user); -EOWNERDEAD: the process that
 * would hold the image was killed, and not by the cell. In all five cases ret_end
 * is filled, and only cell_discard() is left.
 */
int cell_freeze(struct cell *cell, struct cell_end *ret_end, struct error *ret_error) MUST_CHECK;

/* Whether it is known how much memory a frozen cell has changed: without a control group that takes a while. */
bool cell_knows_left(const struct cell *cell);

/* Memory that a frozen cell does not share with the image that it was made of. Waits where that is not known yet. */
uint64_t cell_changed_bytes(const struct cell *cell);

enum cell_change { CELL_CREATED, CELL_CHANGED, CELL_DELETED };

/* One file of the notebook's folder that a cell has changed. */
struct cell_file {
    const char *path; /* below the folder; whatever bytes the cell has chosen, cut where there is no end of them */
    enum cell_change change;
    unsigned mode;  /* S_IFMT and permissions as in stat(2); of a deleted file, what stood there, or 0 */
    unsigned links; /* names that the file has */
    uint64_t bytes; /* of a regular file, holes included */
    bool on_host;   /* the host's folder has something of that name, which no cell changes */
    bool same;      /* CELL_CHANGED by name alone: it holds what stood there, as one does that was opened for writing */
};

/* What a listing has: a caller that makes the same files elsewhere needs the new folders, too. */
enum cell_listing { CELL_FILES, CELL_FILES_AND_FOLDERS };

/* Called for each file, which is borrowed for the call; other than 0 ends the listing. */
typedef int cell_change_handler(void *arg, const struct cell_file *file);

/*
 * Lists what a frozen cell has changed of the notebook's folder, in no
 * order: files, links and the like that hold something else than before, or are a
 * copy of a file of the host's. Of folders it has those that were deleted or
 * lie too deep to be looked into, and, where they are asked for, new ones. Nothing
 * of the cell runs any more, so it stays as it is until cell_commit() or
 * cell_discard(). 0, what the handler returned, or -errno. Some microseconds where
 * there is nothing; else it takes as long as reading the folders.
 */
int cell_list_changes(const struct cell *cell, enum cell_listing what, cell_change_handler *handler,
                      void *arg) MUST_CHECK;

/*
 * Lists what differs between the notebook's folder as it was when two images were kept, as the first became the second,
 * in no order. 0, what the handler returned, -ESTALE where the files of one are lost, or -errno. Takes as long as
 * reading the folders, and what isn't the same file in both.
 */
int session_compare_files(struct session *session, struct kept_image *before, struct kept_image *after,
                          cell_change_handler *handler, void *arg) MUST_CHECK;

/*
 * Opens such a file, a regular one, for reading. A descriptor, which is the
 * caller's; -ELOOP for a link in the path, -EMLINK where the file has more
 * names than one, -EINVAL where it is no regular file, or -errno.
 */
int cell_open_change(const struct cell *cell, const char *path) MUST_CHECK;

/*
 * The files below the notebook's folder that a frozen cell has opened, sorted,
 * whether they stood there before it or not: ret_paths, with its texts, is the
 * caller's: free(). 1, 0 where there may have been more, or -errno (-EBADF: the
 * cell was not watched).
 */
int cell_take_opened(struct cell *cell, char ***ret_paths, size_t *ret_n) MUST_CHECK;

/*
 * Opens a regular file of the notebook's folder as it was before this cell, for
 * reading. A descriptor, which is the caller's; -ENOENT where there was none,
 * -EINVAL where it was no regular file, or -errno.
 */
int cell_open_before(const struct cell *cell, const char *path) MUST_CHECK;

/*
 * Gives up what a frozen cell has at a path of the notebook's folder, a file or the
 * deletion of one: the host's folder has the same by now, and from the commit on
 * cells see the host's. A file that the cell has open or mapped stays the session's
 * own, for it has to be the same one in the next cell; so does what is no regular
 * file. Of a folder it is only given up that it hides the host's. 1, 0 where it stays,
 * or -errno. Afterwards nothing but cell_commit() may follow.
 */
int cell_release_file(struct cell *cell, const char *path) MUST_CHECK;

/* Called for each; path is borrowed for the call. Other than 0 ends the listing. */
typedef int cell_held_handler(void *arg, const char *path, bool is_hosts);

/*
 * Lists the files of the host's, below the notebook's folder, that a frozen cell
 * has open or mapped. Later cells see these files by their paths, also where the host has put
 * another one there by now: is_hosts is whether it is still the host's. 0, what the handler returned, or -errno.
 */
int cell_list_held(const struct cell *cell, cell_held_handler *handler, void *arg) MUST_CHECK;

/*
 * Keeps what a frozen cell leaves that was made of a kept image and ran beside the session's own: as what the session
 * can go to, and cells can be made of. ret_kept is as in session_keep(). Takes as long as the files that the cell has
 * written take to be copied. Only cell_discard() may follow. 0; -EINVAL for another cell; -ESTALE where the files of
 * its image are lost; or -errno.
 */
int cell_keep(struct cell *cell, struct kept_image **ret_kept) MUST_CHECK;

/* Makes the frozen cell's state the session's image and its files the session's files. Frees the cell. */
void cell_commit(struct cell *cell);

/* Kills what is left of the cell and undoes its changes of files: the session is as it was before. Frees the cell. NULL
 * is allowed. */
void cell_discard(struct cell *cell);

/* Says how the worker has ended: fills ret_end from a cell whose exit_fd is readable. */
void cell_end_of(struct cell *cell, struct cell_end *ret_end);

#endif
