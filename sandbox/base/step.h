/*
 * step.h - the steps that can fail, and the sentence each failure becomes.
 */
#ifndef PETRI_SANDBOX_BASE_STEP_H
#define PETRI_SANDBOX_BASE_STEP_H

#include "sandbox/sandbox.h"

enum sandbox_step {
    STEP_NONE,
    STEP_PRIVILEGES,
    STEP_USER_NAMESPACE,
    STEP_ID_MAP,
    STEP_PID_NAMESPACE,
    STEP_MOUNT_NAMESPACE,
    STEP_MOUNT_PROC,
    STEP_MOUNT_TMPFS,
    STEP_MOUNT_BIND,
    STEP_MOUNT_OVERLAY,
    STEP_MOUNT_ATTRIBUTES,
    STEP_PIVOT_ROOT,
    STEP_TEMPLATE_FILE,
    STEP_NAMESPACES,
    STEP_FOLDER,
    STEP_LAYER,
    STEP_CREDENTIALS,
    STEP_NO_NEW_PRIVS,
    STEP_EXEC,
    STEP_FORK,
    STEP_ZYGOTE,
    STEP_PIPE,
    STEP_MEMORY,
    STEP_PTRACE,
    STEP_WORKER_DIED,
    STEP_THREADS,
    STEP_INJECT,
    STEP_IMAGE,
    STEP_KEEPER,
    STEP_REGISTERS,
    STEP_SETNS,
    STEP_CLONE,
    STEP_FILTER,
    STEP_PYTHON,
    STEP_CGROUP,
    STEP_DESCRIPTORS,
    STEP_USER_LIMITS,
    STEP_PLACE,
    STEP_N,
};

/* Fills ret_error (NULL where no caller wants it) with a step, an errno and a printf-style clause. Returns -err, or
 * -EIO where err is 0. */
int step_failed(struct error *ret_error, enum sandbox_step step, int err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
