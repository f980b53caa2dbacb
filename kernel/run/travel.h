/*
 * travel.h - going back to images of earlier cells, and naming them.
 *
 * The runner's timeline has a node for each step of the session: what a committed cell has
 * left. Steps are the execute_requests that take a number; what one without history, a silent or a blank one, a
 * widget's message or the preload has changed belongs to the step that it comes after.
 * All of it is the kernel process's own: no code of the session takes part.
 *
 * See: docs/time-travel.md.
 */
#ifndef PETRI_TRAVEL_H
#define PETRI_TRAVEL_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/run/run.h"

struct kept_image;
struct poll_set;
struct request;
struct runner;
struct timeline_node;

void travel_init(struct runner *runner);

/* Forgets all images; before the session ends. */
void travel_fini(struct runner *runner);

/* The session has an image that no run has left: its first one, or what the preload has changed. */
void travel_note(struct runner *runner);

/* Before a run is counted: goes to the image that its request names in "from", or has a branch begin in that. The
 * number of the last cell there; run->asked.missed has the cells that the image lacks (missed.h). Sets an outcome where
 * there is no such image. */
int travel_start(struct run *run);

/* The image that a branch begins in, which has been started in this turn. */
struct kept_image *travel_origin(const struct run *run);

/* Whether a run that ends well leaves its image to the session. */
bool travel_keeps(const struct run *run);

/* Whether a run that has ended leaves an image that is kept beside the session. */
bool travel_branches(const struct run *run);

/* Whether its image gets the name that the request gives: where the code has raised, that is no state that one wants to
 * go back to by it, and a state that has the name keeps it. */
bool travel_names(const struct run *run);

/* Its cell is frozen: keeps the image that it leaves, and adds that to the tree. The cell is only to be discarded then.
 */
void travel_keep_branch(struct run *run);

/* The run's cell has been committed, or there is none any more: adds its step; or goes back to where the run started.
 */
void travel_end(struct run *run);

/* Images that hold too much go once that has lasted for a while, also between two runs. */
void travel_watch(const struct runner *runner, struct poll_set *set);
void travel_tick(struct runner *runner, int64_t now_us);

/* What the report says: the id of the image that the run leaves, NULL for none, and of the one that it was made of. */
const char *travel_image(const struct run *run);
const char *travel_parent(const struct run *run);

/*
 * Goes to a node, for which the session's own run must not have a cell. 0; or -errno with a sentence without a full
 * stop in ret_error.
 */
int travel_go(struct runner *runner, struct timeline_node *node, struct error *ret_error) MUST_CHECK;

/* What states hold that the present one does not: of the sandbox, by session_measure_kept(), or at most where that is
 * not known yet; and of this process, where each state may have lists of its own. */
uint64_t travel_kept_bytes(const struct runner *runner);

/* What going to a node would undo, in a sentence without a full stop that begins in lower case. */
enum { TRAVEL_TOLD_BYTES = 336 };
void travel_tell(const struct runner *runner, struct timeline_node *node, char told[TRAVEL_TOLD_BYTES]);

/* The run goes elsewhere: where it is not kept, travel_end() goes back to where the session is. 0; or -errno with such
 * a sentence where that can't be, because the state is not there. */
int travel_leave(struct run *run, struct error *ret_error) MUST_CHECK;

/* Finds what a text means, a node whose image is there. NULL with such a sentence. */
struct timeline_node *travel_find(struct runner *runner, const char *text, struct error *ret_error);

/* node, if its image is there; else NULL with such a sentence. */
struct timeline_node *travel_check(const struct runner *runner, struct timeline_node *node, struct error *ret_error);

/* The same for what a petri_restore_request names: {"to": a text without an image_name_text_problem(), or a number},
 * {"undo": n} or {"redo": n}, numbers as of TRAVEL_CELLS_MAX. */
struct timeline_node *travel_find_asked(struct runner *runner, const json_t *content, struct error *ret_error);

/* Gives the present image a name. 0, or -EINVAL with such a sentence. */
int travel_name(struct runner *runner, const char *name, struct error *ret_error) MUST_CHECK;

#endif
