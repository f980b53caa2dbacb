/*
 * input.h - input() and getpass(): a question to the client whose cell runs.
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
 * stands still but for what the cell computes meanwhile, in other threads and
 * processes: that counts as its measured CPU time, at most as the time that has
 * passed. All the waiting of a cell is within its limit input_wait.
 *
 * A password's prompt is shown as one line behind INPUT_MARK, which no code can
 * leave out: a prompt might pretend to be another program's. Returns NULL, or how
 * the cell breaks the wire where it may not ask.
 */
const char *input_ask(struct runner *runner, const json_t *frame);

#define INPUT_MARK "The cell asks: "

/* To be called now and then while a question waits: sends it if its client was not connected before. */
void input_ask_again(struct runner *runner);

/* Drops the question, as the cell was interrupted: the wall clock goes on, and an answer comes too late. */
void input_forget(struct runner *runner);

/* The cell whose question waits has just been measured: accounts for the time until now. */
void input_account(struct runner *runner, int64_t now_us);

/* When a cell whose question waits is measured next, at the latest. */
int64_t input_measure_after_us(const struct run *run);

/* When the limit input_wait is passed; CLOCK_NEVER where nothing waits. */
int64_t input_due_us(const struct run *run);

/* A poll_handler for the stdin channel (arg: struct runner). */
void input_serve(void *arg, short events);

#endif
