/*
 * recover.c - see recover.h.
 *
 * Code of a cell has its threads, mappings and open files as it likes, and what petri could record of them may be
 * something that Linux doesn't give to the next cell. No list of such things is complete, so what counts is whether a
 * cell can be made. A state from which the session has gone on was good for a cell: if none can be made of that one
 * either, then not the state is at fault, but the machine, and the session stays where it is.
 */

#include "recover.h"

#include "kernel/run/ahead.h"
#include "kernel/run/runner.h"
#include "kernel/run/travel.h"

#include <errno.h>
#include <stdio.h>

/* Goes to the last state before a node that is not lost. Whether there is one. */
static bool go_before(struct runner *runner, const struct timeline_node *from, char told[TRAVEL_TOLD_BYTES]) {
    struct error error;
    for (struct timeline_node *node = from->parent; node; node = node->parent) {
        travel_tell(runner, node, told);
        if (node->image && travel_go(runner, node, &error) == 0)
            return true;
    }
    return false;
}

/* Goes to a state of which a cell can be made, if there is one; else the session stays where it is. Whether it went. */
static bool go_to_better(struct runner *runner, char told[TRAVEL_TOLD_BYTES]) {
    struct timeline_node *from = runner->timeline.current;
    struct error error;
    if (!from->image || !go_before(runner, from, told))
        return false;
    return ahead_try(runner, &error) == 0 || travel_go(runner, from, &error) < 0;
}

static void recover_lost(struct runner *runner, int lost, struct outcome_facts *facts) {
    char told[TRAVEL_TOLD_BYTES];
    const bool is_back = go_before(runner, runner->timeline.current, told);
    snprintf(facts->session, sizeof facts->session, "%s", is_back ? told : "lost, and no earlier state of it is left");
    facts->mend = !is_back         ? "Restart the kernel."
                  : lost == -ESRCH ? "The process that held the session's state was killed, by hand or by Linux for "
                                     "want of memory. Run the cells that it has lost again."
                                   : "The session's state could not be put back. Run the cells that it has lost again.";
}

static void recover_unmade(struct runner *runner, struct outcome_facts *facts) {
    char told[TRAVEL_TOLD_BYTES];
    if (!go_to_better(runner, told))
        return;
    snprintf(facts->session, sizeof facts->session, "%s", told);
    facts->mend =
        "No other cell could be made of what the last one left: a thread or something open that Linux gives to "
        "none, or Linux lacked memory. Run it again in a way that ends what it began; %redo tries its state "
        "once more.";
}

void recover_session(struct run *run) {
    struct runner *runner = run->runner;
    struct error cause = {0};
    /* One that is held is gone back to by travel_end(). */
    if (run->beside || !runner->timeline.current || runner->timeline.held)
        return;
    const int lost = session_check(runner->session, &cause);
    if (lost < 0)
        recover_lost(runner, lost, &run->result.facts);
    else if (runner->ahead_failed)
        recover_unmade(runner, &run->result.facts);
}
