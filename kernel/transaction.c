#include "transaction.h"

#include "kernel/clock.h"
#include "kernel/filename.h"
#include "kernel/host_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <string.h>
#include <sys/file.h>

#define JOURNAL_NAME "journal"
#define JOURNAL_NEW JOURNAL_NAME ".new"
#define TOKEN_NAME "token"

enum { NAMES_TRIED = 100 };

struct transaction {
    int folder_fd;   /* owned */
    dev_t device;    /* its file system */
    int own_fd;      /* `.petri` in it, locked; owned */
    size_t n_stages; /* names given to staged files */
    struct journal journal;
    bool decided;
    bool durable; /* something is replaced or removed, so what takes its place has to be on the disk */
    size_t at;    /* the change whose turn it is */
};

/* Opens the folder that path's last name is in; the name goes to ret_name. */
static int open_parent(const struct transaction *transaction, const char *path, const char **ret_name) {
    char above[PATH_MAX];
    struct stat st;
    const char *slash = strrchr(path, '/');
    *ret_name = slash ? slash + 1 : path;
    snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    auto_fd fd = host_open_beneath(transaction->folder_fd, above, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 || fstat(fd, &st))
        return fd < 0 ? fd : -errno;
    return st.st_dev == transaction->device ? steal_descriptor(&fd) : -EXDEV;
}

/* What is staged is a copy, also a folder; what was put aside and could not be given back has another name by now. */
static void remove_stage(const struct transaction *transaction, const char *name) {
    if (unlinkat(transaction->own_fd, name, 0) && errno == EISDIR)
        unlinkat(transaction->own_fd, name, AT_REMOVEDIR);
}

/* Removes what transactions leave in `.petri`, and nothing that somebody else has put there. */
static void empty_own(const struct transaction *transaction) {
    int copy = openat(transaction->own_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_dir dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    if (!dir && copy >= 0)
        close(copy);
    while (dir && (entry = readdir(dir)))
        if (journal_is_stage(entry->d_name))
            remove_stage(transaction, entry->d_name);
        else if (strcmp(entry->d_name, JOURNAL_NEW) == 0 || strcmp(entry->d_name, TOKEN_NAME) == 0)
            unlinkat(transaction->own_fd, entry->d_name, 0);
}

/* Whether `.petri` is ours alone to write to, and still the one that has the name: who removed it was faster. */
static int check_own(const struct transaction *transaction) {
    struct stat own, named;
    if (fstat(transaction->own_fd, &own) ||
        fstatat(transaction->folder_fd, JOURNAL_FOLDER, &named, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? -EAGAIN : -errno;
    if (own.st_ino != named.st_ino || own.st_dev != named.st_dev)
        return -EAGAIN;
    return own.st_uid != geteuid() || (own.st_mode & (S_IWGRP | S_IWOTH)) ? -EPERM : 0;
}

/* Its owner may have shut a folder by its mode, which keeps nobody out who has privileges in a user namespace. */
static bool is_shut(int folder_fd) {
    struct stat st;
    return fstat(folder_fd, &st) == 0 && !(st.st_mode & S_IWUSR);
}

static int lock_own(struct transaction *transaction, bool make) {
    if (make && is_shut(transaction->folder_fd))
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

static int read_text(int fd, size_t bytes, char **ret_text) {
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

/* Whether the journal was written in this very place. */
static bool is_here(const struct transaction *transaction) {
    struct stat st;
    if (fstatat(transaction->own_fd, TOKEN_NAME, &st, AT_SYMLINK_NOFOLLOW))
        return false;
    const struct journal_token token = journal_token_of(&st), *said = &transaction->journal.token;
    return token.inode == said->inode && token.ctime_ns == said->ctime_ns;
}

/* Reads what an earlier one has decided. 0, also where there is none. */
static int read_journal(struct transaction *transaction) {
    static const struct host_file wanted = {
        .flags = O_RDONLY | O_NOFOLLOW, .owner = HOST_OWN, .one_name = true, .max_bytes = JOURNAL_BYTES_MAX};
    char why[200];
    struct stat st;
    char *read = NULL;
    auto_fd fd = host_file_open(transaction->own_fd, JOURNAL_NAME, &wanted, why, sizeof why);
    if (fd < 0)
        return fd == -ENOENT ? 0 : -EBADMSG;
    int r = fstat(fd, &st) ? -errno : read_text(fd, (size_t)st.st_size, &read);
    auto_free char *text = read;
    if (r == 0)
        r = journal_read(text, (size_t)st.st_size, &transaction->journal);
    if (r == 0 && !is_here(transaction)) {
        journal_fini(&transaction->journal);
        r = -EBADMSG;
    }
    transaction->decided = r == 0;
    return r;
}

/* Keeps what somebody else has written and nobody could give back: it lies in the place of a staged file. */
static void keep_foreign(const struct transaction *transaction) {
    for (size_t i = 0; transaction->decided && i < transaction->journal.n; i++) {
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

/* Ends a transaction all of whose changes are made. */
static void forget(struct transaction *transaction) {
    keep_foreign(transaction);
    unlinkat(transaction->own_fd, JOURNAL_NAME, 0);
    empty_own(transaction);
    journal_fini(&transaction->journal);
    transaction->decided = false;
    transaction->at = transaction->n_stages = 0;
}

/* Whether something that was decided could not be made, and is not to be lost. */
static bool has_failed(const struct transaction *transaction) {
    bool failed = false;
    for (size_t i = 0; i < transaction->journal.n; i++) {
        const int r = transaction->journal.change[i].result;
        failed |= r < 0 && r != -EEXIST && r != -ESTALE && r != -ENOTEMPTY;
    }
    return failed;
}

static int begin(int folder_fd, bool make, struct transaction **ret, size_t *ret_recovered) {
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
    if (transaction->decided)
        (void)transaction_step(transaction, CLOCK_NEVER);
    if (has_failed(transaction)) {
        transaction->at = 0; /* so that it is left as it is */
        transaction_close(transaction);
        return -EUCLEAN;
    }
    forget(transaction);
    *ret = transaction;
    return 0;
}

int transaction_open(int folder_fd, struct transaction **ret, size_t *ret_recovered) {
    return begin(folder_fd, true, ret, ret_recovered);
}

int transaction_recover(int folder_fd) {
    struct transaction *transaction;
    size_t n;
    int r = begin(folder_fd, false, &transaction, &n);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    transaction_close(transaction);
    return (int)n;
}

/* What is decided and not made yet is left to who opens the folder next. */
void transaction_close(struct transaction *transaction) {
    if (!transaction)
        return;
    if (!transaction->decided || transaction->at == transaction->journal.n) {
        forget(transaction);
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

static int add(struct transaction *transaction, enum journal_kind kind, const char *path, const struct stat *before,
               struct journal_change **ret_change) {
    int r = journal_add(&transaction->journal, kind, path, ret_change);
    if (r == 0) {
        (*ret_change)->before = journal_before_of(before);
        transaction->durable |= before != NULL;
    }
    return r;
}

int transaction_add(struct transaction *transaction, enum journal_kind kind, const char *path,
                    const struct stat *before) {
    struct journal_change *change;
    int r = add(transaction, kind, path, before, &change);
    if (r == 0 && (kind == JOURNAL_REMOVE || kind == JOURNAL_MAKE_FOLDER))
        next_stage(transaction, change->stage);
    if (r == 0 && kind == JOURNAL_MAKE_FOLDER && mkdirat(transaction->own_fd, change->stage, 0777))
        r = -errno;
    return r;
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
        r = add(transaction, JOURNAL_PUT, path, before, &change);
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

size_t transaction_n(const struct transaction *transaction) {
    return transaction->journal.n;
}

static int make_token(struct transaction *transaction) {
    struct stat st;
    unlinkat(transaction->own_fd, TOKEN_NAME, 0);
    auto_fd fd = openat(transaction->own_fd, TOKEN_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st))
        return -errno;
    transaction->journal.token = journal_token_of(&st);
    return 0;
}

static int write_journal(const struct transaction *transaction, const char *text, size_t bytes) {
    auto_fd fd = openat(transaction->own_fd, JOURNAL_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    for (size_t n = 0; n < bytes;) {
        ssize_t written = write(fd, text + n, bytes - n);
        if (written < 0 && errno != EINTR)
            return -errno;
        n += written > 0 ? (size_t)written : 0;
    }
    if (transaction->durable && fsync(fd))
        return -errno;
    return renameat(transaction->own_fd, JOURNAL_NEW, transaction->own_fd, JOURNAL_NAME) ? -errno : 0;
}

int transaction_decide(struct transaction *transaction) {
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
    transaction->decided = true;
    if (transaction->durable)
        (void)fsync(transaction->own_fd); /* where it fails the order of things on the disk is not known, that is all */
    return 0;
}

/* Renames where nothing stands. See: RENAME_NOREPLACE, which not every file system has. */
static int rename_to_free(int dir_fd, const char *from, int parent_fd, const char *name) {
    if (renameat2(dir_fd, from, parent_fd, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (linkat(dir_fd, from, parent_fd, name, 0))
        return -errno;
    return unlinkat(dir_fd, from, 0) ? -errno : 0;
}

/* Gives what is staged the first free name like its path's. 0 where that is its own, -EEXIST with change->placed, or
 * -errno. */
static int place_free(const struct transaction *transaction, struct journal_change *change, int parent_fd,
                      const char *name) {
    char tried[NAME_MAX + 1], path[PATH_MAX];
    int r = -EEXIST, n;
    for (n = 1; r == -EEXIST && n <= NAMES_TRIED + 1; n++) {
        const int nth =
            n <= NAMES_TRIED ? n : (int)(1000000 + randombytes_uniform(1000000000)); /* none is taken twice */
        if (filename_nth(name, nth, tried, sizeof tried))
            return -ENAMETOOLONG;
        r = rename_to_free(transaction->own_fd, change->stage, parent_fd, tried);
    }
    if (r < 0 || n == 2)
        return r == -EEXIST ? -EBUSY : r;
    snprintf(path, sizeof path, "%.*s%s", (int)(name - change->path), change->path, tried);
    change->placed = strdup(path);
    return -EEXIST;
}

/* What was exchanged for the staged file, or put aside, lies in its place: whether it is what was to be. */
static bool is_as_seen(const struct transaction *transaction, const struct journal_change *change) {
    struct stat st;
    return fstatat(transaction->own_fd, change->stage, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           journal_is(&change->before, &st);
}

/* Gives what is not ours its name back, or one like it. */
static int give_back(const struct transaction *transaction, struct journal_change *change, int parent_fd,
                     const char *name) {
    int r = place_free(transaction, change, parent_fd, name);
    free(steal_pointer(change->placed));
    return r == 0 || r == -EEXIST ? -ESTALE : r;
}

/* Exchanges the two files back, if ours is still there, and gives ours another name. */
static int exchange_back(const struct transaction *transaction, struct journal_change *change, int parent_fd,
                         const char *name) {
    struct stat st;
    const bool ours = fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == change->staged;
    if (!ours || renameat2(transaction->own_fd, change->stage, parent_fd, name, RENAME_EXCHANGE))
        return give_back(transaction, change, parent_fd, name);
    return place_free(transaction, change, parent_fd, name);
}

/* The staged file has the name, and what had it lies in its place. */
static int end_exchange(const struct transaction *transaction, struct journal_change *change, int parent_fd,
                        const char *name) {
    if (!is_as_seen(transaction, change))
        return exchange_back(transaction, change, parent_fd, name);
    return unlinkat(transaction->own_fd, change->stage, 0) && errno != ENOENT ? -errno : 0;
}

static int put(const struct transaction *transaction, struct journal_change *change, int parent_fd, const char *name) {
    struct stat staged, st;
    if (fstatat(transaction->own_fd, change->stage, &staged, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno; /* done, before somebody was killed */
    if (staged.st_ino != change->staged)
        return end_exchange(transaction, change, parent_fd, name); /* half of it, by the same */
    if (!change->before.there || fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
        !journal_is(&change->before, &st))
        return place_free(transaction, change, parent_fd, name);
    if (renameat2(transaction->own_fd, change->stage, parent_fd, name, RENAME_EXCHANGE) == 0)
        return end_exchange(transaction, change, parent_fd, name);
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    return renameat(transaction->own_fd, change->stage, parent_fd, name) ? -errno : 0;
}

/* Put aside first, so that it can be looked at when nobody finds it any more. */
static int remove_file(const struct transaction *transaction, struct journal_change *change, int parent_fd,
                       const char *name) {
    struct stat st;
    const bool aside = fstatat(transaction->own_fd, change->stage, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!aside) {
        if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW))
            return errno == ENOENT ? 0 : -errno;
        if (S_ISDIR(st.st_mode) || !journal_is(&change->before, &st))
            return -ESTALE;
        if (renameat(parent_fd, name, transaction->own_fd, change->stage))
            return -errno;
    }
    if (is_as_seen(transaction, change))
        return unlinkat(transaction->own_fd, change->stage, 0) ? -errno : 0;
    return give_back(transaction, change, parent_fd, name);
}

/* It is there already, staged, so that there is room for it; a file system that can't rename to what is free has it
 * made. */
static int make_folder(const struct transaction *transaction, const struct journal_change *change, int parent_fd,
                       const char *name) {
    struct stat st;
    if (renameat2(transaction->own_fd, change->stage, parent_fd, name, RENAME_NOREPLACE) == 0)
        return 0;
    if ((errno == EINVAL || errno == ENOSYS) && mkdirat(parent_fd, name, 0777) == 0)
        return 0;
    if (errno != EEXIST && errno != ENOENT)
        return -errno;
    return fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

static int remove_folder(const struct journal_change *change, int parent_fd, const char *name) {
    struct stat st;
    if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno;
    if (!journal_is(&change->before, &st))
        return -ESTALE;
    return unlinkat(parent_fd, name, AT_REMOVEDIR) && errno != ENOENT ? -errno : 0;
}

static int make(const struct transaction *transaction, struct journal_change *change) {
    const char *name;
    auto_fd parent_fd = open_parent(transaction, change->path, &name);
    if (parent_fd < 0)
        return parent_fd == -ENOENT && change->kind != JOURNAL_PUT ? 0 : parent_fd;
    if (is_shut(parent_fd))
        return -EACCES;
    switch (change->kind) {
    case JOURNAL_PUT:
        return put(transaction, change, parent_fd, name);
    case JOURNAL_REMOVE:
        return remove_file(transaction, change, parent_fd, name);
    case JOURNAL_MAKE_FOLDER:
        return make_folder(transaction, change, parent_fd, name);
    case JOURNAL_REMOVE_FOLDER:
        return remove_folder(change, parent_fd, name);
    case JOURNAL_KIND_N:
        break;
    }
    return -EINVAL;
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
