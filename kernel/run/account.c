/*
 * account.c - what comes before and after a cell, in the same order for every kind of run.
 *
 * The budget is checked after the spec is read, because the spec names the task.
 * The record is stored after the report is made and before the client gets its
 * answer.
 */

#include "account.h"

#include "base/errand.h"
#include "kernel/run/accounts.h"
#include "kernel/run/budget.h"
#include "kernel/run/cache.h"
#include "kernel/run/recording.h"
#include "kernel/run/report.h"

void account_begin(struct accounts *accounts, struct run *run) {
    struct error error;
    const struct limits_change limits = {accounts->profile, ASKER_CELL, &error};
    const struct spec_terms terms = {&limits, accounts->config->environment};
    const json_t *petri = json_object_get(run->request->message.metadata, "petri");
    if (spec_parse(&terms, petri, &run->asked.limits, &run->asked.spec) < 0)
        run_set_outcome(run, OUTCOME_REFUSED, error.text);
    else
        budget_check(accounts, run);
}

json_t *account_end(struct accounts *accounts, const struct session *session, struct run *run) {
    run->result.checks = validation_end(&run->now.validation, "the cell has left nothing to check");
    json_t *report = report_run(accounts, session, run);
    bool recorded = recording_store(accounts, run, report, cache_key(run, report));
    json_object_set_new(report, "record", json_boolean(recorded));
    return report;
}

static void tidy(void *records) {
    records_tidy(records);
}

void account_tidy(struct accounts *accounts) {
    if (records_are_untidy(&accounts->records))
        errand_do(tidy, &accounts->records);
}
