/*
 * accounts.h - the records of a kernel's runs, and what is the same in each of them.
 */
#ifndef PETRI_ACCOUNTS_H
#define PETRI_ACCOUNTS_H

#include "kernel/base/log.h"
#include "kernel/base/pattern.h"
#include "kernel/policy/config.h"
#include "kernel/records/records.h"

struct accounts {
    const struct log *log;         /* borrowed */
    const struct config *config;   /* borrowed */
    const char *session_id;        /* borrowed */
    const struct profile *profile; /* borrowed */
    struct records records;
    struct patterns *redact;     /* the operator's, owned; NULL for none */
    json_t *unrecorded;          /* what tasks have used in runs that are not in the records, owned: budget.c */
    json_t *environment;         /* fingerprint.h, owned; NULL where it is not known */
    char environment_sha256[65]; /* "" then */
};

#endif
