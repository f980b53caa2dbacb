/* A cell's files of the notebook's folder: put there before it runs, listed and read after it. */
#include "tests/sandbox/listing.h"
#include "tests/sandbox/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a frozen cell has changed, as listing_take() has it. */
static const char *changes_of(const struct cell *cell) {
    struct listing listing = {0};
    CHECK_EQUAL(cell_list_changes(cell, CELL_FILES, listing_add, &listing), 0);
    return listing_take(&listing);
}

static void freeze(struct cell *cell) {
    struct cell_end end;
    struct error error = {0};
    CHECK_EQUAL(cell_freeze(cell, &end, &error), 0);
}

static struct cell *create(struct live *live, enum cell_source source) {
    struct error error = {0};
    struct cell *cell;
    CHECK_EQUAL(cell_create(live->session,
                            &(struct cell_options){.source = source,
                                                   .role = source == CELL_FROM_FIRST ? CELL_BESIDE : CELL_OF_SESSION},
                            &cell, &error),
                0);
    return cell;
}

static void put(struct cell *cell, const char *path, const char *text) {
    CHECK_EQUAL(cell_put_file(cell, path, text, strlen(text)), 0);
}

static void start(struct cell *cell) {
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){0}), 0);
}

static void files_that_are_put_are_seen_by_the_cell_and_not_on_the_host(struct live *live) {
    struct cell *cell = create(live, CELL_FROM_CURRENT);
    put(cell, "in.txt", "one");
    put(cell, "new/sub/in.txt", "two");
    put(cell, "host.txt", "three");
    start(cell);
    CHECK_TEXT(live_ask(cell, "file in.txt"), "one");
    CHECK_TEXT(live_ask(cell, "file " LIVE_WORK "/new/sub/in.txt"), "two");
    CHECK_TEXT(live_ask(cell, "file host.txt"), "three");
    CHECK_TEXT(live_ask(cell, "append in.txt !"), "ok");
    CHECK_TEXT(live_ask(cell, "put new/more.txt x"), "ok");
    freeze(cell);
    CHECK_TEXT(changes_of(cell), "changed host.txt, created in.txt, created new/more.txt, created new/sub/in.txt");
    cell_commit(cell);
    CHECK_TEXT(live_do(live, "file in.txt"), "one!");
    char host[PATH_MAX + 16], text[16] = "";
    (void)snprintf(host, sizeof host, "%s/host.txt", live->folder);
    int fd = open(host, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    CHECK(strcmp(text, "three") != 0);
    close(fd);
}

static void files_are_not_put_through_links(struct live *live) {
    CHECK_EQUAL(live_call(live, SYS_symlink, "\"/dev/shm \"away"), 0);
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"folder 0755"), 0);
    struct cell *cell = create(live, CELL_FROM_CURRENT);
    CHECK_EQUAL(cell_put_file(cell, "away/in.txt", "x", 1), -ELOOP);
    CHECK_EQUAL(cell_put_file(cell, "folder", "x", 1), -EISDIR);
    CHECK_EQUAL(cell_put_file(cell, "host.txt/in.txt", "x", 1), -ENOTDIR);
    CHECK_EQUAL(cell_put_file(cell, "../in.txt", "x", 1), -EXDEV);
    put(cell, "away", "in its place");
    start(cell);
    CHECK_TEXT(live_ask(cell, "file away"), "in its place");
    CHECK_TEXT(live_ask(cell, "list /dev/shm"), "");
    CHECK_EQUAL(cell_put_file(cell, "late.txt", "x", 1), -EINVAL);
    cell_discard(cell);
}

static void changes_list_only_those_of_this_cell(struct live *live) {
    CHECK_TEXT(live_do(live, "put earlier.txt x"), "ok");
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "file earlier.txt"), "x");
    freeze(cell);
    CHECK_TEXT(changes_of(cell), "");
    cell_commit(cell);
    cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "append earlier.txt y"), "ok");
    CHECK_TEXT(live_ask(cell, "put sub/mine.txt x"), "ok");
    CHECK_TEXT(live_ask(cell, "put /tmp/elsewhere x"), "ok");
    CHECK_TEXT(live_ask(cell, "call %d \"host.txt", SYS_unlink), "0");
    CHECK_TEXT(live_ask(cell, "call %d \"/etc/passwd \"link", SYS_symlink), "0");
    freeze(cell);
    CHECK_TEXT(changes_of(cell), "changed earlier.txt, created link, created sub/mine.txt, deleted host.txt");
    cell_commit(cell);
}

static void changes_open_as_plain_files_only(struct live *live) {
    char text[8] = "";
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "put plain.txt plain"), "ok");
    CHECK_TEXT(live_ask(cell, "put one.txt x"), "ok");
    CHECK_TEXT(live_ask(cell, "call %d \"one.txt \"two.txt", SYS_link), "0");
    CHECK_TEXT(live_ask(cell, "call %d \"/etc/passwd \"link", SYS_symlink), "0");
    CHECK_TEXT(live_ask(cell, "call %d \"fifo %d 0", SYS_mknod, S_IFIFO | 0600), "0");
    CHECK_EQUAL(cell_open_change(cell, "plain.txt"), -EINVAL); /* it runs */
    freeze(cell);
    CHECK_EQUAL(cell_open_change(cell, "link"), -ELOOP);
    CHECK_EQUAL(cell_open_change(cell, "two.txt"), -EMLINK);
    CHECK_EQUAL(cell_open_change(cell, "fifo"), -EINVAL);
    CHECK_EQUAL(cell_open_change(cell, "../folder/plain.txt"), -EXDEV);
    CHECK_EQUAL(cell_open_change(cell, "none"), -ENOENT);
    int fd = cell_open_change(cell, "plain.txt");
    CHECK(fd >= 0 && read(fd, text, sizeof text) == 5);
    CHECK_TEXT(text, "plain");
    close(fd);
    cell_discard(cell);
}

static void cell_from_the_first_image_has_the_first_files(struct live *live) {
    CHECK_TEXT(live_do(live, "put earlier.txt x"), "ok");
    CHECK_TEXT(live_do(live, "put /dev/shm/earlier.txt x"), "ok");
    CHECK_TEXT(live_do(live, "append host.txt more"), "ok");
    struct cell *cell = create(live, CELL_FROM_FIRST);
    put(cell, "in.txt", "in");
    start(cell);
    CHECK_TEXT(live_ask(cell, "list /dev/shm"), "");
    CHECK_TEXT(live_ask(cell, "file earlier.txt"), "ENOENT");
    CHECK(strstr(live_ask(cell, "file host.txt"), "more") == NULL);
    CHECK_TEXT(live_ask(cell, "put host.txt new"), "ok");
    freeze(cell);
    CHECK_TEXT(changes_of(cell), "changed host.txt, created in.txt");
    cell_discard(cell);
    CHECK_TEXT(live_do(live, "list /dev/shm"), "earlier.txt");
    CHECK_TEXT(live_do(live, "file in.txt"), "ENOENT");
}

static void check_opened(struct cell *cell, int complete, const char *expected) {
    char **paths, text[512] = "";
    size_t n;
    CHECK_EQUAL(cell_take_opened(cell, &paths, &n), complete);
    for (size_t i = 0; i < n; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? ", " : "", paths[i]);
    free(paths);
    CHECK_TEXT(text, expected);
}

static void files_that_a_cell_opens_are_listed(struct live *live) {
    char text[8] = "";
    char **paths;
    size_t n;
    CHECK_TEXT(live_do(live, "put earlier.txt before"), "ok");
    struct cell *cell = create(live, CELL_FROM_CURRENT);
    struct cell *other = create(live, CELL_FROM_CURRENT);
    CHECK_EQUAL(cell_take_opened(cell, &paths, &n), -EBADF);
    CHECK_EQUAL(cell_watch_opened(other), 0);
    CHECK_EQUAL(cell_watch_opened(cell), 0);
    char late[PATH_MAX + 16];
    (void)snprintf(late, sizeof late, "%s/late", live->folder);
    CHECK_EQUAL(mkdir(late, 0777), 0);
    (void)snprintf(late, sizeof late, "%s/late/in.txt", live->folder);
    int host = open(late, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CHECK(host >= 0 && write(host, "x", 1) == 1);
    close(host);
    start(other);
    CHECK_TEXT(live_ask(other, "put other.txt x"), "ok");
    start(cell);
    CHECK(live_ask(cell, "file sub/deep.txt")[0] != 0);
    CHECK(live_ask(cell, "file " LIVE_WORK "/host.txt")[0] != 0);
    CHECK_TEXT(live_ask(cell, "file none.txt"), "ENOENT");
    CHECK_TEXT(live_ask(cell, "file late/in.txt"), "x");
    CHECK_TEXT(live_ask(cell, "append earlier.txt more"), "ok");
    CHECK_TEXT(live_ask(cell, "list sub"), "deep.txt");
    freeze(cell);
    check_opened(cell, 1, "earlier.txt, host.txt, late/in.txt, sub/deep.txt");
    int fd = cell_open_before(cell, "earlier.txt");
    CHECK(fd >= 0 && read(fd, text, sizeof text) == 6);
    CHECK_TEXT(text, "before");
    close(fd);
    fd = cell_open_before(cell, "sub/deep.txt");
    CHECK(fd >= 0);
    close(fd);
    CHECK_EQUAL(cell_open_before(cell, "sub"), -EINVAL);
    CHECK_EQUAL(cell_open_before(cell, "sub/none/none.txt"), -ENOENT);
    cell_commit(cell);
    cell_discard(other);
}

/* A cell that is watched and has run these commands, frozen. */
static struct cell *run_watched(struct live *live, size_t n, const char *const *commands) {
    struct cell *cell = create(live, CELL_FROM_CURRENT);
    CHECK_EQUAL(cell_watch_opened(cell), 0);
    start(cell);
    for (size_t i = 0; i < n; i++)
        live_ask(cell, "%s", commands[i]);
    freeze(cell);
    return cell;
}

#define RUN_WATCHED(live, ...)                                                                                         \
    run_watched(live, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

/* The watches stay from cell to cell, so each way in which folders come and go is tried. */
static void files_in_folders_that_come_and_go_are_listed(struct live *live) {
    char call[128];
    struct cell *cell = RUN_WATCHED(live, "file host.txt");
    check_opened(cell, 1, "host.txt");
    cell_commit(cell);

    (void)snprintf(call, sizeof call, "call %d \"made %d", SYS_mkdir, 0755);
    cell = RUN_WATCHED(live, call, "put made/new.txt x");
    check_opened(cell, 1, ""); /* there were no watches in it yet, nor any file before the cell */
    cell_commit(cell);
    cell = RUN_WATCHED(live, "file made/new.txt", "file sub/deep.txt");
    check_opened(cell, 1, "made/new.txt, sub/deep.txt");
    cell_commit(cell);
    cell = RUN_WATCHED(live, "file made/new.txt");
    check_opened(cell, 1, "made/new.txt"); /* and nothing of the cell before */
    cell_commit(cell);

    (void)snprintf(call, sizeof call, "call %d \"made \"moved", SYS_rename);
    cell_commit(RUN_WATCHED(live, call));
    cell = RUN_WATCHED(live, "file moved/new.txt");
    check_opened(cell, 1, "moved/new.txt");
    cell_commit(cell);

    (void)snprintf(call, sizeof call, "call %d \"lost %d", SYS_mkdir, 0755);
    cell_discard(RUN_WATCHED(live, call, "put lost/new.txt x", "file sub/deep.txt"));
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"lost %d", 0755), 0);
    CHECK_TEXT(live_do(live, "put lost/new.txt x"), "ok");
    cell = RUN_WATCHED(live, "file lost/new.txt", "file sub/deep.txt");
    check_opened(cell, 1, "lost/new.txt, sub/deep.txt");
    cell_commit(cell);

    CHECK_EQUAL(live_call(live, SYS_unlink, "\"lost/new.txt"), 0);
    CHECK_EQUAL(live_call(live, SYS_rmdir, "\"lost"), 0);
    cell = RUN_WATCHED(live, "file lost/new.txt", "file host.txt");
    check_opened(cell, 1, "host.txt");
    cell_commit(cell);
}

/* A file of the host's folder gets this text, or is removed where it is NULL. */
static void host_put(const struct live *live, const char *path, const char *text) {
    char whole[PATH_MAX + 64];
    (void)snprintf(whole, sizeof whole, "%s/%s", live->folder, path);
    if (!text) {
        CHECK_EQUAL(unlink(whole), 0);
        return;
    }
    int fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void release(struct cell *cell, const char *path, int expected) {
    CHECK_EQUAL(cell_release_file(cell, path), expected);
}

static void files_that_are_released_are_the_hosts(struct live *live) {
    char folder[PATH_MAX + 16];
    CHECK_TEXT(live_do(live, "put host.txt mine"), "ok");
    struct cell *cell = create(live, CELL_FROM_CURRENT);
    CHECK_EQUAL(cell_release_file(cell, "host.txt"), -EINVAL); /* it has not run */
    put(cell, "new/in.txt", "new");
    start(cell);
    CHECK_TEXT(live_ask(cell, "put sub/deep.txt deep"), "ok");
    freeze(cell);
    (void)snprintf(folder, sizeof folder, "%s/new", live->folder);
    CHECK_EQUAL(mkdir(folder, 0755), 0);
    host_put(live, "new/in.txt", "new");
    host_put(live, "sub/deep.txt", "deep");
    release(cell, "new/in.txt", 1);
    release(cell, "sub/deep.txt", 1);
    release(cell, "none/none.txt", 1);
    cell_commit(cell);
    host_put(live, "new/in.txt", "the host's");
    host_put(live, "new/more.txt", "more"); /* in a folder that a cell has made */
    host_put(live, "host.txt", "not seen");
    CHECK_TEXT(live_do(live, "file new/in.txt"), "the host's");
    CHECK_TEXT(live_do(live, "file new/more.txt"), "more");
    CHECK_TEXT(live_do(live, "file sub/deep.txt"), "deep");
    CHECK_TEXT(live_do(live, "file host.txt"), "mine"); /* was not released */
    cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "put new/in.txt lost"), "ok");
    cell_discard(cell);
    CHECK_TEXT(live_do(live, "file new/in.txt"), "the host's");
    host_put(live, "new/in.txt", NULL);
    CHECK_TEXT(live_do(live, "file new/in.txt"), "ENOENT");
}

static void file_that_was_removed_is_released_too(struct live *live) {
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"sub/deep.txt"), 0);
    CHECK_TEXT(live_do(live, "file sub/deep.txt"), "ENOENT");
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "file sub/deep.txt"), "ENOENT");
    freeze(cell);
    host_put(live, "sub/deep.txt", NULL);
    release(cell, "sub/deep.txt", 1);
    cell_commit(cell);
    CHECK_TEXT(live_do(live, "file sub/deep.txt"), "ENOENT");
    host_put(live, "sub/deep.txt", "again");
    CHECK_TEXT(live_do(live, "file sub/deep.txt"), "again");
}

static void file_that_is_open_is_not_released(struct live *live) {
    CHECK_TEXT(live_do(live, "put open.txt one"), "ok");
    long fd = live_call(live, SYS_open, "\"open.txt %d", O_RDWR);
    CHECK(fd > 3);
    CHECK_EQUAL(live_call(live, SYS_symlink, "\"open.txt \"link"), 0);
    CHECK_EQUAL(live_call(live, SYS_link, "\"open.txt \"two.txt"), 0);
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "append open.txt !"), "ok");
    freeze(cell);
    host_put(live, "open.txt", "one!");
    release(cell, "open.txt", 0);
    release(cell, "two.txt", 0);
    release(cell, "link", 0);
    CHECK_EQUAL(cell_release_file(cell, "../folder/open.txt") < 0, 1);
    cell_commit(cell);
    host_put(live, "open.txt", "the host's");
    CHECK_TEXT(live_do(live, "file open.txt"), "one!");
    CHECK_TEXT(live_do(live, "file two.txt"), "one!");
}

static const struct live_case cases[] = {
    LIVE_CASE(files_that_are_released_are_the_hosts),
    LIVE_CASE(file_that_was_removed_is_released_too),
    LIVE_CASE(file_that_is_open_is_not_released),
    {"files_that_are_put_are_seen_by_the_cell_and_not_on_the_host",
     files_that_are_put_are_seen_by_the_cell_and_not_on_the_host, NULL},
    {"files_are_not_put_through_links", files_are_not_put_through_links, NULL},
    {"changes_list_only_those_of_this_cell", changes_list_only_those_of_this_cell, NULL},
    {"changes_open_as_plain_files_only", changes_open_as_plain_files_only, NULL},
    {"cell_from_the_first_image_has_the_first_files", cell_from_the_first_image_has_the_first_files, NULL},
    {"files_that_a_cell_opens_are_listed", files_that_a_cell_opens_are_listed, NULL},
    {"files_in_folders_that_come_and_go_are_listed", files_in_folders_that_come_and_go_are_listed, NULL},
};

int main(void) {
    return live_main("files", cases, sizeof cases / sizeof cases[0]);
}
