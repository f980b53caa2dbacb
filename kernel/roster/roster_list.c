/*
 * roster_list.c - reads the files of all kernels; text in them is input, and the lock is what counts.
 *
 * A kernel may write its file while it is read. So a text that is not whole is
 * read again, and in the end the kernel is listed without it. As root other users'
 * files are read: such a user can write what it likes about its own processes,
 * and about no other's, because the holder of the lock must be a process of that user.
 */

#include "roster.h"

#include "base/array.h"
#include "kernel/roster/place.h"
#include "protocol/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_BYTES = 32768, ATTEMPTS = 4, ROWS_MAX = 100000 };

#define YEAR_10000_MS INT64_C(253402300800000) /* dates have four digits */

struct list {
    struct roster_row *rows;
    size_t n;
    uid_t owner; /* of the folder that is read */
    bool failed;
};

/* The file's JSON object; the caller's, NULL where it is none. */
static json_t *read_json(int fd) {
    char text[FILE_BYTES];
    for (int i = 0; i < ATTEMPTS; i++) {
        ssize_t n = pread(fd, text, sizeof text, 0);
        json_t *json = n > 0 ? text_parse_json(text, (size_t)n, 1) : NULL;
        if (json_is_object(json))
            return json;
        json_decref(json);
    }
    return NULL;
}

static int64_t number_of(const json_t *json, const char *key) {
    json_int_t number = json_integer_value(json_object_get(json, key));
    return number > 0 && number < YEAR_10000_MS ? number : 0;
}

static void copy_text(const json_t *json, const char *key, char *buf, size_t size) {
    const char *text = json_string_value(json_object_get(json, key));
    snprintf(buf, size, "%s", text ? text : "");
}

static enum roster_state state_of(const json_t *json) {
    const char *name = json_string_value(json_object_get(json, "state"));
    for (int i = 0; name && i < ROSTER_N; i++)
        if (strcmp(roster_state_name((enum roster_state)i), name) == 0)
            return (enum roster_state)i;
    return ROSTER_UNAVAILABLE;
}

static void read_row(int fd, struct roster_row *row) {
    json_auto_t *json = read_json(fd);
    int64_t count = number_of(json, "execution_count");
    copy_text(json, "profile", row->profile, sizeof row->profile);
    copy_text(json, "folder", row->folder, sizeof row->folder);
    row->started_ms = number_of(json, "started_ms");
    row->since_ms = number_of(json, "since_ms");
    row->now.state = state_of(json);
    row->now.execution_count = count <= INT32_MAX ? (int)count : 0;
}

/* Whether the process of the lock is one of the folder's owner; a pid of another namespace can't be asked. */
static bool is_owners(pid_t pid, uid_t owner) {
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d", pid);
    return pid == 0 || (stat(path, &st) == 0 && st.st_uid == owner);
}

static void add_row(void *arg, const struct roster_file *file) {
    struct list *list = arg;
    if (!file->held || list->n == ROWS_MAX || !is_owners(file->holder, list->owner))
        return;
    if (array_grow(&list->rows, list->n, sizeof *list->rows) < 0) {
        list->failed = true;
        return;
    }
    struct roster_row *row = &list->rows[list->n++];
    *row = (struct roster_row){.uid = list->owner, .pid = file->holder};
    read_row(file->fd, row);
}

static void add_folder(void *arg, int folder_fd, uid_t owner) {
    struct list *list = arg;
    list->owner = owner;
    roster_visit(folder_fd, add_row, list);
}

static int compare_rows(const void *a, const void *b) {
    const struct roster_row *one = a, *other = b;
    if (one->started_ms != other->started_ms)
        return one->started_ms < other->started_ms ? -1 : 1;
    return one->pid < other->pid ? -1 : one->pid > other->pid;
}

int roster_list(struct roster_row **ret_rows, size_t *ret_n) {
    struct list list = {0};
    place_visit(add_folder, &list);
    if (list.failed) {
        free(list.rows);
        return -ENOMEM;
    }
    if (list.n > 0)
        qsort(list.rows, list.n, sizeof *list.rows, compare_rows);
    *ret_rows = list.rows;
    *ret_n = list.n;
    return 0;
}
