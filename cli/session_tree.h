/*
 * session_tree.h - the runs of a recorded session as a tree: in which state each ran, and what it left.
 *
 * A run leaves a state of its own, whose id is the run's; or none, as one that was rolled
 * back, a fresh one, or one with "commit": false; or the session is in a state that was there before, as after
 * %undo or a widget's message.
 *
 * See: docs/time-travel.md, docs/records.md.
 */
#ifndef PETRI_SESSION_TREE_H
#define PETRI_SESSION_TREE_H

#include "base/cleanup.h"
#include "kernel/records/records.h"

#define SESSION_FIRST "first" /* the id of the state before the first run */

/* What a run has left. */
enum session_left {
    SESSION_LEFT_NONE,    /* no state: the session was as before, where it had a session at all */
    SESSION_LEFT_ITS_OWN, /* its own */
    SESSION_LEFT_EARLIER, /* one that was there before */
    SESSION_LEFT_UNKNOWN, /* its record has nothing about it: it is older than time travel */
};

/* run: a row of records_of_session(), or a report. */
enum session_left session_left(const json_t *run);

/* Whether a run was a line such as %undo: it ran in no state, and "parent" is that of the state it went to. */
bool session_is_line(const json_t *run);

/* Whether a run was a branch that was kept: it left a state of its own, and the session stayed where it was. */
bool session_is_branch(const json_t *run);

/* All runs of a session, by its id or the beginning of one; limit: the newest so many. ret_runs is the caller's, as of
 * records_of_session(). 0, or -errno after a sentence on standard error; -ENOENT where there is no such session. */
int session_runs(struct records *records, const char *prefix, int64_t limit, json_t **ret_runs) MUST_CHECK;

/*
 * The states on the way from the first one to a state, that one last: [{"image", "execution_count", "summary"}], the
 * first one with nulls for these two. runs: of session_runs(). Where a run on the way is not in the records it begins
 * behind it, with another state than SESSION_FIRST. The caller's; NULL on ENOMEM.
 */
json_t *session_path(const json_t *runs, const char *image) MUST_CHECK;

/* Writes the tree, a row for each run but for those that have left an earlier state. 0, or -ENOMEM after a sentence on
 * standard error. */
int session_tree_put(const json_t *runs) MUST_CHECK;

#endif
