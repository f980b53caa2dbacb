/*
 * transaction.c - the steps of a transaction: lock, stage, commit, make; transaction_make.c makes its changes.
 *
 * The rename of the journal commits it: before it nothing in the folder has
 * changed, after it each change is made, by this process or by the next one that
 * opens the folder. Each change keeps what it replaces or removes in `.petri`.
 * Once all are made the journal is renamed again, and these are removed; if one
 * fails it is renamed to another name, and all are taken back. So the journal's
 * name says in which direction to go on:
 *
 *     journal-* --all made--> made-*      --> gone
 *            \--one failed--> take-back-* --> gone
 *
 * It also has the inode and time of a token file beside it, so a journal that was
 * copied with its folder does not count. Where a change replaces or removes
 * something, the staged files and the journal are synced to the disk before the
 * first change.
 *
 * What can't be made after a restart, or can't be taken back, is left, with
 * journal and staged files, because removing them could lose data.
 */

#include "transaction.h"

#include "base/directory.h"
#include "base/errand.h"
#include "kernel/base/clock.h"
#include "kernel/base/host_file.h"
#include "kernel/files/transaction_make.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <string.h>
#include <sys/file.h>

#define JOURNAL_NEW "journal.new"
#define TOKEN_NAME "token"

enum { JOURNAL_NAME_BYTES = 64, MANY_STAGES = 32 };

enum state {
    MAKING,
    MADE,
    TAKING_BACK,
    N_COMMITTED,
    PLANNED = N_COMMITTED,
    OVER,
    STUCK, /* left to the next one that opens the folder */
};

static const char *const prefixes[N_COMMITTED] = {[MAKING] = "journal", [MADE] = "made", [TAKING_BACK] = "take-back"};

struct transaction {
    int folder_fd;   /* owned */
    dev_t device;    /* its file system */
    int own_fd;      /* `.petri` in it, locked; owned */
    size_t n_stages; /* how many names staged files have got */
    struct journal journal;
    char place[JOURNAL_NAME_BYTES]; /* what the journal's name has behind its prefix */
    enum state state;
    bool durable;  /* something is replaced or removed, so files are synced to the disk */
    bool resumed;  /* an earlier kernel's: what can't be made is left */
    size_t at;     /* so many changes are made, or removed, or left to be taken back */
    size_t failed; /* the change that could not be made, counted from 1; 0 for none */
    bool stuck;    /* something could not be made, taken back or removed that can't be left */
};

/*
 * Opens the folder of path's last name; the name goes to ret_name. A
 * descriptor, or -errno as from transaction_look().
 */
static int open_parent(const struct transaction *transaction, const char *path, const char **ret_name) {
    char above[PATH_MAX];
    struct stat st;
    const char *slash = strrchr(path, '/');
    *ret_name = slash ? slash + 1 : path;
    snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    auto_fd fd = host_open_beneath(transaction->folder_fd, above, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 || fstat(fd, &st))
        return fd < 0 ? fd : -errno;
    return st.st_dev == transaction->device ? steal_fd(&fd) : -EXDEV;
}

/* A staged file or folder is a copy, so it may be removed; transaction_let_go() has renamed what is not. */
static void remove_stage(const struct transaction *transaction, const char *name) {
    if (unlinkat(transaction->own_fd, name, 0) && errno == EISDIR)
        unlinkat(transaction->own_fd, name, AT_REMOVEDIR);
}

/* Removes the files of transactions in `.petri`, but no others. */
static void empty_own(const struct transaction *transaction) {
    auto_dir dir = directory_open(transaction->own_fd);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (journal_is_stage(entry->d_name))
            remove_stage(transaction, entry->d_name);
        else if (strcmp(entry->d_name, JOURNAL_NEW) == 0 || strcmp(entry->d_name, TOKEN_NAME) == 0)
            unlinkat(transaction->own_fd, entry->d_name, 0);
}

/*
 * Whether only we may write to `.petri`, and it still has its name: another
 * kernel may have removed it before it was locked.
 */
static int check_own(const struct transaction *transaction) {
    struct stat own, named;
    if (fstat(transaction->own_fd, &own) ||
        fstatat(transaction->folder_fd, JOURNAL_FOLDER, &named, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? -EAGAIN : -errno;
    if (own.st_ino != named.st_ino || own.st_dev != named.st_dev)
        return -EAGAIN;
    return own.st_uid != geteuid() || (own.st_mode & (S_IWGRP | S_IWOTH)) ? -EPERM : 0;
}

/*
 * Whether the folder's mode has no write permission for its owner: Linux does
 * not check it for a process with capabilities in its user namespace.
 */
static bool is_read_only(int folder_fd) {
    struct stat st;
    return fstat(folder_fd, &st) == 0 && !(st.st_mode & S_IWUSR);
}

static int lock_own(struct transaction *transaction, bool make) {
    if (make && is_read_only(transaction->folder_fd))
        return -EACCES;
    if (make && mkdirat(transaction->folder_fd, JOURNAL_FOLDER, 0700) && errno != EEXIST)
        return -errno;
    transaction->own_fd = host_open_beneath(transaction->folder_fd, JOURNAL_FOLDER, O_RDONLY | O_DIRECTORY, 0);
    if (transaction->own_fd < 0)
        return transaction->own_fd == -ENOENT && make ? -EAGAIN : transaction->own_fd;
    if (flock(transaction->own_fd, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    return check_own(transaction);
}

static int read_journal_text(int fd, size_t bytes, char **ret_text) {
    auto_free char *text = malloc(bytes + 1);
    size_t n = 0;
    while (text && n < bytes) {
        ssize_t got = read(fd, text + n, bytes - n);
        if (got <= 0)
            return got < 0 ? -errno : -EBADMSG;
        n += (size_t)got;
    }
    if (!text)
        return -ENOMEM;
    *ret_text = steal_pointer(text);
    return 0;
}

/*
 * The journal's name has the inode and the time of change of a token file beside
 * it. These can't be set, so a journal that was copied, or comes from an archive
 * or a clone, does not count.
 */
static void find_place(struct transaction *transaction, const struct stat *token) {
    snprintf(transaction->place, sizeof transaction->place, "%jx-%jx", (uintmax_t)token->st_ino,
             (uintmax_t)clock_ns(&token->st_ctim));
}

static const char *journal_name(const struct transaction *transaction, enum state state,
                                char buf[JOURNAL_NAME_BYTES + 16]) {
    snprintf(buf, JOURNAL_NAME_BYTES + 16, "%s-%s", prefixes[state], transaction->place);
    return buf;
}

/* Opens the journal of an earlier transaction, and sets what was done with it last. A descriptor or -errno. */
static int open_journal(struct transaction *transaction) {
    static const struct host_file wanted = {
        .flags = O_RDONLY | O_NOFOLLOW, .owner = HOST_OWN, .one_name = true, .max_bytes = JOURNAL_BYTES_MAX};
    char name[JOURNAL_NAME_BYTES + 16];
    int fd = -ENOENT;
    for (int state = 0; fd == -ENOENT && state < N_COMMITTED; state++) {
        fd = host_file_open(transaction->own_fd, journal_name(transaction, state, name), &wanted, NULL);
        transaction->state = fd >= 0 ? state : PLANNED;
    }
    return fd;
}

/* Reads the journal of an earlier transaction. 0, also where there is none. */
static int read_journal(struct transaction *transaction) {
    struct stat st;
    char *read = NULL;
    if (fstatat(transaction->own_fd, TOKEN_NAME, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno;
    find_place(transaction, &st);
    auto_fd fd = open_journal(transaction);
    if (fd < 0)
        return fd == -ENOENT ? 0 : -EBADMSG;
    int r = fstat(fd, &st) ? -errno : read_journal_text(fd, (size_t)st.st_size, &read);
    auto_free char *text = read;
    if (r == 0)
        r = journal_read(text, (size_t)st.st_size, &transaction->journal);
    transaction->at = transaction->state == TAKING_BACK ? transaction->journal.n : 0;
    transaction->resumed = transaction->durable = true;
    return r;
}

/* Drops what is staged, and the journal of a transaction that is over. */
static void forget_journal(struct transaction *transaction) {
    empty_own(transaction);
    journal_fini(&transaction->journal);
    *transaction = (struct transaction){.folder_fd = transaction->folder_fd,
                                        .device = transaction->device,
                                        .own_fd = transaction->own_fd,
                                        .state = PLANNED};
}

/* Whether `.petri` has a journal that is none here: of another folder, from which it was copied, or of another disk. */
static bool has_others_journal(const struct transaction *transaction) {
    auto_dir dir = directory_open(transaction->own_fd);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        for (int i = 0; i < N_COMMITTED; i++) {
            const size_t n = strlen(prefixes[i]);
            if (strncmp(entry->d_name, prefixes[i], n) == 0 && entry->d_name[n] == '-')
                return true;
        }
    return false;
}

/* Nobody can make such changes, but what they are of may be nowhere else: it is kept beside. -ESTALE or another -errno.
 */
static int keep_aside(const struct transaction *transaction) {
    char kept[JOURNAL_NAME_BYTES];
    snprintf(kept, sizeof kept, JOURNAL_FOLDER "-kept-%08x", (unsigned)randombytes_random());
    return renameat(transaction->folder_fd, JOURNAL_FOLDER, transaction->folder_fd, kept) ? -errno : -ESTALE;
}

static int begin_transaction(int folder_fd, bool make, struct transaction **ret, size_t *ret_recovered) {
    struct stat st;
    struct transaction *transaction = malloc(sizeof *transaction);
    if (!transaction)
        return -ENOMEM;
    *transaction = (struct transaction){.own_fd = -1, .state = PLANNED};
    transaction->folder_fd = host_open_beneath(folder_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    int r = transaction->folder_fd;
    if (r >= 0)
        r = fstat(transaction->folder_fd, &st) ? -errno : 0;
    if (r == 0) {
        transaction->device = st.st_dev;
        r = lock_own(transaction, make);
    }
    if (r == 0)
        r = read_journal(transaction);
    if (r == 0 && transaction->state == PLANNED && has_others_journal(transaction))
        r = keep_aside(transaction);
    if (r < 0) {
        if (transaction->own_fd >= 0)
            close(transaction->own_fd);
        if (transaction->folder_fd >= 0)
            close(transaction->folder_fd);
        free(transaction);
        return r;
    }
    *ret_recovered = transaction->journal.n;
    if (transaction->state != PLANNED)
        (void)transaction_step(transaction, CLOCK_NEVER);
    if (transaction->state == STUCK) {
        transaction_close(transaction);
        return -EUCLEAN;
    }
    forget_journal(transaction);
    *ret = transaction;
    return 0;
}

const char *transaction_problem(int r) {
    return r == -EAGAIN    ? "another kernel is writing"
           : r == -EBADMSG ? JOURNAL_FOLDER " in it holds a journal that can't be read: take out of " JOURNAL_FOLDER
                                            " what you miss, and remove it"
           : r == -EPERM   ? JOURNAL_FOLDER " in it is another user's, or others may write to it: remove it"
           : r == -EUCLEAN ? "the changes that a kernel has begun can't be completed: take out of " JOURNAL_FOLDER
                             " what you miss, and remove it"
                           : strerror(-r);
}

int transaction_open(int folder_fd, struct transaction **ret, size_t *ret_recovered) {
    return begin_transaction(folder_fd, true, ret, ret_recovered);
}

int transaction_recover(int folder_fd) {
    struct transaction *transaction;
    size_t n;
    int r = begin_transaction(folder_fd, false, &transaction, &n);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    transaction_close(transaction);
    return (int)n;
}

/* Committed changes that are not made yet are made when the folder is opened next. */
void transaction_close(struct transaction *transaction) {
    if (!transaction)
        return;
    if (transaction->state == PLANNED || transaction->state == OVER) {
        forget_journal(transaction);
        unlinkat(transaction->folder_fd, JOURNAL_FOLDER, AT_REMOVEDIR);
    }
    journal_fini(&transaction->journal);
    close(transaction->own_fd);
    close(transaction->folder_fd);
    free(transaction);
}

static void next_stage(struct transaction *transaction, char ret_stage[JOURNAL_STAGE_BYTES]) {
    snprintf(ret_stage, JOURNAL_STAGE_BYTES, JOURNAL_STAGE_NAME "%zu", transaction->n_stages++);
}

int transaction_stage(struct transaction *transaction, struct transaction_file *ret_file) {
    struct transaction_file file;
    next_stage(transaction, file.stage);
    file.fd = openat(transaction->own_fd, file.stage, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file.fd < 0)
        return -errno;
    *ret_file = file;
    return 0;
}

void transaction_drop(struct transaction *transaction, struct transaction_file *file) {
    if (file->fd < 0)
        return;
    close(file->fd);
    file->fd = -1;
    unlinkat(transaction->own_fd, file->stage, 0);
}

int transaction_look(const struct transaction *transaction, const char *path, struct stat *ret_st) {
    const char *name;
    struct stat st;
    auto_fd parent_fd = open_parent(transaction, path, &name);
    if (parent_fd < 0)
        return parent_fd;
    if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return -errno;
    if (st.st_dev != transaction->device)
        return -EXDEV;
    *ret_st = st;
    return 0;
}

int transaction_check_folder(const struct transaction *transaction, const char *path) {
    const char *name;
    auto_fd parent_fd = open_parent(transaction, path, &name);
    if (parent_fd < 0)
        return 0;
    return is_read_only(parent_fd) || faccessat(parent_fd, ".", W_OK | X_OK, AT_EACCESS) ? -EACCES : 0;
}

bool transaction_is_written(const struct transaction *transaction, const char *path) {
    const char *name;
    auto_fd parent_fd = open_parent(transaction, path, &name);
    return parent_fd >= 0 && host_is_written(parent_fd, name);
}

int transaction_open_file(const struct transaction *transaction, const char *path) {
    return host_open_beneath(transaction->folder_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
}

int transaction_open_folder(const struct transaction *transaction, const char *path) {
    return host_open_beneath(transaction->folder_fd, path, O_RDONLY | O_DIRECTORY, 0);
}

static int add_change(struct transaction *transaction, enum journal_kind kind, const char *path,
                      const struct stat *before, struct journal_change **ret_change) {
    int r = journal_add(&transaction->journal, kind, path, ret_change);
    if (r == 0) {
        (*ret_change)->before = journal_version_of(before);
        transaction->durable |= before != NULL;
    }
    return r;
}

static int stage_folder(const struct transaction *transaction, struct journal_change *change) {
    struct stat st;
    if (mkdirat(transaction->own_fd, change->stage, 0777) ||
        fstatat(transaction->own_fd, change->stage, &st, AT_SYMLINK_NOFOLLOW))
        return -errno;
    change->staged = journal_version_of(&st);
    return 0;
}

int transaction_add(struct transaction *transaction, enum journal_kind kind, const char *path,
                    const struct stat *before) {
    struct journal_change *change;
    int r = add_change(transaction, kind, path, before, &change);
    if (r == 0 && (kind == JOURNAL_REMOVE || kind == JOURNAL_MAKE_FOLDER))
        next_stage(transaction, change->stage);
    return r == 0 && kind == JOURNAL_MAKE_FOLDER ? stage_folder(transaction, change) : r;
}

int transaction_add_file(struct transaction *transaction, struct transaction_file *file, const char *path,
                         const struct stat *before, const struct stat *content) {
    const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, content->st_mtim};
    struct journal_change *change;
    struct stat st;
    int r =
        fchmod(file->fd, content->st_mode & 07777) || futimens(file->fd, times) || fstat(file->fd, &st) ? -errno : 0;
    if (r == 0)
        r = add_change(transaction, JOURNAL_PUT, path, before, &change);
    if (r < 0) {
        transaction_drop(transaction, file);
        return r;
    }
    memcpy(change->stage, file->stage, sizeof change->stage);
    change->staged = journal_version_of(&st);
    close(file->fd);
    file->fd = -1;
    return 0;
}

void transaction_forget_from(struct transaction *transaction, size_t n) {
    journal_cut(&transaction->journal, n);
}

size_t transaction_n(const struct transaction *transaction) {
    return transaction->journal.n;
}

const struct journal_change *transaction_change(const struct transaction *transaction, size_t i) {
    return &transaction->journal.change[i];
}

void transaction_leave_out(struct transaction *transaction, size_t i) {
    struct journal_change *change = &transaction->journal.change[i];
    if (!change->left_out && change->staged.there)
        remove_stage(transaction, change->stage);
    change->left_out = true;
}

bool transaction_is_staged(const struct transaction *transaction, size_t i, const struct stat *st) {
    const struct journal_change *change = &transaction->journal.change[i];
    return change->staged.there && change->staged.inode == st->st_ino;
}

static int make_token(struct transaction *transaction) {
    struct stat st;
    unlinkat(transaction->own_fd, TOKEN_NAME, 0);
    auto_fd fd = openat(transaction->own_fd, TOKEN_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st))
        return -errno;
    find_place(transaction, &st);
    return 0;
}

static int write_journal(const struct transaction *transaction, const char *text, size_t bytes) {
    char name[JOURNAL_NAME_BYTES + 16];
    auto_fd fd = openat(transaction->own_fd, JOURNAL_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = host_write(fd, text, bytes);
    if (r < 0)
        return r;
    if (transaction->durable && fsync(fd))
        return -errno;
    journal_name(transaction, MAKING, name);
    return renameat(transaction->own_fd, JOURNAL_NEW, transaction->own_fd, name) ? -errno : 0;
}

/* Writes the staged files to the disk: each, or if they are many, whatever the file system has to write. 0 or -errno.
 */
static int sync_stages(const struct transaction *transaction) {
    size_t n = 0;
    for (size_t i = 0; i < transaction->journal.n; i++)
        n += transaction->journal.change[i].kind == JOURNAL_PUT;
    if (n > MANY_STAGES)
        return syncfs(transaction->own_fd) ? -errno : 0;
    for (size_t i = 0; i < transaction->journal.n; i++) {
        const struct journal_change *change = &transaction->journal.change[i];
        if (change->kind != JOURNAL_PUT || change->left_out)
            continue;
        auto_fd fd = openat(transaction->own_fd, change->stage, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fdatasync(fd))
            return -errno;
    }
    return 0;
}

/* What a thread does. */
struct committing {
    struct transaction *transaction; /* borrowed */
    int result;
};

static void commit(void *arg) {
    struct committing *committing = arg;
    struct transaction *transaction = committing->transaction;
    char *written = NULL;
    size_t bytes = 0;
    int r = transaction->durable ? sync_stages(transaction) : 0;
    if (r == 0)
        r = make_token(transaction);
    if (r == 0)
        r = journal_write(&transaction->journal, &written, &bytes);
    auto_free char *text = written;
    if (r == 0)
        r = write_journal(transaction, text, bytes);
    if (r == 0 && transaction->durable)
        (void)fsync(transaction->own_fd); /* where it fails, only the order of writes on the disk is not known */
    committing->result = r;
}

int transaction_commit(struct transaction *transaction) {
    struct committing committing = {.transaction = transaction};
    if (transaction->journal.n > JOURNAL_CHANGES_MAX)
        return -E2BIG;
    errand_do(commit, &committing);
    if (committing.result == 0)
        transaction->state = MAKING;
    return committing.result;
}

static void sync_folder(void *arg) {
    const struct transaction *transaction = arg;
    (void)fsync(transaction->own_fd);
}

/* Goes into another state; from now on the next one that opens the folder would, too. */
static void turn(struct transaction *transaction, enum state state) {
    char from[JOURNAL_NAME_BYTES + 16], to[JOURNAL_NAME_BYTES + 16];
    journal_name(transaction, transaction->state, from);
    journal_name(transaction, state, to);
    transaction->state = state;
    if (renameat(transaction->own_fd, from, transaction->own_fd, to))
        transaction->state = STUCK;
    else if (transaction->durable)
        errand_do(sync_folder, transaction);
}

static int make(const struct transaction *transaction, struct journal_change *change) {
    const char *name;
    const bool is_removal = change->kind == JOURNAL_REMOVE || change->kind == JOURNAL_REMOVE_FOLDER;
    if (change->left_out)
        return 0;
    auto_fd parent_fd = open_parent(transaction, change->path, &name);
    if (parent_fd < 0)
        return (parent_fd == -ENOENT || parent_fd == -ENOTDIR) && is_removal ? 0 : parent_fd;
    if (is_read_only(parent_fd))
        return -EACCES;
    return transaction_make(transaction->own_fd, parent_fd, name, change);
}

/* Makes the next change. Other programs' files that are kept are no failure. */
static void make_next(struct transaction *transaction) {
    if (transaction->at == transaction->journal.n) {
        if (transaction->stuck)
            transaction->state = STUCK;
        else
            turn(transaction, MADE);
        transaction->at = 0;
        return;
    }
    struct journal_change *change = &transaction->journal.change[transaction->at++];
    const int r = change->result = make(transaction, change);
    if (r >= 0 || r == -EEXIST || r == -ESTALE || r == -ENOTEMPTY)
        return;
    if (transaction->resumed) {
        transaction->stuck = true;
        return;
    }
    transaction->failed = transaction->at;
    turn(transaction, TAKING_BACK);
}

/* Nothing is left to be done. */
static void end(struct transaction *transaction) {
    char name[JOURNAL_NAME_BYTES + 16];
    journal_name(transaction, transaction->state, name);
    transaction->state = transaction->stuck ? STUCK : OVER;
    if (transaction->state == OVER)
        unlinkat(transaction->own_fd, name, 0);
}

static void let_go_next(struct transaction *transaction) {
    if (transaction->at == transaction->journal.n) {
        end(transaction);
        return;
    }
    const struct journal_change *change = &transaction->journal.change[transaction->at++];
    if (!change->left_out)
        transaction->stuck |= transaction_let_go(transaction->own_fd, change, &change->before) < 0;
}

/* Other programs have moved or removed the folder of the path. */
static bool is_elsewhere(int r) {
    return r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EXDEV;
}

/* Takes back the last change that is made. What can't be is left, and the others are taken back all the same. */
static void take_back_next(struct transaction *transaction) {
    const char *name;
    if (transaction->at == 0) {
        end(transaction);
        return;
    }
    struct journal_change *change = &transaction->journal.change[--transaction->at];
    if (change->left_out)
        return;
    auto_fd parent_fd = open_parent(transaction, change->path, &name);
    int r = parent_fd < 0 ? parent_fd : transaction_take_back(transaction->own_fd, parent_fd, name, change);
    if (r >= 0 || (is_elsewhere(r) && !transaction->stuck))
        r = transaction_let_go(transaction->own_fd, change, &change->staged);
    transaction->stuck |= r < 0;
}

bool transaction_step(struct transaction *transaction, int64_t until_us) {
    while (transaction->state < N_COMMITTED) {
        if (transaction->state == MAKING)
            make_next(transaction);
        else if (transaction->state == MADE)
            let_go_next(transaction);
        else
            take_back_next(transaction);
        if (clock_us() >= until_us)
            break;
    }
    return transaction->state >= N_COMMITTED;
}

int transaction_failed(const struct transaction *transaction, const char **ret_path) {
    if (transaction->failed)
        *ret_path = transaction->journal.change[transaction->failed - 1].path;
    return transaction->failed ? transaction->journal.change[transaction->failed - 1].result : 0;
}

bool transaction_is_stuck(const struct transaction *transaction) {
    return transaction->state == STUCK;
}

int transaction_result(const struct transaction *transaction, size_t i, const char **ret_path) {
    const struct journal_change *change = &transaction->journal.change[i];
    *ret_path = change->placed ? change->placed : change->path;
    return change->result;
}
