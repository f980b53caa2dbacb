/*
 * timeline_show.h - a timeline for people, as text and HTML, and for programs.
 */
#ifndef PETRI_TIMELINE_SHOW_H
#define PETRI_TIMELINE_SHOW_H

#include "kernel/timeline/timeline.h"

/* {"text/plain": …, "text/html": …}: a table with a tree drawn in its first column (timeline_tree.h), and in the last
 * one, where there is any, as much of an id as is needed of nodes that have no number of their own. now_ms: since
 * 1970. The caller's; NULL on ENOMEM. */
json_t *timeline_show(const struct timeline *timeline, int64_t now_ms);

/* An array of objects: "image", "parent" (null for the first), "run_id" (the same as "image"), "execution_count" (null
 * for none), "code_first_line", "names", "bytes_changed", "files_changed", "wall_ms", "started", "kept": whether it is
 * there. By their making. The caller's; NULL on ENOMEM. */
json_t *timeline_json(const struct timeline *timeline);

/*
 * What going to a node does, said before timeline_go():
 *     "back before [7]: 1 cell ("x = 1"), 1 file, 340 MiB of memory"    to an ancestor; what is zero is left out
 *     "back at the beginning: 5 cells (from "x = 1" on), 2 files"       to the first one
 *     "on to [9]: 2 cells"                                              to a descendant
 *     "at [3], on another branch: 2 cells undone, 1 cell again"
 *     "at the state after [7], without what was changed outside of cells since"    of one step: timeline_amend()
 *     "nothing changes: this is the state after [7]"
 * Numbers and lines of code are left out where cells have none; they are those of the first of the cells that are
 * undone. Returns buf, for which TIMELINE_WAY_BYTES are enough.
 */
enum { TIMELINE_WAY_BYTES = 240 };
const char *timeline_tell_way(const struct timeline *timeline, const struct timeline_node *node, char *buf,
                              size_t size);

#endif
