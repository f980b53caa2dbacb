/*
 * export_log.c - reads the lines that were added since it was read last.
 *
 * The log is the same file as before if its inode and its time of birth are the
 * same; else it is read from the beginning. Only whole lines count: an incomplete
 * last line is ignored, and the next line written after it begins with a newline.
 * A rewritten log is a new file that replaces the old one with one rename, so no
 * reader sees a partial one.
 */

#include "export_log.h"

#include "kernel/base/host_file.h"
#include "protocol/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#define LOG_NAME EXPORT_OWN_NAMES "-sha256"

enum { HEX_BYTES = 64, TIDY_PART = 4 };

const char *const export_own_names[] = {LOG_NAME, EXPORT_COPY_NAME "1", EXPORT_COPY_NAME "2", NULL};

void export_log_init(struct export_log *log, off_t max_bytes) {
    *log = (struct export_log){.max_bytes = max_bytes, .tidy_bytes = max_bytes / TIDY_PART};
}

void export_log_fini(struct export_log *log) {
    json_decref(log->written);
    log->written = NULL;
}

int export_make_file(int dir_fd, char ret_name[EXPORT_NAME_BYTES]) {
    int fd = -EEXIST;
    for (const char *const *name = export_own_names + 1; fd == -EEXIST && *name; name++) {
        snprintf(ret_name, EXPORT_NAME_BYTES, "%s", *name);
        fd = openat(dir_fd, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        fd = fd < 0 ? -errno : fd;
    }
    return fd;
}

/* Forgets all files and the position in the log. */
static int forget_file(struct export_log *log) {
    json_decref(log->written);
    log->written = json_object();
    log->inode = 0;
    log->born_ns = 0;
    log->bytes = 0;
    return log->written ? 0 : -ENOMEM;
}

/* A file's time of birth; 0 on file systems that have none. */
static int64_t born_ns(int fd) {
    struct statx stx;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) < 0 || !(stx.stx_mask & STATX_BTIME))
        return 0;
    return stx.stx_btime.tv_sec * INT64_C(1000000000) + stx.stx_btime.tv_nsec;
}

static bool is_as_read(const struct export_log *log, int fd, const struct stat *st) {
    return st->st_ino == log->inode && st->st_size >= log->bytes && born_ns(fd) == log->born_ns;
}

static void note_file(struct export_log *log, int fd, const struct stat *st) {
    log->inode = st->st_ino;
    log->born_ns = born_ns(fd);
}

/*
 * Opens the log, if it can be trusted: it belongs to the user or to the
 * folder's owner. A descriptor; -ENOENT; -EBADF where it can't be trusted; or
 * another -errno.
 */
static int open_log(int dir_fd, int flags, struct stat *ret_st) {
    static const struct host_file wanted = {.owner = HOST_ANY_OWNER, .one_name = true};
    struct stat folder;
    auto_fd fd = host_open_beneath(dir_fd, LOG_NAME, flags | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return fd == -ELOOP || fd == -ENXIO || fd == -EISDIR ? -EBADF : fd;
    if (host_file_check(fd, &wanted, NULL) < 0 || fstat(fd, ret_st) < 0 || fstat(dir_fd, &folder) < 0 ||
        (ret_st->st_uid != geteuid() && ret_st->st_uid != folder.st_uid))
        return -EBADF;
    return steal_fd(&fd);
}

/* Sets a path's digest, and moves it to the end of the list. */
static int set_written(struct export_log *log, const char *path, json_t *sha256) {
    json_object_del(log->written, path);
    return json_object_set_new(log->written, path, sha256) ? -ENOMEM : 0;
}

/* Takes one line, "SHA256 PATH", without its newline; ignores others. */
static void note_line(struct export_log *log, const char *line, size_t n) {
    char path[PATH_MAX];
    if (n <= HEX_BYTES + 2 || n - HEX_BYTES - 2 >= sizeof path || memcmp(line + HEX_BYTES, "  ", 2) != 0)
        return;
    memcpy(path, line + HEX_BYTES + 2, n - HEX_BYTES - 2);
    path[n - HEX_BYTES - 2] = '\0';
    (void)set_written(log, path, json_stringn(line, HEX_BYTES)); /* a file that is not listed is not replaced */
}

/* Takes the whole lines of text. Returns how many bytes they have. */
static size_t note_lines(struct export_log *log, const char *text, size_t n) {
    size_t at = 0;
    const char *end;
    while ((end = memchr(text + at, '\n', n - at))) {
        size_t bytes = (size_t)(end - text) - at;
        note_line(log, text + at, bytes);
        at += bytes + 1;
    }
    return at;
}

/*
 * Reads on from the last position, but at most the last max_bytes; then the
 * first line may be incomplete, and is ignored.
 */
static int read_on(struct export_log *log, int fd, off_t size) {
    off_t from = size - log->bytes > log->max_bytes ? size - log->max_bytes : log->bytes;
    size_t bytes = (size_t)(size - from);
    auto_free char *text = bytes ? malloc(bytes) : NULL;
    if (bytes == 0)
        return 0;
    ssize_t n = text ? pread(fd, text, bytes, from) : -1;
    if (n < 0)
        return text ? -errno : -ENOMEM;
    log->bytes = from + (off_t)note_lines(log, text, (size_t)n);
    return 0;
}

static void add_line(struct bytes *out, const char *path, const char *sha256) {
    bytes_append_text(out, sha256);
    bytes_append_text(out, "  ");
    bytes_append_text(out, path);
    bytes_append_text(out, "\n");
}

/* Forgets files that don't exist any more. Returns the size of the other lines. */
static off_t forget_missing(struct export_log *log, int dir_fd) {
    const char *path;
    void *next;
    json_t *sha256;
    off_t bytes = 0;
    json_object_foreach_safe(log->written, next, path, sha256) {
        auto_fd fd = host_open_beneath(dir_fd, path, O_PATH | O_NOFOLLOW, 0);
        if (fd >= 0)
            bytes += (off_t)(HEX_BYTES + strlen(path) + 3);
        else
            json_object_del(log->written, path);
    }
    return bytes;
}

/* Forgets the oldest files, until the log is small enough. */
static void forget_oldest(struct export_log *log, off_t bytes) {
    const char *path;
    void *next;
    json_t *sha256;
    json_object_foreach_safe(log->written, next, path, sha256) {
        if (bytes <= log->max_bytes / 2)
            break;
        bytes -= (off_t)(HEX_BYTES + strlen(path) + 3);
        json_object_del(log->written, path);
    }
}

static int write_lines(const struct export_log *log, int fd, off_t *ret_bytes) {
    auto_bytes text = {0};
    const char *path;
    json_t *sha256;
    json_object_foreach(log->written, path, sha256) {
        add_line(&text, path, json_string_value(sha256));
    }
    if (!bytes_ok(&text))
        return -ENOMEM;
    if (text.n > 0 && write(fd, text.data, text.n) != (ssize_t)text.n)
        return -EIO;
    *ret_bytes = (off_t)text.n;
    return 0;
}

/* Replaces the log by a new one, with a line for each file that still exists. */
static int write_anew(struct export_log *log, int dir_fd) {
    char name[EXPORT_NAME_BYTES];
    struct stat st;
    off_t bytes = 0;
    auto_fd fd = export_make_file(dir_fd, name);
    if (fd < 0)
        return fd;
    forget_oldest(log, forget_missing(log, dir_fd));
    int r = write_lines(log, fd, &bytes);
    if (r == 0 && (fstat(fd, &st) < 0 || renameat(dir_fd, name, dir_fd, LOG_NAME) < 0))
        r = -errno;
    if (r < 0) {
        unlinkat(dir_fd, name, 0);
        return r;
    }
    note_file(log, fd, &st);
    log->bytes = bytes;
    log->tidy_bytes = 2 * bytes;
    if (log->tidy_bytes < log->max_bytes / TIDY_PART)
        log->tidy_bytes = log->max_bytes / TIDY_PART;
    return 0;
}

int export_log_read(struct export_log *log, int dir_fd) {
    struct stat st;
    auto_fd fd = open_log(dir_fd, O_RDONLY, &st);
    int r = fd < 0 || !log->written || !is_as_read(log, fd, &st) ? forget_file(log) : 0;
    if (fd < 0 || r < 0)
        return r;
    note_file(log, fd, &st);
    r = read_on(log, fd, st.st_size);
    if (r == 0 && st.st_size > log->tidy_bytes)
        (void)write_anew(log, dir_fd); /* where this fails, the old log stays, and the next reader tries again */
    return r;
}

const char *export_log_find(const struct export_log *log, const char *path) {
    return json_string_value(json_object_get(log->written, path));
}

static int append(struct export_log *log, int fd, const struct stat *st, const char *path, const char *sha256) {
    auto_bytes line = {0};
    bytes_append_text(&line, st->st_size > log->bytes ? "\n" : ""); /* ends an incomplete line */
    add_line(&line, path, sha256);
    if (!bytes_ok(&line))
        return -ENOMEM;
    if (write(fd, line.data, line.n) != (ssize_t)line.n)
        return -EIO;
    note_file(log, fd, st);
    log->bytes = st->st_size + (off_t)line.n;
    return set_written(log, path, json_string(sha256));
}

int export_log_note(struct export_log *log, int dir_fd, const char *path, const char *sha256) {
    struct stat st;
    auto_fd fd = open_log(dir_fd, O_WRONLY | O_APPEND, &st);
    if (fd == -ENOENT || fd == -EBADF) {
        int r = write_anew(log, dir_fd);
        fd = r < 0 ? r : open_log(dir_fd, O_WRONLY | O_APPEND, &st);
    }
    return fd < 0 ? fd : append(log, fd, &st, path, sha256);
}
