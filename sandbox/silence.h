/*
 * silence.h - what runs aside has no part in the output of the session's cell.
 *
 * A copy of an image has copies of its descriptors, and with them the write
 * ends of the pipes behind 1 and 2, under whatever numbers the session's code
 * has made more of them.
 */
#ifndef PETRI_SANDBOX_SILENCE_H
#define PETRI_SANDBOX_SILENCE_H

#include "remote.h"

/*
 * Puts /dev/null, as the task sees it, in the place of every descriptor of a
 * stopped process that is an end of one of two pipes, given by their other
 * ends. pid: the process as we know it; task: one that shares its descriptors.
 * 0; -EMFILE where there are more of them than can be replaced; -EUCLEAN or
 * -errno where the task could not make the calls.
 *
 * See: proc_pid_fd(5), dup(2).
 */
int silence_pipes(pid_t pid, const struct remote_task *task, const int pipe_fds[2]);

#endif
