/*
 * system.h - system calls that libc has no wrapper for, and small acts on files and processes.
 */
#ifndef PETRI_SANDBOX_BASE_SYSTEM_H
#define PETRI_SANDBOX_BASE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Detached copy of the mount tree at path. A descriptor or -errno. See: open_tree(2). */
int system_open_tree(const char *path, int recursive);

/* The same of all that is mounted at and below what fd is open on. */
int system_open_tree_of(int fd);

/*
 * Opens path with O_PATH as a process would whose root is root: absolute
 * symbolic links stay below it, where it may lead through links at all. A
 * descriptor or -errno. See: RESOLVE_IN_ROOT in openat2(2).
 */
int system_open_in_root(const char *root, const char *path, bool through_links);

/*
 * Opens path, which is relative, below dir_fd: through no link, to nothing
 * above it, on no other mount. mode is for O_CREAT. A descriptor or -errno
 * (-ELOOP for a link, -EXDEV for a way out). See: openat2(2).
 */
int system_open_beneath(int dir_fd, const char *path, int flags, unsigned mode);

/* Attaches a detached mount at target. 0 or -errno. See: move_mount(2). */
int system_move_mount(int mount_fd, const char *target);

/* What is mounted at a path, for system_reconfigure(): a descriptor or -errno. See: fspick(2), fsconfig(2). */
int system_pick_mount(int dir_fd, const char *path);
int system_reconfigure(int picked_fd);

/* Sets mount attributes on path below dir_fd, with AT_RECURSIVE where asked. 0 or -errno. See: mount_setattr(2). */
int system_mount_setattr(int dir_fd, const char *path, int recursive, uint64_t attr_set, int userns_fd);

/* A pidfd for pid, close-on-exec. See: pidfd_open(2). */
int system_pidfd_open(pid_t pid);

/* Our copy, close-on-exec, of a descriptor of another process. See: pidfd_getfd(2). */
int system_pidfd_getfd(int pidfd, int fd);

/* Sends a signal by pidfd. 0 or -errno. See: pidfd_send_signal(2). */
int system_pidfd_signal(int pidfd, int signal);

/* Writes text to a file that exists, in one write(2), below dir_fd. 0 or -errno. */
int system_write_file(int dir_fd, const char *path, const char *text);

/* Makes a file that is not there yet, below dir_fd, with the folders on the way to it; for all to read. 0 or -errno. */
int system_make_file(int dir_fd, const char *path, const char *text);

/* Reads at most size - 1 bytes of a file and ends them with NUL. The number of bytes, or -errno. */
ssize_t system_read_file(int dir_fd, const char *path, char *buf, size_t size);

#endif
