/*
 * tmpfs.h - a user and a mount namespace of a test's own, with a tmpfs in it.
 */
#ifndef PETRI_TESTS_TMPFS_H
#define PETRI_TESTS_TMPFS_H

/*
 * Takes the calling process into a user and a mount namespace where it is root,
 * and mounts an empty tmpfs on /mnt, where it goes. Ends the process where that
 * fails. Only for a process made for it. A descriptor of the tmpfs' root.
 */
int tmpfs_enter(void);

/* Makes count names of a file, NAME.0 and so on. */
void put_names(int dir_fd, const char *name, unsigned count);

/* Bytes that this process has read so far, by any call. See: rchar in proc_pid_io(5). */
unsigned long long count_read(void);

/* Makes a file, a folder, a symbolic link, a whiteout; ends the process where that fails. */
void put_text(int dir_fd, const char *name, const char *text);
void put_folder(int dir_fd, const char *name);
void put_symlink(int dir_fd, const char *name, const char *target);
void put_whiteout(int dir_fd, const char *name);
void put_opaque(int dir_fd, const char *name);

#endif
