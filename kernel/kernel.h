/*
 * kernel.h - one running kernel: its parts, which start.c connects and loop.c runs.
 *
 * Only start, loop, dispatch and control use this struct; the parts get what they
 * need as parameters.
 */
#ifndef PETRI_KERNEL_H
#define PETRI_KERNEL_H

#include "kernel/base/pace.h"
#include "kernel/deferred.h"
#include "kernel/files/export.h"
#include "kernel/files/writeback.h"
#include "kernel/jupyter/comms.h"
#include "kernel/jupyter/info.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/jupyter/usage.h"
#include "kernel/records/history.h"
#include "kernel/roster/roster.h"
#include "kernel/run/accounts.h"
#include "kernel/run/compact.h"
#include "kernel/run/introspection.h"
#include "kernel/run/preload.h"
#include "kernel/run/runner.h"

struct kernel {
    struct log log;
    struct config config;
    struct jupyter jupyter;
    struct pace dropped; /* rate of log lines about dropped messages */
    uint64_t unlogged;   /* messages dropped since the last line */
    int signal_fd;       /* -1 where signals are not handled, as in tests */
    struct info info;
    struct comms comms;
    struct deferred deferred;
    struct history history;
    struct accounts accounts;
    struct patterns *refused; /* code that matches one is not run; NULL for none */
    struct export export;
    struct writeback writeback;
    struct runner runner;
    struct introspections introspections;
    struct preload preload;
    struct compact compact;
    struct usage usage;
    struct roster roster; /* this kernel among those that run */
    bool has_served;      /* others, while the sandbox worked: what they have come to is to be looked at */
    bool stopping;
};

#endif
