#define _GNU_SOURCE
#include "folder.h"

#include "cleanup.h"
#include "overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Folders of the system's, and the one that holds all homes. */
static const char *const not_shown[] = {
    "/",      "/bin", "/boot", "/dev", "/etc",  "/home", "/lib", "/lib32",
    "/lib64", "/opt", "/proc", "/run", "/sbin", "/sys",  "/usr", "/var",
};

const char *folder_rest(const char *folder, const char *path) {
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == 0) ? path + n : NULL;
}

bool folder_is_shown(const char *path) {
    for (size_t i = 0; i < sizeof not_shown / sizeof not_shown[0]; i++)
        if (strcmp(path, not_shown[i]) == 0)
            return false;
    return strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0 && strncmp(path, "/dev/", 5) != 0;
}

int folder_keep(struct folder_kept *kept, const char *folder, const char *path) {
    const char *rest = folder_rest(folder, path);
    size_t bytes = rest && rest[0] ? strcspn(rest + 1, "/") : 0;
    if (bytes == 0 || bytes >= sizeof kept->name[0])
        return 0;
    char(*grown)[256] = reallocarray(kept->name, kept->n + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    kept->name = grown;
    memcpy(grown[kept->n], rest + 1, bytes);
    grown[kept->n++][bytes] = 0;
    return 0;
}

static bool is_kept(const struct folder_kept *kept, const char *name) {
    for (size_t i = 0; i < kept->n; i++)
        if (strcmp(kept->name[i], name) == 0)
            return true;
    return false;
}

int folder_hide_dot_entries(int folder_fd, int layer_fd, const struct folder_kept *kept) {
    int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_dir dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    if (!dir)
        return -errno;
    while (errno = 0, (entry = readdir(dir))) {
        if (entry->d_name[0] != '.' || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            is_kept(kept, entry->d_name))
            continue;
        int r = overlay_put_whiteout(layer_fd, entry->d_name);
        if (r && r != -EEXIST)
            return r;
    }
    return -errno; /* 0 at the end: what could not be read would not be hidden */
}
