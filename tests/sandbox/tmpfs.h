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

/* Makes a file, a folder, a symbolic link, a whiteout; ends the process where that fails. */
void put_text(int dir_fd, const char *name, const char *text);
void put_folder(int dir_fd, const char *name);
void put_symlink(int dir_fd, const char *name, const char *target);
void put_whiteout(int dir_fd, const char *name);
void put_opaque(int dir_fd, const char *name);

#endif
