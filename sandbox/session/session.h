/*
 * session.h - a session from within: what session.c and the sources of a cell have in common.
 */
#ifndef PETRI_SANDBOX_SESSION_SESSION_H
#define PETRI_SANDBOX_SESSION_SESSION_H

#include "sandbox/files/folder.h"
#include "sandbox/files/opened.h"
#include "sandbox/filter/filter.h"
#include "sandbox/image/habit.h"
#include "sandbox/image/huge_pages.h"
#include "sandbox/image/image.h"
#include "sandbox/session/beside.h"
#include "sandbox/session/kept.h"
#include "sandbox/session/killed.h"
#include "sandbox/session/session_files.h"
#include "sandbox/session/session_outputs.h"
#include "sandbox/spawn/zygote.h"

#include <sys/resource.h>

/* The pipes that the cells of a session write to. */
enum session_output { SESSION_STDOUT, SESSION_STDERR, SESSION_TRACE };

struct session {
    struct sandbox_host host;
    struct zygote zygote;
    struct filter filter;
    struct inject_area area;
    struct rlimit descriptors;    /* of cells; see user_limits.h */
    struct habit habit;           /* of its own cells, and of those beside them */
    struct habit habit_ephemeral; /* of the short ones */
    struct image *first;          /* image 0 */
    struct image *current;        /* the last committed one, or the one that was restored since */
    struct kept_image *kept;      /* kept.h */
    struct kept_bound bound;      /* kept.h */
    struct huge_pages huge;       /* of its memory */
    struct session_files files;
    uint64_t next_layer;
    pid_t worker; /* the starting one, until session_capture() */
    int worker_pidfd;
    int control_fd;
    int outputs[DESCRIPTORS_OUTPUTS];    /* read ends, in the order of enum session_output */
    int denied_fd;                       /* listener of the filter, or -1 */
    uint64_t memories;                   /* memfds that cells have made, as that has told */
    struct opened opened;                /* watches on the notebook's folder as its own cells see it */
    char *folder;                        /* where cells see it beside /work; owned */
    int folder_fd;                       /* the notebook's folder below the layers, or -1 where cells see none */
    struct session_outputs outputs_seen; /* what cells see of what the caller copies out */
    struct folder_seen homes;            /* the notebook's folder itself, or in it, as they were looked at last */
    struct killed killed;                /* of its own cells and images: their memory takes a while to be freed */
    struct killed killed_ephemeral;      /* of ephemeral cells */
    int first_cpu;                       /* the one from which those of cells are counted */
    struct cell *cells;                  /* all that there are; struct cell's next */
    struct beside_place beside[SANDBOX_BESIDE_MAX]; /* host.n_beside of them */
    unsigned strays; /* processes that strays.h has killed, since session_take_strays() */
};

/* Before a cell begins: hides what has been added to homes since its sandbox was made. 0 or -errno. */
int session_hide_added(struct session *session);

/* Replaces the current image by image (a reference is stolen). */
static inline void session_set_current(struct session *session, struct image *image) {
    pid_t killed;
    image_unref(session->current, &killed);
    killed_add(&session->killed, killed);
    session->current = image;
}

#endif
