/*
 * tree.h - reading and removing folders with hostile content.
 */
#ifndef PETRI_SANDBOX_FILES_TREE_H
#define PETRI_SANDBOX_FILES_TREE_H

#include <sys/types.h>

/* Opens a folder, following no link at its path's end. A descriptor or -errno. */
int tree_open(int dir_fd, const char *path);

/* Puts a folder in the place of the one at fd: one in it by its name, or the one above, "..". 0 or -errno. */
int tree_go(int *fd, const char *name);

/* Gets an entry's name, for the time of the call, and where those after it begin. 0 to go on. */
typedef int tree_visitor(void *arg, const char *name, off_t next);

/*
 * Calls visit for each entry of a folder but "." and "..", from where fd stands
 * (lseek(2)), until it returns something else than 0. Little is read at
 * once: a caller that goes into each folder in it comes back as often, and reads
 * again from there. What visit returned last, or -errno.
 *
 * See: getdents(2).
 */
int tree_read(int fd, tree_visitor *visit, void *arg);

/*
 * Removes name below dir_fd with all that is in it, of any depth, following no
 * link and holding a constant number of descriptors. 0 (also where there is
 * none) or -errno. The tree must not be changing meanwhile.
 */
int tree_remove(int dir_fd, const char *name);

#endif
