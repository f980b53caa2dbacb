/*
 * hide.h - folders of the host that are shown without some of their entries.
 *
 * Each is an overlay, made once with the template: the host's folder below, a
 * folder of whiteouts above. Every sandbox has it in place of the folder.
 * See: overlayfs.rst, "whiteouts and opaque directories".
 */
#ifndef PETRI_SANDBOX_HIDE_H
#define PETRI_SANDBOX_HIDE_H

#include "sandbox.h"

/* Makes the overlays; old: where the host's root stands. 0 or -errno with ret_error filled. */
int hide_build(const struct session_options *options, const char *old, struct sandbox_error *ret_error);

/* In a sandbox whose mounts are made: puts the overlays where the folders are seen, in the notebook's folder too. */
int hide_show(const struct session_options *options, struct sandbox_error *ret_error);

#endif
