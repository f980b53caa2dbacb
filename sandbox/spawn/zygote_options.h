/*
 * zygote_options.h - what the zygote is told, from one program to another.
 *
 * The zygote is the same program, started anew: so it has nothing of the
 * kernel process' memory and environment but what stands in here. See:
 * memfd_create(2).
 */
#ifndef PETRI_SANDBOX_SPAWN_ZYGOTE_OPTIONS_H
#define PETRI_SANDBOX_SPAWN_ZYGOTE_OPTIONS_H

#include "sandbox/sandbox.h"

struct zygote_options {
    struct session_options options; /* with pointers into what follows, and to host */
    struct sandbox_host host;       /* its users alone; folder_fd is the reader's to set */
    bool has_folder_fd;
    char *text; /* owned; so are the tables */
    const char **strings;
    struct session_mask *masks;
    char **names;
};

/* Writes options into a file in memory: a descriptor, the caller's, or -errno. */
int zygote_options_write(const struct session_options *options) MUST_CHECK;

/* Reads them. ret is the caller's: zygote_options_fini(). 0, -EBADMSG, or -errno. */
int zygote_options_read(int fd, struct zygote_options *ret) MUST_CHECK;

void zygote_options_fini(struct zygote_options *parsed);

#endif
