#include "private.h"

#include "kernel/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum { OTHERS = 0077 };

/* Takes from others what they may do with an open file or folder. */
static void close_to_others(int fd, const char *path, const struct log *log) {
    struct stat st;
    if (fstat(fd, &st) < 0 || (st.st_mode & OTHERS) == 0)
        return;
    if (fchmod(fd, st.st_mode & (07777 & ~OTHERS)) < 0)
        log_write(log, LOG_LEVEL_WARNING, "%s is open to other users (mode %04o), and can't be closed to them: %s",
                  path, (unsigned)(st.st_mode & 07777), strerror(errno));
    else
        log_write(log, LOG_LEVEL_INFO, "%s was open to other users (mode %04o), and no longer is", path,
                  (unsigned)(st.st_mode & 07777));
}

/* Whoever may write to the folder can put another file in the database's place. */
static void check_folder(const char *path, const struct log *log) {
    char name[PATH_MAX];
    struct stat st;
    snprintf(name, sizeof name, "%s", path);
    auto_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return;
    if (strcmp(basename(name), "petri") == 0)
        close_to_others(fd, path, log);
    else if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0)
        log_write(log, LOG_LEVEL_WARNING,
                  "other users can write to the folder %s (mode %04o), where petri keeps what ran", path,
                  (unsigned)(st.st_mode & 07777));
}

static void check_beside(const char *path, const struct log *log) {
    static const char *const endings[] = {"-wal", "-shm", "-journal"};
    char beside[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(beside, sizeof beside, "%s%s", path, endings[i]);
        auto_fd fd = open(beside, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0)
            close_to_others(fd, beside, log);
    }
}

int private_database(const char *path, const struct log *log) {
    char copy[PATH_MAX];
    if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy)
        return -ENAMETOOLONG;
    const char *folder = dirname(copy);
    int r = paths_make_folders(folder, 0700);
    if (r < 0)
        return r;
    check_folder(folder, log);
    /* Closed before SQLite opens it: a later close would take away the locks that SQLite holds on the file. See:
     * fcntl(2), "Record locking". */
    auto_fd fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    close_to_others(fd, path, log);
    check_beside(path, log);
    return 0;
}
