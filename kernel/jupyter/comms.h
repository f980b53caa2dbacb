/*
 * comms.h - which comms are open between a front end's widgets and the session.
 *
 * They are part of the session's state: a comm that a cell has opened is removed
 * when the cell is rolled back. There are at most COMMS_MAX, because many small
 * comm_open messages must not make the kernel use memory without bound.
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
    json_t *before; /* the map when the running cell began: the same object as open until that changes; or NULL */
    bool told;      /* the running cell has been told that there are too many */
};

enum { COMMS_MAX = 10000 }; /* two names of 256 bytes each at most: some 7 MB; a widget takes three comms */

/* 0 or -ENOMEM. */
int comms_init(struct comms *comms) MUST_CHECK;
void comms_fini(struct comms *comms);

/* A cell begins; a cell has ended, and its changes are kept or rolled back. */
void comms_begin(struct comms *comms);
void comms_end(struct comms *comms, bool rolled_back);

/* The map is that of another image from now on: a reference is taken. Between two cells, or before one has changed it.
 */
void comms_set(struct comms *comms, json_t *open);

/*
 * Notes a message from either side; only comm_open and comm_close change
 * anything. False where a comm_open is over COMMS_MAX.
 */
bool comms_note(struct comms *comms, const char *msg_type, const json_t *content);

/* Whether the comm that a message's content names is open. */
bool comms_has(const struct comms *comms, const json_t *content);

/* comm_info_request */
void comms_request(const struct comms *comms, struct jupyter *jupyter, const struct request *request);

#endif
