/*
 * collect.c - the kernel's work on a frozen cell, in slices of some milliseconds and in a fixed order.
 *
 * First artifacts are read; then the files that the cell has read are hashed;
 * then changes are written to the host's folder. Writing comes after hashing,
 * because it may change files whose content before the cell is hashed. Checks
 * come after all files, because they use the rows of artifacts. The wait for
 * widgets comes last. An interrupt cancels what is not done yet; each part then
 * ends in its usual way.
 */

#include "collect.h"

#include "kernel/base/clock.h"
#include "kernel/base/log.h"
#include "kernel/files/artifacts.h"
#include "kernel/files/export.h"
#include "kernel/files/inputs_read.h"
#include "kernel/files/writeback.h"
#include "kernel/files/writing.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/run/runner.h"
#include "kernel/run/travel.h"

#include <errno.h>
#include <string.h>

enum { WAIT_MS = 5 };   /* between two looks whether the checks of another run are over */
enum { SLICE_MS = 10 }; /* of a turn of the loop: runs that collect at once share it */

/* The files of a run that leaves nothing are not part of the session, so they are never written to the notebook's
 * folder. */
static bool is_written(const struct run *run) {
    return run->runner->writeback->on && travel_keeps(run);
}

/* Whether the files belong to a notebook, also if they are not copied: `petri run` copies them to a folder that it was
 * given, or to none. */
static bool is_notebook(const struct export *export) {
    return export->name[0] || (export->off && export->parent[0]);
}

/* Publishes a display for people that says where the files are; programs read the report. Once a session it says what
 * holds for all of them. A fresh run's files are not the session's. */
static void tell_files(const struct run *run, struct artifacts_note *about) {
    struct runner *runner = run->runner;
    const struct export *export = runner->export;
    if (run->asked.silent)
        return;
    about->folder = is_written(run) ? NULL : export->name[0] ? export->name : export->parent;
    about->off = export->off;
    about->beside = run->beside;
    about->strict = runner->profile->kind == PROFILE_STRICT;
    about->explains = !runner->told_files && !run->beside && is_notebook(export);
    json_auto_t *rows = json_copy(run->result.artifact_rows);
    json_array_extend(rows, run->result.earlier_rows);
    json_t *data = artifacts_make_note(rows, about);
    if (!data)
        return;
    runner->told_files |= about->explains;
    iopub_publish(runner->jupyter, run->request->message.header, "display_data",
                  json_pack("{s:o, s:{}, s:{s:s}}", "data", data, "metadata", "transient", "petri", "note"));
}

/* All of the cell's files are done: takes their rows for the report. */
static void end_files(struct run *run) {
    struct artifacts *artifacts = steal_pointer(run->now.artifacts);
    struct writing *writing = steal_pointer(run->now.writing);
    run->result.artifact_rows = artifacts ? json_incref(artifacts_rows(artifacts)) : json_array();
    run->result.artifacts_omitted = artifacts ? artifacts_omitted(artifacts) : 0;
    struct artifacts_note about = {.more.refused = run->result.artifacts_omitted,
                                   .on_disk = artifacts ? artifacts_on_disk(artifacts) : NULL};
    run->result.earlier_rows = json_array();
    if (writing)
        writing_tell(writing, run->result.artifact_rows, run->result.earlier_rows, &about.more);
    tell_files(run, &about);
    artifacts_destroy(artifacts);
    writing_destroy(writing);
}

static int begin_writing(struct run *run) {
    const struct writing_options options = {
        .cell = run->now.cell, .writeback = run->runner->writeback, .limits = &run->asked.limits};
    return is_written(run) ? writing_begin(&options, &run->now.writing) : 0;
}

void collect_begin(struct run *run) {
    struct runner *runner = run->runner;
    const struct artifacts_options options = {.cell = run->now.cell,
                                              .spec = &run->asked.spec,
                                              .limits = &run->asked.limits,
                                              .export = is_written(run) ? NULL : runner->export,
                                              .kept_since_us = run->beside ? run->request->arrived_us : 0};
    int r = artifacts_begin(&options, &run->now.artifacts);
    if (r == 0 && (r = begin_writing(run)) < 0)
        artifacts_destroy(steal_pointer(run->now.artifacts));
    if (r < 0) {
        run->result.artifact_rows =
            json_pack("[{s:s, s:s+}]", "path", ".", "refused", "the cell's files can't be listed: ", strerror(-r));
        tell_files(run, &(struct artifacts_note){0});
    }
    r = inputs_read_begin(&(struct inputs_read_options){.cell = run->now.cell,
                                                        .spec = &run->asked.spec,
                                                        .known = runner->known_inputs,
                                                        .inputs = &run->result.inputs},
                          &run->now.inputs_read);
    if (r < 0 && r != -EBADF)
        log_write(runner->log, LOG_LEVEL_WARNING, "what a cell has read is not known: %s", strerror(-r));
}

/* The earliest time at which the work on its files goes on; 0 for at once. */
static int64_t files_due_us(const struct run *run) {
    if (run->now.artifacts && !artifacts_rows(run->now.artifacts))
        return artifacts_due_us(run->now.artifacts);
    return run->now.writing ? writing_due_us(run->now.writing) : 0;
}

/* Copies artifacts, hashes the files that the cell has read, and writes to the folder. True once that is done. */
static bool work_on_files(struct run *run, int64_t now_us) {
    const int64_t until_us = now_us + SLICE_MS * CLOCK_MS / (int64_t)run->runner->n_runs;
    if (files_due_us(run) > now_us || (run->now.artifacts && !artifacts_step(run->now.artifacts, until_us)) ||
        (run->now.inputs_read && !inputs_read_step(run->now.inputs_read, until_us)) ||
        (run->now.writing && !writing_step(run->now.writing, until_us)))
        return false;
    if (run->now.artifacts || run->now.writing)
        end_files(run);
    return true;
}

/* An interrupt: cancels what is not done yet; what is done is kept. */
static void cancel(struct run *run) {
    run->now.interrupted = false;
    if (run->now.artifacts)
        artifacts_cancel(run->now.artifacts, "it was interrupted");
    if (run->now.writing)
        writing_cancel(run->now.writing, "nothing is written, because it was interrupted");
    if (run->now.validation.cell)
        validation_cancel(&run->now.validation, "it was interrupted");
    captures_cancel(&run->now.captures);
    if (run->now.comparison.is_on)
        comparison_cancel(&run->now.comparison, "it was interrupted");
}

/* Checks in cells are made one at a time: all such cells are measured together. */
static bool waits_for_checks(const struct run *run) {
    const struct runner *runner = run->runner;
    if (validation_has_cell(&run->now.validation) || !validation_wants_cell(&run->now.validation))
        return false;
    for (size_t i = 0; i < runner->n_runs; i++)
        if (validation_has_cell(&runner->runs[i]->now.validation))
            return true;
    return false;
}

/* What the cell has changed of the memory, before the cells of its checks share that. */
static bool note_left(struct run *run) {
    if (!run->now.knows_left && cell_knows_left(run->now.cell)) {
        run->result.bytes_changed = cell_changed_bytes(run->now.cell);
        run->now.knows_left = true;
    }
    return run->now.knows_left;
}

static bool validate(struct run *run, int64_t now_us) {
    return !waits_for_checks(run) &&
           validation_step(&run->now.validation, run->runner->session, run->result.artifact_rows, now_us);
}

/* %diff: shows what differs once that is known. */
static bool compare(struct run *run, int64_t now_us) {
    const struct runner *runner = run->runner;
    if (!comparison_step(&run->now.comparison, runner->session, &runner->timeline, now_us))
        return false;
    json_t *data = comparison_end(&run->now.comparison, runner->session, &runner->timeline);
    if (data && !run->asked.silent)
        iopub_publish(runner->jupyter, run->request->message.header, "display_data",
                      json_pack("{s:o, s:{}, s:{}}", "data", data, "metadata", "transient"));
    else
        json_decref(data);
    return true;
}

bool collect_step(struct run *run, int64_t now_us) {
    if (run->now.interrupted)
        cancel(run);
    if (run->now.comparison.is_on)
        return compare(run, now_us);
    if (!captures_waits(&run->now.captures) && !(work_on_files(run, now_us) && note_left(run) && validate(run, now_us)))
        return false;
    int64_t hold_us = run->runner->hold_us;
    const bool waits = run_kind(run)->has_reply && captures_wait(&run->now.captures, now_us, &hold_us);
    if (!run->beside)
        run->runner->hold_us = hold_us;
    return !waits;
}

void collect_watch(struct run *run, struct poll_set *set) {
    if (run->now.comparison.is_on)
        comparison_watch(&run->now.comparison, set);
    else if (captures_waits(&run->now.captures))
        captures_watch(&run->now.captures, set);
    else if (run->now.artifacts || run->now.writing)
        poll_set_deadline(set, files_due_us(run));
    else if (waits_for_checks(run))
        poll_set_deadline(set, clock_us() + WAIT_MS * CLOCK_MS);
    else if (!run->now.knows_left || (run->now.inputs_read && !validation_has_cell(&run->now.validation)))
        poll_set_deadline(set, 0);
    validation_watch(&run->now.validation, set);
}
