/*
 * beside.h - what tests of fresh runs share: the workers that the test plays by turns.
 */
#ifndef PETRI_TEST_BESIDE_H
#define PETRI_TEST_BESIDE_H

#include "cells.h"

/* Workers of the fresh runs that a test begins. Where one is to be named, NULL is that of the session's own cell. */
extern struct harness_worker fresh_a, fresh_b;

/* A kernel with the limits of profile notebook, but so many processors. */
int beside_start(void **state); /* two, as the profile has them */
int beside_start_one(void **state);
int beside_start_many(void **state);
int beside_stop(void **state);
#define TWO(test) cmocka_unit_test_setup_teardown(test, beside_start, beside_stop)
#define ONE(test) cmocka_unit_test_setup_teardown(test, beside_start_one, beside_stop)
#define MANY(test) cmocka_unit_test_setup_teardown(test, beside_start_many, beside_stop)

/* An execute_request with this metadata.petri, which is stolen; or with fresh alone. */
void send_with(const char *code, json_t *petri, char id[37]);
void send_fresh(const char *code, char id[37]);

/* The next fresh run, or the session's own, has been started and has its request: the test plays it. */
void expect_begun(struct harness_worker *worker);
void expect_own_begun(void);
void begin_fresh(const char *code, struct harness_worker *worker, char id[37]);

/* A worker ends its run; or asks. */
void end(struct harness_worker *worker, const char *status);
void ask(struct harness_worker *worker, const char *prompt);

/* The next reply on shell answers this request, and says this. */
void expect_outcome(const char *id, const char *outcome);

/* How often a word is in what was done with cells so far; and that it is so often and not more, in as many turns of the
 * loop as that may need. */
int count_told(const char *word);
void expect_told(const char *word, int n);

/* An interrupt_request with this metadata.petri, which is stolen (NULL for none), and the status of its reply. */
void interrupt(json_t *petri, const char *status);

#endif
