/*
 * export.c - writes a file under a temporary name, and then gives it its name with one rename.
 *
 * The folder is locked as long as it is open, so that only one kernel at a time
 * compares and replaces files in it. An existing file of the name is read and
 * hashed; it is replaced only if it still has the digest in the log, and was not
 * replaced while it was read. The new digest is logged before the file gets its
 * name: if petri is killed between the two, the next copy gets another name, and
 * nothing is overwritten. Reading is done in slices, within a bound for the whole
 * cell. Runs that go on at once are of one kernel, so when a path was given to a copy
 * is known here alone, and is not in the log.
 */

#include "export.h"

#include "base/directory.h"
#include "kernel/base/clock.h"
#include "kernel/base/filename.h"
#include "kernel/base/host_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { NAMES_TRIED = 100, PIECE_BYTES = 128 << 10, PLACED_MAX = 1 << 16 };

void export_init(struct export *export, int folder_fd, const char *folder, const char *name) {
    *export = (struct export){.parent_fd = -1, .dir_fd = -1, .off = name[0] == '\0' || folder_fd < 0};
    export_log_init(&export->log, EXPORT_LOG_BYTES_MAX);
    snprintf(export->parent, sizeof export->parent, "%s", folder);
    snprintf(export->name, sizeof export->name, "%s", name);
    if (!export->off)
        export->parent_fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
}

void export_init_at(struct export *export, const char *path) {
    *export = (struct export){.parent_fd = -1, .dir_fd = -1, .off = path[0] != '/'};
    export_log_init(&export->log, EXPORT_LOG_BYTES_MAX);
    snprintf(export->parent, sizeof export->parent, "%s", path);
    if (!export->off)
        export->parent_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void export_fini(struct export *export) {
    export_close(export);
    if (export->parent_fd >= 0)
        close(export->parent_fd);
    export->parent_fd = -1;
    export_log_fini(&export->log);
    json_decref(steal_pointer(export->placed));
}

void export_close(struct export *export) {
    if (export->dir_fd >= 0)
        close(export->dir_fd);
    export->dir_fd = -1;
}

static int open_folder(const struct export *export) {
    const int flags = O_RDONLY | O_DIRECTORY;
    if (export->parent_fd < 0)
        return -ENOENT;
    if (export->name[0] == '\0')
        return host_open_beneath(export->parent_fd, ".", flags, 0);
    if (mkdirat(export->parent_fd, export->name, 0777) && errno != EEXIST)
        return -errno;
    return host_open_beneath(export->parent_fd, export->name, flags, 0);
}

/* Cells don't see what is about to appear, or to be replaced, at a path of the folder. 0 or -errno. */
static int keep_seen(const struct export *export, const char *path) {
    char below[PATH_MAX + NAME_MAX + 2];
    if (!export->session || export->name[0] == '\0')
        return 0;
    snprintf(below, sizeof below, "%s/%s", export->name, path);
    return session_keep_output(export->session, below);
}

/* Removes the partial files of a kernel that was killed. The folder is locked, so no kernel writes to it now. */
static void remove_leftovers(int dir_fd) {
    auto_dir dir = directory_open(dir_fd);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (strncmp(entry->d_name, EXPORT_COPY_NAME, strlen(EXPORT_COPY_NAME)) == 0)
            unlinkat(dir_fd, entry->d_name, 0);
}

int export_open(struct export *export) {
    if (export->dir_fd >= 0)
        return -EAGAIN;
    int fd = export->off ? -ENOENT : open_folder(export);
    if (fd < 0)
        return fd;
    export->dir_fd = fd;
    int r = flock(fd, LOCK_EX | LOCK_NB) ? (errno == EWOULDBLOCK ? -EAGAIN : -errno) : 0;
    if (r == 0) {
        remove_leftovers(fd);
        r = export_log_read(&export->log, fd);
    }
    if (r < 0)
        export_close(export);
    return r;
}

int export_begin(const struct export *export, struct export_file *ret_file) {
    struct export_file file = {.look.fd = -1};
    file.fd = export_make_file(export->dir_fd, file.name);
    if (file.fd < 0)
        return file.fd;
    *ret_file = file;
    return 0;
}

static void end_look(struct export_look *look) {
    if (look->fd >= 0)
        close(look->fd);
    look->fd = -1;
}

void export_drop(const struct export *export, struct export_file *file) {
    if (file->fd < 0)
        return;
    end_look(&file->look);
    close(file->fd);
    file->fd = -1;
    if (export->dir_fd >= 0)
        unlinkat(export->dir_fd, file->name, 0);
}

/* Makes a folder of a path, which ends with end, where it is missing. 0 or -errno. */
static int make_folder(const struct export *export, int dir_fd, const char *name, const char *path, const char *end) {
    char folder[PATH_MAX];
    if (faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    snprintf(folder, sizeof folder, "%.*s", (int)(end - path), path);
    int r = keep_seen(export, folder);
    return r < 0 || mkdirat(dir_fd, name, 0777) == 0 || errno == EEXIST ? r : -errno;
}

/* Opens the folder of path's last name, and makes missing folders; the offset of the name goes to ret_at. */
static int open_parent(const struct export *export, const char *path, size_t *ret_at) {
    char name[NAME_MAX + 1];
    const char *start = path;
    int fd = host_open_beneath(export->dir_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    for (const char *slash; fd >= 0 && (slash = strchr(start, '/')); start = slash + 1) {
        auto_fd above = fd;
        snprintf(name, sizeof name, "%.*s", (int)(slash - start), start);
        int r = make_folder(export, above, name, path, slash);
        if (r < 0)
            return r;
        fd = host_open_beneath(above, name, O_RDONLY | O_DIRECTORY, 0);
    }
    *ret_at = (size_t)(start - path);
    return fd;
}

/*
 * Opens an existing file if it may be one that petri wrote: regular, with one
 * hard link, and within compare_bytes. 0 or -errno.
 */
static int begin_look(struct export *export, struct export_look *look, int parent_fd, const char *name) {
    const struct host_file wanted = {.owner = HOST_ANY_OWNER, .one_name = true};
    auto_fd fd = host_open_beneath(parent_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    int r = fd < 0 ? fd : host_file_check(fd, &wanted, NULL);
    if (r == 0 && fstat(fd, &look->before) < 0)
        r = -errno;
    if (r == 0 && look->before.st_size > export->compare_bytes)
        r = -EFBIG;
    if (r < 0)
        return r;
    export->compare_bytes -= look->before.st_size;
    look->left = look->before.st_size;
    crypto_hash_sha256_init(&look->hash);
    look->fd = steal_fd(&fd);
    return 0;
}

/* Hashes it, up to the size that it had when it was opened. 0 once it is done, -EINPROGRESS, or -errno. */
static int look_on(struct export_look *look, int64_t until_us) {
    auto_free unsigned char *piece = malloc(PIECE_BYTES);
    if (!piece)
        return -ENOMEM;
    while (look->left > 0) {
        ssize_t n = read(look->fd, piece, look->left < PIECE_BYTES ? (size_t)look->left : PIECE_BYTES);
        if (n <= 0)
            return n < 0 ? -errno : -ESTALE;
        crypto_hash_sha256_update(&look->hash, piece, (unsigned long long)n);
        look->left -= n;
        if (look->left > 0 && clock_us() >= until_us)
            return -EINPROGRESS;
    }
    return 0;
}

/* Whether the file that was hashed still has the name, and has the digest that petri wrote. */
static bool is_as_written(struct export_look *look, const struct stat *now, const char *ours) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    crypto_hash_sha256_final(&look->hash, hash);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    return now->st_dev == look->before.st_dev && now->st_ino == look->before.st_ino &&
           now->st_size == look->before.st_size && strcmp(hex, ours) == 0;
}

/* 1 where the existing file is as petri wrote it, 0 where it is not, or -EINPROGRESS. */
static int is_ours(struct export *export, struct export_file *file, int parent_fd, const char *path, const char *name,
                   int64_t until_us) {
    struct export_look *look = &file->look;
    struct stat now;
    const char *ours = export_log_find(&export->log, path);
    int r = !ours ? -ENOENT : look->fd < 0 ? begin_look(export, look, parent_fd, name) : 0;
    if (r == 0)
        r = look_on(look, until_us);
    if (r == -EINPROGRESS)
        return r;
    bool same = r == 0 && fstatat(parent_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && is_as_written(look, &now, ours);
    end_look(look);
    return same;
}

/* Notes that a copy has a path now. Of too many, or too long ones, all are forgotten: then they count as made long ago.
 */
static void note_placed(struct export *export, const char *path) {
    const off_t bytes = json_object_get(export->placed, path) ? 0 : (off_t)strlen(path);
    if (bytes > 0 &&
        (json_object_size(export->placed) >= PLACED_MAX || export->placed_bytes + bytes > export->log.max_bytes)) {
        json_object_clear(export->placed);
        export->placed_bytes = 0;
    }
    export->placed_bytes += bytes;
    if (!export->placed)
        export->placed = json_object();
    json_object_set_new(export->placed, path, json_integer(clock_us()));
}

/* Whether another run has made a copy there, with other content, that this one is not to replace. */
static bool is_kept(const struct export *export, const struct export_place *place, const char *path) {
    const json_t *placed = json_object_get(export->placed, path);
    const char *ours = export_log_find(&export->log, path);
    return place->kept_since_us > 0 && placed && json_integer_value(placed) >= place->kept_since_us && ours &&
           strcmp(ours, place->sha256) != 0;
}

/*
 * Gives the file a path, unless petri's file there has the same content
 * already. 0, -EEXIST where a file that petri did not write has the path,
 * -EINPROGRESS, or -errno. Logs the digest before the file gets its name.
 */
static int place_at(struct export *export, struct export_file *file, const struct export_place *place, int parent_fd,
                    const char *path, size_t name_at) {
    struct stat st;
    const char *name = path + name_at;
    bool stands = fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (stands && is_kept(export, place, path))
        return -EEXIST;
    int ours = stands ? is_ours(export, file, parent_fd, path, name, place->until_us) : 0;
    if (stands && ours <= 0)
        return ours < 0 ? ours : -EEXIST;
    if (stands && strcmp(export_log_find(&export->log, path), place->sha256) == 0) {
        export_drop(export, file);
        return 0;
    }
    int r = keep_seen(export, path);
    if (r == 0)
        r = export_log_note(&export->log, export->dir_fd, path, place->sha256);
    if (r < 0)
        return r;
    if (stands)
        return renameat(export->dir_fd, file->name, parent_fd, name) ? -errno : 0;
    return host_rename_to_free(export->dir_fd, file->name, parent_fd, name);
}

int export_place(struct export *export, struct export_file *file, const struct export_place *place,
                 char ret_path[PATH_MAX]) {
    char tried[PATH_MAX];
    size_t name_at = 0;
    auto_fd parent_fd = open_parent(export, place->path, &name_at);
    int r = parent_fd < 0 ? parent_fd : -EEXIST;
    while (r == -EEXIST && file->names_tried < NAMES_TRIED) {
        r = filename_nth(place->path, file->names_tried + 1, tried, sizeof tried);
        if (r == 0)
            r = place_at(export, file, place, parent_fd, tried, name_at);
        file->names_tried += r == -EEXIST;
    }
    if (r == 0)
        note_placed(export, tried);
    if (r == -EINPROGRESS)
        return r;
    if (r < 0) {
        export_drop(export, file);
        return r;
    }
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    memcpy(ret_path, tried, strlen(tried) + 1);
    return 0;
}
