/*
 * fake_clock.h - the kernel's clocks (kernel/clock.h), which a test puts forward instead of waiting.
 */
#ifndef PETRI_FAKE_CLOCK_H
#define PETRI_FAKE_CLOCK_H

#include <stdint.h>

/* From now on the kernel's clock is later by that much. Who sleeps until a deadline notices with the next event. */
void fake_clock_put_forward(int64_t us);

/* From now on it moves by such calls alone, until it is to go on. */
void fake_clock_stop(void);
void fake_clock_go_on(void);

#endif
