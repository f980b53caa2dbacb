/*
 * Images that are kept: the session goes back to one, and has the state and the files of that time. A random walk
 * through a tree of them, with cells of some of them beside the session's own, is compared with a model; PETRI_SEED
 * takes up one seed, PETRI_WALK as many steps as one wants.
 */
#include "tests/sandbox/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void go(struct live *live, struct kept_image *kept) {
    struct error error = {0};
    char text[512];
    const int r = session_restore(live->session, kept, &error);
    if (r)
        (void)fprintf(stderr, "%s\n", sandbox_error_text(&error, text, sizeof text));
    CHECK_EQUAL(r, 0);
}

static void memory_and_files_are_those_of_the_time(struct live *live) {
    CHECK_TEXT(live_do(live, "add 1"), "1");
    CHECK_TEXT(live_do(live, "put a.txt one"), "ok");
    struct kept_image *one = live_keep(live);
    CHECK_TEXT(live_do(live, "add 1"), "2");
    CHECK_TEXT(live_do(live, "append a.txt +two"), "ok");
    CHECK_TEXT(live_do(live, "put /tmp/b.txt two"), "ok");
    CHECK_TEXT(live_do(live, "append host.txt +two"), "ok");
    struct kept_image *two = live_keep(live);
    for (int i = 0; i < live_times(6); i++) {
        go(live, one);
        CHECK_TEXT(live_do(live, "add 0"), "1");
        CHECK_TEXT(live_do(live, "file a.txt"), "one");
        CHECK_TEXT(live_do(live, "file host.txt"), "host");
        CHECK_TEXT(live_do(live, "file /tmp/b.txt"), "ENOENT");
        go(live, two);
        CHECK_TEXT(live_do(live, "add 0"), "2");
        CHECK_TEXT(live_do(live, "file a.txt"), "one+two");
        CHECK_TEXT(live_do(live, "file host.txt"), "host+two");
        CHECK_TEXT(live_do(live, "file /tmp/b.txt"), "two");
    }
    session_forget(live->session, one);
    CHECK_TEXT(live_do(live, "file a.txt"), "one+two");
    session_forget(live->session, two);
    live_check_counter(live, 2);
}

/* One that was left without being kept is gone; what was kept is there as often as one wants. */
static void cell_after_going_back_is_a_branch(struct live *live) {
    struct kept_image *first = live_keep(live);
    CHECK_TEXT(live_do(live, "add 10"), "10");
    struct kept_image *ten = live_keep(live);
    go(live, first);
    CHECK_TEXT(live_do(live, "add 20"), "20");
    struct kept_image *twenty = live_keep(live);
    go(live, ten);
    CHECK_TEXT(live_do(live, "add 1"), "11");
    go(live, twenty);
    CHECK_TEXT(live_do(live, "add 1"), "21");
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "add 100"), "121");
    cell_discard(lost);
    live_check_counter(live, 21);
}

/* A thread waits in its image, and again in each cell that is made of it. */
static void thread_goes_on_from_where_it_was(struct live *live) {
    CHECK_TEXT(live_do(live, "thread wait"), "0");
    struct kept_image *waiting = live_keep(live);
    for (int i = 0; i < live_times(6); i++) {
        CHECK_TEXT(live_do(live, "poke 0"), "ok");
        CHECK_TEXT(live_do(live, "join 0"), "1000");
        go(live, waiting);
    }
}

/* Also where a later cell has removed all its names, and its contents count no more for the limit of the disk. */
static void mapped_file_is_the_same_file_again(struct live *live) {
    enum { BYTES = 8 << 20 };
    CHECK_TEXT(live_do(live, "put map.dat x"), "ok");
    const long fd = live_call(live, SYS_open, "\"map.dat %d", O_RDWR);
    CHECK_EQUAL(live_call(live, SYS_ftruncate, "%ld %d", fd, BYTES), 0);
    CHECK_TEXT(live_do(live, "map %ld %d 3", fd, BYTES), "0");
    CHECK_TEXT(live_do(live, "store 0 mapped"), "ok");
    CHECK_EQUAL(live_call(live, SYS_fallocate, "%ld 0 4096 %d", fd, BYTES - 4096), 0);
    struct kept_image *mapped = live_keep(live);
    uint64_t with_it, without, files;
    session_measure_files(live->session, &with_it, &files);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"map.dat"), 0);
    CHECK_TEXT(live_do(live, "store 0 other"), "ok");
    CHECK_EQUAL(live_call(live, SYS_close, "%ld", fd), 0);
    struct kept_image *unlinked = live_keep(live);
    go(live, mapped);
    CHECK_TEXT(live_do(live, "load 0"), "mapped");
    CHECK_TEXT(live_do(live, "store 0 again"), "ok");
    CHECK(strncmp(live_do(live, "file map.dat"), "again", 5) == 0);
    go(live, unlinked);
    CHECK_TEXT(live_do(live, "load 0"), "other");
    CHECK_TEXT(live_do(live, "file map.dat"), "ENOENT");
    go(live, mapped);
    CHECK_TEXT(live_do(live, "load 0"), "mapped");
    struct cell *cell = live_start(live);
    CHECK(live_ask(cell, "call %d 0 4096 3 %d -1 0", SYS_mmap, MAP_PRIVATE | MAP_ANONYMOUS)[0] != '-');
    CHECK_EQUAL(live_commit(cell), 0);
    go(live, unlinked);
    session_forget(live->session, unlinked);
    session_measure_files(live->session, &without, &files);
    CHECK(without <= with_it);
}

/* A file that only a kept image has takes nothing of the disk. */
static void file_that_only_a_kept_image_has_takes_no_room(struct live *live) {
    enum { BYTES = 4 << 20 };
    uint64_t before, after, files;
    CHECK_TEXT(live_do(live, "put /dev/shm/big x"), "ok");
    session_measure_files(live->session, &before, &files);
    const long fd = live_call(live, SYS_open, "\"/dev/shm/big %d", O_RDWR);
    const long data = live_call(live, SYS_mmap, "0 %d 3 %d -1 0", BYTES, MAP_PRIVATE | MAP_ANONYMOUS);
    CHECK_EQUAL(live_call(live, SYS_getrandom, "%ld %d 0", data, BYTES), BYTES);
    CHECK_EQUAL(live_call(live, SYS_pwrite64, "%ld %ld %d 0", fd, data, BYTES), BYTES);
    CHECK_EQUAL(live_call(live, SYS_pwrite64, "%ld \"end 3 %d", fd, BYTES - 3), 3);
    struct kept_image *open = live_keep(live);
    CHECK_EQUAL(live_call(live, SYS_close, "%ld", fd), 0);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/dev/shm/big"), 0);
    live_check_counter(live, 0);
    session_measure_files(live->session, &after, &files);
    CHECK(after < before + BYTES / 2);
    CHECK(live_kept_bytes(live) >= BYTES);
    go(live, open);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld %d 0", fd, BYTES - 3), BYTES - 3);
    CHECK_TEXT(live_do(live, "read %ld", fd), "end");
}

/* A kept image has neither side of it any more: the side that stays open is told. */
static void connection_that_a_later_cell_closes_has_hung_up(struct live *live) {
    int fds[2];
    struct cell *cell = live_start(live);
    live_make_connection(cell, fds);
    CHECK_TEXT(live_ask(cell, "call %d %d \"abc 3", SYS_write, fds[0]), "3");
    CHECK_EQUAL(live_commit(cell), 0);
    struct kept_image *connected = live_keep(live);
    CHECK_TEXT(live_do(live, "call %d %d \"def 3", SYS_write, fds[0]), "3");
    CHECK_EQUAL(live_call(live, SYS_close, "%d", fds[0]), 0);
    CHECK_TEXT(live_do(live, "read %d", fds[1]), "abcdef"); /* to its end, without waiting */
    go(live, connected);
    CHECK_TEXT(live_do(live, "read %d", fds[1]), "");
    CHECK_TEXT(live_do(live, "call %d %d \"abc 3 %d", SYS_sendto, fds[0], MSG_NOSIGNAL), "-32");
    CHECK_EQUAL(live_call(live, SYS_close, "%d", fds[0]), 0);
}

/* Nothing that is made in a cell on the way gets one of its numbers. */
static void connection_whose_numbers_would_be_the_lowest_free_ones_has_hung_up(struct live *live) {
    int fds[2];
    struct cell *cell = live_start(live);
    live_make_connection(cell, fds);
    const int lowest = fds[0] < fds[1] ? fds[0] : fds[1];
    for (int taken = 0; taken < lowest;)
        taken = (int)strtol(live_ask(cell, "call %d 1", SYS_dup), NULL, 10);
    CHECK_EQUAL(live_commit(cell), 0);
    struct kept_image *connected = live_keep(live);
    CHECK_TEXT(live_do(live, "add 1"), "1");
    go(live, connected);
    CHECK_TEXT(live_do(live, "read %d", fds[1]), "");
    go(live, connected);
    CHECK_TEXT(live_do(live, "read %d", fds[0]), "");
}

static void file_without_a_name_of_a_state_that_was_left_takes_no_room(struct live *live) {
    enum { BYTES = 4 << 20 };
    uint64_t before, after, files;
    struct kept_image *none = live_keep(live);
    session_measure_files(live->session, &before, &files);
    const long fd = live_call(live, SYS_open, "\"/tmp %d 0600", O_RDWR | O_TMPFILE);
    const long data = live_call(live, SYS_mmap, "0 %d 3 %d -1 0", BYTES, MAP_PRIVATE | MAP_ANONYMOUS);
    CHECK_EQUAL(live_call(live, SYS_getrandom, "%ld %d 0", data, BYTES), BYTES);
    CHECK_EQUAL(live_call(live, SYS_pwrite64, "%ld %ld %d 0", fd, data, BYTES), BYTES);
    CHECK_EQUAL(live_call(live, SYS_pwrite64, "%ld \"end 3 %d", fd, BYTES - 3), 3);
    struct kept_image *open = live_keep(live);
    go(live, none);
    session_measure_files(live->session, &after, &files);
    CHECK(after < before + BYTES / 2);
    go(live, open);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld %d 0", fd, BYTES - 3), BYTES - 3);
    CHECK_TEXT(live_do(live, "read %ld", fd), "end");
    CHECK_EQUAL(live_call(live, SYS_close, "%ld", fd), 0);
    session_measure_files(live->session, &after, &files);
    CHECK(after < before + BYTES / 2);
}

/* Something in it is open, so that an overlay that was mounted before remembers who might enter it. */
static void folder_that_was_shut_is_open_again(struct live *live) {
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"rows 0755"), 0);
    CHECK_TEXT(live_do(live, "put rows/held.txt x"), "ok");
    CHECK(live_call(live, SYS_open, "\"rows/held.txt %d", O_RDWR) > 4);
    struct kept_image *before = live_keep(live);
    CHECK_EQUAL(live_call(live, SYS_chmod, "\"rows 0100"), 0);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "list rows"), "EACCES");
    cell_discard(lost);
    go(live, before);
    CHECK_TEXT(live_do(live, "list rows"), "held.txt");
    lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "call %d \"rows 0100", SYS_chmod), "0");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "list rows"), "held.txt");
}

/* The folder is mounted anew, for which Linux needs a name more. */
static void state_that_has_all_names_is_gone_back_to(struct live *live) {
    struct kept_image *before = live_keep(live);
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "call %d \"rows 0755", SYS_mkdir), "0");
    unsigned n = 0;
    const char *made = "ok";
    while (strcmp(made, "ok") == 0)
        made = live_ask(cell, "put n%u x", n++);
    CHECK_TEXT(made, "ENOSPC");
    CHECK_TEXT(live_ask(cell, "call %d \"rows 0100", SYS_chmod), "0");
    live_commit(cell);
    struct kept_image *full = live_keep(live);
    for (int i = 0; i < 2; i++) {
        go(live, before);
        CHECK_TEXT(live_do(live, "file n0"), "ENOENT");
        go(live, full);
        CHECK_TEXT(live_do(live, "file n0"), "x");
        CHECK_EQUAL(live_call(live, SYS_unlink, "\"n1"), 0);
        CHECK_TEXT(live_do(live, "put more x"), "ok");
    }
}

static int note_file(void *arg, const struct cell_file *file) {
    static const char signs[] = {[CELL_CREATED] = '+', [CELL_CHANGED] = '~', [CELL_DELETED] = '-'};
    char *text = arg;
    const size_t n = strlen(text);
    (void)snprintf(text + n, 256 - n, "%c%s ", signs[file->change], file->path);
    return 0;
}

static void files_of_two_states_are_compared(struct live *live) {
    char text[256] = "", back[256] = "";
    CHECK_TEXT(live_do(live, "put a.txt one"), "ok");
    CHECK_TEXT(live_do(live, "put same.txt one"), "ok");
    struct kept_image *one = live_keep(live);
    CHECK_TEXT(live_do(live, "put a.txt two"), "ok");
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"host.txt"), 0);
    struct kept_image *two = live_keep(live);
    CHECK_EQUAL(session_compare_files(live->session, one, two, note_file, text), 0);
    CHECK(strcmp(text, "~a.txt -host.txt ") == 0 || strcmp(text, "-host.txt ~a.txt ") == 0);
    CHECK_EQUAL(session_compare_files(live->session, two, one, note_file, back), 0);
    CHECK_TEXT(back, "~a.txt ");
    CHECK_EQUAL(session_compare_files(live->session, one, one, note_file, strcpy(back, "")), 0);
    CHECK_TEXT(back, "");
    go(live, one);
    CHECK_TEXT(live_do(live, "file a.txt"), "one");
}

static void kept_bytes_are_what_later_cells_have_changed(struct live *live) {
    enum { BYTES = 32 << 20 };
    struct kept_image *first = live_keep(live);
    CHECK(live_kept_bytes(live) < BYTES / 4);
    const long at = live_call(live, SYS_mmap, "0 %d 3 %d -1 0", BYTES, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE);
    struct kept_image *full = live_keep(live);
    CHECK(live_kept_bytes(live) < BYTES / 4); /* the session has it, too */
    CHECK_EQUAL(live_call(live, SYS_munmap, "%ld %d", at, BYTES), 0);
    live_check_counter(live, 0);
    CHECK(live_kept_bytes(live) > BYTES / 4 * 3);
    session_forget(live->session, full);
    live_check_counter(live, 0); /* waits for what was killed */
    live_check_counter(live, 0);
    CHECK(live_kept_bytes(live) < BYTES / 4);
    session_forget(live->session, first);
}

static void thousand_restorations_leave_nothing(struct live *live) {
    CHECK_TEXT(live_do(live, "put a.txt one"), "ok");
    struct kept_image *one = live_keep(live);
    CHECK_TEXT(live_do(live, "append a.txt two"), "ok");
    struct kept_image *two = live_keep(live);
    int tasks = 0, descriptors = 0, mounts = 0;
    for (int i = 0; i < live_times(1000); i++) {
        go(live, i % 2 ? two : one);
        if (i % 50 == 0) {
            CHECK_TEXT(live_do(live, "file a.txt"), i % 2 ? "onetwo" : "one");
            CHECK_TEXT(live_do(live, "append a.txt three"), "ok");
        }
        if (i == 10) {
            session_settle(live->session);
            tasks = live_count_processes();
            descriptors = live_count_entries("/proc/self/fd");
            mounts = live_count_lines("/proc/self/mounts");
        }
    }
    live_await_processes(live, tasks);
    CHECK_EQUAL(live_count_entries("/proc/self/fd"), descriptors);
    CHECK_EQUAL(live_count_lines("/proc/self/mounts"), mounts);
}

/* What the model knows of a session. */
enum { FILES = 4, TEXT_BYTES = 200 };
static const char *const paths[FILES] = {"a.txt", "/tmp/b.txt", "/dev/shm/c.txt", "/home/petri/d.txt"};
struct state {
    long counter;
    char file[FILES][TEXT_BYTES]; /* "": there is none */
    char open[TEXT_BYTES];        /* of open.txt in the notebook's folder, by a descriptor */
    char mapped[64];              /* of a mapped file */
    char shared[64];              /* of memory that is shared and has no name */
    char unnamed[TEXT_BYTES];     /* of an unlinked file */
    size_t offset;                /* of the descriptor */
};

enum { BRANCHES = 3 };
struct walk {
    struct live *live;
    struct state now;
    long fd, unnamed_fd;
    unsigned n_texts;
    struct {
        struct kept_image *kept;
        struct state state;
    } kept[8];
    struct {
        struct cell *cell; /* of a kept image, beside the session's own; NULL for none */
        struct state state;
    } branch[BRANCHES];
};

static uint64_t random_state;

static unsigned draw(unsigned n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

static void check_state(const struct walk *walk, const struct cell *cell, const struct state *state) {
    char number[32];
    (void)snprintf(number, sizeof number, "%ld", state->counter);
    CHECK_TEXT(live_ask(cell, "add 0"), number);
    for (int i = 0; i < FILES; i++)
        CHECK_TEXT(live_ask(cell, "file %s", paths[i]), state->file[i][0] ? state->file[i] : "ENOENT");
    CHECK_TEXT(live_ask(cell, "file open.txt"), state->open);
    (void)snprintf(number, sizeof number, "%zu", state->offset);
    CHECK_TEXT(live_ask(cell, "call %d %ld 0 %d", SYS_lseek, walk->fd, SEEK_CUR), number);
    CHECK_TEXT(live_ask(cell, "load 0"), state->mapped);
    CHECK(strncmp(live_ask(cell, "file map.dat"), state->mapped, strlen(state->mapped)) == 0);
    CHECK_TEXT(live_ask(cell, "load 1"), state->shared);
    CHECK_TEXT(live_ask(cell, "call %d %ld 0 0", SYS_lseek, walk->unnamed_fd), "0");
    CHECK_TEXT(live_ask(cell, "read %ld", walk->unnamed_fd), state->unnamed);
}

/* One change of the cell's state, and of the model's. */
static void change(struct walk *walk, const struct cell *cell, struct state *state) {
    const unsigned i = draw(FILES);
    char text[16];
    (void)snprintf(text, sizeof text, "t%u.", walk->n_texts++ % 1000);
    switch (draw(8)) {
    case 0:
        state->counter += i;
        CHECK(live_ask(cell, "add %u", i)[0] != 0);
        break;
    case 1:
        CHECK_TEXT(live_ask(cell, "put %s %s", paths[i], text), "ok");
        (void)snprintf(state->file[i], TEXT_BYTES, "%s", text);
        break;
    case 2:
        if (strlen(state->file[i]) + sizeof text < TEXT_BYTES && state->file[i][0]) {
            CHECK_TEXT(live_ask(cell, "append %s %s", paths[i], text), "ok");
            (void)strcat(state->file[i], text);
        }
        break;
    case 3:
        CHECK_TEXT(live_ask(cell, "call %d \"%s", SYS_unlink, paths[i]), state->file[i][0] ? "0" : "-2");
        state->file[i][0] = 0;
        break;
    case 4:
        if (state->offset + sizeof text < TEXT_BYTES) {
            CHECK(live_ask(cell, "call %d %ld \"%s %zu", SYS_write, walk->fd, text, strlen(text))[0] != '-');
            memcpy(state->open + state->offset, text, strlen(text));
            state->offset += strlen(text);
        }
        break;
    case 5:
        CHECK_TEXT(live_ask(cell, "store 0 %s", text), "ok");
        (void)snprintf(state->mapped, sizeof state->mapped, "%s", text);
        break;
    case 6:
        CHECK_TEXT(live_ask(cell, "store 1 %s", text), "ok");
        (void)snprintf(state->shared, sizeof state->shared, "%s", text);
        break;
    default:
        CHECK(live_ask(cell, "call %d %ld \"%s %zu 0", SYS_pwrite64, walk->unnamed_fd, text, strlen(text))[0] != '-');
        memcpy(state->unnamed, text, strlen(text));
        break;
    }
}

static void begin_branch(struct walk *walk, struct cell **ret_cell, struct state *ret_state) {
    const unsigned i = draw(8);
    struct error error = {0};
    const struct cell_options options = {.source = CELL_FROM_KEPT, .kept = walk->kept[i].kept, .role = CELL_BESIDE};
    if (!options.kept)
        return;
    while (session_settle(walk->live->session) && !session_has_place(walk->live->session))
        usleep(1000);
    CHECK_EQUAL(cell_create(walk->live->session, &options, ret_cell, &error), 0);
    CHECK_EQUAL(cell_start(*ret_cell, &(struct cell_limits){0}), 0);
    *ret_state = walk->kept[i].state;
}

/* Begins, goes on with, or ends one of those that run beside. */
static void run_branches(struct walk *walk) {
    const unsigned i = draw(BRANCHES);
    struct cell_end end;
    struct error error = {0};
    struct cell **cell = &walk->branch[i].cell;
    if (!*cell)
        begin_branch(walk, cell, &walk->branch[i].state);
    if (!*cell)
        return;
    check_state(walk, *cell, &walk->branch[i].state);
    for (unsigned n = draw(4); n > 0; n--)
        change(walk, *cell, &walk->branch[i].state);
    check_state(walk, *cell, &walk->branch[i].state);
    if (draw(2))
        return;
    const unsigned at = draw(8);
    const bool keeps = draw(2);
    if (keeps || draw(2))
        CHECK_EQUAL(cell_freeze(*cell, &end, &error), 0);
    if (keeps) {
        session_forget(walk->live->session, walk->kept[at].kept);
        CHECK_EQUAL(cell_keep(*cell, &walk->kept[at].kept), 0);
        walk->kept[at].state = walk->branch[i].state;
    }
    cell_discard(*cell);
    *cell = NULL;
}

static void run_cell(struct walk *walk) {
    const struct state before = walk->now;
    struct cell *cell = live_start(walk->live);
    check_state(walk, cell, &walk->now);
    for (unsigned n = draw(4); n > 0; n--)
        change(walk, cell, &walk->now);
    run_branches(walk);
    if (draw(4) == 0) {
        if (draw(2) == 0)
            (void)live_ask(cell, "call %d %d %d", SYS_kill, 1, 0);
        cell_discard(cell);
        walk->now = before;
    } else {
        CHECK_EQUAL(live_commit(cell), 0);
    }
}

static void keep_or_forget(struct walk *walk) {
    const unsigned i = draw(8);
    session_forget(walk->live->session, walk->kept[i].kept);
    walk->kept[i].kept = draw(5) ? live_keep(walk->live) : NULL;
    walk->kept[i].state = walk->now;
}

static void go_somewhere(struct walk *walk) {
    const unsigned i = draw(8);
    if (!walk->kept[i].kept)
        return;
    go(walk->live, walk->kept[i].kept);
    walk->now = walk->kept[i].state;
}

static void begin_walk(struct walk *walk) {
    struct live *live = walk->live;
    CHECK_TEXT(live_do(live, "put open.txt 0"), "ok");
    CHECK_TEXT(live_do(live, "put map.dat mapped"), "ok");
    const long mapped_fd = live_call(live, SYS_open, "\"map.dat %d", O_RDWR);
    CHECK_EQUAL(live_call(live, SYS_ftruncate, "%ld 4096", mapped_fd), 0);
    CHECK_TEXT(live_do(live, "map %ld 4096 3", mapped_fd), "0");
    CHECK_TEXT(live_do(live, "map -1 4096 3"), "1");
    CHECK_EQUAL(live_call(live, SYS_close, "%ld", mapped_fd), 0);
    CHECK_TEXT(live_do(live, "store 1 shared"), "ok");
    walk->fd = live_call(live, SYS_open, "\"open.txt %d", O_RDWR);
    walk->unnamed_fd = live_call(live, SYS_open, "\"/tmp/u %d 0600", O_RDWR | O_CREAT);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/u"), 0);
    CHECK_EQUAL(live_call(live, SYS_write, "%ld \"unnamed 7", walk->unnamed_fd), 7);
    walk->now = (struct state){.open = "0", .mapped = "mapped", .shared = "shared", .unnamed = "unnamed"};
}

static unsigned number_from(const char *variable, unsigned otherwise) {
    const char *text = getenv(variable);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void random_walk_is_as_its_model(struct live *live) {
    struct walk walk = {.live = live};
    const unsigned seed = number_from("PETRI_SEED", (unsigned)getpid() * 7919U + (unsigned)getuid());
    const unsigned steps = number_from("PETRI_WALK", (unsigned)live_times(200));
    (void)fprintf(stderr, "PETRI_SEED=%u\n", seed);
    random_state = UINT64_C(88172645463325252) + seed * UINT64_C(2654435761);
    begin_walk(&walk);
    for (unsigned i = 0; i < steps; i++) {
        run_cell(&walk);
        if (draw(2) == 0)
            keep_or_forget(&walk);
        if (draw(3) == 0)
            go_somewhere(&walk);
    }
    for (int i = 0; i < BRANCHES; i++)
        cell_discard(walk.branch[i].cell);
}

int main(void) {
    const struct live_case cases[] = {
        LIVE_CASE(memory_and_files_are_those_of_the_time),
        LIVE_CASE(cell_after_going_back_is_a_branch),
        LIVE_CASE(thread_goes_on_from_where_it_was),
        LIVE_CASE(mapped_file_is_the_same_file_again),
        LIVE_CASE(file_that_only_a_kept_image_has_takes_no_room),
        LIVE_CASE(connection_that_a_later_cell_closes_has_hung_up),
        LIVE_CASE(connection_whose_numbers_would_be_the_lowest_free_ones_has_hung_up),
        LIVE_CASE(file_without_a_name_of_a_state_that_was_left_takes_no_room),
        LIVE_CASE(folder_that_was_shut_is_open_again),
        LIVE_CASE(state_that_has_all_names_is_gone_back_to),
        LIVE_CASE(files_of_two_states_are_compared),
        LIVE_CASE(kept_bytes_are_what_later_cells_have_changed),
        LIVE_CASE(thousand_restorations_leave_nothing),
        LIVE_CASE(random_walk_is_as_its_model),
    };
    return live_main("kept images", cases, sizeof cases / sizeof cases[0]);
}
