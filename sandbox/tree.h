/*
 * tree.h - removing folders that somebody hostile has filled.
 */
#ifndef PETRI_SANDBOX_TREE_H
#define PETRI_SANDBOX_TREE_H

/*
 * Removes name below dir_fd with all that is in it, of any depth, following no
 * link and holding a constant number of descriptors. 0 (also where there is
 * none) or -errno. Nobody else may be changing the tree.
 */
int tree_remove(int dir_fd, const char *name);

#endif
