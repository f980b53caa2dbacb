/*
 * kernel.h - one running kernel: what is passed along instead of globals.
 */
#ifndef PETRI_KERNEL_H
#define PETRI_KERNEL_H

#include "kernel/aside.h"
#include "kernel/channels.h"
#include "kernel/comm.h"
#include "kernel/config.h"
#include "kernel/flow.h"
#include "kernel/heartbeat.h"
#include "kernel/history.h"
#include "kernel/info.h"
#include "kernel/limits.h"
#include "kernel/log.h"
#include "kernel/outbox.h"
#include "kernel/pace.h"
#include "kernel/pattern.h"
#include "kernel/records.h"
#include "kernel/rehearsal.h"
#include "kernel/runner.h"
#include "kernel/settle.h"
#include "kernel/usage.h"
#include "kernel/writeback.h"

struct kernel {
    struct log log;
    enum profile profile;
    struct config config;
    struct limits limits; /* in force for the next cell */
    int64_t grace_us;     /* from an interrupt until a cell that does not listen is ended */
    int64_t stack_us;     /* from the time limit until a cell of which no stack comes is ended */
    int64_t hold_us;      /* from a cell's end until nobody waits for what widgets have taken: captures.h */
    struct connection connection;
    struct channels channels;
    int64_t unheard_us;  /* until then no request is read, so that somebody listens first: iopub.h */
    struct pace dropped; /* of the log's lines about messages that were; anybody may send them */
    uint64_t untold;     /* such messages since the last line */
    struct flow flow;
    struct heartbeat heartbeat;
    int signal_fd; /* -1 where signals are nobody's business, as in tests */
    struct info info;
    struct settle settle;
    struct history history;
    struct records records;
    struct patterns *redact;     /* the operator's; NULL for none */
    struct patterns *refused;    /* of code that is not run; NULL for none */
    json_t *unrecorded;          /* what tasks have used in runs that are not in the records: budget.c */
    json_t *environment;         /* fingerprint.h; NULL where it is not known */
    char environment_sha256[65]; /* "" then */
    struct comms comms;
    struct runner runner;
    struct outbox outbox;
    struct writeback writeback;
    json_t *known_inputs; /* hashes of files that have not changed: inputs_read.h; owned */
    struct asides asides;
    struct rehearsal rehearsal;
    struct usage usage;
    pid_t pid; /* of the process that Jupyter started; this one has another in its namespace */
    bool stopping;
};

#endif
