/*
 * recover.h - the session goes on where its state is lost, or where no cell can be made of it.
 */
#ifndef PETRI_RECOVER_H
#define PETRI_RECOVER_H

struct run;

/*
 * The run is rolled back, and has no cell any more. If the session's state is lost, or if no cell could be made of it
 * and one can of the state before, the session goes back to that one, and the run's facts say so. See: docs/sandbox.md,
 * "Making a cell".
 */
void recover_session(struct run *run);

#endif
