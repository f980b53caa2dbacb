/*
 * artifact_kind.c - refuses files by their type, their number of names, and their path.
 *
 * Symbolic links, and files with more than one hard link, are never read, because
 * they could be files that the cell may not read.
 */

#include "artifact_kind.h"

#include "kernel/base/filename.h"
#include "kernel/files/export_log.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The reason for each type that is not a regular file. */
static const struct {
    unsigned type;
    const char *why;
} types[] = {
    {S_IFLNK, "it is a link"},   {S_IFIFO, "it is a FIFO"},   {S_IFSOCK, "it is a socket"},
    {S_IFCHR, "it is a device"}, {S_IFBLK, "it is a device"}, {S_IFDIR, "its folder is too deep to look into"},
};

const char *artifact_action(enum cell_change change) {
    static const char *const actions[] = {
        [CELL_CREATED] = "created", [CELL_CHANGED] = "changed", [CELL_DELETED] = "deleted"};
    return actions[change];
}

bool artifact_path_is_refused(const char *path, char *ret_why, size_t size) {
    const char *problem = filename_problem(path, strlen(path));
    if (problem)
        (void)snprintf(ret_why, size, "its path %s", problem);
    else if (filename_has(path, EXPORT_OWN_NAMES, false))
        (void)snprintf(ret_why, size, "names that begin with " EXPORT_OWN_NAMES " are petri's own");
    else if (filename_has(path, FILENAME_CACHE, true))
        (void)snprintf(ret_why, size, "it is in a cache of Python's");
    else
        return false;
    return true;
}

bool artifact_is_refused(const char *path, unsigned mode, unsigned links, char *ret_why, size_t size) {
    const char *why = S_ISREG(mode) ? NULL : "it is no plain file";
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if ((mode & S_IFMT) == types[i].type)
            why = types[i].why;
    if (!why && links != 1)
        why = "it has more than one name (hard links)";
    if (!why)
        return artifact_path_is_refused(path, ret_why, size);
    (void)snprintf(ret_why, size, "%s", why);
    return true;
}
