/*
 * zygote_options.c - a head of numbers and flags, then all texts in a fixed order, each with its NUL.
 *
 * Both sides are the same program, so there is no version. The reader believes
 * nothing all the same: each text ends within the file, and each list within its
 * table.
 */
#define _GNU_SOURCE
#include "zygote_options.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BYTES = 64 << 20, MAX_STRINGS = 1 << 20 };

/* What stands in front; then the texts, each with its NUL. */
struct head {
    uint32_t uid, gid;
    uint64_t disk_bytes, disk_inodes;
    uint32_t n_homes, n_readonly, n_own, n_argv, n_env, n_masks, n_names;
    uint8_t hide_folder_path, hide_outputs, has_outputs, has_folder_fd, has_readonly;
};

static uint32_t count(const char *const *list) {
    uint32_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

static void put(FILE *file, const char *text) {
    fwrite(text, 1, strlen(text) + 1, file);
}

static void put_list(FILE *file, const char *const *list) {
    for (; list && *list; list++)
        put(file, *list);
}

/* A folder, how many names, and these; "-" stands for no list. */
static void put_mask(FILE *file, const struct session_mask *mask) {
    put(file, mask->folder);
    fprintf(file, "%d%c", mask->names ? (int)count((const char *const *)mask->names) : -1, 0);
    put_list(file, (const char *const *)mask->names);
}

int zygote_options_write(const struct session_options *options) {
    struct head head = {.uid = options->host->worker_uid,
                        .gid = options->host->worker_gid,
                        .disk_bytes = options->disk_bytes,
                        .disk_inodes = options->disk_inodes,
                        .n_homes = count(options->homes),
                        .n_readonly = count(options->readonly),
                        .n_own = count(options->outputs_own),
                        .n_argv = count(options->argv),
                        .n_env = count(options->env),
                        .n_masks = (uint32_t)options->n_masks,
                        .hide_folder_path = options->hide_folder_path,
                        .hide_outputs = options->hide_outputs,
                        .has_outputs = options->outputs != NULL,
                        .has_folder_fd = options->host->folder_fd >= 0,
                        .has_readonly = options->readonly != NULL};
    for (size_t i = 0; i < options->n_masks; i++)
        head.n_names += count((const char *const *)options->masks[i].names);
    auto_fd fd = memfd_create("petri-options", MFD_CLOEXEC);
    auto_file file = fd < 0 ? NULL : fdopen(dup(fd), "we");
    if (!file)
        return -errno;
    fwrite(&head, sizeof head, 1, file);
    put(file, options->folder);
    put(file, options->python);
    put(file, options->outputs ? options->outputs : "");
    put_list(file, options->homes);
    put_list(file, options->readonly);
    put_list(file, options->outputs_own);
    put_list(file, options->argv);
    put_list(file, options->env);
    for (size_t i = 0; i < options->n_masks; i++)
        put_mask(file, &options->masks[i]);
    if (fflush(file) || ferror(file))
        return -ENOSPC;
    return steal_fd(&fd);
}

void zygote_options_fini(struct zygote_options *parsed) {
    free(parsed->text);
    free(parsed->strings);
    free(parsed->masks);
    free(parsed->names);
    *parsed = (struct zygote_options){0};
}

/* A text to read from; ends before end. */
struct cursor {
    char *at;
    const char *end;
    bool failed;
};

static char *take(struct cursor *cursor) {
    char *text = cursor->at;
    const char *end = cursor->failed ? NULL : memchr(text, 0, (size_t)(cursor->end - text));
    if (!end) {
        cursor->failed = true;
        return NULL;
    }
    cursor->at += end - text + 1;
    return text;
}

/* A list in the table from *at on; it ends with NULL, and *at stands behind it. */
static const char *const *take_list(struct cursor *cursor, uint32_t n, const char ***at) {
    const char **list = *at;
    for (uint32_t i = 0; i < n; i++)
        *(*at)++ = take(cursor);
    *(*at)++ = NULL;
    return list;
}

static void take_mask(struct cursor *cursor, const struct head *head, struct zygote_options *parsed) {
    char **names = parsed->names, **end = names + head->n_names + head->n_masks;
    for (uint32_t i = 0; i < head->n_masks && !cursor->failed; i++) {
        struct session_mask *mask = &parsed->masks[i];
        mask->folder = take(cursor);
        const char *number = take(cursor);
        int n = number ? atoi(number) : 0;
        if (n < 0)
            continue;
        mask->names = names;
        for (; n > 0 && names < end - 1; n--)
            *names++ = take(cursor);
        cursor->failed |= n > 0 || names == end;
        if (names < end)
            *names++ = NULL;
    }
}

static int make_tables(const struct head *head, struct zygote_options *parsed) {
    if (head->n_homes > MAX_STRINGS || head->n_readonly > MAX_STRINGS || head->n_own > MAX_STRINGS ||
        head->n_argv > MAX_STRINGS || head->n_env > MAX_STRINGS || head->n_masks > MAX_STRINGS ||
        head->n_names > MAX_STRINGS)
        return -EBADMSG;
    parsed->strings = calloc((size_t)head->n_homes + head->n_readonly + head->n_own + head->n_argv + head->n_env + 5,
                             sizeof *parsed->strings);
    parsed->masks = calloc((size_t)head->n_masks + 1, sizeof *parsed->masks);
    parsed->names = calloc((size_t)head->n_names + head->n_masks + 1, sizeof *parsed->names);
    return parsed->strings && parsed->masks && parsed->names ? 0 : -ENOMEM;
}

static int read_whole(int fd, char **ret_text, size_t *ret_bytes) {
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    if (st.st_size < (off_t)sizeof(struct head) || st.st_size > MAX_BYTES)
        return -EBADMSG;
    auto_free char *text = malloc((size_t)st.st_size);
    if (!text)
        return -ENOMEM;
    if (pread(fd, text, (size_t)st.st_size, 0) != st.st_size)
        return -EBADMSG;
    *ret_bytes = (size_t)st.st_size;
    *ret_text = text;
    text = NULL;
    return 0;
}

int zygote_options_read(int fd, struct zygote_options *ret) {
    struct head head;
    size_t bytes = 0;
    *ret = (struct zygote_options){0};
    int r = read_whole(fd, &ret->text, &bytes);
    if (r)
        return r;
    memcpy(&head, ret->text, sizeof head);
    r = make_tables(&head, ret);
    struct cursor cursor = {ret->text + sizeof head, ret->text + bytes, r != 0};
    const char **strings = ret->strings;
    struct session_options *options = &ret->options;
    options->folder = take(&cursor);
    options->python = take(&cursor);
    const char *outputs = take(&cursor);
    options->outputs = head.has_outputs ? outputs : NULL;
    if (r == 0) {
        options->homes = take_list(&cursor, head.n_homes, &strings);
        const char *const *readonly = take_list(&cursor, head.n_readonly, &strings);
        options->readonly = head.has_readonly ? readonly : NULL;
        options->outputs_own = take_list(&cursor, head.n_own, &strings);
        options->argv = take_list(&cursor, head.n_argv, &strings);
        options->env = take_list(&cursor, head.n_env, &strings);
        take_mask(&cursor, &head, ret);
    }
    if (cursor.failed) {
        zygote_options_fini(ret);
        return r ? r : -EBADMSG;
    }
    options->masks = ret->masks;
    options->n_masks = head.n_masks;
    options->hide_folder_path = head.hide_folder_path;
    options->hide_outputs = head.hide_outputs;
    options->disk_bytes = head.disk_bytes;
    options->disk_inodes = head.disk_inodes;
    ret->host = (struct sandbox_host){.worker_uid = head.uid, .worker_gid = head.gid, .folder_fd = -1};
    ret->has_folder_fd = head.has_folder_fd;
    return 0;
}
