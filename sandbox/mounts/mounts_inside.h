/*
 * mounts_inside.h - the places of the template that no cell sees, by name from the template's working folder.
 *
 * They are named from it so that the options of an overlay, which a cell can read, tell nothing.
 */
#ifndef PETRI_SANDBOX_MOUNTS_MOUNTS_INSIDE_H
#define PETRI_SANDBOX_MOUNTS_MOUNTS_INSIDE_H

#define MOUNTS_LIVE "live" /* these three: see layers.h */
#define MOUNTS_KEPT "kept"
#define MOUNTS_CELLS "cells"
#define MOUNTS_VIEW "view" /* the notebook's folder as the session's cells see it */
#define MOUNTS_FOLDER "folder"
#define MOUNTS_PRIVATE "private"
#define MOUNTS_ON_TOP "on-top"
#define MOUNTS_COVERS "covers"
#define MOUNTS_ROOT "root" /* what cells see of the template */

#endif
