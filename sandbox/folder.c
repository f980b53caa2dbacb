#define _GNU_SOURCE
#include "folder.h"

#include "cleanup.h"
#include "overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
    if (!rest || !rest[0])
        return 0;
    char **grown = reallocarray(kept->path, kept->n + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    kept->path = grown;
    grown[kept->n] = strdup(rest + 1);
    return grown[kept->n] ? (kept->n++, 0) : -ENOMEM;
}

/* What becomes of an entry. */
enum fate { FATE_HIDE, FATE_KEEP, FATE_ENTER };

static enum fate fate_of(const char *path, const struct folder_kept *kept) {
    enum fate fate = FATE_HIDE;
    for (size_t i = 0; i < kept->n; i++) {
        const char *rest = folder_rest(path, kept->path[i]);
        if (rest && !rest[0])
            return FATE_KEEP;
        fate = rest ? FATE_ENTER : fate;
    }
    return fate;
}

static int hide_entries(int folder_fd, int layer_fd, const char *above, const struct folder_kept *kept);

/* What lies on top says whose a folder is. One whose owner has no id here stays ours: cells don't write it. */
static int copy_owner(int from, int to) {
    struct stat st;
    if (fstat(from, &st))
        return -errno;
    if (fchown(to, st.st_uid, st.st_gid) && errno != EINVAL)
        return -errno;
    return fchmod(to, st.st_mode & 07777) ? -errno : 0;
}

/* A folder on the way to what is kept. A link is as good as hidden: what it leads to is shown or not by itself. */
static int enter(int folder_fd, int layer_fd, const char *name, const char *path, const struct folder_kept *kept) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    char above[PATH_MAX + 1];
    auto_fd inner_fd = openat(folder_fd, name, flags);
    if (inner_fd < 0)
        return errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
    if (mkdirat(layer_fd, name, 0755) && errno != EEXIST)
        return -errno;
    auto_fd inner_layer_fd = openat(layer_fd, name, flags);
    int r = inner_layer_fd < 0 ? -errno : copy_owner(inner_fd, inner_layer_fd);
    snprintf(above, sizeof above, "%s/", path);
    return r ? r : hide_entries(inner_fd, inner_layer_fd, above, kept);
}

static int hide_entry(int folder_fd, int layer_fd, const char *name, const char *above,
                      const struct folder_kept *kept) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s", above, name), r = 0;
    enum fate fate = n < (int)sizeof path ? fate_of(path, kept) : FATE_HIDE;
    if (fate == FATE_ENTER)
        return enter(folder_fd, layer_fd, name, path, kept);
    if (fate == FATE_HIDE)
        r = overlay_put_whiteout(layer_fd, name);
    return r == -EEXIST ? 0 : r;
}

/* above: the folder's path with a / behind, below the one that is shown; "" for that itself, of which only entries
 * with a dot are hidden. */
static int hide_entries(int folder_fd, int layer_fd, const char *above, const struct folder_kept *kept) {
    int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    auto_dir dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    if (!dir)
        return -errno;
    while (r == 0 && (errno = 0, entry = readdir(dir)))
        if ((above[0] || entry->d_name[0] == '.') && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0)
            r = hide_entry(folder_fd, layer_fd, entry->d_name, above, kept);
    return r ? r : -errno; /* of readdir(3), 0 at the end: what could not be read would not be hidden */
}

int folder_hide_dot_entries(int folder_fd, int layer_fd, const struct folder_kept *kept) {
    return hide_entries(folder_fd, layer_fd, "", kept);
}
