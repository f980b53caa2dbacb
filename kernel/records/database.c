/*
 * database.c - replaces SQLite's open(2), and checks the schema of a database.
 *
 * SQLite opens files by path. Our open() finds the path's folder among the open
 * folders, opens the file through that descriptor, and then checks the file.
 * SQLite has one table of system calls for the whole process, so there is also
 * one table of folders, with a count of users: two databases in one folder share
 * its row.
 *
 * A schema is compared with what petri's own statements make in an empty database,
 * row by row in one order, so a trigger or a view in it can't be overlooked.
 *
 * See: SQLite, "Defense Against The Dark Arts".
 */

#include "database.h"

#include "kernel/records/private.h"
#include "kernel/records/statement.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>

enum { FOLDERS_MAX = 8 };

/*
 * The folders of open databases, of the whole process: see above. Only the main
 * thread uses databases.
 */
static struct opened_folder {
    char path[PATH_MAX]; /* "" where the row is free */
    int fd;
    unsigned uses;
} folders[FOLDERS_MAX];
static struct error refused;

const char *database_refused(void) {
    return refused.text;
}

static struct opened_folder *find_folder(const char *path, size_t n) {
    for (size_t i = 0; i < FOLDERS_MAX; i++)
        if (n > 0 && strncmp(folders[i].path, path, n) == 0 && folders[i].path[n] == '\0')
            return &folders[i];
    return NULL;
}

/* Steals fd, whatever happens. A folder of the same path may be another one by now: what comes later is for that. */
static int keep_folder(const char *path, int fd) {
    struct opened_folder *folder = find_folder(path, strlen(path));
    for (size_t i = 0; !folder && i < FOLDERS_MAX; i++)
        if (folders[i].path[0] == '\0')
            folder = &folders[i];
    if (!folder) {
        close(fd);
        return -EMFILE;
    }
    if (folder->uses > 0)
        close(folder->fd);
    folder->fd = fd;
    snprintf(folder->path, sizeof folder->path, "%s", path);
    folder->uses++;
    return 0;
}

static void drop_folder(const char *path, size_t n) {
    struct opened_folder *folder = find_folder(path, n);
    if (!folder || --folder->uses > 0)
        return;
    close(folder->fd);
    folder->path[0] = '\0';
}

/*
 * SQLite calls this instead of open(2). Files beside a database are opened
 * through the folder's descriptor. Folders, which SQLite syncs, and /dev/urandom
 * are opened as usual.
 */
static int open_for_sqlite(const char *path, int flags, int mode) {
    struct stat st;
    const char *slash = strrchr(path, '/');
    const struct opened_folder *folder = slash ? find_folder(path, (size_t)(slash - path)) : NULL;
    int fd = openat(folder ? folder->fd : AT_FDCWD, folder ? slash + 1 : path,
                    flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, (mode_t)mode);
    if (fd < 0 || (fstat(fd, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode))))
        return fd;
    struct error cause;
    if (host_file_check(fd, &private_file, &cause) == 0)
        return fd;
    error_set(&refused, EPERM, "of its file %.40s, %s", slash ? slash + 1 : path, cause.text);
    close(fd);
    errno = EPERM;
    return -1;
}

static int use_own_open(void) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    bool set = vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall &&
               vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_for_sqlite) == SQLITE_OK;
    return set ? 0 : -ENOSYS;
}

/* Settings of a connection, so that no code in the file runs. */
static const struct {
    int what, on;
} switches[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, {SQLITE_DBCONFIG_DQS_DDL, 0},        {SQLITE_DBCONFIG_DQS_DML, 0},
};

/* Limits of a connection. */
static const struct {
    int what, most;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, 512 << 20},   {SQLITE_LIMIT_SQL_LENGTH, 100000}, {SQLITE_LIMIT_COLUMN, 100},
    {SQLITE_LIMIT_EXPR_DEPTH, 50},      {SQLITE_LIMIT_VDBE_OP, 25000},     {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 50}, {SQLITE_LIMIT_TRIGGER_DEPTH, 1},   {SQLITE_LIMIT_WORKER_THREADS, 0},
    {SQLITE_LIMIT_COMPOUND_SELECT, 3},
};

static int harden(sqlite3 *db) {
    static const char pragmas[] = "PRAGMA cell_size_check = ON;"
                                  "PRAGMA mmap_size = 0;"
                                  "PRAGMA temp_store = MEMORY;";
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if (sqlite3_db_config(db, switches[i].what, switches[i].on, NULL) != SQLITE_OK)
            return -EIO;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        sqlite3_limit(db, limits[i].what, limits[i].most);
    return sqlite3_exec(db, pragmas, NULL, NULL, NULL) == SQLITE_OK ? 0 : -EIO;
}

/* Folder and file name without a link, joined. */
static int open_connection(const char *folder, const char *name, sqlite3 **ret_db, struct error *ret_error) {
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    int r = snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ? -ENAMETOOLONG : use_own_open();
    if (r < 0)
        return error_set(ret_error, -r, "%s", r == -ENOSYS ? "this SQLite's open() can't be replaced" : strerror(-r));
    refused.text[0] = '\0';
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL) != SQLITE_OK || harden(db) < 0) {
        error_set(ret_error, EIO, "%s", refused.text[0] ? refused.text : db ? sqlite3_errmsg(db) : strerror(ENOMEM));
        statement_close(db);
        return -EIO;
    }
    *ret_db = db;
    return 0;
}

int database_open(const char *path, bool make, const struct log *log, sqlite3 **ret_db, struct error *ret_error) {
    char folder[PATH_MAX], copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    const char *name = basename(copy);
    int fd = private_folder_open(path, make, log, folder, ret_error);
    if (fd < 0)
        return fd;
    int r = private_files_check(fd, name, make, log, ret_error);
    if (r < 0) {
        close(fd);
        return r;
    }
    r = keep_folder(folder, fd);
    if (r < 0)
        return error_set_errno(ret_error, -r);
    r = open_connection(folder, name, ret_db, ret_error);
    if (r < 0)
        drop_folder(folder, strlen(folder));
    return r;
}

void database_files_note(sqlite3 *db, struct database_files *ret_files) {
    static const char *const endings[] = {"", "-wal"};
    const char *file = sqlite3_db_filename(db, "main");
    char path[PATH_MAX];
    struct stat st;
    *ret_files = (struct database_files){0};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(path, sizeof path, "%s%s", file ? file : "", endings[i]);
        if (stat(path, &st) < 0)
            continue;
        ret_files->of[i].device = st.st_dev;
        ret_files->of[i].inode = st.st_ino;
    }
}

bool database_files_are_there(sqlite3 *db, const struct database_files *files) {
    struct database_files now;
    bool there = true;
    database_files_note(db, &now);
    for (size_t i = 0; i < sizeof now.of / sizeof now.of[0]; i++)
        there = there && (files->of[i].inode == 0 ||
                          (files->of[i].inode == now.of[i].inode && files->of[i].device == now.of[i].device));
    return there;
}

/* Whoever closes a database last removes its log, by its name: that may be another database's by now. */
void database_close(sqlite3 *db, const struct database_files *files) {
    char path[PATH_MAX];
    const char *file = db ? sqlite3_db_filename(db, "main") : NULL;
    if (db && files && !database_files_are_there(db, files))
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    snprintf(path, sizeof path, "%s", file ? file : "");
    statement_close(db);
    const char *slash = strrchr(path, '/');
    if (slash)
        drop_folder(path, (size_t)(slash - path));
}

/* The tables of ANALYZE are ignored: users may have made them, and nothing in them runs. */
static const char schema_query[] = "SELECT type, name, tbl_name, sql FROM main.sqlite_master"
                                   " WHERE NOT (type = 'table' AND name GLOB 'sqlite_stat[0-9]')"
                                   " ORDER BY type, name";
enum { SCHEMA_COLUMNS = 4 };

/* Compares two rows of the schema, as strcmp(3) does. */
static int compare_rows(sqlite3_stmt *one, sqlite3_stmt *other) {
    int order = 0;
    for (int i = 0; order == 0 && i < SCHEMA_COLUMNS; i++)
        order = strcmp(statement_text(one, i), statement_text(other, i));
    return order;
}

static bool is_same_name(sqlite3_stmt *one, sqlite3_stmt *other) {
    return strcmp(statement_text(one, 0), statement_text(other, 0)) == 0 &&
           strcmp(statement_text(one, 1), statement_text(other, 1)) == 0;
}

/* Both are sorted, so the first different rows say which row is unexpected or missing. */
static int compare_schemas(sqlite3 *db, sqlite3 *model, struct error *ret_error) {
    auto_statement found = statement_make(db, schema_query, "");
    auto_statement wanted = statement_make(model, schema_query, "");
    int r = SQLITE_ROW, w = SQLITE_ROW, order = 0;
    while (found && wanted && order == 0) {
        r = sqlite3_step(found);
        w = sqlite3_step(wanted);
        if (r != SQLITE_ROW || w != SQLITE_ROW)
            break;
        order = compare_rows(found, wanted);
    }
    if (!found || !wanted || (r != SQLITE_ROW && r != SQLITE_DONE))
        return -EIO;
    if (r == SQLITE_DONE && w == SQLITE_DONE)
        return 0;
    bool more = w != SQLITE_ROW || (r == SQLITE_ROW && (order < 0 || is_same_name(found, wanted)));
    sqlite3_stmt *row = more ? found : wanted;
    return error_set(ret_error, EPROTO,
                     more ? "it has the %.20s %.60s, which petri did not make like that"
                          : "it is without the %.20s %.60s",
                     statement_text(row, 0), statement_text(row, 1));
}

int database_check_schema(sqlite3 *db, const char *sql, struct error *ret_error) {
    sqlite3 *model = NULL;
    int r = sqlite3_open(":memory:", &model) == SQLITE_OK && sqlite3_exec(model, sql, NULL, NULL, NULL) == SQLITE_OK
                ? compare_schemas(db, model, ret_error)
                : -EIO;
    statement_close(model);
    return r;
}
