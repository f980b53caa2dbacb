/*
 * transaction.c - the steps of a transaction: lock, stage, commit, make; transaction_make.c makes its changes.
 *
 * The rename of the journal commits it: before it nothing in the folder has
 * changed, after it each change is made, by this process or by the next one that
 * opens the folder. Where a change replaces or removes something, the journal is
 * synced to the disk before the first change. The journal's name has the inode
 * and time of a token file beside it, so a journal that was copied with its
 * folder does not count.
 *
 * Changes that can't be made after a restart are left, with journal and staged
 * files, because removing them could lose data.
 */

#include "transaction.h"

#include "base/directory.h"
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

enum { JOURNAL_NAME_BYTES = 64 };

struct transaction {
    int folder_fd;   /* owned */
    dev_t device;    /* its file system */
    int own_fd;      /* `.petri` in it, locked; owned */
    size_t n_stages; /* how many names staged files have got */
    struct journal journal;
    char name[JOURNAL_NAME_BYTES]; /* of the journal, once it is committed */
    bool committed;
    bool durable; /* something is replaced or removed, so files are synced to the disk */
    size_t at;    /* the next change to make */
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

/* A staged file or folder is a copy, so it may be removed; keep_foreign() has renamed what is not. */
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
static void name_journal(struct transaction *transaction, const struct stat *token) {
    snprintf(transaction->name, sizeof transaction->name, "journal-%jx-%jx", (uintmax_t)token->st_ino,
             (uintmax_t)clock_ns(&token->st_ctim));
}

/* Reads the journal of an earlier transaction. 0, also where there is none. */
static int read_journal(struct transaction *transaction) {
    static const struct host_file wanted = {
        .flags = O_RDONLY | O_NOFOLLOW, .owner = HOST_OWN, .one_name = true, .max_bytes = JOURNAL_BYTES_MAX};
    struct stat st;
    char *read = NULL;
    if (fstatat(transaction->own_fd, TOKEN_NAME, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno;
    name_journal(transaction, &st);
    auto_fd fd = host_file_open(transaction->own_fd, transaction->name, &wanted, NULL);
    if (fd < 0)
        return fd == -ENOENT ? 0 : -EBADMSG;
    int r = fstat(fd, &st) ? -errno : read_journal_text(fd, (size_t)st.st_size, &read);
    auto_free char *text = read;
    if (r == 0)
        r = journal_read(text, (size_t)st.st_size, &transaction->journal);
    transaction->committed = r == 0;
    return r;
}

/*
 * Another program's file that was exchanged for a staged one, and could not be
 * exchanged back, has the staged file's name: renames it, so that it is kept.
 */
static void keep_foreign(const struct transaction *transaction) {
    for (size_t i = 0; transaction->committed && i < transaction->journal.n; i++) {
        const struct journal_change *change = &transaction->journal.change[i];
        char kept[JOURNAL_STAGE_BYTES + 16];
        struct stat st;
        if (!change->stage[0] || fstatat(transaction->own_fd, change->stage, &st, AT_SYMLINK_NOFOLLOW) ||
            st.st_ino == change->staged || journal_is(&change->before, &st))
            continue;
        snprintf(kept, sizeof kept, "kept-%08x", (unsigned)randombytes_random());
        renameat2(transaction->own_fd, change->stage, transaction->own_fd, kept, RENAME_NOREPLACE);
    }
}

/* Ends a transaction whose changes are all made. */
static void forget_journal(struct transaction *transaction) {
    keep_foreign(transaction);
    if (transaction->name[0])
        unlinkat(transaction->own_fd, transaction->name, 0);
    empty_own(transaction);
    journal_fini(&transaction->journal);
    transaction->committed = false;
    transaction->at = transaction->n_stages = 0;
}

/* Whether a committed change could not be made, and must not be lost. */
static bool has_failed(const struct transaction *transaction) {
    bool failed = false;
    for (size_t i = 0; i < transaction->journal.n; i++) {
        const int r = transaction->journal.change[i].result;
        failed |= r < 0 && r != -EEXIST && r != -ESTALE && r != -ENOTEMPTY;
    }
    return failed;
}

static int begin_transaction(int folder_fd, bool make, struct transaction **ret, size_t *ret_recovered) {
    struct stat st;
    struct transaction *transaction = malloc(sizeof *transaction);
    if (!transaction)
        return -ENOMEM;
    *transaction = (struct transaction){.own_fd = -1};
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
    if (r < 0) {
        if (transaction->own_fd >= 0)
            close(transaction->own_fd);
        if (transaction->folder_fd >= 0)
            close(transaction->folder_fd);
        free(transaction);
        return r;
    }
    *ret_recovered = transaction->journal.n;
    if (transaction->committed)
        (void)transaction_step(transaction, CLOCK_NEVER);
    if (has_failed(transaction)) {
        transaction->at = 0; /* so that transaction_close() leaves it */
        transaction_close(transaction);
        return -EUCLEAN;
    }
    forget_journal(transaction);
    *ret = transaction;
    return 0;
}

const char *transaction_problem(int r) {
    return r == -EAGAIN    ? "another kernel is writing"
           : r == -EBADMSG ? JOURNAL_FOLDER " in it holds a journal that can't be read: remove " JOURNAL_FOLDER
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
    if (!transaction->committed || transaction->at == transaction->journal.n) {
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

int transaction_open_folder(const struct transaction *transaction, const char *path) {
    return host_open_beneath(transaction->folder_fd, path, O_RDONLY | O_DIRECTORY, 0);
}

static int add_change(struct transaction *transaction, enum journal_kind kind, const char *path,
                      const struct stat *before, struct journal_change **ret_change) {
    int r = journal_add(&transaction->journal, kind, path, ret_change);
    if (r == 0) {
        (*ret_change)->before = journal_before_of(before);
        transaction->durable |= before != NULL;
    }
    return r;
}

static int stage_folder(const struct transaction *transaction, struct journal_change *change) {
    struct stat st;
    if (mkdirat(transaction->own_fd, change->stage, 0777) ||
        fstatat(transaction->own_fd, change->stage, &st, AT_SYMLINK_NOFOLLOW))
        return -errno;
    change->staged = st.st_ino;
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
    if (r == 0 && before && fdatasync(file->fd))
        r = -errno;
    if (r == 0)
        r = add_change(transaction, JOURNAL_PUT, path, before, &change);
    if (r < 0) {
        transaction_drop(transaction, file);
        return r;
    }
    memcpy(change->stage, file->stage, sizeof change->stage);
    change->staged = st.st_ino;
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

const char *transaction_path(const struct transaction *transaction, size_t i, enum journal_kind *ret_kind) {
    *ret_kind = transaction->journal.change[i].kind;
    return transaction->journal.change[i].path;
}

bool transaction_is_staged(const struct transaction *transaction, size_t i, const struct stat *st) {
    const struct journal_change *change = &transaction->journal.change[i];
    return change->staged != 0 && change->staged == st->st_ino;
}

static int make_token(struct transaction *transaction) {
    struct stat st;
    unlinkat(transaction->own_fd, TOKEN_NAME, 0);
    auto_fd fd = openat(transaction->own_fd, TOKEN_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st))
        return -errno;
    name_journal(transaction, &st);
    return 0;
}

static int write_journal(const struct transaction *transaction, const char *text, size_t bytes) {
    auto_fd fd = openat(transaction->own_fd, JOURNAL_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = host_write(fd, text, bytes);
    if (r < 0)
        return r;
    if (transaction->durable && fsync(fd))
        return -errno;
    return renameat(transaction->own_fd, JOURNAL_NEW, transaction->own_fd, transaction->name) ? -errno : 0;
}

int transaction_commit(struct transaction *transaction) {
    char *written = NULL;
    size_t bytes = 0;
    if (transaction->journal.n > JOURNAL_CHANGES_MAX)
        return -E2BIG;
    int r = make_token(transaction);
    if (r == 0)
        r = journal_write(&transaction->journal, &written, &bytes);
    auto_free char *text = written;
    if (r == 0)
        r = write_journal(transaction, text, bytes);
    if (r < 0)
        return r;
    transaction->committed = true;
    if (transaction->durable)
        (void)fsync(transaction->own_fd); /* where it fails, only the order of writes on the disk is not known */
    return 0;
}

/* Returns what transaction_result() is to return for it. */
static int make(const struct transaction *transaction, struct journal_change *change) {
    const char *name;
    auto_fd parent_fd = open_parent(transaction, change->path, &name);
    if (parent_fd < 0)
        return parent_fd == -ENOENT && change->kind != JOURNAL_PUT ? 0 : parent_fd;
    if (is_read_only(parent_fd))
        return -EACCES;
    return transaction_make(transaction->own_fd, parent_fd, name, change);
}

bool transaction_step(struct transaction *transaction, int64_t until_us) {
    while (transaction->at < transaction->journal.n) {
        struct journal_change *change = &transaction->journal.change[transaction->at++];
        change->result = make(transaction, change);
        if (clock_us() >= until_us)
            break;
    }
    return transaction->at == transaction->journal.n;
}

int transaction_result(const struct transaction *transaction, size_t i, const char **ret_path) {
    const struct journal_change *change = &transaction->journal.change[i];
    *ret_path = change->placed ? change->placed : change->path;
    return change->result;
}
