/*
 * slices.h - long work of one thread, between whose slices others get their turn.
 *
 * Whatever grows with what a session has (bytes of files, names, processes that have to end) calls slices_step() for
 * each small part of it, and waits by slices_await(). Whoever serves the others has said so by slices_serve() for this
 * thread; in other threads, as those of errands, there is nobody to be served, and nothing happens. What can't be
 * divided is an errand's (errand_do()).
 */
#ifndef PETRI_BASE_SLICES_H
#define PETRI_BASE_SLICES_H

/*
 * Who is to be served while this thread works long: turn is called each time that some milliseconds have passed since
 * slices_served() or its own end, and waits at most wait_ms for something to do. NULL for nobody.
 */
typedef void slices_turn(void *arg, int wait_ms);
void slices_serve(slices_turn *turn, void *arg);

/* All have just been served. */
void slices_served(void);

/* Lets others have their turn, if some milliseconds have passed since their last. Cheap where not. */
void slices_step(void);

/* Waits at most timeout_ms until a descriptor is readable, as that of a process that has ended (pidfd_open(2)); others
 * have their turns meanwhile. 0, -ETIMEDOUT or -errno. */
int slices_await(int fd, int timeout_ms);

/* Lets others have a turn of a few milliseconds at least: for a wait that is made of short ones. */
void slices_wait(void);

#endif
