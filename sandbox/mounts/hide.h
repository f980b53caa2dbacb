/*
 * hide.h - folders of the host that are shown without some of their entries, or without any.
 *
 * Each is an overlay, made once with the template: the host's folder below, a
 * folder of whiteouts above; or an empty folder. Every sandbox has it in place
 * of the folder, wherever cells see that. See: overlay.h.
 */
#ifndef PETRI_SANDBOX_MOUNTS_HIDE_H
#define PETRI_SANDBOX_MOUNTS_HIDE_H

#include "sandbox/sandbox.h"

struct prefix_list;

/* Where cells see folders of which something is hidden. */
struct hide_places {
    size_t n;
    struct hide_place {
        size_t folder; /* an index of the session's */
        char *path;    /* owned, for the life of the process */
    } * place;
};

/*
 * Finds these places while the host's root is still ours: a folder of the
 * session's may be shown under several names, by links. 0 or -ENOMEM.
 */
int hide_find(const struct session_options *options, const struct prefix_list *prefixes, struct hide_places *ret);

/* Makes the overlays; old: where the host's root stands. 0 or -errno with ret_error filled. */
int hide_build(const struct session_options *options, const char *old, struct sandbox_error *ret_error);

/*
 * In a sandbox: puts the overlays in their places; those in which folder, the
 * notebook's, lies (above) before it is mounted there, for they would cover it,
 * and the others after that. 0 or -errno with ret_error filled.
 */
int hide_show(const struct hide_places *places, const char *folder, bool above, struct sandbox_error *ret_error);

#endif
