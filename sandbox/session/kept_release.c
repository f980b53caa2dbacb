/*
 * kept_release.c - what a kept image has of the notebook's folder that is the host's by now: it gets a version of the
 * files without that. The one before may have cells beside the session's own over it, and stays as long.
 */
#define _GNU_SOURCE
#include "base/cleanup.h"
#include "sandbox/session/kept.h"
#include "sandbox/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The paths below the folder of what an image has open or mapped, sorted; ret is the caller's, its texts the image's. 0
 * or -ENOMEM. */
static int list_held(const struct session *session, const struct image *image, const char ***ret, size_t *ret_n) {
    const struct descriptors *list = &image->descriptors;
    const struct mapped_files *mapped = &image->shared.mapped;
    const char **held = malloc((list->n + mapped->n + 1) * sizeof *held);
    size_t n = 0;
    if (!held)
        return -ENOMEM;
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].kind == DESCRIPTOR_FILE && S_ISREG(list->at[i].mode))
            held[n++] = session_files_below_folder(session, list->at[i].path);
    for (size_t i = 0; i < mapped->n; i++)
        if (mapped->file[i].path)
            held[n++] = session_files_below_folder(session, mapped->file[i].path);
    size_t n_below = 0;
    for (size_t i = 0; i < n; i++)
        if (held[i])
            held[n_below++] = held[i];
    qsort(held, n_below, sizeof *held, by_text);
    *ret = held;
    *ret_n = n_below;
    return 0;
}

/* The paths that are not held: how many; index has the number of each. */
static size_t choose(const char *const *held, size_t n_held, const char *const *paths, size_t n,
                     struct snapshot_given_up *rows, size_t *index) {
    size_t n_rows = 0;
    for (size_t i = 0; i < n; i++)
        if (!bsearch(&paths[i], held, n_held, sizeof *held, by_text)) {
            index[n_rows] = i;
            rows[n_rows++] = (struct snapshot_given_up){.path = paths[i]};
        }
    return n_rows;
}

int session_release_kept(struct session *session, struct kept_image *kept, const char *const *paths, size_t n,
                         bool *ret_released) {
    const char **list = NULL;
    size_t n_held = 0;
    struct snapshot_version *version = NULL;
    auto_free struct snapshot_given_up *rows = calloc(n + 1, sizeof *rows);
    auto_free size_t *index = calloc(n + 1, sizeof *index);
    int r = rows && index ? list_held(session, kept->image, &list, &n_held) : -ENOMEM;
    auto_free const char **held = list;
    if (r)
        return r;
    const size_t n_rows = choose(held, n_held, paths, n, rows, index);
    r = n_rows ? snapshot_without(kept->files, rows, n_rows, &version) : 0;
    if (r)
        return r;
    for (size_t i = 0; i < n; i++)
        ret_released[i] = false;
    for (size_t i = 0; i < n_rows; i++)
        ret_released[index[i]] = rows[i].is_gone;
    if (version) {
        snapshot_forget(kept->files);
        kept->files = version;
    }
    return 0;
}
