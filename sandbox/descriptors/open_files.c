/*
 * open_files.c - opening files anew, by the path or by the descriptor.
 *
 * A file is opened by the path that leads to it, as this cell sees it, in batches;
 * one that fails is tried again by itself. If its mode keeps its owner out, the
 * mode is changed for that moment. What can't be opened stays the image's open
 * file and is marked as shared, where its contents can be saved; else there is its
 * number only. What was opened must be of the kind that was recorded, for the host
 * may have put something else at the path.
 */
#define _GNU_SOURCE
#include "open_files.h"

#include "base/cleanup.h"
#include "sandbox/base/system.h"
#include "sandbox/files/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { AT_ONCE = 8, PATHS_BYTES = INJECT_SCRATCH_BYTES };

/*
 * Whether a path, as the stopped process sees it, is the object behind a
 * descriptor. What Linux says of a descriptor is no proof: " (deleted)" may be
 * part of a name, and a folder that is gone may say nothing of it.
 */
static bool leads_to(const struct descriptors_source *source, const char *path, const struct descriptor *descriptor) {
    struct stat st;
    char root[32];
    snprintf(root, sizeof root, "/proc/%d/root", source->known->viewer);
    auto_fd fd = system_open_in_root(root, path, false);
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == descriptor->device && st.st_ino == descriptor->inode;
}

/*
 * A folder without a path leads, by "..", to the files of an earlier sandbox,
 * which are the session's by now. That could not be undone.
 */
int open_files_tell(const struct descriptors_source *source, const char *link, struct descriptor *descriptor) {
    descriptor->kind = DESCRIPTOR_FILE;
    if (leads_to(source, link, descriptor)) {
        descriptor->path = strdup(link);
        return descriptor->path ? 0 : -ENOMEM;
    }
    if (!S_ISREG(descriptor->mode))
        return descriptors_refuse(source, descriptor, "%s that was deleted",
                                  S_ISDIR(descriptor->mode) ? "a folder" : "a path (O_PATH)");
    descriptor->kind = DESCRIPTOR_UNNAMED;
    return 0;
}

/* For open(2), that blocks nowhere. None that makes or empties a file is among the flags that are recorded. */
static int open_flags(const struct descriptor *descriptor) {
    return descriptor->flags | O_NOFOLLOW | O_CLOEXEC | (descriptor->flags & O_PATH ? 0 : O_NONBLOCK);
}

/* Whether what was opened is what it should be: the host may have put something else in its place. 1, 0, or -EUCLEAN.
 */
static int is_of_its_kind(struct restorer *restorer, const struct descriptor *descriptor, int made) {
    struct stat st;
    auto_fd fd = restorer_take(restorer, made);
    if (fd == -EUCLEAN)
        return fd;
    return fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == (descriptor->mode & S_IFMT);
}

/*
 * A file that can't be opened any more (a folder's mode forbids it, or the host
 * has removed it). A file stays shared where what it holds can be put back. Of a
 * folder or a path, which lead to the files of an earlier sandbox, there is only
 * the number.
 */
static int do_without(struct descriptors *list, struct restorer *restorer, size_t i) {
    struct descriptor *descriptor = &list->at[i];
    if (restorer->beside)
        return restorer_withhold(restorer, list, i);
    descriptor->shared = S_ISREG(descriptor->mode) && !(descriptor->flags & O_PATH) &&
                         saved_has_room(restorer->keeper, descriptor->fd, &restorer->room);
    return descriptor->shared ? 0 : restorer_withhold(restorer, list, i);
}

/* Puts what was opened in its place, at its offset. */
static int settle(struct descriptors *list, struct restorer *restorer, size_t i, int made) {
    struct descriptor *descriptor = &list->at[i];
    int r = is_of_its_kind(restorer, descriptor, made);
    if (r < 0)
        return r;
    if (r == 0) {
        r = restorer_close(restorer, made);
        return r ? r : do_without(list, restorer, i);
    }
    r = 0;
    if (!(descriptor->flags & (O_NONBLOCK | O_PATH)))
        r = restorer_add(restorer,
                         (struct inject_call){.number = SYS_fcntl,
                                              .argument = {(uint64_t)made, F_SETFL, (uint64_t)descriptor->flags}});
    if (r == 0 && !(descriptor->flags & (O_DIRECTORY | O_PATH)) && descriptor->offset > 0)
        r = restorer_add(restorer,
                         (struct inject_call){.number = SYS_lseek,
                                              .argument = {(uint64_t)made, (uint64_t)descriptor->offset, SEEK_SET}});
    if (r == 0)
        r = restorer_place(restorer, list, i, made);
    return r ? r : restorer_close(restorer, made);
}

/* A file of the cell's own that its mode keeps it from opening, opened all the same; its path is at scratch. */
static int open_with_mode(struct restorer *restorer, const struct descriptor *descriptor) {
    const struct inject_call change = {.number = SYS_chmod, .argument = {restorer_at(restorer, 0), S_IRUSR | S_IWUSR}};
    int r = restorer_put(restorer, 0, descriptor->path, strlen(descriptor->path) + 1);
    if (r || restorer_do(restorer, change))
        return r ? r : -EACCES;
    int made = restorer_open(restorer, descriptor->path, open_flags(descriptor));
    int back =
        restorer_do(restorer, (struct inject_call){.number = SYS_chmod,
                                                   .argument = {restorer_at(restorer, 0), descriptor->mode & 07777}});
    return made >= 0 && back == -EUCLEAN ? -EUCLEAN : made;
}

/* One that did not open at the first try. */
static int restore_again(struct descriptors *list, struct restorer *restorer, size_t i, int result) {
    struct descriptor *descriptor = &list->at[i];
    if (result == -EACCES && S_ISREG(descriptor->mode))
        result = open_with_mode(restorer, descriptor);
    if (result >= 0)
        return settle(list, restorer, i, result);
    const bool passing = result == -EUCLEAN || result == -ENOMEM || result == -EMFILE || result == -ENFILE;
    return passing ? result : do_without(list, restorer, i);
}

/*
 * A few files at once. A batch ends at the first call that fails, and one that
 * fails must not keep the others from being opened.
 */
static int restore_some(struct descriptors *list, struct restorer *restorer, const size_t *rows, const uint64_t *paths,
                        size_t n) {
    struct inject_call calls[AT_ONCE];
    for (size_t k = 0; k < n; k++)
        calls[k] = (struct inject_call){
            .number = SYS_openat, .argument = {(uint64_t)AT_FDCWD, paths[k], (uint64_t)open_flags(&list->at[rows[k]])}};
    int r = 0;
    for (size_t from = 0, failed = 0; r == 0 && from < n; from += failed + 1) {
        r = inject_batch(restorer->task, calls + from, n - from);
        if (inject_failure(calls + from, n - from, &failed) == 0)
            break;
    }
    int made[AT_ONCE];
    for (size_t k = 0; r == 0 && k < n; k++) {
        made[k] = inject_result_descriptor(calls[k].result);
        r = made[k] >= 0 ? settle(list, restorer, rows[k], made[k]) : 0;
    }
    for (size_t k = 0; r == 0 && k < n; k++)
        if (made[k] < 0)
            r = restore_again(list, restorer, rows[k], made[k]);
    return r ? r : restorer_run(restorer);
}

int open_files_restore(struct descriptors *list, struct restorer *restorer) {
    size_t rows[AT_ONCE], n = 0, used = 0;
    uint64_t paths[AT_ONCE];
    int r = restorer_run(restorer);
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        const struct descriptor *descriptor = &list->at[i];
        if (descriptor->kind != DESCRIPTOR_FILE || !descriptor_is_first(list, i))
            continue;
        size_t bytes = strlen(descriptor->path) + 1;
        if (n == AT_ONCE || used + bytes > PATHS_BYTES) {
            r = restore_some(list, restorer, rows, paths, n);
            n = used = 0;
        }
        if (r == 0)
            r = restorer_put(restorer, used, descriptor->path, bytes);
        rows[n] = i;
        paths[n++] = restorer_at(restorer, used);
        used += bytes;
    }
    return r == 0 && n ? restore_some(list, restorer, rows, paths, n) : r;
}

static bool is_constant(const struct restorer *restorer, const struct descriptor *descriptor) {
    auto_fd fd = saved_open(restorer->keeper, descriptor->fd, O_RDONLY);
    return fd >= 0 && saved_is_constant(fd);
}

/* Of a cell beside the one that has the same file it could not be told whose changes to put back. A whole run has a
 * copy by now: shared_restore.c. */
static int restore_unnamed(struct descriptors *list, struct restorer *restorer, size_t i) {
    struct descriptor *descriptor = &list->at[i];
    if (descriptor->withheld || (restorer->beside && !restorer->whole))
        return restorer_withhold(restorer, list, i);
    if (restorer->whole && !is_constant(restorer, descriptor))
        return 0;
    int made = restorer_reopen(restorer, descriptor->fd, descriptor->flags);
    if (made == -EUCLEAN)
        return made;
    if (made < 0 && restorer->whole)
        return restorer_withhold(restorer, list, i);
    descriptor->shared = made < 0;
    return made < 0 ? 0 : settle(list, restorer, i, made);
}

int open_files_restore_unnamed(struct descriptors *list, struct restorer *restorer) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++)
        if (list->at[i].kind == DESCRIPTOR_UNNAMED && descriptor_is_first(list, i))
            r = restore_unnamed(list, restorer, i);
    return r;
}
