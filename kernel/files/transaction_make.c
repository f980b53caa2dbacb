/*
 * transaction_make.c - makes the changes of a transaction; each can be resumed after petri was killed.
 *
 * The file under the staged file's name says how far a change has come: it is the
 * staged file itself (same inode), the file that it was exchanged for, or missing
 * once the change is done. Another program could change a file between the check
 * and the rename. So the two files are exchanged (RENAME_EXCHANGE), the old one
 * is checked again in `.petri`, where no other program changes it, and exchanged
 * back if it is not the expected one. On file systems without RENAME_EXCHANGE
 * that race remains.
 */

#include "transaction_make.h"

#include "kernel/base/filename.h"
#include "kernel/base/host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <string.h>

enum { NAMES_TRIED = 100 };

/*
 * Gives the staged file the first free name like its path. 0 where that is the
 * path, -EEXIST with change->placed where it is another, or -errno.
 */
static int place_free(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    char tried[NAME_MAX + 1], path[PATH_MAX];
    int r = -EEXIST, n;
    for (n = 1; r == -EEXIST && n <= NAMES_TRIED + 1; n++) {
        const int nth =
            n <= NAMES_TRIED ? n : (int)(1000000 + randombytes_uniform(1000000000)); /* random after many tries */
        if (filename_nth(name, nth, tried, sizeof tried))
            return -ENAMETOOLONG;
        r = host_rename_to_free(own_fd, change->stage, parent_fd, tried);
    }
    if (r < 0 || n == 2)
        return r == -EEXIST ? -EBUSY : r;
    snprintf(path, sizeof path, "%.*s%s", (int)(name - change->path), change->path, tried);
    change->placed = strdup(path);
    return -EEXIST;
}

/* Whether the file under the staged file's name is the one that the change expects to replace or remove. */
static bool is_as_seen(int own_fd, const struct journal_change *change) {
    struct stat st;
    return fstatat(own_fd, change->stage, &st, AT_SYMLINK_NOFOLLOW) == 0 && journal_is(&change->before, &st);
}

/* Gives another program's file its name back, or a name like it. */
static int give_back(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    int r = place_free(own_fd, change, parent_fd, name);
    free(steal_pointer(change->placed));
    return r == 0 || r == -EEXIST ? -ESTALE : r;
}

/* Exchanges the two files back, if ours still has the name, and gives ours another name. */
static int exchange_back(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    struct stat st;
    const bool ours = fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == change->staged;
    if (!ours || renameat2(own_fd, change->stage, parent_fd, name, RENAME_EXCHANGE))
        return give_back(own_fd, change, parent_fd, name);
    return place_free(own_fd, change, parent_fd, name);
}

/* The two files have been exchanged: checks the old one, and removes it. */
static int end_exchange(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    if (!is_as_seen(own_fd, change))
        return exchange_back(own_fd, change, parent_fd, name);
    return unlinkat(own_fd, change->stage, 0) && errno != ENOENT ? -errno : 0;
}

static int put(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    struct stat staged, st;
    if (fstatat(own_fd, change->stage, &staged, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno; /* the change was made before petri was killed */
    if (staged.st_ino != change->staged)
        return end_exchange(own_fd, change, parent_fd, name); /* the files were exchanged before petri was killed */
    if (!change->before.there || fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
        !journal_is(&change->before, &st))
        return place_free(own_fd, change, parent_fd, name);
    if (renameat2(own_fd, change->stage, parent_fd, name, RENAME_EXCHANGE) == 0)
        return end_exchange(own_fd, change, parent_fd, name);
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    return renameat(own_fd, change->stage, parent_fd, name) ? -errno : 0;
}

/* Moves the file to `.petri` first, to check it where no other program changes it. */
static int remove_file(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    struct stat st;
    const bool aside = fstatat(own_fd, change->stage, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!aside) {
        if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW))
            return errno == ENOENT ? 0 : -errno;
        if (S_ISDIR(st.st_mode) || !journal_is(&change->before, &st))
            return -ESTALE;
        if (renameat(parent_fd, name, own_fd, change->stage))
            return -errno;
    }
    if (is_as_seen(own_fd, change))
        return unlinkat(own_fd, change->stage, 0) ? -errno : 0;
    return give_back(own_fd, change, parent_fd, name);
}

/*
 * The folder is already staged, so this can't fail for lack of space. Where
 * the file system has no RENAME_NOREPLACE, it is made here.
 */
static int make_folder(int own_fd, const struct journal_change *change, int parent_fd, const char *name) {
    struct stat st;
    if (renameat2(own_fd, change->stage, parent_fd, name, RENAME_NOREPLACE) == 0)
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

int transaction_make(int own_fd, int parent_fd, const char *name, struct journal_change *change) {
    switch (change->kind) {
    case JOURNAL_PUT:
        return put(own_fd, change, parent_fd, name);
    case JOURNAL_REMOVE:
        return remove_file(own_fd, change, parent_fd, name);
    case JOURNAL_MAKE_FOLDER:
        return make_folder(own_fd, change, parent_fd, name);
    case JOURNAL_REMOVE_FOLDER:
        return remove_folder(change, parent_fd, name);
    case JOURNAL_KIND_N:
        break;
    }
    return -EINVAL;
}
