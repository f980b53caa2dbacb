/*
 * transaction_make.c - the changes of a transaction, one by one; each can be made
 * again where a kernel was killed.
 *
 * What lies under the staged file's name tells how far a change has come: the
 * staged file itself, by its inode; what it was exchanged for; or nothing, once
 * all is done. Looking at a path and then changing it leaves a moment between the
 * two, so what is replaced is exchanged (RENAME_EXCHANGE) and looked at again
 * under a name that no other program uses, and given back if it is not what was
 * to be replaced. A file system without that has this moment.
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

/* Gives what is staged the first free name like its path's. 0 where that is its own, -EEXIST with change->placed, or
 * -errno. */
static int place_free(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    char tried[NAME_MAX + 1], path[PATH_MAX];
    int r = -EEXIST, n;
    for (n = 1; r == -EEXIST && n <= NAMES_TRIED + 1; n++) {
        const int nth =
            n <= NAMES_TRIED ? n : (int)(1000000 + randombytes_uniform(1000000000)); /* none is taken twice */
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

/* What was exchanged for the staged file, or put aside, lies in its place: whether it is what was to be. */
static bool is_as_seen(int own_fd, const struct journal_change *change) {
    struct stat st;
    return fstatat(own_fd, change->stage, &st, AT_SYMLINK_NOFOLLOW) == 0 && journal_is(&change->before, &st);
}

/* Gives a file of others its name back, or one like it. */
static int give_back(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    int r = place_free(own_fd, change, parent_fd, name);
    free(steal_pointer(change->placed));
    return r == 0 || r == -EEXIST ? -ESTALE : r;
}

/* Exchanges the two files back, if ours is still there, and gives ours another name. */
static int exchange_back(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    struct stat st;
    const bool ours = fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == change->staged;
    if (!ours || renameat2(own_fd, change->stage, parent_fd, name, RENAME_EXCHANGE))
        return give_back(own_fd, change, parent_fd, name);
    return place_free(own_fd, change, parent_fd, name);
}

/* The staged file has the name, and what had it lies in its place. */
static int end_exchange(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    if (!is_as_seen(own_fd, change))
        return exchange_back(own_fd, change, parent_fd, name);
    return unlinkat(own_fd, change->stage, 0) && errno != ENOENT ? -errno : 0;
}

static int put(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    struct stat staged, st;
    if (fstatat(own_fd, change->stage, &staged, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno; /* done, before a kernel was killed */
    if (staged.st_ino != change->staged)
        return end_exchange(own_fd, change, parent_fd, name); /* half done, before a kernel was killed */
    if (!change->before.there || fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
        !journal_is(&change->before, &st))
        return place_free(own_fd, change, parent_fd, name);
    if (renameat2(own_fd, change->stage, parent_fd, name, RENAME_EXCHANGE) == 0)
        return end_exchange(own_fd, change, parent_fd, name);
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    return renameat(own_fd, change->stage, parent_fd, name) ? -errno : 0;
}

/* Moved away first, so that it can be looked at under a name that no other program uses. */
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

/* It is there already, staged, so that there is room for it; a file system that can't rename to what is free has it
 * made. */
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
