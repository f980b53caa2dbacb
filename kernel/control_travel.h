/*
 * control_travel.h - handlers of requests about the session's images: petri_timeline_request and its like.
 *
 * See: docs/time-travel.md.
 */
#ifndef PETRI_CONTROL_TRAVEL_H
#define PETRI_CONTROL_TRAVEL_H

struct kernel;
struct request;

/*
 * Takes the request over, and answers it at once, also while a cell runs; but for one to restore, which waits until the
 * session's own run is over, and while the interpreter starts. Then control_travel_waiting(), which the loop calls when
 * a run was concluded, answers it.
 */
void control_travel(struct kernel *kernel, struct request *request);
void control_travel_waiting(struct kernel *kernel);

#endif
