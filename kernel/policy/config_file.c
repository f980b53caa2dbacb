/*
 * config_file.c - opens a file first, and then checks and reads what is open.
 *
 * A file that was not named with --config is opened through the descriptor of its
 * folder, after the folder's owner was checked: HOME and XDG_CONFIG_HOME may be
 * those of another user, as with a sudo(8) that keeps the environment, and another
 * user must not decide what cells see and what is stored.
 */

#include "config_file.h"

#include "kernel/base/host_file.h"
#include "kernel/base/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = (1 << 20) - 1 };

/* Whose a file is, and so who has to be its owner. */
enum whose { OPERATORS, FOUND, NAMED };

static int open_found(const char *path, const struct host_file *wanted, struct error *ret_error) {
    char folder[PATH_MAX], name[PATH_MAX], owner[32];
    struct stat st;
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(name, sizeof name, "%s", path);
    auto_fd fd = open(dirname(folder), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set_errno(ret_error, errno);
    if (host_is_trusted(st.st_uid))
        return host_file_open(fd, basename(name), wanted, ret_error);
    return error_set(ret_error, EPERM, "its folder belongs to another user%s",
                     host_owner_text(st.st_uid, owner, sizeof owner));
}

/* What to do about a file that is not trusted. */
static const char *const remedies[] = {
    [OPERATORS] = "It holds for every user of this machine, so no cell runs until it and its folder belong to root",
    [FOUND] = "Name it with --config to use it all the same, or start petri with a HOME and an XDG_CONFIG_HOME of "
              "your own (sudo -H)",
    [NAMED] = "",
};

static int open_file(const char *path, enum whose whose, struct error *ret_error) {
    struct error cause;
    const struct host_file wanted = {
        .flags = O_RDONLY, .owner = whose == NAMED ? HOST_ANY_OWNER : HOST_TRUSTED, .max_bytes = MAX_FILE_BYTES};
    int fd = whose == NAMED ? host_file_open(AT_FDCWD, path, &wanted, &cause) : open_found(path, &wanted, &cause);
    if (fd == -EPERM && whose != NAMED)
        error_set(ret_error, -fd, "The configuration %s is not used: %s. %s.", path, cause.text, remedies[whose]);
    else if (fd < 0)
        error_set(ret_error, -fd, "The configuration %s can't be read: %s.", path, cause.text);
    return fd;
}

/* Reads the whole file. A file that grows meanwhile is treated as too large. The number of bytes, or -errno. */
static ssize_t read_text(int fd, char *text) {
    size_t have = 0;
    ssize_t n = 1;
    while (n > 0 && have <= MAX_FILE_BYTES) {
        n = read(fd, text + have, MAX_FILE_BYTES + 1 - have);
        have += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -errno : have > MAX_FILE_BYTES ? -EFBIG : (ssize_t)have;
}

static int read_file(const char *path, enum whose whose, struct config_file *ret_file, struct error *ret_error) {
    auto_fd fd = open_file(path, whose, ret_error);
    if (fd < 0)
        return fd;
    auto_free char *text = malloc(MAX_FILE_BYTES + 1);
    ssize_t n = text ? read_text(fd, text) : -ENOMEM;
    if (n < 0)
        return error_set(ret_error, (int)-n, "The configuration %s can't be read: %s.", path, strerror((int)-n));
    snprintf(ret_file->path, sizeof ret_file->path, "%s", path);
    ret_file->text = steal_pointer(text);
    ret_file->bytes = (size_t)n;
    return 0;
}

/*
 * Whether nothing has this name. A link that leads nowhere and a folder that may
 * not be searched are something: what was meant to be there can't be read.
 */
static bool is_absent(const char *path) {
    char folder[PATH_MAX];
    struct stat st;
    snprintf(folder, sizeof folder, "%s", path);
    if (lstat(dirname(folder), &st) < 0)
        return errno == ENOENT;
    return stat(folder, &st) == 0 && lstat(path, &st) < 0 && errno == ENOENT;
}

static bool is_same_file(const char *path, const char *other) {
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int read_policy(struct config_file *ret_file, struct error *ret_error) {
    return is_absent(CONFIG_POLICY_PATH) ? 0 : read_file(CONFIG_POLICY_PATH, OPERATORS, ret_file, ret_error);
}

static int read_own(const char *named, const struct config_file *policy, struct config_file *ret_file,
                    struct error *ret_error) {
    char found[PATH_MAX];
    const char *path = named ? named : found;
    if (!named && (paths_of_user("XDG_CONFIG_HOME", ".config", "petri/config.json", found, sizeof found) < 0 ||
                   access(found, F_OK) < 0))
        return 0;
    if (policy->text && is_same_file(path, CONFIG_POLICY_PATH))
        return 0;
    return read_file(path, named ? NAMED : FOUND, ret_file, ret_error);
}

int config_files_read(const char *path, struct config_files *ret_files, struct error *ret_error) {
    struct config_files files = {0};
    int r = read_policy(&files.policy, ret_error);
    if (r == 0)
        r = read_own(path, &files.policy, &files.own, ret_error);
    if (r < 0)
        config_files_fini(&files);
    else
        *ret_files = files;
    return r;
}

void config_files_fini(struct config_files *files) {
    free(files->policy.text);
    free(files->own.text);
    *files = (struct config_files){0};
}
