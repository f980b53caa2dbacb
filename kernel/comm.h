/*
 * comm.h - messages between a front end's widgets and the session.
 *
 * A comm message runs as a cell that commits, and is one in every respect: with
 * the limits and the task that its metadata.petri asks for, its files copied
 * out, and a record, where its report is (account.h). Which comms are open is the
 * session's state: what a cell opened is forgotten when the cell is rolled
 * back. There are COMMS_MAX at most: whose messages are many, and cost no more
 * than their bytes, must not make the kernel remember without end. See: Jupyter messaging, "Custom messages".
 */
#ifndef PETRI_COMM_H
#define PETRI_COMM_H

#include "kernel/request.h"

struct kernel;

struct comms {
    json_t *open;   /* comm_id to target_name */
    json_t *before; /* the same as it was when the running cell began: open itself until that changes; or NULL */
    bool told;      /* the running cell, that it had one too many */
};

enum { COMMS_MAX = 10000 }; /* a name is 256 bytes at most: some 10 MB; a widget takes three */

/* 0 or -ENOMEM. */
int comms_init(struct comms *comms) __attribute__((warn_unused_result));
void comms_fini(struct comms *comms);

/* A cell begins; it ended and its state stays, or is rolled back. */
void comms_begin(struct comms *comms);
void comms_end(struct comms *comms, bool rolled_back);

/* A message that passes, from either side; other types than comm_open and comm_close change nothing. False where it
 * would open one too many. */
bool comms_note(struct comms *comms, const char *msg_type, const json_t *content);

/* How a comm message runs as a cell. */
extern const struct cell_kind comm_cell;

/* comm_info_request */
void comm_info(struct kernel *kernel, const struct request *request);

#endif
