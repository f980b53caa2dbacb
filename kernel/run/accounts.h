/*
 * accounts.h - the records of a kernel's runs, and what is the same in each of them.
 */
#ifndef PETRI_ACCOUNTS_H
#define PETRI_ACCOUNTS_H

#include "kernel/base/log.h"
#include "kernel/base/pattern.h"
#include "kernel/policy/config.h"
#include "kernel/records/records.h"
#include "kernel/records/redact.h"

struct accounts {
    const struct log *log;         /* borrowed */
    const struct config *config;   /* borrowed */
    const char *session_id;        /* borrowed */
    const struct profile *profile; /* borrowed */
    struct records records;
    struct patterns *patterns;   /* of the configuration's "redact", owned; NULL for none */
    struct variables variables;  /* whose values aren't stored, owned */
    struct redaction redaction;  /* the two */
    json_t *unrecorded;          /* what tasks have used in runs that are not in the records, owned: budget.c */
    json_t *environment;         /* fingerprint.h, owned; NULL where it is not known */
    char environment_sha256[65]; /* "" then */
};

#endif
