/*
 * folder.c - decides by paths what is hidden of a folder, and puts whiteouts for it into a layer.
 *
 * Only folders with a hidden entry are read: a home, and the way to what is kept
 * in a hidden entry. Of each the mtime is remembered from before it was read, so
 * what is added meanwhile is found at the next look. A path that is too long to
 * be judged is hidden.
 */
#define _GNU_SOURCE
#include "folder.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/directory.h"
#include "sandbox/files/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_SEEN = 4096 };

const char *folder_rest(const char *folder, const char *path) {
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == 0) ? path + n : NULL;
}

/* Whether path is in a hidden entry of a home. */
static bool is_hidden(const struct folder_rules *rules, const char *path) {
    bool hidden = false;
    for (const char **home = rules->homes; *home; home++) {
        const char *rest = folder_rest(*home, path);
        hidden |= rest && rest[0] == '/' && rest[1] == '.';
    }
    return hidden;
}

/* Whether path is, or has in it, a folder of which something is hidden. */
static bool has_home(const struct folder_rules *rules, const char *path) {
    for (const char **home = rules->homes; *home; home++)
        if (folder_rest(path, *home))
            return true;
    return false;
}

enum folder_fate folder_fate(const struct folder_rules *rules, const char *path) {
    if (!is_hidden(rules, path))
        return has_home(rules, path) ? FOLDER_ENTER : FOLDER_SHOW;
    enum folder_fate fate = FOLDER_HIDE;
    for (const char **kept = rules->kept; *kept; kept++) {
        if (folder_rest(*kept, path))
            return FOLDER_SHOW;
        fate = folder_rest(path, *kept) ? FOLDER_ENTER : fate;
    }
    return fate;
}

static size_t count(const char *const *list) {
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

int folder_rules_init(struct folder_rules *rules, const char *folder, const char *const *homes,
                      const char *const *kept) {
    size_t n = 0;
    rules->homes = calloc(count(homes) + 1, sizeof *rules->homes);
    rules->kept = calloc(count(kept) + 1, sizeof *rules->kept);
    if (!rules->homes || !rules->kept) {
        folder_rules_fini(rules);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count(homes); i++)
        if ((rules->homes[n] = folder_rest(folder, homes[i])))
            n++;
    n = 0;
    for (size_t i = 0; i < count(kept); i++)
        if ((rules->kept[n] = folder_rest(folder, kept[i])) && is_hidden(rules, rules->kept[n]))
            n++;
    rules->kept[n] = NULL;
    return 0;
}

void folder_rules_fini(struct folder_rules *rules) {
    free(rules->homes);
    free(rules->kept);
    *rules = (struct folder_rules){0};
}

int folder_copy_owner(int folder_fd, int layer_fd) {
    struct stat st;
    if (fstat(folder_fd, &st))
        return -errno;
    if (fchown(layer_fd, st.st_uid, st.st_gid) && errno != EINVAL)
        return -errno;
    return fchmod(layer_fd, st.st_mode & 07777) ? -errno : 0;
}

/* One pass over the folder. */
struct hiding {
    const struct folder_rules *rules;
    struct folder_seen *seen;
};

static int hide_entries(const struct hiding *hiding, int folder_fd, int layer_fd, const char *path);

int folder_seen_add(struct folder_seen *seen, const char *path, const struct timespec *changed) {
    if (seen->n == MAX_SEEN)
        return -E2BIG;
    if (array_grow(&seen->at, seen->n, sizeof *seen->at))
        return -ENOMEM;
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    seen->at[seen->n++] = (struct folder_seen_one){copy, *changed};
    return 0;
}

bool folder_seen_renew(struct folder_seen *seen, int folder_fd) {
    bool changed = false;
    for (size_t i = 0; i < seen->n; i++) {
        struct folder_seen_one *one = &seen->at[i];
        const char *path = one->path[0] ? one->path + 1 : ".";
        struct stat st = {0}; /* of one that is gone */
        (void)fstatat(folder_fd, path, &st, AT_SYMLINK_NOFOLLOW);
        changed |= memcmp(&st.st_mtim, &one->changed, sizeof st.st_mtim) != 0;
        one->changed = st.st_mtim;
    }
    return changed;
}

void folder_seen_fini(struct folder_seen *seen) {
    for (size_t i = 0; i < seen->n; i++)
        free(seen->at[i].path);
    free(seen->at);
    *seen = (struct folder_seen){0};
}

/* Goes into a folder of which something is hidden. A link is no such folder: what it leads to has a path of its own, by
 * which it is shown or hidden. */
static int enter(const struct hiding *hiding, int folder_fd, int layer_fd, const char *name, const char *path) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    auto_fd inner_fd = openat(folder_fd, name, flags);
    if (inner_fd < 0)
        return errno == ENOTDIR || errno == ELOOP || errno == EACCES ? 0 : -errno;
    bool made = mkdirat(layer_fd, name, 0755) == 0;
    if (!made && errno != EEXIST)
        return -errno;
    auto_fd inner_layer_fd = openat(layer_fd, name, flags);
    if (inner_layer_fd < 0)
        return errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
    int r = made ? folder_copy_owner(inner_fd, inner_layer_fd) : 0;
    return r ? r : hide_entries(hiding, inner_fd, inner_layer_fd, path);
}

static int hide_entry(const struct hiding *hiding, int folder_fd, int layer_fd, const char *name, const char *above) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", above, name), r = 0;
    enum folder_fate fate = n < (int)sizeof path ? folder_fate(hiding->rules, path) : FOLDER_HIDE;
    if (fate == FOLDER_ENTER)
        return enter(hiding, folder_fd, layer_fd, name, path);
    if (fate == FOLDER_HIDE)
        r = overlay_put_whiteout(layer_fd, name);
    return r == -EEXIST ? 0 : r;
}

static int hide_entries(const struct hiding *hiding, int folder_fd, int layer_fd, const char *path) {
    auto_dir dir = directory_open(folder_fd);
    struct dirent *entry;
    if (!dir)
        return -errno;
    struct stat st; /* from before they are read: what comes meanwhile is looked at the next time, too */
    int r = fstat(dirfd(dir), &st) ? -errno : folder_seen_add(hiding->seen, path, &st.st_mtim);
    while (r == 0 && (errno = 0, entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = hide_entry(hiding, folder_fd, layer_fd, entry->d_name, path);
    return r ? r : -errno; /* of readdir(3), 0 at the end: what could not be read would not be hidden */
}

int folder_hide(int folder_fd, int layer_fd, const struct folder_rules *rules, struct folder_seen *seen) {
    const struct hiding hiding = {rules, seen};
    if (!rules->homes[0] || (seen->n > 0 && !folder_seen_renew(seen, folder_fd)))
        return 0;
    folder_seen_fini(seen);
    int r = hide_entries(&hiding, folder_fd, layer_fd, "");
    return r == -EACCES ? 0 : r; /* a folder that we can't list can't be listed by a cell either */
}
