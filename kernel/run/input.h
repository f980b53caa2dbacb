/*
 * input.h - input() and getpass(): a question to the client that asked for the run.
 *
 * See: Jupyter messaging, "Messages on the stdin (ROUTER/DEALER) channel".
 */
#ifndef PETRI_INPUT_H
#define PETRI_INPUT_H

#include <jansson.h>

#include <stdint.h>

struct run;
struct runner;

/*
 * The running cell asks; frame is borrowed. Until the answer comes the wall clock
 * stands still, except that the CPU time of the cell's other threads and
 * processes still counts, up to the time that has passed. The time of all waiting
 * of a cell together has the limit input_wait.
 *
 * A password's prompt is shown on one line after INPUT_MARK, which code in the
 * cell can't remove, because a prompt may imitate that of another program.
 *
 * While the question of another run is out, this one is held: input_tick() sends it.
 * Returns NULL, or, where the cell may not ask, the reason for which its wire is
 * broken.
 */
const char *input_ask(struct run *run, const json_t *frame);

#define INPUT_MARK "The cell asks: "

/* Called repeatedly while the question waits: sends it where its client had not connected to stdin before. */
void input_ask_again(struct run *run);

/* Once all runs have had their tick: where no question is out, sends the one that was held longest. */
void input_tick(struct runner *runner);

/* The cell was interrupted: drops its question. The wall clock goes on, and a later answer is ignored. */
void input_forget(struct run *run);

/* The cell whose question waits has just been measured: subtracts the time until now. */
void input_account(struct run *run, int64_t now_us);

/* The longest time until a cell whose question waits is measured again. */
int64_t input_measure_after_us(const struct run *run);

/* When the limit input_wait is reached; CLOCK_NEVER where no question waits. */
int64_t input_due_us(const struct run *run);

/* A poll_handler for the stdin channel (arg: struct runner). */
void input_serve(void *arg, short events);

#endif
