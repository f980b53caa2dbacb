/*
 * cells.h - what tests of cells through a whole kernel share: one harness, and the steps of a cell.
 */
#ifndef PETRI_CELLS_H
#define PETRI_CELLS_H

#include "harness.h"

/* What a rolled-back outcome's sentence ends with. */
#define STAYS "; the session is as it was before the cell."

extern struct harness h;

/* A kernel whose worker is warm, with the limits of profile notebook; setup and teardown for cmocka. */
int cells_start(void **state);
int cells_stop(void **state);
#define WARM(test) cmocka_unit_test_setup_teardown(test, cells_start, cells_stop)

/* The same, with a clock that only put_forward() moves: for tests of what is done when so much time is over. */
int cells_start_still(void **state);
#define STILL(test) cmocka_unit_test_setup_teardown(test, cells_start_still, cells_stop)

/* All that was published for a request, up to its idle: harness_heard(). */
void expect_heard(const char *id, const char *expected);

void expect_text(const json_t *json, const char *key, const char *expected);

/* The status of the next execute_reply, which answers this request. */
void expect_status(const char *id, const char *status);

/* A rolled-back outcome: the same error in the reply and on iopub. */
void expect_failure(const char *id, const char *heard, const char *ename, const char *evalue);

/* A cell that has been started and has its request. */
void begin_cell(const char *code, char id[37]);

/* Returns after a whole turn of the loop: what had come for the kernel before the call has been served. */
void take_a_turn(void);

/* Between two turns it becomes so much later: what had begun before the call has taken that long. */
void put_forward(int64_t us);

void write_all(int fd, const char *text);

/* A frame of the worker's with a message to publish; and the kernel's answer to it. */
json_t *publish(int seq, const char *msg_type);
void expect_ack(int seq);

/* Another cell runs: the kernel is not stuck. */
void expect_next_cell_runs(void);

/* The run report in an execute_reply; borrowed. */
json_t *report_of(const struct message *reply);

#endif
