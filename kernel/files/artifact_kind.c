/*
 * artifact_kind.c - decides by type, number of names and path which files of a cell the host may get.
 *
 * No link, and no file with a second name, is ever read: either could be a file
 * that the cell may not read.
 */

#include "artifact_kind.h"

#include "kernel/base/filename.h"
#include "kernel/files/export_log.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What is no plain file, by its type. */
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
