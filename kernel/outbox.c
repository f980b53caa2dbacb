#include "outbox.h"

#include "kernel/fingerprint.h"
#include "protocol/bytes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define LOG_NAME OUTBOX_OWN_NAMES "-sha256"
#define COPY_NAME OUTBOX_OWN_NAMES "-copy-"

enum { NAMES_TRIED = 100, HEX_BYTES = 64, LOG_BYTES_MAX = 64 << 20 };

/* Opens path below dir_fd, through no link. A descriptor or -errno. */
static int open_beneath(int dir_fd, const char *path, int flags, mode_t mode) {
    const struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
                                 .mode = mode,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
    return fd < 0 ? -errno : (int)fd;
}

void outbox_init(struct outbox *outbox, int folder_fd, const char *folder, const char *name) {
    *outbox = (struct outbox){.parent_fd = -1, .dir_fd = -1, .off = name[0] == '\0' || folder_fd < 0};
    snprintf(outbox->parent, sizeof outbox->parent, "%s", folder);
    snprintf(outbox->name, sizeof outbox->name, "%s", name);
    if (!outbox->off)
        outbox->parent_fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
}

void outbox_init_at(struct outbox *outbox, const char *path) {
    *outbox = (struct outbox){.parent_fd = -1, .dir_fd = -1, .off = path[0] != '/'};
    snprintf(outbox->parent, sizeof outbox->parent, "%s", path);
    if (!outbox->off)
        outbox->parent_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void outbox_fini(struct outbox *outbox) {
    outbox_close(outbox);
    if (outbox->parent_fd >= 0)
        close(outbox->parent_fd);
    outbox->parent_fd = -1;
    json_decref(outbox->written);
    outbox->written = NULL;
}

void outbox_close(struct outbox *outbox) {
    if (outbox->dir_fd >= 0)
        close(outbox->dir_fd);
    outbox->dir_fd = -1;
}

static int open_folder(const struct outbox *outbox) {
    const int flags = O_RDONLY | O_DIRECTORY;
    if (outbox->parent_fd < 0)
        return -ENOENT;
    if (outbox->name[0] == '\0')
        return open_beneath(outbox->parent_fd, ".", flags, 0);
    if (mkdirat(outbox->parent_fd, outbox->name, 0777) && errno != EEXIST)
        return -errno;
    return open_beneath(outbox->parent_fd, outbox->name, flags, 0);
}

/* What a kernel that was killed has left half written. Nobody writes now: the folder is locked. */
static void remove_leftovers(int dir_fd) {
    int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (strncmp(entry->d_name, COPY_NAME, strlen(COPY_NAME)) == 0)
            unlinkat(dir_fd, entry->d_name, 0);
    if (dir)
        closedir(dir);
    else if (copy >= 0)
        close(copy);
}

/* One line, "SHA256  PATH", without its end; others are passed over. */
static void note_line(json_t *written, const char *line, size_t n) {
    char path[PATH_MAX];
    if (n <= HEX_BYTES + 2 || n - HEX_BYTES - 2 >= sizeof path || memcmp(line + HEX_BYTES, "  ", 2) != 0)
        return;
    memcpy(path, line + HEX_BYTES + 2, n - HEX_BYTES - 2);
    path[n - HEX_BYTES - 2] = '\0';
    json_object_set_new(written, path, json_stringn(line, HEX_BYTES));
}

/* Whole lines of text; a last one without its end was never finished. Returns the bytes of what was read. */
static size_t note_lines(json_t *written, const char *text, size_t n) {
    size_t at = 0;
    const char *end;
    while ((end = memchr(text + at, '\n', n - at))) {
        size_t bytes = (size_t)(end - text) - at;
        note_line(written, text + at, bytes);
        at += bytes + 1;
    }
    return at;
}

/* Reads what was added to the log since; all of it where it is another file, or shorter. */
static int read_log(struct outbox *outbox) {
    struct stat st;
    auto_fd fd = open_beneath(outbox->dir_fd, LOG_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0 || fstat(fd, &st))
        st = (struct stat){0};
    else if (!S_ISREG(st.st_mode) || st.st_size > LOG_BYTES_MAX)
        return -EFBIG;
    if (!outbox->written || st.st_ino != outbox->log_inode || st.st_size < outbox->log_bytes) {
        json_decref(outbox->written);
        outbox->written = json_object();
        outbox->log_inode = st.st_ino;
        outbox->log_bytes = 0;
    }
    size_t bytes = (size_t)(st.st_size - outbox->log_bytes);
    auto_free char *text = bytes ? malloc(bytes) : NULL;
    if (bytes == 0)
        return 0;
    ssize_t n = text ? pread(fd, text, bytes, outbox->log_bytes) : -1;
    if (n < 0)
        return text ? -errno : -ENOMEM;
    outbox->log_bytes += (off_t)note_lines(outbox->written, text, (size_t)n);
    return 0;
}

int outbox_open(struct outbox *outbox) {
    int fd = outbox->off ? -ENOENT : open_folder(outbox);
    if (fd < 0)
        return fd;
    outbox->dir_fd = fd;
    int r = flock(fd, LOCK_EX | LOCK_NB) ? (errno == EWOULDBLOCK ? -EAGAIN : -errno) : 0;
    if (r == 0) {
        remove_leftovers(fd);
        r = read_log(outbox);
    }
    if (r < 0)
        outbox_close(outbox);
    return r;
}

/* Before the file has its name: whatever happens between, the log never claims too little. */
static int write_log(struct outbox *outbox, const char *path, const char *sha256) {
    auto_bytes line = {0};
    auto_fd fd = open_beneath(outbox->dir_fd, LOG_NAME, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0666);
    struct stat st;
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return -EINVAL;
    bytes_append_text(&line, st.st_size > outbox->log_bytes ? "\n" : ""); /* the end of a line that was cut off */
    bytes_append_text(&line, sha256);
    bytes_append_text(&line, "  ");
    bytes_append_text(&line, path);
    bytes_append_text(&line, "\n");
    if (!bytes_ok(&line))
        return -ENOMEM;
    if (write(fd, line.data, line.n) != (ssize_t)line.n)
        return -EIO;
    outbox->log_inode = st.st_ino;
    outbox->log_bytes = st.st_size + (off_t)line.n;
    return json_object_set_new(outbox->written, path, json_string(sha256)) ? -ENOMEM : 0;
}

int outbox_begin(const struct outbox *outbox, struct outbox_file *ret_file) {
    struct outbox_file file;
    unsigned char random[8];
    char hex[2 * sizeof random + 1];
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(hex, sizeof hex, random, sizeof random);
    snprintf(file.name, sizeof file.name, COPY_NAME "%s", hex);
    file.fd = openat(outbox->dir_fd, file.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file.fd < 0)
        return -errno;
    *ret_file = file;
    return 0;
}

void outbox_drop(const struct outbox *outbox, struct outbox_file *file) {
    if (file->fd < 0)
        return;
    close(file->fd);
    file->fd = -1;
    if (outbox->dir_fd >= 0)
        unlinkat(outbox->dir_fd, file->name, 0);
}

/* Opens the folder that path's last name goes into, making what is missing; the name's place goes to ret_at. */
static int open_parent(int dir_fd, const char *path, size_t *ret_at) {
    char name[NAME_MAX + 1];
    const char *start = path;
    int fd = open_beneath(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    for (const char *slash; fd >= 0 && (slash = strchr(start, '/')); start = slash + 1) {
        auto_fd above = fd;
        snprintf(name, sizeof name, "%.*s", (int)(slash - start), start);
        if (mkdirat(above, name, 0777) && errno != EEXIST)
            return -errno;
        fd = open_beneath(above, name, O_RDONLY | O_DIRECTORY, 0);
    }
    *ret_at = (size_t)(start - path);
    return fd;
}

/* The n-th name to try: "plot.png", "plot (2).png". */
static int nth_path(const char *path, size_t name_at, int n, char ret_path[PATH_MAX]) {
    const char *dot = strrchr(path + name_at, '.');
    const char *end = dot && dot > path + name_at ? dot : path + strlen(path);
    int bytes = n == 1 ? snprintf(ret_path, PATH_MAX, "%s", path)
                       : snprintf(ret_path, PATH_MAX, "%.*s (%d)%s", (int)(end - path), path, n, end);
    return bytes < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* The sha256 of a regular file that has no other name. 0, or -errno: it is none. */
static int hash_file(int dir_fd, const char *name, char ret_hex[FINGERPRINT_BYTES]) {
    struct stat st;
    auto_fd fd = open_beneath(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0 || fstat(fd, &st))
        return fd < 0 ? fd : -errno;
    return S_ISREG(st.st_mode) && st.st_nlink == 1 ? fingerprint_fd(fd, ret_hex) : -EINVAL;
}

/* The digest of what stands there, where it is as petri wrote it, or NULL. */
static const char *find_ours(const struct outbox *outbox, int parent_fd, const char *path, const char *name) {
    char hex[FINGERPRINT_BYTES];
    const char *ours = json_string_value(json_object_get(outbox->written, path));
    return ours && hash_file(parent_fd, name, hex) == 0 && strcmp(hex, ours) == 0 ? ours : NULL;
}

/* Renames where nothing stands. 0, -EEXIST or -errno. See: RENAME_NOREPLACE, which not every file system has. */
static int rename_to_free(int dir_fd, const char *from, int parent_fd, const char *name) {
    if (renameat2(dir_fd, from, parent_fd, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (linkat(dir_fd, from, parent_fd, name, 0))
        return -errno;
    return unlinkat(dir_fd, from, 0) ? -errno : 0;
}

/* Puts the file under one path; what stands there with the same content stays. 0, -EEXIST where somebody else's stands
 * there, or -errno. */
static int place_at(struct outbox *outbox, struct outbox_file *file, int parent_fd, const char *path, size_t name_at,
                    const char *sha256) {
    struct stat st;
    const char *name = path + name_at;
    bool stands = fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    const char *ours = stands ? find_ours(outbox, parent_fd, path, name) : NULL;
    if (stands && !ours)
        return -EEXIST;
    if (stands && strcmp(ours, sha256) == 0) {
        outbox_drop(outbox, file);
        return 0;
    }
    int r = write_log(outbox, path, sha256);
    if (r < 0)
        return r;
    if (stands)
        return renameat(outbox->dir_fd, file->name, parent_fd, name) ? -errno : 0;
    return rename_to_free(outbox->dir_fd, file->name, parent_fd, name);
}

int outbox_place(struct outbox *outbox, struct outbox_file *file, const char *path, const char *sha256,
                 char ret_path[PATH_MAX]) {
    char tried[PATH_MAX];
    size_t name_at = 0;
    auto_fd parent_fd = open_parent(outbox->dir_fd, path, &name_at);
    int r = parent_fd < 0 ? parent_fd : -EEXIST;
    for (int n = 1; r == -EEXIST && n <= NAMES_TRIED; n++) {
        r = nth_path(path, name_at, n, tried);
        if (r == 0)
            r = place_at(outbox, file, parent_fd, tried, name_at, sha256);
    }
    if (r < 0) {
        outbox_drop(outbox, file);
        return r;
    }
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    memcpy(ret_path, tried, strlen(tried) + 1);
    return 0;
}
