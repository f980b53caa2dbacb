#define _GNU_SOURCE
#include "files.h"

#include "cleanup.h"
#include "system.h"
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum {
    MAX_FILES = 1024,
    AT_ONCE = 6, /* paths that fit into the scratch memory */
};
_Static_assert((AT_ONCE + 1) * PATH_MAX <= REMOTE_SCRATCH_BYTES, "AT_ONCE paths fit");

#define KEPT_FLAGS (O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC | O_DIRECT | O_DIRECTORY | O_PATH | O_CLOEXEC)
#define DELETED " (deleted)"

void open_files_fini(struct open_files *files) {
    for (size_t i = 0; i < files->n; i++)
        free(files->file[i].path);
    free(files->file);
    *files = (struct open_files){0};
}

/* The path behind a descriptor; NULL in ret_path where it has none. 1, 0 where it is no file or folder, or -errno. */
static int find_path(pid_t pid, int fd, char **ret_path) {
    char link[64], path[PATH_MAX];
    struct stat st;
    snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0 || path[0] != '/')
        return 0;
    path[n] = 0;
    if (stat(link, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return 0;
    *ret_path = NULL;
    if (st.st_nlink == 0 || (strlen(path) > strlen(DELETED) && strcmp(path + n - strlen(DELETED), DELETED) == 0))
        return 1;
    *ret_path = strdup(path);
    return *ret_path ? 1 : -ENOMEM;
}

static int find_state(pid_t pid, struct open_file *file) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", pid, file->fd);
    ssize_t n = system_read_file(AT_FDCWD, path, text, sizeof text);
    if (n < 0)
        return (int)n;
    const char *flags = strstr(text, "flags:");
    if (sscanf(text, "pos: %" SCNd64, &file->offset) != 1 || !flags)
        return -EBADMSG;
    file->flags = (int)strtol(flags + 6, NULL, 8);
    if ((file->flags & O_TMPFILE) == O_TMPFILE)
        file->flags &= ~O_DIRECTORY; /* O_TMPFILE has its bit, and is no folder */
    file->flags &= KEPT_FLAGS;
    return 0;
}

static int add(struct open_files *files, pid_t pid, int fd) {
    struct open_file file = {.fd = fd, .same_as = -1};
    int r = find_path(pid, fd, &file.path);
    if (r <= 0)
        return r;
    r = find_state(pid, &file);
    struct open_file *grown = r == 0 ? realloc(files->file, (files->n + 1) * sizeof *grown) : NULL;
    if (!grown) {
        free(file.path);
        return r ? r : -ENOMEM;
    }
    files->file = grown;
    for (size_t i = 0; i < files->n && file.path; i++)
        if (grown[i].path && strcmp(grown[i].path, file.path) == 0 &&
            syscall(SYS_kcmp, pid, pid, KCMP_FILE, grown[i].fd, fd) == 0)
            file.same_as = grown[i].fd;
    files->file[files->n++] = file;
    return 0;
}

static int by_number(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The numbers of a process' descriptors, in order. */
static int list_descriptors(pid_t pid, int *fds, size_t *ret_n) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    auto_dir dir = opendir(path);
    struct dirent *entry;
    size_t n = 0;
    if (!dir)
        return -errno;
    while ((entry = readdir(dir)) && n < MAX_FILES)
        if (entry->d_name[0] != '.')
            fds[n++] = (int)strtol(entry->d_name, NULL, 10);
    qsort(fds, n, sizeof *fds, by_number);
    *ret_n = n;
    return 0;
}

int open_files_find(pid_t pid, struct open_files *ret) {
    struct open_files files = {0};
    int fds[MAX_FILES];
    size_t n = 0;
    int r = list_descriptors(pid, fds, &n);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = add(&files, pid, fds[i]);
    if (r)
        open_files_fini(&files);
    else
        *ret = files;
    return r;
}

static bool is_own(const struct open_file *file) {
    return file->path && file->same_as < 0;
}

/* A few files at once: open them; then put each under its number, at its offset. */
static int renew_some(struct open_file **some, size_t n, const struct remote_task *task) {
    struct remote_call open_calls[AT_ONCE], calls[3 * AT_ONCE];
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t at = task->site->scratch + i * PATH_MAX;
        int r = memory_write(task->memory_fd, at, some[i]->path, strlen(some[i]->path) + 1);
        if (r)
            return r;
        open_calls[i] = (struct remote_call){
            .number = SYS_openat, .argument = {(uint64_t)AT_FDCWD, at, (uint64_t)(some[i]->flags | O_NOFOLLOW)}};
        /* One at a time, for one that fails must not keep the others from being opened. */
        r = remote_run(task, &open_calls[i], 1);
        if (r)
            return r;
        some[i]->shared = open_calls[i].result < 0;
        if (some[i]->shared)
            continue;
        uint64_t fd = (uint64_t)open_calls[i].result;
        if (!(some[i]->flags & (O_DIRECTORY | O_PATH)) && some[i]->offset > 0)
            calls[m++] =
                (struct remote_call){.number = SYS_lseek, .argument = {fd, (uint64_t)some[i]->offset, SEEK_SET}};
        calls[m++] = (struct remote_call){
            .number = SYS_dup3, .argument = {fd, (uint64_t)some[i]->fd, (uint64_t)(some[i]->flags & O_CLOEXEC)}};
        calls[m++] = (struct remote_call){.number = SYS_close, .argument = {fd}};
    }
    int r = m ? remote_run(task, calls, m) : 0;
    return r ? r : remote_failure(calls, m, NULL);
}

static int renew_own(struct open_files *files, const struct remote_task *task) {
    struct open_file *some[AT_ONCE];
    size_t n = 0;
    for (size_t i = 0; i < files->n; i++) {
        if (is_own(&files->file[i]))
            some[n++] = &files->file[i];
        if (n == AT_ONCE || (i + 1 == files->n && n > 0)) {
            int r = renew_some(some, n, task);
            if (r)
                return r;
            n = 0;
        }
    }
    return 0;
}

int open_files_renew(struct open_files *files, const struct remote_task *task) {
    int r = renew_own(files, task);
    for (size_t i = 0; r == 0 && i < files->n; i++) {
        struct open_file *file = &files->file[i];
        file->shared |= !file->path;
        if (file->same_as < 0)
            continue;
        struct remote_call call = {
            .number = SYS_dup3,
            .argument = {(uint64_t)file->same_as, (uint64_t)file->fd, (uint64_t)(file->flags & O_CLOEXEC)}};
        r = remote_run(task, &call, 1);
        if (r == 0)
            r = remote_failure(&call, 1, NULL);
    }
    return r;
}

int open_files_put_back(const struct open_files *files, const struct remote_task *task) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < files->n; i++) {
        const struct open_file *file = &files->file[i];
        struct remote_call call = {.number = SYS_lseek,
                                   .argument = {(uint64_t)file->fd, (uint64_t)file->offset, SEEK_SET}};
        if (file->shared && !(file->flags & (O_DIRECTORY | O_PATH)))
            r = remote_call_checked(task, &call, NULL, NULL);
    }
    return r;
}
