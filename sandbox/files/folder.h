/*
 * folder.h - what cells don't see of the folder that a kernel was started in.
 *
 * Keys, tokens and histories live in the hidden entries of homes. So of each
 * home, which is the folder itself or lies in it, entries whose name begins
 * with a dot are hidden, but for those that the interpreter or petri needs, and
 * those that the session was told to show.
 */
#ifndef PETRI_SANDBOX_FILES_FOLDER_H
#define PETRI_SANDBOX_FILES_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/*
 * What path has behind folder: "" for the folder itself, "/..." for what is in
 * it, NULL where it is neither. In path.
 */
const char *folder_rest(const char *folder, const char *path);

/* What is hidden of one folder. Paths are below it and begin with a slash; "" is the folder itself. */
struct folder_rules {
    const char **homes; /* NULL-ended; the texts are borrowed */
    const char **kept;  /* hidden entries, or what is in some, that stay; the same */
};

/*
 * Makes the rules of a folder of all homes, and of what stays visible in their hidden
 * entries: absolute paths without links, NULL-ended, or NULL, borrowed
 * for as long as the rules are used. 0 or -ENOMEM.
 */
int folder_rules_init(struct folder_rules *rules, const char *folder, const char *const *homes,
                      const char *const *kept);
void folder_rules_fini(struct folder_rules *rules);

/* What becomes of an entry. FOLDER_ENTER: it stays, and some of what is in it is hidden. */
enum folder_fate { FOLDER_SHOW, FOLDER_HIDE, FOLDER_ENTER };
enum folder_fate folder_fate(const struct folder_rules *rules, const char *path);

/* Makes at layer_fd a folder like the one at folder_fd: its mode, and its owner where that can be mapped here. 0 or
 * -errno. */
int folder_copy_owner(int folder_fd, int layer_fd);

/* The folders that were looked through, to be looked through again when an entry is added. */
struct folder_seen {
    size_t n;
    struct folder_seen_one {
        char *path; /* below the folder; owned */
        struct timespec changed;
    } * at;
};
void folder_seen_fini(struct folder_seen *seen);

/* Adds a folder as it was at that time. 0, -E2BIG or -ENOMEM. */
int folder_seen_add(struct folder_seen *seen, const char *path, const struct timespec *changed);

/* Whether one of them has changed since, or is gone; from now on, since now. */
bool folder_seen_renew(struct folder_seen *seen, int folder_fd);

/*
 * Puts a whiteout for each hidden entry into the committed layer above the
 * folder; one that a cell has put something over is hidden already. folder_fd
 * is the folder, layer_fd the layer. Reads only folders that have hidden
 * entries. Called again it does nothing where none of them has changed. 0 or -errno.
 */
int folder_hide(int folder_fd, int layer_fd, const struct folder_rules *rules, struct folder_seen *seen);

#endif
