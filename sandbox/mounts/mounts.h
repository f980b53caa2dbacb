/*
 * mounts.h - what a cell sees of files: the template all sandboxes start from, and the mounts of one sandbox.
 *
 * The template is made once, in the zygote's mount namespace. A sandbox's own
 * mount namespace is a copy of it, with the few mounts on top that must be its
 * own, /proc and the overlays with its layer, and without what no cell sees.
 *
 * See: docs/sandbox.md, mount_namespaces(7), overlayfs.rst.
 */
#ifndef PETRI_SANDBOX_MOUNTS_MOUNTS_H
#define PETRI_SANDBOX_MOUNTS_MOUNTS_H

#include "sandbox/files/folder.h"
#include "sandbox/mounts/masked_paths.h"
#include "sandbox/mounts/submounts.h"
#include "sandbox/sandbox.h"

#include <limits.h>

/* In the zygote's namespace: what holds the session's files (layers.h). Not in a sandbox's. */
#define MOUNTS_FILES_DIR "/"

/* The same: the notebook's folder, as the host has it. */
#define MOUNTS_FOLDER_DIR "/folder"

/* The same where it was taken apart: what isn't a part. */
#define MOUNTS_PARTED_DIR "/" SUBMOUNTS_FILES

/* The home folder of cells. */
#define MOUNTS_HOME "/home/petri"

enum { MOUNTS_MAX_ON_TOP = 24 };

/* Whether the notebook's folder can be shown at its own path; where it can't, /work is all there is. */
bool mounts_shows_folder_path(const struct session_options *options);

/*
 * What the template was built from, kept by the zygote. A read-only path that
 * lies below a private area (/tmp, say) is shown anew in each sandbox, on top
 * of that area.
 */
struct template {
    const struct session_options *options;
    struct folder_rules rules;  /* of the notebook's folder */
    struct folder_seen seen;    /* by them */
    struct submounts submounts; /* and its parts, where it has some */
    struct masked_places masked;
    int n_on_top;
    char on_top[MOUNTS_MAX_ON_TOP][PATH_MAX];
};

/*
 * Builds the template and changes the root to it. The calling process must be
 * alone in a fresh mount namespace. options are borrowed for as long as the
 * template is used. 0 or -errno with ret_error filled.
 */
int mounts_build_template(const struct session_options *options, struct template *ret_template,
                          struct error *ret_error);

/* In the zygote's namespace: whether the i-th of what is shown on top is a file, and no folder. */
bool mounts_is_file_on_top(int i);

/* In the zygote's namespace: how much the live files may take from now on, or the layers of cells. 0 or -errno. */
enum mounts_files { MOUNTS_LIVE_FILES, MOUNTS_CELLS_FILES };
int mounts_set_room(enum mounts_files which, uint64_t bytes, uint64_t inodes);

/* In the zygote's namespace, once the files of layers.h are there: mounts the notebook's folder as the session's cells
 * see it. 0 or -errno. */
int mounts_show_session(const struct template *template, struct error *ret_error);

/*
 * The same: has Linux forget what it knows of that folder, for what lies below
 * the overlay has been changed. It does not forget files that are open. 0 or
 * -errno.
 */
int mounts_refresh_session(const struct template *template);

/* The same: mounts it anew, for sandboxes that are not begun; it then has another device number. 0 or -errno. */
int mounts_renew_session(const struct template *template, struct error *ret_error);

/*
 * In a copy of the template, in a pid namespace of its own or the zygote's:
 * what of a sandbox needs no layer, its root and its /proc (proc.h). The caller
 * is chrooted by it, until mounts_build_sandbox(). 0 or -errno.
 */
int mounts_begin_sandbox(struct error *ret_error);

/*
 * After that: the other mounts of one sandbox, with the live files (LAYER_LIVE)
 * or those of the layer of this number. Leaves the caller and the namespace with nothing but what the cell
 * sees, and in its root folder. 0 or -errno.
 */
int mounts_build_sandbox(const struct template *template, uint64_t layer, struct error *ret_error);

/* In a copy of the template, for the cage: a root with nothing in it, and nothing else. 0 or -errno. */
int mounts_build_empty(struct error *ret_error);

#endif
