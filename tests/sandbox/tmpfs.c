#include "tmpfs.h"

#include "as_user.h"
#include "sandbox/base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static void write_map(const char *file, unsigned id) {
    char text[32];
    (void)snprintf(text, sizeof text, "0 %u 1\n", id);
    CHECK_EQUAL(system_write_file(AT_FDCWD, file, text), 0);
}

int tmpfs_enter(void) {
    uid_t uid = geteuid();
    gid_t gid = getegid();
    CHECK_EQUAL(unshare(CLONE_NEWUSER | CLONE_NEWNS) ? errno : 0, 0);
    write_map("/proc/self/uid_map", uid);
    CHECK_EQUAL(system_write_file(AT_FDCWD, "/proc/self/setgroups", "deny"), 0);
    write_map("/proc/self/gid_map", gid);
    CHECK_EQUAL(mount("petri", "/mnt", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") ? errno : 0, 0);
    CHECK_EQUAL(chdir("/mnt"), 0);
    umask(022);
    int fd = open("/mnt", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

void put_text(int dir_fd, const char *name, const char *text) {
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

void put_folder(int dir_fd, const char *name) {
    CHECK_EQUAL(mkdirat(dir_fd, name, 0755), 0);
}

void put_symlink(int dir_fd, const char *name, const char *target) {
    CHECK_EQUAL(symlinkat(target, dir_fd, name), 0);
}

void put_whiteout(int dir_fd, const char *name) {
    CHECK_EQUAL(mknodat(dir_fd, name, S_IFCHR | 0600, makedev(0, 0)), 0);
}

void put_opaque(int dir_fd, const char *name) {
    put_folder(dir_fd, name);
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0 && fsetxattr(fd, "user.overlay.opaque", "y", 1, 0) == 0);
    close(fd);
}

void put_names(int dir_fd, const char *name, unsigned count) {
    char other[64];
    for (unsigned i = 0; i < count; i++) {
        snprintf(other, sizeof other, "%s.%u", name, i);
        CHECK(linkat(dir_fd, name, dir_fd, other, 0) == 0);
    }
}

unsigned long long count_read(void) {
    unsigned long long bytes = 0;
    FILE *io = fopen("/proc/self/io", "re");
    CHECK(io && fscanf(io, "rchar: %llu", &bytes) == 1);
    fclose(io);
    return bytes;
}
