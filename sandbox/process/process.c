/*
 * process.c - paths below /proc/PID, and small wrappers around open and read.
 */
#define _GNU_SOURCE
#include "process.h"

#include "base/slices.h"
#include "sandbox/base/system.h"

#include <errno.h>
#include <fcntl.h>

enum { PATH_BYTES = 64 };

static int write_path(char path[PATH_BYTES], pid_t pid, const char *file) {
    int n = snprintf(path, PATH_BYTES, "/proc/%d/%s", pid, file);
    return n > 0 && n < PATH_BYTES ? 0 : -ENAMETOOLONG;
}

int process_read(pid_t pid, const char *file, char *buf, size_t size, struct procfs_text *ret_text) {
    char path[PATH_BYTES];
    slices_step();
    int r = write_path(path, pid, file);
    ssize_t n = r ? r : system_read_file(AT_FDCWD, path, buf, size);
    if (n < 0)
        return (int)n;
    *ret_text = (struct procfs_text){buf, (size_t)n};
    return 0;
}

int process_open_fd(pid_t pid, const char *file, int flags) {
    char path[PATH_BYTES];
    int r = write_path(path, pid, file);
    int fd = r ? r : open(path, flags | O_CLOEXEC);
    return r == 0 && fd < 0 ? -errno : fd;
}

FILE *process_open(pid_t pid, const char *file) {
    char path[PATH_BYTES];
    int r = write_path(path, pid, file);
    if (r)
        errno = -r;
    return r ? NULL : fopen(path, "re");
}

int process_read_stat(pid_t pid, struct procfs_stat *ret) {
    char buf[PROCESS_SMALL];
    struct procfs_text text;
    int r = process_read(pid, "stat", buf, sizeof buf, &text);
    if (r)
        return r;
    return procfs_parse_stat(text, ret) ? 0 : -EBADMSG;
}

bool process_next_line(FILE *file, char **buf, size_t *size, struct procfs_text *ret_line) {
    slices_step();
    ssize_t n = getline(buf, size, file);
    struct procfs_text text = {*buf, n > 0 ? (size_t)n : 0};
    return procfs_next_line(&text, ret_line);
}
