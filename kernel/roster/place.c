/*
 * place.c - finds, makes and checks the folders.
 *
 * Everybody may make names in /dev/shm. So a folder counts only if it belongs to
 * the user of its name and no other can write to it; what stands there under
 * another user's name is an error for that user, and is never used.
 */

#include "place.h"

#include "base/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

/* In the order of preference: the user's id stands between the last two. */
static const struct row {
    const char *above; /* must be there */
    const char *before;
    const char *behind;
} rows[] = {
    {"/run/user", "", "/petri"},
    {"/run", "petri-", ""},
    {"/dev/shm", "petri-", ""},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };
_Static_assert(N_ROWS == sizeof((struct place *)NULL)->fds / sizeof(int), "room for each");

static void write_path(const struct row *row, uid_t owner, char *path, size_t size) {
    snprintf(path, size, "%s/%s%u%s", row->above, row->before, owner, row->behind);
}

/* A descriptor, -EPERM where it is not the owner's alone, or -errno. */
static int open_folder(const char *path, uid_t owner) {
    struct stat st;
    auto_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != owner || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return -EPERM;
    return steal_fd(&fd);
}

static void add_folder(struct place *place, int fd) {
    if (fd >= 0)
        place->fds[place->n++] = fd;
}

/* Makes the first that can be made. Two kernels may do this at once. */
static int make_folder(uid_t owner, struct error *ret_error) {
    char path[64];
    int fd = -ENOENT;
    for (size_t i = 0; fd < 0 && i < N_ROWS; i++) {
        write_path(&rows[i], owner, path, sizeof path);
        fd = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : open_folder(path, owner);
    }
    if (fd == -EPERM || fd == -ENOTDIR || fd == -ELOOP)
        return error_set(ret_error, EPERM, "%s stands in the way: it is no folder that only this user can write to",
                         path);
    return fd < 0 ? error_set(ret_error, -fd, "no folder can be made for it in /run or /dev/shm: %s", strerror(-fd))
                  : fd;
}

int place_open_own(struct place *ret_place, struct error *ret_error) {
    struct place place = {0};
    char path[64];
    for (size_t i = 0; i < N_ROWS; i++) {
        write_path(&rows[i], geteuid(), path, sizeof path);
        add_folder(&place, open_folder(path, geteuid()));
    }
    if (place.n == 0) {
        int fd = make_folder(geteuid(), ret_error);
        if (fd < 0)
            return fd;
        add_folder(&place, fd);
    }
    *ret_place = place;
    return 0;
}

void place_close(struct place *place) {
    while (place->n > 0)
        close(place->fds[--place->n]);
}

static void visit_one(const struct row *row, uid_t owner, place_visitor *visit, void *arg) {
    char path[64];
    write_path(row, owner, path, sizeof path);
    auto_fd fd = open_folder(path, owner);
    if (fd >= 0)
        visit(arg, fd, owner);
}

/* The user that a name in the folder above stands for: "1000" or "petri-1000". */
static bool read_owner(const struct row *row, const char *name, uid_t *ret_owner) {
    char *end;
    if (strncmp(name, row->before, strlen(row->before)) != 0)
        return false;
    name += strlen(row->before);
    if (name[0] < '0' || name[0] > '9')
        return false;
    errno = 0;
    unsigned long owner = strtoul(name, &end, 10);
    *ret_owner = (uid_t)owner;
    return errno == 0 && *end == '\0' && owner < (uid_t)-1;
}

static void visit_all(const struct row *row, place_visitor *visit, void *arg) {
    auto_dir dir = opendir(row->above);
    struct dirent *entry;
    uid_t owner;
    while (dir && (entry = readdir(dir)))
        if (read_owner(row, entry->d_name, &owner))
            visit_one(row, owner, visit, arg);
}

void place_visit(place_visitor *visit, void *arg) {
    for (size_t i = 0; i < N_ROWS; i++)
        if (geteuid() == 0)
            visit_all(&rows[i], visit, arg);
        else
            visit_one(&rows[i], geteuid(), visit, arg);
}
