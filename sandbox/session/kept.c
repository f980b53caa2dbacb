/*
 * kept.c - a list of images with the versions of the files that belong to them.
 */
#define _GNU_SOURCE
#include "kept.h"

#include "base/cleanup.h"
#include "base/errand.h"
#include "sandbox/base/step.h"
#include "sandbox/descriptors/left.h"
#include "sandbox/descriptors/locks.h"
#include "sandbox/descriptors/sockets.h"
#include "sandbox/files/layers.h"
#include "sandbox/files/tree.h"
#include "sandbox/limits/user_limits.h"
#include "sandbox/session/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

void kept_leave(const struct session *session, struct image *image, const struct image *to) {
    const struct inject_task keeper = {image->keeper, 0, image->memory_fd, &session->area};
    int r = kept_has(session, image) ? sockets_leave(&image->descriptors, &keeper) : 0;
    if (r && image->broken == 0)
        image->broken = r;
    for (const struct kept_image *kept = session->kept; kept; kept = kept->next)
        if (kept->image != to)
            shared_free_room(&kept->image->shared, &kept->image->descriptors, kept->image->keeper, &to->shared);
}

int session_keep(struct session *session, struct kept_image **ret_kept) {
    struct kept_image *kept = calloc(1, sizeof *kept);
    if (!kept)
        return -ENOMEM;
    int r = session->files.failed ? session->files.failed : session->current->broken;
    if (r == 0)
        r = shared_keep(&session->current->shared, session->current->memory_fd);
    if (r == 0)
        r = session_files_find_held(session, session->current, &kept->held, &kept->n_held);
    if (r == 0 && !(kept->files = snapshot_keep(session->files.snapshot)))
        r = -ENOMEM;
    if (r) {
        free(kept->held);
        free(kept);
        return r;
    }
    kept->image = image_ref(session->current);
    kept->own_bytes = kept_own_bytes(kept->image);
    kept->next = session->kept;
    session->kept = kept;
    *ret_kept = kept;
    return 0;
}

void session_forget(struct session *session, struct kept_image *kept) {
    struct kept_image **at = &session->kept;
    pid_t killed;
    if (!kept)
        return;
    while (*at != kept)
        at = &(*at)->next;
    *at = kept->next;
    kept_bound_drop(session, kept->image);
    image_unref(kept->image, &killed);
    killed_add(&session->killed, killed);
    snapshot_forget(kept->files);
    free(kept->held);
    free(kept);
}

bool session_lacks_descriptors(const struct session *session, uint64_t *ret_limit) {
    size_t n = 0;
    for (const struct kept_image *kept = session->kept; kept; kept = kept->next)
        n++;
    return user_limits_lacks_descriptors(n, ret_limit);
}

void kept_fini(struct session *session) {
    errand_leave(session->bound.reading);
    while (session->kept)
        session_forget(session, session->kept);
}

/* Where the files of a version are, for a path of a cell's. */
struct version_files {
    const struct session *session;
    int fd;
};

static ino_t find_kept(const void *arg, const char *path) {
    const struct version_files *files = arg;
    char name[PATH_MAX];
    struct stat st;
    if (layers_find(path, files->session->folder, name, sizeof name))
        return 0;
    return fstatat(files->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) ? st.st_ino : 0;
}

/* Open files that have a path are opened anew in each cell, so the image need not have them. */
static int leave_open_files(struct image *image, const struct inject_task *keeper) {
    const struct descriptors *list = &image->descriptors;
    int r = locks_end(&image->descriptors, keeper);
    for (size_t i = 0; list->of_kind[DESCRIPTOR_FILE] > 0 && r == 0 && i < list->n; i++)
        if (list->at[i].kind == DESCRIPTOR_FILE && descriptor_is_first(list, i))
            r = left_open_file(list, i, keeper);
    return r;
}

/* What a cell leaves has nothing of its layer, and of its sandbox, any more. */
static int leave_sandbox(const struct cell *cell, const struct snapshot_version *version) {
    struct session *session = cell->session;
    struct image *image = cell->result;
    const struct inject_task keeper = {image->keeper, 0, image->memory_fd, &session->area};
    auto_fd fd = tree_open(session->files.folders.versions, snapshot_version_name(version));
    const struct version_files files = {session, fd};
    int r = fd < 0 ? fd : leave_open_files(image, &keeper);
    if (r == 0)
        r = shared_keep(&image->shared, image->memory_fd);
    if (r == 0)
        r = mapped_files_leave(&image->shared.mapped, &keeper, find_kept, &files);
    if (r == 0 && session->host.backend)
        r = resources_join(&session->host.groups[SANDBOX_CELLS], image->keeper);
    return r;
}

/* Makes the version and the image what can be kept. */
static int make_kept(struct cell *cell, struct kept_image *kept) {
    struct session *session = cell->session;
    char name[LAYER_NAME_SIZE];
    layer_name(cell->layer, name);
    auto_fd layer_fd = tree_open(session->zygote.files_fd, name);
    const int below[] = {session_outputs_kept(session), session->folder_fd, -1};
    int r = layer_fd < 0 ? layer_fd : snapshot_branch(cell->files, layer_fd, below, &kept->files);
    if (r)
        return r;
    r = leave_sandbox(cell, kept->files);
    if (r == 0)
        r = image_take_outputs(cell->result, cell->outputs);
    if (r)
        snapshot_forget(kept->files);
    return r;
}

int cell_keep(struct cell *cell, struct kept_image **ret_kept) {
    struct session *session = cell->session;
    if (!cell->result || !cell->files || cell->role != CELL_BESIDE)
        return -EINVAL;
    struct kept_image *kept = calloc(1, sizeof *kept);
    int r = kept ? make_kept(cell, kept) : -ENOMEM;
    if (r) {
        free(kept);
        return r;
    }
    cell_reset_oom_score(cell->result->keeper);
    session->beside[cell->place].has_left = true;
    kept_bound_add_cell(cell);
    kept->image = image_ref(cell->result);
    kept->own_bytes = kept_own_bytes(kept->image);
    kept->next = session->kept;
    session->kept = kept;
    *ret_kept = kept;
    return 0;
}

int session_check(const struct session *session, struct error *ret_error) {
    if (session->files.failed)
        return step_failed(ret_error, STEP_LAYER, -session->files.failed, "its files");
    return image_check(session->current, ret_error);
}

/* There is nothing to go on with. */
static void break_session(struct session *session, int r) {
    session->files.failed = r;
    if (session->current->broken == 0)
        session->current->broken = r;
}

/* Has the session's files, and what images share, be those of a kept image. 0; -ESTALE with nothing changed; or -errno:
 * then the session is broken, or the kept image is. */
static int go(struct session *session, struct image *left, struct kept_image *kept, struct error *error) {
    int r = session_files_go(session, kept->files);
    if (r && r != -ESTALE)
        break_session(session, r);
    if (r)
        return step_failed(error, STEP_LAYER, -r, "its files");
    kept_leave(session, left, kept->image);
    image_put_back_shared(kept->image);
    r = kept->image->broken;
    return r ? step_failed(error, STEP_IMAGE, -r, "its files without a name") : 0;
}

/* One could not go to an image whose files are there already: what was the state is the state again. */
static void come_back(struct session *session, struct image *there) {
    struct kept_image *kept = session->kept;
    while (kept && kept->image != session->current)
        kept = kept->next;
    int r = kept ? go(session, there, kept, NULL) : -ESTALE;
    if (r == -ESTALE)
        break_session(session, r);
}

int session_restore(struct session *session, struct kept_image *kept, struct error *ret_error) {
    struct image *left = session->current;
    int r = image_check(kept->image, ret_error);
    if (r || kept->image == left)
        return r;
    r = image_save_shared(left);
    if (r && image_check(left, NULL) == 0) /* one whose keeper has ended is lost, whatever is saved */
        return step_failed(ret_error, STEP_IMAGE, -r, "saving the files without a name of the present one");
    r = go(session, left, kept, ret_error);
    if (r == 0) {
        kept->image->times_restored++;
        kept_bound_add(session, 0); /* the image that is left may be gone with it */
        session_set_current(session, image_ref(kept->image));
    } else if (kept->image->broken) {
        come_back(session, kept->image);
    } else if (r == -ESTALE) {
        shared_forget(&left->shared);
    }
    return r;
}
