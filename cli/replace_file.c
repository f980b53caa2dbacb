/* replace_file.c - see replace_file.h. */

#include "replace_file.h"

#include "kernel/base/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { NAME_BYTES = 256 };

static int copy_stream(int from, int to) {
    char buf[8192];
    ssize_t n;
    while ((n = read(from, buf, sizeof buf)) > 0)
        if (write(to, buf, (size_t)n) != n)
            return -EIO;
    return n < 0 ? -errno : 0;
}

static int copy_file(const char *from_folder, const char *name, int to) {
    char from[PATH_MAX];
    if (snprintf(from, sizeof from, "%s/%s", from_folder, name) >= (int)sizeof from)
        return -ENAMETOOLONG;
    auto_fd in = open(from, O_RDONLY | O_CLOEXEC);
    return in < 0 ? -errno : copy_stream(in, to);
}

static int write_file(int folder_fd, const char *name, const char *from_folder, const json_t *json) {
    char fresh[NAME_BYTES];
    if (snprintf(fresh, sizeof fresh, "%s.new", name) >= (int)sizeof fresh)
        return -ENAMETOOLONG;
    if (unlinkat(folder_fd, fresh, 0) < 0 && errno != ENOENT)
        return -errno;
    auto_fd fd = openat(folder_fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int r = from_folder ? copy_file(from_folder, name, fd) : json_dumpfd(json, fd, JSON_INDENT(1)) < 0 ? -EIO : 0;
    if (r == 0 && renameat(folder_fd, fresh, folder_fd, name) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(folder_fd, fresh, 0);
    return r;
}

int replace_file_folder(const char *path) {
    int r = paths_make_folders(path, 0777);
    if (r < 0)
        return r;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int replace_file(int folder_fd, const char *name, const char *from_folder) {
    return write_file(folder_fd, name, from_folder, NULL);
}

int replace_file_json(int folder_fd, const char *name, const json_t *json) {
    return write_file(folder_fd, name, NULL, json);
}

int replace_file_remove(int folder_fd, const char *name) {
    return unlinkat(folder_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}
