/*
 * labextension.c - see labextension.h.
 *
 * package.json names the file with which JupyterLab begins, and that file the others, whose names change with their
 * content. So package.json is replaced between the new ones and the old ones.
 */

#include "labextension.h"

#include "cli/replace_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static int copy_files(const char *from, int to_fd) {
    auto_dir dir = opendir(from);
    int r = dir ? 0 : -errno;
    for (const struct dirent *entry; r == 0 && (entry = readdir(dir));)
        if (is_file(entry))
            r = replace_file(to_fd, entry->d_name, from);
    return r;
}

static bool has_file(const char *folder, const char *name) {
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && access(path, F_OK) == 0;
}

/* What isn't in the folder from; all where that is NULL. A folder stays, which petri can't have made. */
static int remove_others(const char *from, int fd) {
    const int copy_fd = dup(fd);
    auto_dir dir = copy_fd < 0 ? NULL : fdopendir(copy_fd);
    int r = dir ? 0 : -errno;
    if (!dir && copy_fd >= 0)
        close(copy_fd);
    for (const struct dirent *entry; r == 0 && (entry = readdir(dir));)
        if (is_file(entry) && !(from && has_file(from, entry->d_name)) && unlinkat(fd, entry->d_name, 0) < 0 &&
            errno != EISDIR)
            r = -errno;
    return r;
}

/* A folder in another one, which is made where it is missing, unless it is a link. Its file descriptor, or -errno. */
static int open_in(int folder_fd, const char *name) {
    if (mkdirat(folder_fd, name, 0777) < 0 && errno != EEXIST)
        return -errno;
    const int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Its folder below data. 0 or -ENAMETOOLONG. */
static int find_folder(const char *data, char ret_folder[PATH_MAX]) {
    return snprintf(ret_folder, PATH_MAX, "%s/labextensions/" LABEXTENSION_NAME, data) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int labextension_write(const char *data, const char *files) {
    char folder[PATH_MAX], from[PATH_MAX];
    if (find_folder(data, folder) < 0 || snprintf(from, sizeof from, "%s/static", files) >= (int)sizeof from)
        return -ENAMETOOLONG;
    auto_fd fd = replace_file_folder(folder);
    auto_fd static_fd = fd < 0 ? fd : open_in(fd, "static");
    int r = static_fd < 0 ? static_fd : copy_files(from, static_fd);
    if (r == 0)
        r = replace_file(fd, "install.json", files);
    if (r == 0)
        r = replace_file(fd, "package.json", files);
    return r < 0 ? r : remove_others(from, static_fd);
}

int labextension_remove(const char *data) {
    char folder[PATH_MAX];
    int r = find_folder(data, folder);
    auto_fd fd = r < 0 ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return r < 0 ? r : errno == ENOENT ? 0 : -errno;
    auto_fd static_fd = openat(fd, "static", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = replace_file_remove(fd, "package.json");
    if (r == 0 && static_fd >= 0)
        r = remove_others(NULL, static_fd);
    if (r == 0)
        r = replace_file_remove(fd, "install.json");
    if (r == 0 && static_fd >= 0 && unlinkat(fd, "static", AT_REMOVEDIR) < 0)
        r = -errno;
    return r < 0 ? r : rmdir(folder) < 0 ? -errno : 1;
}
