/*
 * comms.h - which comms are open between a front end's widgets and the session.
 *
 * That is the session's state: what a cell opened is forgotten when the cell is
 * rolled back. There are COMMS_MAX at most: a client or a cell that opens comms
 * without end must not make the kernel keep them all.
 *
 * See: Jupyter messaging, "Custom messages".
 */
#ifndef PETRI_COMMS_H
#define PETRI_COMMS_H

#include "base/cleanup.h"
#include "kernel/jupyter/request.h"

struct jupyter;

struct comms {
    json_t *open;   /* comm_id to target_name */
    json_t *before; /* the same as it was when the running cell began: open itself until that changes; or NULL */
    bool told;      /* that the running cell had one too many was said */
};

enum { COMMS_MAX = 10000 }; /* a name is 256 bytes at most: some 10 MB; a widget takes three */

/* 0 or -ENOMEM. */
int comms_init(struct comms *comms) MUST_CHECK;
void comms_fini(struct comms *comms);

/* A cell begins; it ended and its state stays, or is rolled back. */
void comms_begin(struct comms *comms);
void comms_end(struct comms *comms, bool rolled_back);

/* A message that passes, from either side; other types than comm_open and comm_close change nothing. False where it
 * would open one too many. */
bool comms_note(struct comms *comms, const char *msg_type, const json_t *content);

/* comm_info_request */
void comms_request(const struct comms *comms, struct jupyter *jupyter, const struct request *request);

#endif
