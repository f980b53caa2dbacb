/*
 * cell_files.c - a cell's files of the notebook's folder: put there before it runs, read after it.
 *
 * What is put goes through the sandbox's own mounts, as the cell's user: below
 * a mounted overlay nobody may change a layer. What is read comes from the
 * layer itself, when nothing of the cell runs any more.
 */
#define _GNU_SOURCE
#include "cell.h"
#include "changes.h"
#include "cleanup.h"
#include "layers.h"
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

/* Opens the folder that path's last name is in, making what is missing; the name goes to ret_name. */
static int open_parent(int dir_fd, const char *path, const char **ret_name) {
    char name[NAME_MAX + 1];
    int fd = system_open_beneath(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    for (const char *slash; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        auto_fd above = fd;
        size_t n = (size_t)(slash - path);
        if (n > NAME_MAX)
            return -ENAMETOOLONG;
        memcpy(name, path, n);
        name[n] = 0;
        bool made = mkdirat(above, name, 0755) == 0;
        if (!made && errno != EEXIST)
            return -errno;
        fd = system_open_beneath(above, name, O_RDONLY | O_DIRECTORY, 0);
        if (fd >= 0 && made && fchmod(fd, 0755)) {
            close(fd);
            return -errno;
        }
    }
    *ret_name = path;
    return fd;
}

static int write_all(int fd, const char *data, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            data += n;
            bytes -= (size_t)n;
        }
    }
    return 0;
}

static int put_file(int folder_fd, const char *path, const void *data, size_t bytes) {
    const char *name = path;
    auto_fd parent_fd = open_parent(folder_fd, path, &name);
    if (parent_fd < 0)
        return parent_fd;
    if (unlinkat(parent_fd, name, 0) && errno != ENOENT)
        return -errno;
    auto_fd fd = system_open_beneath(parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
    if (fd < 0)
        return fd;
    int r = write_all(fd, data, bytes);
    return r == 0 && fchmod(fd, 0644) ? -errno : r;
}

int cell_put_file(const struct cell *cell, const char *path, const void *data, size_t bytes) {
    char work[48];
    if (cell->started || cell->init.pid <= 0)
        return -EINVAL;
    snprintf(work, sizeof work, "/proc/%d/root/work", cell->init.pid);
    auto_fd folder_fd = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0)
        return -errno;
    /* Of this thread alone. An id that the overlay does not know may not make files in it. */
    int gid = setfsgid(cell->session->ground.worker_gid), uid = setfsuid(cell->session->ground.worker_uid);
    int r = put_file(folder_fd, path, data, bytes);
    setfsuid((uid_t)uid);
    setfsgid((gid_t)gid);
    return r;
}

static int open_folder_layer(const struct cell *cell) {
    char name[LAYER_NAME_SIZE], path[LAYER_NAME_SIZE + 16];
    layer_name(cell->layer, name);
    snprintf(path, sizeof path, "%s/folder", name);
    return system_open_beneath(cell->session->nursery.files_fd, path, O_RDONLY | O_DIRECTORY, 0);
}

int cell_list_changes(const struct cell *cell, cell_change_handler *handler, void *arg) {
    char base[32];
    int files_fd = cell->session->nursery.files_fd;
    if (!cell->result)
        return -EINVAL;
    snprintf(base, sizeof base, "%s/folder", layer_base(cell->layer));
    auto_fd upper_fd = open_folder_layer(cell);
    auto_fd base_fd = upper_fd < 0 ? -1 : system_open_beneath(files_fd, base, O_RDONLY | O_DIRECTORY, 0);
    if (base_fd < 0)
        return upper_fd < 0 ? upper_fd : base_fd;
    const struct changes_options options = {.upper_fd = upper_fd,
                                            .base_fd = base_fd,
                                            .folder_fd = cell->session->folder_fd,
                                            .copied = layers_are_copied(files_fd),
                                            .since = cell->since};
    return changes_list(&options, handler, arg);
}

int cell_open_change(const struct cell *cell, const char *path) {
    struct stat st;
    if (!cell->result)
        return -EINVAL;
    auto_fd upper_fd = open_folder_layer(cell);
    if (upper_fd < 0)
        return upper_fd;
    auto_fd fd = system_open_beneath(upper_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st))
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    return st.st_nlink != 1 ? -EMLINK : steal_fd(&fd);
}
