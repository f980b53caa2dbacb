#include "finish.h"

#include "kernel/base/clock.h"
#include "kernel/base/log.h"
#include "kernel/files/artifacts.h"
#include "kernel/files/inputs_read.h"
#include "kernel/files/outbox.h"
#include "kernel/files/writeback.h"
#include "kernel/files/writing.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/run/runner.h"

#include <errno.h>
#include <string.h>

enum { SLICE_MS = 10 };

/* Tells people where the files are; programs have the report. */
static void tell(const struct runner *runner, const struct run *run, const struct artifacts_more *more) {
    json_t *data = run->silent ? NULL : artifacts_note(run->artifact_rows, more);
    if (data)
        iopub_publish(runner->jupyter, run->request->message.header, "display_data",
                      json_pack("{s:o, s:{}, s:{}}", "data", data, "metadata", "transient"));
}

/* All of the cell's files are dealt with. */
static void end_files(struct runner *runner, struct run *run) {
    struct artifacts *artifacts = steal_pointer(run->artifacts);
    struct writing *writing = steal_pointer(run->writing);
    run->artifact_rows = artifacts ? json_incref(artifacts_rows(artifacts)) : json_array();
    run->artifacts_omitted = artifacts ? artifacts_omitted(artifacts) : 0;
    struct artifacts_more more = {.refused = run->artifacts_omitted};
    if (writing)
        writing_tell(writing, run->artifact_rows, &more);
    if (writing || !runner->outbox->off)
        tell(runner, run, &more);
    artifacts_destroy(artifacts);
    writing_destroy(writing);
}

/* Files that a fresh run makes are nobody's: it has no part in the session's. */
static bool is_written(const struct runner *runner, const struct run *run) {
    return runner->writeback->on && !run->ask.fresh;
}

static int begin_writing(struct runner *runner, struct run *run) {
    const struct writing_options options = {.cell = run->cell, .writeback = runner->writeback, .limits = &run->limits};
    return is_written(runner, run) ? writing_begin(&options, &run->writing) : 0;
}

void finish_begin(struct runner *runner) {
    struct run *run = runner->run;
    const struct artifacts_options options = {.cell = run->cell,
                                              .ask = &run->ask,
                                              .limits = &run->limits,
                                              .outbox = is_written(runner, run) ? NULL : runner->outbox};
    int r = artifacts_begin(&options, &run->artifacts);
    if (r == 0 && (r = begin_writing(runner, run)) < 0)
        artifacts_destroy(steal_pointer(run->artifacts));
    if (r < 0) {
        run->artifact_rows =
            json_pack("[{s:s, s:s+}]", "path", ".", "refused", "the cell's files can't be listed: ", strerror(-r));
        tell(runner, run, &(struct artifacts_more){0});
    }
    r = inputs_read_begin(
        &(struct inputs_read_options){
            .cell = run->cell, .ask = &run->ask, .known = runner->known_inputs, .inputs = &run->inputs},
        &run->inputs_read);
    if (r < 0 && r != -EBADF)
        log_write(runner->log, LOG_LEVEL_WARNING, "what a cell has read is not known: %s", strerror(-r));
}

/* When the work on its files goes on, at the earliest: 0 for at once. */
static int64_t files_due_us(const struct run *run) {
    if (run->artifacts && !artifacts_rows(run->artifacts))
        return artifacts_due_us(run->artifacts);
    return run->writing ? writing_due_us(run->writing) : 0;
}

/* Its files: they are listed and read, what it has read is hashed as it was before the cell, and then it is written.
 * True once that is done. */
static bool work_on_files(struct runner *runner, struct run *run, int64_t now_us) {
    const int64_t until_us = now_us + SLICE_MS * CLOCK_MS;
    if (files_due_us(run) > now_us || (run->artifacts && !artifacts_step(run->artifacts, until_us)) ||
        (run->inputs_read && !inputs_read_step(run->inputs_read, until_us)) ||
        (run->writing && !writing_step(run->writing, until_us)))
        return false;
    if (run->artifacts || run->writing)
        end_files(runner, run);
    return true;
}

/* Nobody wants to wait any more. Once. */
static void cancel(struct run *run) {
    run->interrupted = false;
    if (run->artifacts)
        artifacts_cancel(run->artifacts, "it was interrupted");
    if (run->writing)
        writing_cancel(run->writing, "nothing is written, for it was interrupted");
    if (run->validation.cell)
        validation_cancel(run, "it was interrupted");
    captures_cancel(run);
}

bool finish_step(struct runner *runner, int64_t now_us) {
    struct run *run = runner->run;
    if (run->interrupted)
        cancel(run);
    if (!captures_waits(run) && !(work_on_files(runner, run, now_us) && validation_step(runner->session, run, now_us)))
        return false;
    return !run_kind(run)->has_reply || !captures_wait(run, now_us, &runner->hold_us);
}

void finish_watch(struct runner *runner, struct poll_set *set) {
    struct run *run = runner->run;
    if (captures_waits(run))
        captures_watch(run, set);
    else if (run->artifacts || run->writing)
        poll_set_deadline(set, files_due_us(run));
    else if (run->inputs_read && !run->validation.cell)
        poll_set_deadline(set, 0);
    validation_watch(&run->validation, set);
}
