/*
 * masked_paths.h - folders of the host that are shown without some of their entries, or without any.
 *
 * Each is an overlay, made once with the template: the host's folder below, a
 * folder of whiteouts above; or an empty folder. Every sandbox has it in place
 * of the folder, wherever cells see that. See: overlay.h.
 */
#ifndef PETRI_SANDBOX_MOUNTS_MASKED_PATHS_H
#define PETRI_SANDBOX_MOUNTS_MASKED_PATHS_H

#include "sandbox/sandbox.h"

struct prefix_list;

/* Where cells see folders of which something is hidden. */
struct masked_places {
    size_t n;
    struct masked_place {
        size_t folder; /* an index of the session's */
        char *path;    /* owned, for the life of the process */
    } * place;
};

/*
 * Finds these places while the host's root is still ours: a folder of the
 * session's may be shown under several names, by links. 0 or -ENOMEM.
 */
int masked_paths_find(const struct session_options *options, const struct prefix_list *prefixes,
                      struct masked_places *ret);

/* Makes the overlays; old: where the host's root stands. 0 or -errno with ret_error filled. */
int masked_paths_build(const struct session_options *options, const char *old, struct error *ret_error);

/*
 * In a sandbox: puts the overlays in their places; those in which folder, the
 * notebook's, lies (above) before it is mounted there, for they would cover it,
 * and the others after that. 0 or -errno with ret_error filled.
 */
int masked_paths_show(const struct masked_places *places, const char *folder, bool above, struct error *ret_error);

#endif
