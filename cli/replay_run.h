/*
 * replay_run.h - what the replay of one run and that of a session have in common.
 */
#ifndef PETRI_REPLAY_RUN_H
#define PETRI_REPLAY_RUN_H

#include "base/cleanup.h"
#include "cli/client.h"
#include "kernel/records/records.h"

struct arguments;

/* Why a record can't be replayed, as the end of a sentence, or NULL: parts of it were not stored, or it has no code. */
const char *replay_refusal(const json_t *run);

/* The request to send, as recorded but for the task, which a replay doesn't count for, the cache, which would return
 * the recorded result, and the limits, which are those that were in force. The caller's; NULL where a file is not
 * stored any more. */
json_t *replay_request(struct records *records, const json_t *run) MUST_CHECK;

/* Starts a kernel in the folder and with the interpreter of a record, or those of the command line. ret_client is the
 * caller's: client_stop(). 0; -ENOTDIR where the record's can't be used, with a clause in ret_error that says what to
 * do; or another -errno with a sentence there. */
int replay_start(const struct arguments *arguments, const json_t *run, struct client **ret_client,
                 struct error *ret_error) MUST_CHECK;

/* What replay_compare() finds between a record and a report of client_run(). The caller's. */
json_t *replay_differences(const struct arguments *arguments, struct records *records, const json_t *run,
                           const json_t *report);

/* Writes them for people. */
void replay_put_differences(const json_t *differences);

/* `petri replay --session ID`: all runs of a session, one after the other. Returns the exit status. */
int replay_session(const struct arguments *arguments);

#endif
