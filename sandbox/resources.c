#define _GNU_SOURCE
#include "resources.h"

#include "cleanup.h"
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

void resources_name(char *buf, size_t size) {
    struct stat st = {0};
    /* With the number of its pid namespace: a group's folder may be seen from several, a pid is known in one. */
    if (stat("/proc/self/ns/pid", &st))
        st.st_ino = 0;
    snprintf(buf, size, "petri-%lu-%d", (unsigned long)st.st_ino, getpid());
}

const struct resources_backend *resources_find(struct resources_group *ret_cells, struct resources_group *ret_asides) {
    static const struct resources_backend *const backends[] = {&resources_v2, &resources_v1};
    char name[64];
    resources_name(name, sizeof name);
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (backends[i]->open(name, ret_cells, ret_asides) == 0)
            return backends[i];
    *ret_cells = *ret_asides = (struct resources_group){-1, -1};
    return NULL;
}

int resources_join(const struct resources_group *group, pid_t pid) {
    char text[24];
    snprintf(text, sizeof text, "%d", pid);
    int r = group->memory_fd < 0 ? 0 : system_write_file(group->memory_fd, "cgroup.procs", text);
    if (r == 0 && group->cpu_fd >= 0 && group->cpu_fd != group->memory_fd)
        r = system_write_file(group->cpu_fd, "cgroup.procs", text);
    return r;
}

static int find_key(const char *text, const char *key, uint64_t *ret_value) {
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, n) == 0 && line[n] == ' ') {
            *ret_value = strtoull(line + n + 1, NULL, 10);
            return 0;
        }
    return -ENOENT;
}

int resources_read_keys(int dir_fd, const char *file, const char *const *keys, uint64_t *ret_values, size_t n) {
    char text[8192];
    ssize_t read = system_read_file(dir_fd, file, text, sizeof text);
    int r = read < 0 ? (int)read : 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = find_key(text, keys[i], &ret_values[i]);
    return r;
}

int resources_read_key(int dir_fd, const char *file, const char *key, uint64_t *ret_value) {
    return resources_read_keys(dir_fd, file, &key, ret_value, 1);
}

int resources_read_number(int dir_fd, const char *file, uint64_t *ret_value) {
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

/* Whether a comma-separated list names an item. */
static bool names(const char *list, const char *item) {
    size_t n = strlen(item);
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, item, n) == 0 && (p[n] == 0 || p[n] == ','))
            return true;
    return false;
}

int resources_own_path(const char *controller, char *ret_path, size_t size) {
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
