/*
 * private.c - checks a database's folder and files, before SQLite opens them.
 *
 * All descriptors of the files are closed before that, because closing one later
 * would release SQLite's locks on the file. A folder is only made if the nearest
 * existing one above it does not belong to another user.
 */

#include "private.h"

#include "kernel/base/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>

enum { OTHERS = 0077 };

const struct host_file private_file = {.flags = O_RDWR | O_NOFOLLOW, .mode = 0600, .owner = HOST_OWN, .one_name = true};

/* Removes the permissions of group and others from an open file or folder. */
static void close_to_others(int fd, const char *name, const struct log *log) {
    struct stat st;
    if (fstat(fd, &st) < 0 || (st.st_mode & OTHERS) == 0)
        return;
    if (fchmod(fd, st.st_mode & (07777 & ~OTHERS)) < 0)
        log_write(log, LOG_LEVEL_WARNING, "%s is open to other users (mode %04o), and can't be closed to them: %s",
                  name, (unsigned)(st.st_mode & 07777), strerror(errno));
    else
        log_write(log, LOG_LEVEL_INFO, "%s was open to other users (mode %04o), and no longer is", name,
                  (unsigned)(st.st_mode & 07777));
}

static int refuse_folder(const char *folder, uid_t owner, struct error *ret_error) {
    char text[32];
    return error_set(ret_error, EPERM,
                     "the folder %s belongs to another user%s; start petri with a HOME of your own (sudo -H), or name "
                     "a file in a folder of your own (\"records\": {\"path\": ...})",
                     folder, host_owner_text(owner, text, sizeof text));
}

/* The folder does not exist, or is not accessible: checks the owner of the nearest existing folder above it. */
static int check_above(const char *folder, struct error *ret_error) {
    char above[PATH_MAX];
    struct stat st;
    snprintf(above, sizeof above, "%s", folder);
    while (stat(above, &st) < 0 && (errno == ENOENT || errno == EACCES) && strcmp(above, "/") != 0) {
        char copy[PATH_MAX];
        memcpy(copy, above, sizeof copy);
        snprintf(above, sizeof above, "%s", dirname(copy));
    }
    return stat(above, &st) == 0 && host_is_anothers(st.st_uid) ? refuse_folder(above, st.st_uid, ret_error) : 0;
}

static int check_folder(int fd, const char *folder, const struct log *log, struct error *ret_error) {
    char name[PATH_MAX];
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set_errno(ret_error, errno);
    if (host_is_anothers(st.st_uid))
        return refuse_folder(folder, st.st_uid, ret_error);
    snprintf(name, sizeof name, "%s", folder);
    if (strcmp(basename(name), "petri") == 0)
        close_to_others(fd, folder, log);
    else if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0)
        log_write(log, LOG_LEVEL_WARNING,
                  "other users can write to the folder %s (mode %04o), where petri keeps what ran", folder,
                  (unsigned)(st.st_mode & 07777));
    return 0;
}

int private_folder_open(const char *path, bool make, const struct log *log, char ret_folder[PATH_MAX],
                        struct error *ret_error) {
    char copy[PATH_MAX], folder[PATH_MAX];
    if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy)
        return error_set_errno(ret_error, ENAMETOOLONG);
    const char *named = dirname(copy);
    int r = make ? check_above(named, ret_error) : 0;
    if (r < 0)
        return r;
    r = make ? paths_make_folders(named, 0700) : 0;
    if (r == 0 && !realpath(named, folder))
        r = -errno;
    auto_fd fd = r < 0 ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r == 0 && fd < 0)
        r = -errno;
    if (r < 0)
        return error_set_errno(ret_error, -r);
    r = check_folder(fd, folder, log, ret_error);
    if (r < 0)
        return r;
    memcpy(ret_folder, folder, sizeof folder);
    return steal_fd(&fd);
}

/* Checks one file, if it exists. */
static int check_file(int folder_fd, const char *name, int flags, const struct log *log, struct error *ret_error) {
    struct error cause;
    struct host_file wanted = private_file;
    wanted.flags |= flags;
    auto_fd fd = host_file_open(folder_fd, name, &wanted, &cause);
    if (fd < 0 && fd != -ENOENT)
        return error_set(ret_error, -fd, "of its file %s, %s", name, cause.text);
    if (fd >= 0)
        close_to_others(fd, name, log);
    return 0;
}

int private_files_check(int folder_fd, const char *name, bool make, const struct log *log, struct error *ret_error) {
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char file[NAME_MAX + 1];
    int r = 0;
    if (strlen(name) + sizeof "-journal" > sizeof file)
        return error_set_errno(ret_error, ENAMETOOLONG);
    /*
     * Closed before SQLite opens it: closing it later would release
     * SQLite's locks on the file. See: fcntl(2), "Record locking".
     */
    for (size_t i = 0; r == 0 && i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(file, sizeof file, "%s%s", name, endings[i]);
        r = check_file(folder_fd, file, i == 0 && make ? O_CREAT : 0, log, ret_error);
    }
    return r;
}
