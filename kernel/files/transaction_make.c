/*
 * transaction_make.c - makes the changes of a transaction and takes them back; each can be resumed after petri was
 * killed.
 *
 * The file under the staged file's name says how far a change has come: it is the
 * staged file itself (same inode), what it has replaced or what was removed, or
 * missing once a new file or folder has its name. What is replaced or removed
 * stays there until all changes are made, so that each can be taken back.
 *
 * Another program could change a file between the check and the rename. So the
 * two files are exchanged (RENAME_EXCHANGE), the old one is checked again in
 * `.petri`, where no other program opens it, and exchanged back if it is not the
 * expected one. File systems without RENAME_EXCHANGE do it in three steps, with
 * a moment in which the path has no file.
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

/* Whether a file is this version of it, and no program has it open for writing. */
static bool is_untouched(int dir_fd, const char *name, const struct journal_version *version) {
    struct stat st;
    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && journal_is(version, &st) &&
           !(S_ISREG(st.st_mode) && host_is_written(dir_fd, name));
}

/* Whether the staged file or folder itself, as it is on the disk, has the staged name still: 1, 0 where it is another
 * one, or -errno. */
static int has_stage(int own_fd, const struct journal_change *change) {
    struct stat st;
    if (fstatat(own_fd, change->stage, &st, AT_SYMLINK_NOFOLLOW))
        return -errno;
    return change->staged.there && st.st_ino == change->staged.inode;
}

/* Gives what is under the staged file's name the path, or a name like it. 0 or -errno. */
static int give_back(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    int r = place_free(own_fd, change, parent_fd, name);
    free(steal_pointer(change->placed));
    return r == -EEXIST ? 0 : r;
}

/* What the file at the path is called while two are exchanged in three steps. */
static const char *swap_name(const struct journal_change *change, char buf[JOURNAL_STAGE_BYTES + 8]) {
    snprintf(buf, JOURNAL_STAGE_BYTES + 8, JOURNAL_SWAP_NAME "%s", change->stage);
    return buf;
}

/*
 * The second and third step, or what is left of them. 0; -EEXIST where another
 * program has taken the path meanwhile, so that the file got another name; or
 * -errno.
 */
static int end_swap(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    char swap[JOURNAL_STAGE_BYTES + 8];
    struct stat st;
    if (fstatat(own_fd, swap_name(change, swap), &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno;
    int r = place_free(own_fd, change, parent_fd, name);
    if (r < 0 && r != -EEXIST && r != -ENOENT)
        return r;
    return renameat(own_fd, swap, own_fd, change->stage) ? -errno : r == -EEXIST ? r : 0;
}

/* Exchanges the file at the path and the one under the staged file's name. As end_swap(). */
static int exchange(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    char swap[JOURNAL_STAGE_BYTES + 8];
    if (renameat2(own_fd, change->stage, parent_fd, name, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (renameat(parent_fd, name, own_fd, swap_name(change, swap)))
        return -errno;
    return end_swap(own_fd, change, parent_fd, name);
}

/* The two files have been exchanged: if the old one is not the expected one, it gets its name back, and ours another.
 */
static int end_exchange(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    if (is_untouched(own_fd, change->stage, &change->before))
        return 0;
    if (!is_untouched(parent_fd, name, &change->staged)) {
        int r = give_back(own_fd, change, parent_fd, name);
        return r < 0 ? r : -ESTALE;
    }
    int r = exchange(own_fd, change, parent_fd, name);
    return r ? r : place_free(own_fd, change, parent_fd, name);
}

static int put(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    int r = end_swap(own_fd, change, parent_fd, name);
    if (r)
        return r;
    r = has_stage(own_fd, change);
    if (r < 0)
        return r == -ENOENT ? 0 : r; /* it was made before petri was killed */
    if (r == 0)
        return end_exchange(own_fd, change, parent_fd, name);
    if (!is_untouched(parent_fd, name, &change->before))
        return place_free(own_fd, change, parent_fd, name);
    r = exchange(own_fd, change, parent_fd, name);
    return r ? r : end_exchange(own_fd, change, parent_fd, name);
}

/* Moves the file to `.petri`, to check it where no other program opens it. */
static int remove_file(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    struct stat st;
    if (fstatat(own_fd, change->stage, &st, AT_SYMLINK_NOFOLLOW)) {
        if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW))
            return errno == ENOENT ? 0 : -errno;
        if (S_ISDIR(st.st_mode) || !is_untouched(parent_fd, name, &change->before))
            return -ESTALE;
        if (renameat(parent_fd, name, own_fd, change->stage))
            return -errno;
    }
    if (is_untouched(own_fd, change->stage, &change->before))
        return 0;
    int r = give_back(own_fd, change, parent_fd, name);
    return r < 0 ? r : -ESTALE;
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

/* Finds the new file under its path or a name like it. */
static int stage_again(int own_fd, const struct journal_change *change, int parent_fd, const char *name) {
    char tried[NAME_MAX + 1];
    struct stat st;
    for (int n = 1; n <= NAMES_TRIED && filename_nth(name, n, tried, sizeof tried) == 0; n++) {
        if (is_untouched(parent_fd, tried, &change->staged))
            return host_rename_to_free(parent_fd, tried, own_fd, change->stage);
        if (n > 1 && fstatat(parent_fd, tried, &st, AT_SYMLINK_NOFOLLOW))
            break;
    }
    return 0;
}

/* What another program has made of the new file stays, and what was there before gets a name beside it. */
static int take_back_put(int own_fd, struct journal_change *change, int parent_fd, const char *name) {
    int r = end_swap(own_fd, change, parent_fd, name);
    if (r)
        return r == -EEXIST ? 0 : r;
    r = has_stage(own_fd, change);
    if (r == 1)
        return 0; /* it was not made */
    if (r == 0 && is_untouched(parent_fd, name, &change->staged)) {
        r = exchange(own_fd, change, parent_fd, name);
        return r == -EEXIST ? 0 : r;
    }
    return r == 0         ? give_back(own_fd, change, parent_fd, name)
           : r == -ENOENT ? stage_again(own_fd, change, parent_fd, name)
                          : r;
}

/* Nothing is in it that was not made by petri and taken back before; else another program has put something there. */
static int take_back_folder(int own_fd, const struct journal_change *change, int parent_fd, const char *name) {
    struct stat st;
    if (has_stage(own_fd, change) != -ENOENT || fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
        !journal_is(&change->staged, &st))
        return 0;
    return unlinkat(parent_fd, name, AT_REMOVEDIR) && errno != ENOENT && errno != ENOTEMPTY ? -errno : 0;
}

static int make_again(const struct journal_change *change, int parent_fd, const char *name) {
    if (mkdirat(parent_fd, name, 0777))
        return errno == EEXIST ? 0 : -errno;
    return fchmodat(parent_fd, name, change->before.mode & 07777, 0) ? -errno : 0;
}

int transaction_take_back(int own_fd, int parent_fd, const char *name, struct journal_change *change) {
    int r;
    switch (change->kind) {
    case JOURNAL_PUT:
        return take_back_put(own_fd, change, parent_fd, name);
    case JOURNAL_REMOVE:
        r = give_back(own_fd, change, parent_fd, name);
        return r == -ENOENT ? 0 : r;
    case JOURNAL_MAKE_FOLDER:
        return take_back_folder(own_fd, change, parent_fd, name);
    case JOURNAL_REMOVE_FOLDER:
        return make_again(change, parent_fd, name);
    case JOURNAL_KIND_N:
        break;
    }
    return -EINVAL;
}

int transaction_let_go(int own_fd, const struct journal_change *change, const struct journal_version *known) {
    char kept[JOURNAL_STAGE_BYTES + 16];
    struct stat st;
    if (!change->stage[0] || fstatat(own_fd, change->stage, &st, AT_SYMLINK_NOFOLLOW))
        return 0;
    if (journal_is(known, &st) || S_ISDIR(st.st_mode))
        return unlinkat(own_fd, change->stage, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) ? -errno : 0;
    snprintf(kept, sizeof kept, "kept-%08x", (unsigned)randombytes_random());
    return host_rename_to_free(own_fd, change->stage, own_fd, kept);
}
