/*
 * common.c - makes, bounds and removes the common group of a user.
 */
#define _GNU_SOURCE
#include "common.h"

#include "base/directory.h"
#include "sandbox/limits/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

/* Each is lost only to a session that ends in that moment, but where sessions do nothing else many are lost in a row.
 * All of them take some milliseconds: as long as it takes to find that the parent itself is gone. */
enum { ATTEMPTS = 10000 };

void common_name(char *buf, size_t size) {
    snprintf(buf, size, "petri-user-%u", geteuid());
}

int common_make(int parent_fd, const char *name, int *ret_common_fd) {
    char common[48];
    int r = -ENOENT;
    common_name(common, sizeof common);
    for (int i = 0; (r == -ENOENT || r == -ENODEV) && i < ATTEMPTS; i++) {
        auto_fd common_fd = cgroup_make(parent_fd, common);
        r = common_fd < 0 ? common_fd : cgroup_make(common_fd, name);
        if (r >= 0)
            *ret_common_fd = steal_fd(&common_fd);
    }
    return r;
}

void common_remove(int parent_fd, const char *name) {
    char common[48];
    common_name(common, sizeof common);
    auto_fd common_fd = openat(parent_fd, common, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (common_fd >= 0)
        unlinkat(common_fd, name, AT_REMOVEDIR);
    unlinkat(parent_fd, common, AT_REMOVEDIR);
}

static void sweep_folder(int folder_fd) {
    auto_dir dir = directory_of(folder_fd);
    struct dirent *entry;
    struct stat st;
    while (dir && stat("/proc/self/ns/pid", &st) == 0 && (entry = readdir(dir))) {
        unsigned long namespace = 0;
        int pid = 0, end = 0;
        if (sscanf(entry->d_name, "petri-%lu-%d-%n", &namespace, &pid, &end) == 2 && end > 0 &&
            namespace == st.st_ino && kill(pid, 0) && errno == ESRCH)
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
}

void common_sweep(int parent_fd) {
    char common[48];
    common_name(common, sizeof common);
    sweep_folder(openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    sweep_folder(openat(parent_fd, common, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    unlinkat(parent_fd, common, AT_REMOVEDIR);
}

uint64_t common_held(int common_fd, const char *file, uint64_t value) {
    uint64_t holds;
    return value && common_fd >= 0 && cgroup_read_number(common_fd, file, &holds) == 0 && holds <= value ? value : 0;
}

uint64_t common_bound(int common_fd, const char *file, uint64_t value) {
    if (value == 0 || common_fd < 0 || cgroup_write_limit(common_fd, file, value, "max"))
        return 0;
    return common_held(common_fd, file, value);
}
