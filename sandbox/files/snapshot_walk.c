/*
 * snapshot_walk.c - a walk without recursion, whose names are read before its entries change.
 *
 * For each level of depth there is the list of its names and the place in it. A
 * folder is left by its "..", so two descriptors suffice for any depth; that is
 * safe because nothing else moves folders meanwhile. The other tree is walked as
 * far as the visitor has said that it has the same folders.
 */
#define _GNU_SOURCE
#include "snapshot_walk.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/slices.h"
#include "sandbox/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The names of one folder on the way, one behind the other. */
struct level {
    char *names;
    size_t bytes, size;
    size_t here; /* of the name that is visited, or gone into */
};

/* Where a walk stands: in the last of n levels, the other tree's folder in the first n_other of them. */
struct walk {
    struct snapshot_place at;
    struct level *level;
    size_t n, n_other;
};

static int note_name(void *arg, const char *name, off_t next) {
    struct level *level = arg;
    const size_t bytes = strlen(name) + 1;
    (void)next;
    if (level->bytes + bytes > level->size) {
        const size_t size = 2 * level->size + bytes;
        char *names = realloc(level->names, size);
        if (!names)
            return -ENOMEM;
        level->names = names;
        level->size = size;
    }
    memcpy(level->names + level->bytes, name, bytes);
    level->bytes += bytes;
    return 0;
}

/* Begins with the folder that the walk stands in. */
static int begin(struct walk *walk) {
    int r = array_grow(&walk->level, walk->n, sizeof *walk->level);
    if (r)
        return r;
    walk->level[walk->n] = (struct level){0};
    return tree_read(walk->at.fd, note_name, &walk->level[walk->n++]);
}

static struct snapshot_place place_of(const struct walk *walk) {
    return (struct snapshot_place){walk->at.fd, walk->n_other == walk->n ? walk->at.other_fd : -1};
}

static const char *name_of(const struct level *level) {
    return level->names + level->here;
}

static void go_on(struct level *level) {
    level->here += strlen(name_of(level)) + 1;
}

static int go_down(struct walk *walk, const char *name, bool both) {
    const bool other = both && walk->n_other == walk->n;
    int r = tree_go(&walk->at.fd, name);
    if (r == 0 && other)
        r = tree_go(&walk->at.other_fd, name);
    if (r)
        return r;
    walk->n_other += other;
    return begin(walk);
}

static int go_up(struct walk *walk) {
    int r = tree_go(&walk->at.fd, "..");
    if (r == 0 && walk->n_other == walk->n) {
        r = tree_go(&walk->at.other_fd, "..");
        walk->n_other--;
    }
    free(walk->level[--walk->n].names);
    return r;
}

static int visit(struct walk *walk, const struct snapshot_walker *walker, void *arg) {
    struct level *level = &walk->level[walk->n - 1];
    const struct snapshot_place place = place_of(walk);
    struct stat st;
    if (fstatat(place.fd, name_of(level), &st, AT_SYMLINK_NOFOLLOW))
        return -errno;
    int r = walker->visit(arg, &place, name_of(level), &st);
    if (r > 0)
        return go_down(walk, name_of(level), r == SNAPSHOT_INTO_BOTH);
    go_on(level);
    return r;
}

static int leave(struct walk *walk, const struct snapshot_walker *walker, void *arg) {
    int r = go_up(walk);
    if (r)
        return r;
    struct level *level = &walk->level[walk->n - 1];
    const struct snapshot_place place = place_of(walk);
    r = walker->leave ? walker->leave(arg, &place, name_of(level)) : 0;
    go_on(level);
    return r;
}

int snapshot_walk(int fd, int other_fd, const struct snapshot_walker *walker, void *arg) {
    auto_fd own = tree_open(fd, "."), own_other = other_fd < 0 ? -1 : tree_open(other_fd, ".");
    if (own < 0 || (other_fd >= 0 && own_other < 0))
        return own < 0 ? own : own_other;
    struct walk walk = {.at = {steal_fd(&own), steal_fd(&own_other)}};
    int r = begin(&walk);
    walk.n_other = other_fd < 0 ? 0 : 1;
    while (r == 0 && (walk.n > 1 || walk.level[0].here < walk.level[0].bytes)) {
        const struct level *level = &walk.level[walk.n - 1];
        slices_step();
        r = level->here < level->bytes ? visit(&walk, walker, arg) : leave(&walk, walker, arg);
    }
    while (walk.n > 0)
        free(walk.level[--walk.n].names);
    free(walk.level);
    close_fd(&walk.at.fd);
    close_fd(&walk.at.other_fd);
    return r;
}
