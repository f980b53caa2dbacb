/*
 * process.h - the files that Linux has of a process or task in /proc, opened for procfs.h.
 */
#ifndef PETRI_SANDBOX_PROCESS_PROCESS_H
#define PETRI_SANDBOX_PROCESS_PROCESS_H

#include "sandbox/process/procfs.h"

#include <stdio.h>

/* Room for a text whose lines of a few kinds are short: stat, statm, the fdinfo of most descriptors. */
enum { PROCESS_SMALL = 2048 };

/* The same for status, which lists the user's groups: some thousands of them. */
enum { PROCESS_STATUS = 32768 };

/* Reads /proc/PID/FILE into buf as far as it fits. ret_text stands in buf. 0 or -errno. */
int process_read(pid_t pid, const char *file, char *buf, size_t size, struct procfs_text *ret_text);

/* Opens the same, as a stream or as a descriptor. NULL with errno, or -errno. */
FILE *process_open(pid_t pid, const char *file);
int process_open_fd(pid_t pid, const char *file, int flags);

/* stat. 0, -EBADMSG where it can't be understood, or -errno. */
int process_read_stat(pid_t pid, struct procfs_stat *ret);

/* Reads a line of any length from a stream; *buf and *size are as getline(3) has them. ret_line stands in *buf. */
bool process_next_line(FILE *file, char **buf, size_t *size, struct procfs_text *ret_line);

#endif
