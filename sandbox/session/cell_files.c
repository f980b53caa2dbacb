/*
 * cell_files.c - a cell's files of the notebook's folder: put there before it runs, watched while it runs.
 *
 * What is put goes through the sandbox's own mounts, as the cell's user: the
 * layers of a mounted overlay must not be changed from below. Watches, too, are on the
 * folders as the cell sees them. What it has left is read by cell_changes.c.
 */
#define _GNU_SOURCE
#include "base/cleanup.h"
#include "sandbox/base/system.h"
#include "sandbox/files/layers.h"
#include "sandbox/session/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
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

/* One file to be put, and how that went. */
struct putting {
    const struct cell *cell;
    const char *path;
    const void *data;
    size_t bytes;
    int result;
};

/* The notebook's folder as the cell sees it. A descriptor or -errno. */
static int open_work(const struct cell *cell) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/root/work", cell->init.pid);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static void *put_as_cells_user(void *arg) {
    struct putting *putting = arg;
    auto_fd folder_fd = open_work(putting->cell);
    putting->result = folder_fd;
    if (folder_fd < 0)
        return NULL;
    setfsgid(putting->cell->session->host.worker_gid);
    setfsuid(putting->cell->session->host.worker_uid);
    putting->result = put_file(folder_fd, putting->path, putting->data, putting->bytes);
    return NULL;
}

/*
 * Only an id that is mapped in the overlay's user namespace may make files in it. A
 * change of ids clears the parent-death signal, which has to stay set, so it is made
 * in a thread of its own; and it makes the process undumpable, which is taken back.
 * See: credentials(7), PR_SET_PDEATHSIG and PR_SET_DUMPABLE in prctl(2).
 */
int cell_put_file(struct cell *cell, const char *path, const void *data, size_t bytes) {
    struct putting putting = {.cell = cell, .path = path, .data = data, .bytes = bytes};
    pthread_t thread;
    int dumpable = prctl(PR_GET_DUMPABLE);
    if (cell->started || cell->init.pid <= 0)
        return -EINVAL;
    cell->wrote = true;
    if (cell->layer == LAYER_LIVE)
        snapshot_begin(cell->session->files.snapshot);
    int r = pthread_create(&thread, NULL, put_as_cells_user, &putting);
    if (r)
        return -r;
    pthread_join(thread, NULL);
    if (dumpable == 1 && prctl(PR_SET_DUMPABLE, 1))
        return -errno;
    return putting.result;
}

int cell_release_file(struct cell *cell, const char *path) {
    return cell->result && cell->layer == LAYER_LIVE ? session_files_release(cell, path) : -EINVAL;
}

int cell_list_held(const struct cell *cell, cell_held_handler *handler, void *arg) {
    return cell->result ? session_files_list_held(cell, handler, arg) : -EINVAL;
}

static int watch(const struct cell *cell) {
    auto_fd folder_fd = open_work(cell);
    return folder_fd < 0 ? folder_fd : opened_watch(cell->opened, folder_fd, cell->session->folder_fd);
}

int cell_watch_opened(struct cell *cell) {
    struct session *session = cell->session;
    if (cell->started || cell->init.pid <= 0 || cell->role == CELL_EPHEMERAL)
        return -EINVAL;
    cell->opened = cell->role == CELL_BESIDE ? &session->beside[cell->place].opened : &session->opened;
    return opened_renew(cell->opened) ? 0 : watch(cell);
}

/* Where folders have changed and can't be watched, it is not known what the cell opens, and cell_take_opened() says so.
 */
void cell_renew_watches(struct cell *cell) {
    if (cell->opened && (!opened_renew(cell->opened) || opened_is_outdated(cell->opened)))
        (void)watch(cell);
}

int cell_take_opened(struct cell *cell, char ***ret_paths, size_t *ret_n) {
    return cell->opened ? opened_take(cell->opened, ret_paths, ret_n) : -EBADF;
}
