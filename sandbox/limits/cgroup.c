/*
 * cgroup.c - parsers of the few formats that files of control groups have.
 *
 * A file is read whole into a buffer that is larger than Linux makes it: what is
 * cut off is not found, and counts as missing.
 */
#define _GNU_SOURCE
#include "cgroup.h"

#include "base/cleanup.h"
#include "sandbox/base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static int find_key(const char *text, const char *key, uint64_t *ret_value) {
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, n) == 0 && line[n] == ' ') {
            *ret_value = strtoull(line + n + 1, NULL, 10);
            return 0;
        }
    return -ENOENT;
}

int cgroup_read_keys(int dir_fd, const char *file, const char *const *keys, uint64_t *ret_values, size_t n) {
    char text[8192];
    ssize_t read = system_read_file(dir_fd, file, text, sizeof text);
    int r = read < 0 ? (int)read : 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = find_key(text, keys[i], &ret_values[i]);
    return r;
}

int cgroup_read_key(int dir_fd, const char *file, const char *key, uint64_t *ret_value) {
    return cgroup_read_keys(dir_fd, file, &key, ret_value, 1);
}

int cgroup_read_number(int dir_fd, const char *file, uint64_t *ret_value) {
    char text[64], *end;
    ssize_t r = system_read_file(dir_fd, file, text, sizeof text);
    if (r < 0)
        return (int)r;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text)
        return -EINVAL;
    *ret_value = value;
    return 0;
}

int cgroup_write_limit(int dir_fd, const char *file, uint64_t bytes, const char *none) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, bytes);
    return system_write_file(dir_fd, file, bytes > INT64_MAX ? none : text);
}

/* Whether a comma-separated list names an item. */
static bool names(const char *list, const char *item) {
    size_t n = strlen(item);
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, item, n) == 0 && (p[n] == 0 || p[n] == ','))
            return true;
    return false;
}

int cgroup_own_path(const char *controller, char *ret_path, size_t size) {
    char line[PATH_MAX + 256];
    auto_file file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return -errno;
    while (fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        if (!names(controllers + 1, controller))
            continue;
        if (strlen(path) >= size)
            return -ENAMETOOLONG;
        memcpy(ret_path, path, strlen(path) + 1);
        return 0;
    }
    return -ENOENT;
}

int cgroup_make(int parent_fd, const char *name) {
    if (mkdirat(parent_fd, name, 0755) && errno != EEXIST)
        return -errno;
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}
