/*
 * host_file.c - opens a file first, and then checks the descriptor and not the name.
 *
 * O_NONBLOCK keeps a FIFO from blocking the kernel before its type is checked.
 * Not every file system has RENAME_NOREPLACE; there link(2) and unlink(2) do the
 * same, but leave two names if the process is killed between them.
 *
 * See: openat2(2), rename(2), fcntl(2), user_namespaces(7).
 */

#include "host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

bool host_is_trusted(uid_t owner) {
    return owner == geteuid() || owner == 0;
}

/* Whether the host's root has a uid in this user namespace. */
static bool knows_root(void) {
    unsigned long inside, outside, n;
    auto_file file = fopen("/proc/self/uid_map", "re");
    while (file && fscanf(file, "%lu %lu %lu", &inside, &outside, &n) == 3)
        if (outside == 0)
            return true;
    return false;
}

bool host_is_anothers(uid_t owner) {
    return !host_is_trusted(owner) && knows_root();
}

const char *host_owner_text(uid_t owner, char *buf, size_t size) {
    enum { OVERFLOW_UID = 65534 };
    buf[0] = '\0';
    if (owner != OVERFLOW_UID)
        snprintf(buf, size, " (uid %u)", (unsigned)owner);
    return buf;
}

static bool is_owner_wanted(const struct stat *st, enum host_owner owner) {
    return owner == HOST_ANY_OWNER || (owner == HOST_TRUSTED ? host_is_trusted(st->st_uid) : st->st_uid == geteuid());
}

int host_file_check(int fd, const struct host_file *wanted, struct error *ret_error) {
    struct stat st;
    char owner[32];
    if (fstat(fd, &st) < 0)
        return error_set_errno(ret_error, errno);
    if (!S_ISREG(st.st_mode))
        return error_set(ret_error, EINVAL, "it is no regular file");
    if (!is_owner_wanted(&st, wanted->owner))
        return error_set(ret_error, EPERM, "it belongs to another user%s",
                         host_owner_text(st.st_uid, owner, sizeof owner));
    if (wanted->owner == HOST_TRUSTED && (st.st_mode & S_IWOTH))
        return error_set(ret_error, EPERM, "every user can write to it (mode %04o)", (unsigned)(st.st_mode & 07777));
    if (wanted->one_name && st.st_nlink > 1)
        return error_set(ret_error, EMLINK, "it has more than one name (hard links)");
    if (wanted->max_bytes > 0 && st.st_size > wanted->max_bytes)
        return error_set(ret_error, EFBIG, "it is too large (%lld bytes; %lld are allowed)", (long long)st.st_size,
                         (long long)wanted->max_bytes);
    return 0;
}

/* The reason for a failed open(2): ELOOP means a link, and ENXIO a FIFO without a reader, or a socket. */
static int open_failed(int err, struct error *ret_error) {
    if (err == ENXIO || err == EISDIR)
        return error_set(ret_error, EINVAL, "it is no regular file");
    return error_set(ret_error, err, "%s", err == ELOOP ? "it is a link" : strerror(err));
}

int host_file_open(int dir_fd, const char *path, const struct host_file *wanted, struct error *ret_error) {
    int fd = openat(dir_fd, path, wanted->flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, wanted->mode);
    if (fd < 0)
        return open_failed(errno, ret_error);
    int r = host_file_check(fd, wanted, ret_error);
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

int host_open_beneath(int dir_fd, const char *path, int flags, mode_t mode) {
    const struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
                                 .mode = mode,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
    return fd < 0 ? -errno : (int)fd;
}

int host_rename_to_free(int dir_fd, const char *from, int to_dir_fd, const char *to) {
    if (renameat2(dir_fd, from, to_dir_fd, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (linkat(dir_fd, from, to_dir_fd, to, 0))
        return -errno;
    return unlinkat(dir_fd, from, 0) ? -errno : 0;
}

/* A read lease can be had only if nobody has the file open for writing. A program that opens it in this moment waits
 * for us to give it back, and Linux tells us so by a signal: one that does nothing. */
bool host_is_written(int dir_fd, const char *name) {
    auto_fd fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT && errno != ELOOP; /* another program's lease, or nobody knows */
    if (fcntl(fd, F_SETSIG, SIGURG) || fcntl(fd, F_SETLEASE, F_RDLCK))
        return errno == EAGAIN;
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return false;
}

int host_write(int fd, const void *data, size_t bytes) {
    const char *from = data;
    for (size_t n = 0; n < bytes;) {
        ssize_t written = write(fd, from + n, bytes - n);
        if (written < 0 && errno != EINTR)
            return -errno;
        n += written > 0 ? (size_t)written : 0;
    }
    return 0;
}
