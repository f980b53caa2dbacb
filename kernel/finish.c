#include "finish.h"

#include "kernel/artifacts.h"
#include "kernel/clock.h"
#include "kernel/inputs_read.h"
#include "kernel/iopub.h"
#include "kernel/kernel.h"

#include <errno.h>
#include <string.h>

enum { SLICE_MS = 10 };

/* Tells people where the files are; programs have the report. */
static void tell_saved(struct kernel *kernel, const struct run *run, const struct artifacts *artifacts) {
    if (run->silent || kernel->outbox.off)
        return;
    json_t *data = artifacts_note(artifacts_rows(artifacts), artifacts_omitted(artifacts));
    if (data)
        iopub_publish(kernel, run->request->message.header, "display_data",
                      json_pack("{s:o, s:{}, s:{}}", "data", data, "metadata", "transient"));
}

static void end_artifacts(struct kernel *kernel, struct run *run) {
    struct artifacts *artifacts = steal_pointer(run->artifacts);
    tell_saved(kernel, run, artifacts);
    run->artifact_rows = json_incref(artifacts_rows(artifacts));
    run->artifacts_omitted = artifacts_omitted(artifacts);
    artifacts_destroy(artifacts);
}

bool finish_begin(struct kernel *kernel) {
    struct run *run = kernel->runner.run;
    int r = artifacts_begin(run, &kernel->outbox, &run->artifacts);
    if (r < 0)
        run->artifact_rows =
            json_pack("[{s:s, s:s+}]", "path", "", "refused", "the cell's files can't be listed: ", strerror(-r));
    r = inputs_read_begin(run, kernel->known_inputs, &run->inputs_read);
    if (r < 0 && r != -EBADF)
        log_write(&kernel->log, LOG_LEVEL_WARNING, "what a cell has read is not known: %s", strerror(-r));
    run->finishing = true;
    return finish_step(kernel, clock_us());
}

/* Its files and checks. True once that is done. */
static bool work(struct kernel *kernel, struct run *run, int64_t now_us) {
    if (run->artifacts && artifacts_due_us(run->artifacts) > now_us)
        return false;
    if (run->artifacts && !artifacts_step(run->artifacts, now_us + SLICE_MS * CLOCK_MS))
        return false;
    if (run->artifacts)
        end_artifacts(kernel, run);
    if (run->inputs_read && !inputs_read_step(run->inputs_read, now_us + SLICE_MS * CLOCK_MS))
        return false;
    return validation_step(kernel, run, now_us);
}

bool finish_step(struct kernel *kernel, int64_t now_us) {
    struct run *run = kernel->runner.run;
    if (!captures_waits(run) && !work(kernel, run, now_us))
        return false;
    run->finishing = captures_wait(run, now_us, &kernel->hold_us);
    return !run->finishing;
}

void finish_watch(struct kernel *kernel, struct poll_set *set) {
    struct run *run = kernel->runner.run;
    if (captures_waits(run))
        captures_watch(run, set);
    else if (run->artifacts)
        poll_set_deadline(set, artifacts_due_us(run->artifacts));
    else if (run->inputs_read && !run->validation.cell)
        poll_set_deadline(set, 0);
    validation_watch(&run->validation, set);
}

void finish_interrupt(struct run *run) {
    if (run->artifacts)
        artifacts_cancel(run->artifacts, "it was interrupted");
    if (run->validation.cell)
        validation_cancel(run, "it was interrupted");
    captures_cancel(run);
}
