/*
 * folder.h - what cells don't see of the folder that a kernel was started in.
 *
 * Keys, tokens and histories live in the hidden entries of homes. So of each
 * home, which is the folder itself or lies in it, entries whose name begins
 * with a dot are not there, but for what the interpreter, petri itself or what
 * is to be read needs.
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
 * The rules of a folder, of the homes there are and of what is to be seen
 * whatever hides it: absolute paths without links, NULL-ended, or NULL, borrowed
 * for as long as the rules are used. 0 or -ENOMEM.
 */
int folder_rules_init(struct folder_rules *rules, const char *folder, const char *const *homes,
                      const char *const *kept);
void folder_rules_fini(struct folder_rules *rules);

/* What becomes of an entry: ENTER stays, without some of what is in it. */
enum folder_fate { FOLDER_SHOW, FOLDER_HIDE, FOLDER_ENTER };
enum folder_fate folder_fate(const struct folder_rules *rules, const char *path);

/* Makes at layer_fd a folder like the one at folder_fd: its mode, and its owner where that is somebody here. 0 or
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
 * is the folder, layer_fd the layer. Looks at entries of folders with hidden
 * ones only. Asked again it does nothing where no entry has come. 0 or -errno.
 */
int folder_hide(int folder_fd, int layer_fd, const struct folder_rules *rules, struct folder_seen *seen);

#endif
