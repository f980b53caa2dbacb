/*
 * writeback.c - for each path of which the session has its own version: which version of the host's file is known.
 *
 * Cells see the host's file at a path without an entry; only its ctime decides
 * whether it may be replaced. An entry that was written has the host's inode,
 * size and times, all of which have to be the same. A ctime can't be set, so a
 * file that was written or moved there meanwhile has a later one.
 */

#include "writeback.h"

#include "base/cleanup.h"
#include "kernel/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <string.h>

/*
 * An own path has one of these:
 *     {"inode", "size", "mtime_ns", "ctime_ns"}    the host's file, as petri wrote it; with "due", the session's is
 * newer
 *     {"since_ns", "due", "conflict", "cell", "unsaved", "awaited", "over"}
 *                                                  the host's was seen until then; due: an enum cell_change, or -1;
 *                                                  conflict: the host's holds, once cells have this one closed; cell:
 *                                                  the number of the one that changed it last; unsaved: so many bytes
 *                                                  that are nowhere on the disk; awaited: what is due waits for
 *                                                  that path; over: the number of the cell that had removed what was
 *                                                  in its place
 *     {"held"}                                     the host's, which cells have open: the number of its inode, by
 *                                                  which they go on seeing it; 0 where that is not the host's any more
 * What petri has written has the same as the first of them; a folder has beside it "others_ctime_ns" and
 * "others_mtime_ns": as another program has changed it last, or 0.
 * What is due may have "of" beside it. States that are kept have the same of their own paths, but of what is due this:
 *     {"change", "host", "same", "cell", "unsaved", "awaited", "over"}
 *                                                  host: what is known of the host's file, as above; same: as in struct
 *                                                  cell_file; the others: as above
 * and once it is made "made": the host's file, as petri wrote it, with "due" where that was a later version; null where
 * it was removed, or another program's was kept.
 */
enum { NOT_DUE = -1 };

const char writeback_aside[] = "-aside";

enum { KEY_BYTES = 2 * WRITEBACK_PATH_BYTES };

enum { WRITTEN_MAX = 10000 }; /* paths in `written`; after that it begins anew */

void writeback_init(struct writeback *writeback) {
    *writeback = (struct writeback){.folder_fd = -1};
}

int writeback_turn_on(struct writeback *writeback, int folder_fd, const json_t *allowed) {
    writeback_init(writeback);
    writeback->allowed = allowed;
    writeback->folder_fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
    writeback->own = json_object();
    writeback->written = json_object();
    if (writeback->folder_fd < 0 || !writeback->own || !writeback->written) {
        int r = writeback->own && writeback->written ? -errno : -ENOMEM;
        writeback_fini(writeback);
        return r;
    }
    writeback->on = true;
    return 0;
}

void writeback_fini(struct writeback *writeback) {
    if (writeback->folder_fd >= 0)
        close(writeback->folder_fd);
    json_decref(writeback->own);
    json_decref(writeback->state);
    json_decref(writeback->written);
    writeback_init(writeback);
}

void writeback_cell_starts(struct writeback *writeback) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    writeback->began_ns = clock_ns(&now);
    writeback->cell++;
}

/* The key of a path in `own`: the path, or of one that is not UTF-8 a slash and its bytes in hexadecimal. */
static const char *key_of(const char *path, char buf[KEY_BYTES]) {
    const size_t n = strlen(path);
    json_auto_t *is_utf8 = json_string(path);
    if (is_utf8 || 2 * n + 2 > KEY_BYTES)
        return path;
    buf[0] = '/';
    sodium_bin2hex(buf + 1, KEY_BYTES - 1, (const unsigned char *)path, n);
    return buf;
}

const char *writeback_path(const char *key, char buf[WRITEBACK_PATH_BYTES]) {
    size_t n;
    if (key[0] != '/')
        return key;
    if (sodium_hex2bin((unsigned char *)buf, WRITEBACK_PATH_BYTES - 1, key + 1, strlen(key + 1), NULL, &n, NULL))
        n = 0;
    buf[n] = '\0';
    return buf;
}

/* What the session has of a path; NULL for nothing. Borrowed. */
static json_t *own_at(const struct writeback *writeback, const char *path) {
    char key[KEY_BYTES];
    return json_object_get(writeback->own, key_of(path, key));
}

static void set_own(struct writeback *writeback, const char *path, json_t *own) {
    char key[KEY_BYTES];
    json_object_set_new(writeback->own, key_of(path, key), own);
}

static int64_t number(const json_t *json, const char *key) {
    return json_integer_value(json_object_get(json, key));
}

/* The time until which the session knows the host's files that have no entry. */
static int64_t seen_ns(const struct writeback *writeback) {
    return writeback->lost_ns && writeback->lost_ns < writeback->began_ns ? writeback->lost_ns : writeback->began_ns;
}

/* The time until which the host's file is known, if the session has hidden or replaced a folder above it. */
static int64_t seen_below_ns(const struct writeback *writeback, const char *path, int64_t since_ns) {
    char above[PATH_MAX];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        if ((size_t)(slash - path) >= sizeof above)
            break;
        memcpy(above, path, (size_t)(slash - path));
        above[slash - path] = '\0';
        const json_t *since = json_object_get(json_object_get(writeback->own, above), "since_ns");
        if (since && json_integer_value(since) < since_ns)
            since_ns = json_integer_value(since);
    }
    return since_ns;
}

static bool is_version(const json_t *version, const struct stat *st) {
    return number(version, "inode") == (int64_t)st->st_ino && number(version, "size") == st->st_size &&
           number(version, "mtime_ns") == clock_ns(&st->st_mtim) &&
           number(version, "ctime_ns") == clock_ns(&st->st_ctim);
}

/* What other programs have done to a file or folder last: its times, but for what petri has changed since. */
struct others_change {
    int64_t ctime_ns, mtime_ns; /* 0: petri has made it */
};

static struct others_change others_change(const struct writeback *writeback, const char *path, const struct stat *st) {
    const json_t *written = json_object_get(writeback->written, path);
    if (!is_version(written, st))
        return (struct others_change){clock_ns(&st->st_ctim), clock_ns(&st->st_mtim)};
    return (struct others_change){number(written, "others_ctime_ns"), number(written, "others_mtime_ns")};
}

bool writeback_may_replace(const struct writeback *writeback, const char *path, const struct stat *st,
                           int64_t skew_ns) {
    const json_t *own = own_at(writeback, path);
    const json_t *since = json_object_get(own, "since_ns"), *held = json_object_get(own, "held");
    const struct others_change change = others_change(writeback, path, st);
    if (held && json_integer_value(held) != (int64_t)st->st_ino)
        return false;
    if (change.ctime_ns == 0)
        return true;
    if (own && !since && !held)
        return is_version(own, st);
    const int64_t since_ns = since ? json_integer_value(since) : seen_ns(writeback);
    return change.ctime_ns <= seen_below_ns(writeback, path, since_ns) + skew_ns;
}

/* A file that is the one that petri wrote was nowhere else. */
bool writeback_was_moved(const struct writeback *writeback, const char *folder, const struct stat *st, const char *file,
                         const struct stat *of_file, int64_t skew_ns) {
    const json_t *since = json_object_get(own_at(writeback, file), "since_ns");
    const struct others_change change = others_change(writeback, folder, st);
    const bool is_known = !since || others_change(writeback, file, of_file).ctime_ns == 0;
    const int64_t since_ns = is_known ? seen_ns(writeback) : json_integer_value(since);
    return change.ctime_ns > seen_below_ns(writeback, file, since_ns) + skew_ns && change.ctime_ns != change.mtime_ns;
}

bool writeback_is_due(const struct writeback *writeback, const char *path, struct cell_file *ret_file) {
    const json_t *own = own_at(writeback, path);
    const json_t *due = json_object_get(own, "due");
    if (!due || json_integer_value(due) == NOT_DUE)
        return false;
    *ret_file = (struct cell_file){.path = path,
                                   .change = (enum cell_change)json_integer_value(due),
                                   .same = json_is_true(json_object_get(json_object_get(own, "of"), "same"))};
    return true;
}

static json_t *host_version(const struct stat *st) {
    return json_pack("{s:I, s:I, s:I, s:I}", "inode", (json_int_t)st->st_ino, "size", (json_int_t)st->st_size,
                     "mtime_ns", (json_int_t)clock_ns(&st->st_mtim), "ctime_ns", (json_int_t)clock_ns(&st->st_ctim));
}

void writeback_note_written(struct writeback *writeback, const char *path, const struct stat *st) {
    set_own(writeback, path, host_version(st));
}

/* Keeps what is known of the host's file. */
void writeback_note_own(struct writeback *writeback, const char *path, enum cell_change change, bool due,
                        int64_t cell) {
    json_t *own = own_at(writeback, path);
    if (!own || json_object_get(own, "held")) {
        set_own(writeback, path, json_pack("{s:I}", "since_ns", (json_int_t)seen_ns(writeback)));
        own = own_at(writeback, path);
    }
    json_object_del(own, "conflict");
    json_object_del(own, "unsaved");
    json_object_del(own, "awaited");
    json_object_del(own, "over");
    json_object_set_new(own, "due", json_integer(due ? (json_int_t)change : NOT_DUE));
    json_object_set_new(own, "cell", json_integer(cell));
}

void writeback_note_unsaved(struct writeback *writeback, const char *path, uint64_t bytes) {
    json_object_set_new(own_at(writeback, path), "unsaved", json_integer((json_int_t)bytes)); /* -1: not known */
}

void writeback_note_saved(struct writeback *writeback, const char *path) {
    json_object_del(own_at(writeback, path), "unsaved");
}

bool writeback_is_unsaved(const struct writeback *writeback, const char *path, uint64_t *ret_bytes) {
    const json_t *bytes = json_object_get(own_at(writeback, path), "unsaved");
    *ret_bytes = (uint64_t)json_integer_value(bytes);
    return bytes != NULL;
}

void writeback_note_over(struct writeback *writeback, const char *path, int64_t cell) {
    json_object_set_new(own_at(writeback, path), "over", json_integer(cell));
}

bool writeback_is_over(const struct writeback *writeback, const char *path, int64_t *ret_cell) {
    const json_t *own = own_at(writeback, path);
    const json_t *due = json_object_get(own, "due"), *over = json_object_get(own, "over");
    *ret_cell = over ? json_integer_value(over) : number(own, "cell");
    return over || (due && json_integer_value(due) == CELL_DELETED);
}

void writeback_note_waits(struct writeback *writeback, const char *path, const char *awaited) {
    char key[KEY_BYTES];
    json_object_set_new(own_at(writeback, path), "awaited", json_string(key_of(awaited, key)));
}

const char *writeback_awaited(const struct writeback *writeback, const char *path, char buf[WRITEBACK_PATH_BYTES]) {
    const char *awaited = json_string_value(json_object_get(own_at(writeback, path), "awaited"));
    uint64_t bytes;
    if (awaited)
        awaited = writeback_path(awaited, buf);
    return awaited && writeback_is_unsaved(writeback, awaited, &bytes) ? awaited : NULL;
}

int64_t writeback_cell_of(const struct writeback *writeback, const char *path) {
    return number(own_at(writeback, path), "cell");
}

/* A change that is due, as kept states have it; host: what is known of the host's file, which is stolen. */
static json_t *new_change(enum cell_change change, json_t *host, bool same) {
    return json_pack("{s:i, s:o, s:b}", "change", (int)change, "host", host, "same", same);
}

static const char *const of_waiting[] = {"cell", "unsaved", "awaited", "over"};

/* Copies what decides what a change waits for, and which others wait for it. */
static void copy_waiting(json_t *to, const json_t *from) {
    for (size_t i = 0; i < sizeof of_waiting / sizeof of_waiting[0]; i++)
        if (json_object_get(from, of_waiting[i]))
            json_object_set(to, of_waiting[i], json_object_get(from, of_waiting[i]));
}

/* What is known of the host's file at an own path. A new reference. */
static json_t *host_of(json_t *own) {
    json_t *host = json_copy(own);
    json_object_del(host, "due");
    json_object_del(host, "of");
    json_object_del(host, "conflict");
    for (size_t i = 0; i < sizeof of_waiting / sizeof of_waiting[0]; i++)
        json_object_del(host, of_waiting[i]);
    return host;
}

/* The object of a change that is due, which the states share that have it. Borrowed. */
static json_t *change_of(json_t *own, enum cell_change change) {
    const json_t *of = json_object_get(own, "of");
    if (!of || number(of, "change") != (int64_t)change)
        json_object_set_new(own, "of", new_change(change, host_of(own), false));
    copy_waiting(json_object_get(own, "of"), own);
    return json_object_get(own, "of");
}

/* What a kept state has of a path: the change that is due, or a copy of what is known, which it shares with the state
 * before if that knows the same. A new reference. */
static json_t *entry_of(const struct writeback *writeback, const char *path, json_t *own) {
    json_t *before = json_object_get(writeback->state, path);
    struct cell_file file;
    if (writeback_is_due(writeback, path, &file))
        return json_incref(change_of(own, file.change));
    json_t *known = json_copy(own);
    json_object_del(known, "of");
    if (!json_equal(known, before))
        return known;
    json_decref(known);
    return json_incref(before);
}

/* Whether they have the very same objects: a change is no other one that looks like it. */
static bool is_same(json_t *state, json_t *before) {
    const char *path;
    json_t *entry;
    json_object_foreach(state, path, entry) {
        if (json_object_get(before, path) != entry)
            return false;
    }
    return json_object_size(state) == json_object_size(before);
}

json_t *writeback_state(struct writeback *writeback) {
    const char *path;
    json_t *own, *state = NULL;
    json_object_foreach(writeback->own, path, own) {
        state = state ? state : json_object();
        json_object_set_new(state, path, entry_of(writeback, path, own));
    }
    json_t *before = writeback->state;
    writeback->state = json_incref(is_same(state, before) ? before : state);
    json_decref(state);
    json_decref(before);
    return json_incref(writeback->state);
}

/* What a branch has changed, being listed. */
struct listing {
    int folder_fd; /* the host's; borrowed */
    json_t *found;
    int64_t began_ns;
    size_t n;
};

/*
 * What is known of the host's file that a branch has changed: what the state before knew, where that had its own
 * version; else it was seen until the branch began. Of a file of the host's that was open and is not there any more
 * nothing is known. A new reference.
 */
static json_t *host_before(const struct listing *listing, const char *path) {
    char key[KEY_BYTES];
    json_t *before = json_object_get(listing->found, key_of(path, key));
    const json_t *held = json_object_get(before, "held");
    struct stat st;
    if (json_object_get(before, "host"))
        return json_incref(json_object_get(before, "host"));
    if (before && !held)
        return host_of(before);
    const bool is_other = held && (fstatat(listing->folder_fd, path, &st, AT_SYMLINK_NOFOLLOW) ||
                                   json_integer_value(held) != (int64_t)st.st_ino);
    return json_pack("{s:I}", "since_ns", is_other ? 0 : (json_int_t)listing->began_ns);
}

/* What is neither a file nor a folder is never written. */
static int note_changed(void *arg, const struct cell_file *file) {
    char key[KEY_BYTES];
    struct listing *listing = arg;
    const bool written = file->change == CELL_DELETED || S_ISREG(file->mode) || S_ISDIR(file->mode);
    if (++listing->n > WRITING_FILES_MAX)
        return -E2BIG;
    const char *path = key_of(file->path, key);
    if (file->same && json_object_get(json_object_get(listing->found, path), "change"))
        return 0; /* the change is that of before */
    json_t *change = written ? new_change(file->change, host_before(listing, file->path), file->same) : NULL;
    if (change && file->change != CELL_DELETED && S_ISREG(file->mode))
        json_object_set_new(change, "unsaved", json_integer((json_int_t)file->bytes));
    json_object_del(listing->found, path);
    if (change)
        json_object_set_new(listing->found, path, change);
    return 0;
}

json_t *writeback_state_of(const struct writeback *writeback, const struct cell *cell, int64_t began_ns,
                           json_t *before) {
    if (!writeback->on)
        return NULL;
    struct listing listing = {
        .folder_fd = writeback->folder_fd, .found = before ? json_copy(before) : json_object(), .began_ns = began_ns};
    int r = listing.found ? cell_list_changes(cell, CELL_FILES_AND_FOLDERS, note_changed, &listing) : -ENOMEM;
    if (r == 0 && listing.n > 0)
        return listing.found;
    json_decref(listing.found);
    return json_incref(before);
}

static void note_written(struct writeback *writeback, const char *path, json_t *version) {
    if (json_object_size(writeback->written) >= WRITTEN_MAX)
        json_object_clear(writeback->written);
    json_object_set_new(writeback->written, path, version);
}

void writeback_note_host(struct writeback *writeback, const char *path, const struct stat *st) {
    note_written(writeback, path, host_version(st));
}

void writeback_note_folder(struct writeback *writeback, const char *path, const struct stat *before,
                           const struct stat *st) {
    const struct others_change change = before ? others_change(writeback, path, before) : (struct others_change){0};
    json_t *version = host_version(st);
    json_object_set_new(version, "others_ctime_ns", json_integer(change.ctime_ns));
    json_object_set_new(version, "others_mtime_ns", json_integer(change.mtime_ns));
    note_written(writeback, path, version);
}

void writeback_note_changed(struct writeback *writeback, const char *path) {
    json_object_del(own_at(writeback, path), "of");
}

void writeback_note_made(struct writeback *writeback, const char *path, const struct stat *st) {
    json_t *of = json_object_get(own_at(writeback, path), "of");
    if (of)
        json_object_set_new(of, "made", st ? host_version(st) : json_null());
}

void writeback_note_overtaken(struct writeback *writeback, const char *path, const struct stat *st) {
    json_t *of = json_object_get(own_at(writeback, path), "of");
    if (!of)
        return;
    json_object_set_new(of, "made", host_version(st));
    json_object_set_new(json_object_get(of, "made"), "due", json_integer(NOT_DUE));
}

/* What is known of a path in a state to which the session goes. A new reference. */
static json_t *own_of(json_t *entry) {
    json_t *made = json_object_get(entry, "made"), *host = json_object_get(entry, "host");
    if (!host)
        return json_copy(entry);
    if (json_is_object(made))
        return json_copy(made);
    if (made)
        return json_pack("{s:I, s:i, s:b}", "since_ns", (json_int_t)number(host, "since_ns"), "due", NOT_DUE,
                         "conflict", true);
    json_t *own = json_copy(host);
    json_object_set(own, "due", json_object_get(entry, "change"));
    json_object_set(own, "of", entry);
    copy_waiting(own, entry);
    return own;
}

void writeback_go(struct writeback *writeback, json_t *state) {
    json_t *own = writeback->on ? json_object() : NULL, *entry;
    const char *path;
    if (!own)
        return;
    json_object_foreach(state, path, entry) {
        json_object_set_new(own, path, own_of(entry));
    }
    json_decref(writeback->own);
    writeback->own = own;
}

void writeback_forget(struct writeback *writeback, const char *path) {
    char key[KEY_BYTES];
    json_object_del(writeback->own, key_of(path, key));
}

void writeback_lose_track(struct writeback *writeback) {
    if (!writeback->lost_ns)
        writeback->lost_ns = writeback->began_ns;
}

void writeback_note_conflict(struct writeback *writeback, const char *path) {
    writeback_note_own(writeback, path, CELL_CHANGED, false, writeback->cell);
    json_object_set_new(own_at(writeback, path), "conflict", json_true());
}

static bool is_settled(const json_t *own) {
    return json_object_get(own, "conflict") || (json_object_get(own, "inode") && !json_object_get(own, "due"));
}

bool writeback_is_settled(const struct writeback *writeback, const char *path) {
    return is_settled(own_at(writeback, path));
}

size_t writeback_list_settled(json_t *state, const char ***ret_paths) {
    const char **paths = state ? malloc((json_object_size(state) + 1) * sizeof *paths) : NULL;
    const char *path;
    json_t *entry;
    size_t n = 0;
    *ret_paths = paths;
    if (!paths)
        return 0;
    json_object_foreach(state, path, entry) {
        json_auto_t *own = own_of(entry);
        if (is_settled(own))
            paths[n++] = path;
    }
    return n;
}

json_t *writeback_without(json_t *state, const char *const *paths, const bool *is_given_up, size_t n) {
    json_auto_t *without = json_copy(state);
    for (size_t i = 0; i < n; i++)
        if (is_given_up[i])
            json_object_del(without, paths[i]);
    return json_object_size(without) > 0 ? steal_pointer(without) : NULL;
}

static int note_held(void *arg, const char *path, bool is_hosts) {
    struct writeback *writeback = arg;
    struct stat st;
    const bool there = is_hosts && fstatat(writeback->folder_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!own_at(writeback, path))
        set_own(writeback, path, json_pack("{s:I}", "held", there ? (json_int_t)st.st_ino : 0));
    return 0;
}

/* Where open files can't be listed (no descriptor is free), only the ctime decides. */
void writeback_look_at_held(struct writeback *writeback, const struct cell *cell) {
    const char *path;
    void *next;
    json_t *own;
    json_object_foreach_safe(writeback->own, next, path, own) {
        if (json_object_get(own, "held"))
            json_object_del(writeback->own, path);
    }
    (void)!cell_list_held(cell, note_held, writeback);
}
