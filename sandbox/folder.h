/*
 * folder.h - whether and how the folder a kernel was started in is shown to cells.
 */
#ifndef PETRI_SANDBOX_FOLDER_H
#define PETRI_SANDBOX_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What path has behind folder: "" for the folder itself, "/..." for what is in
 * it, NULL where it is neither. In path.
 */
const char *folder_rest(const char *folder, const char *path);

/*
 * Whether cells see it. A folder that is the system, or everybody's, is not
 * the notebook's folder: a kernel started in / must not show the machine. Its
 * cells begin with an empty folder.
 */
bool folder_is_shown(const char *path);

/* Paths below the folder that stay, because the interpreter, petri itself or what is to be read is there. */
struct folder_kept {
    size_t n;
    char **path; /* owned, for the life of the process */
};

/* Adds path, where it is below the folder. 0 or -ENOMEM. */
int folder_keep(struct folder_kept *kept, const char *folder, const char *path);

/*
 * Hides each entry whose name begins with a dot from cells, where the folder
 * is a home: keys, tokens and histories live there. Of one that something kept
 * is below, all else is hidden. folder_fd is the folder, layer_fd the committed
 * layer above it, which gets the whiteouts. 0 or -errno.
 */
int folder_hide_dot_entries(int folder_fd, int layer_fd, const struct folder_kept *kept);

#endif
