/*
 * own_pipes.c - pipes that the task itself makes, in its sandbox and with nothing that its cell could not do.
 *
 * Of each pipe our end is taken out of the task, which then closes it: no code of the
 * cell has had it.
 */
#define _GNU_SOURCE
#include "own_pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { PIPE_BYTES = 256 << 10 }; /* all pipes of a user count against one limit */

/* Takes our end of a pipe that the task has made. Its number was in the image's memory, so it is looked at. */
static int take(struct restorer *restorer, int made, bool for_output, int *ret_fd) {
    struct stat st;
    auto_fd fd = restorer_take(restorer, made);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) || !S_ISFIFO(st.st_mode) || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
        return -EUCLEAN;
    if (for_output)
        (void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); /* a user may not have so many; then it is smaller */
    if (fcntl(fd, F_SETFL, O_NONBLOCK))
        return -errno;
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* One open file that the image has of an output besides the first: opened anew, for reading or writing. What is no more
 * than a name (O_PATH) could be opened as well, and is the session's. */
static int place_another(const struct descriptors *list, struct restorer *restorer, size_t i, int made) {
    const int flags = list->at[i].flags;
    if (flags & O_PATH)
        return restorer_withhold(restorer, list, i);
    int again = restorer_reopen(restorer, made, flags);
    int r = again < 0 ? again : restorer_place(restorer, list, i, again);
    return r ? r : restorer_close(restorer, again);
}

/* Gives each open file of an output its part of the pipe, of which made is the end to write to. */
static int place(const struct descriptors *list, struct restorer *restorer, int output, int made) {
    bool used = false;
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        const int flags = list->at[i].flags;
        const bool is_usual = (flags & (O_ACCMODE | O_PATH)) == O_WRONLY && !used;
        if (list->at[i].output != output || !descriptor_is_first(list, i))
            continue;
        r = is_usual ? restorer_place(restorer, list, i, made) : place_another(list, restorer, i, made);
        used |= is_usual;
    }
    return r;
}

/* The last is for traces: who writes there must not wait, for it may be crashing. */
static int make(const struct descriptors *list, struct restorer *restorer, int output) {
    const bool for_output = output < DESCRIPTORS_SILENCED;
    const uint64_t flags = O_CLOEXEC | (for_output ? 0 : O_NONBLOCK);
    int pair[2];
    int r =
        restorer_do(restorer, (struct inject_call){.number = SYS_pipe2, .argument = {restorer_at(restorer, 0), flags}});
    if (r == 0)
        r = restorer_get(restorer, 0, pair, sizeof pair);
    if (r == 0)
        r = take(restorer, pair[0], for_output, &restorer->outputs[output]);
    if (r == 0)
        r = restorer_close(restorer, pair[0]);
    if (r == 0)
        r = place(list, restorer, output, pair[1]);
    return r ? r : restorer_close(restorer, pair[1]);
}

static int silence(const struct descriptors *list, struct restorer *restorer) {
    int null_fd = restorer_open(restorer, "/dev/null", O_RDWR);
    int r = null_fd < 0 ? null_fd : 0;
    for (size_t i = 0; r == 0 && i < list->n; i++)
        if (list->at[i].kind == DESCRIPTOR_OUTPUT && descriptor_is_first(list, i))
            r = restorer_number(restorer, list, i, null_fd);
    return r ? r : restorer_close(restorer, null_fd);
}

int own_pipes_restore(const struct descriptors *list, struct restorer *restorer) {
    int r = restorer->outputs ? 0 : silence(list, restorer);
    for (int output = 0; r == 0 && restorer->outputs && output < DESCRIPTORS_OUTPUTS; output++)
        r = make(list, restorer, output);
    return r;
}
