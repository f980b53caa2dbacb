/*
 * filter_live.h - a filter's program, installed: what Linux then answers to real calls.
 */
#ifndef PETRI_TESTS_FILTER_LIVE_H
#define PETRI_TESTS_FILTER_LIVE_H

#include "sandbox/filter/filter.h"

/* Makes each call in a process of its own, under the program; fails the cmocka test where an answer is another. */
void filter_live_check(const struct filter *filter);

#endif
