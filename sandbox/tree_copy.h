/*
 * tree_copy.h - copying a whole folder.
 */
#ifndef PETRI_SANDBOX_TREE_COPY_H
#define PETRI_SANDBOX_TREE_COPY_H

/*
 * Copies all that is in the folder at from_fd into the empty one at to_fd, on
 * the same file system: owners, modes, times, holes, links of both kinds,
 * whiteouts. links_fd is an empty folder there, for names of files that have
 * more than one; it isn't empty afterwards. No depth needs more than some
 * descriptors. Blocks for as long as the bytes take. 0 or -errno of the first
 * failure.
 */
int tree_copy(int from_fd, int to_fd, int links_fd);

#endif
