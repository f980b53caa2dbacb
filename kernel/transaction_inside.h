/*
 * transaction_inside.h - the insides of a transaction: transaction.c has its course, transaction_make.c makes changes.
 */
#ifndef PETRI_TRANSACTION_INSIDE_H
#define PETRI_TRANSACTION_INSIDE_H

#include "kernel/transaction.h"

enum { JOURNAL_NAME_BYTES = 64 };

struct transaction {
    int folder_fd;   /* owned */
    dev_t device;    /* its file system */
    int own_fd;      /* `.petri` in it, locked; owned */
    size_t n_stages; /* names given to staged files */
    struct journal journal;
    char name[JOURNAL_NAME_BYTES]; /* of the journal, once it is decided */
    bool decided;
    bool durable; /* something is replaced or removed, so what takes its place has to be on the disk */
    size_t at;    /* the change whose turn it is */
};

/* Opens the folder that path's last name is in; the name goes to ret_name. A descriptor or -errno, as
 * transaction_look(). */
int transaction_open_parent(const struct transaction *transaction, const char *path,
                            const char **ret_name) KERNEL_MUST_CHECK;

/* Whether its owner has shut a folder by its mode, which keeps nobody out who has privileges in a user namespace. */
bool transaction_is_shut(int folder_fd);

/* Makes a change that is decided, or what is left of it to be made. What transaction_result() says of it. */
int transaction_make(const struct transaction *transaction, struct journal_change *change) KERNEL_MUST_CHECK;

#endif
