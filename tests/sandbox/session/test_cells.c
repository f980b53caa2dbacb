/* What goes on from cell to cell, what ends with a cell, and what a rolled-back cell leaves as it was. */
#include "sandbox/session/session.h"
#include "tests/sandbox/live.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void state_is_carried_on(struct live *live) {
    live_check_counter(live, 0);
    CHECK_TEXT(live_do(live, "add 5"), "5");
    CHECK_TEXT(live_do(live, "add 2"), "7");
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "add 1"), "8");
    CHECK_TEXT(live_ask(cell, "add 1"), "9");
    CHECK_EQUAL(live_commit(cell), 0);
    live_check_counter(live, 9);
}

/* The ids of a cell's namespaces; the descriptors keep their numbers from being given out again. */
static void hold_namespaces(const struct cell *cell, char ids[512], int held[7]) {
    static const char *const names[] = {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"};
    char path[64], pid[32];
    strcpy(ids, live_ask(cell, "namespaces"));
    (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", cell_exit_fd(cell));
    FILE *file = fopen(path, "re");
    int found = 0;
    while (file && !found && fgets(path, sizeof path, file))
        found = sscanf(path, "Pid: %31s", pid) == 1;
    CHECK(file && found);
    (void)fclose(file);
    for (int i = 0; i < 7; i++) {
        (void)snprintf(path, sizeof path, "/proc/%s/ns/%s", pid, names[i]);
        CHECK((held[i] = open(path, O_RDONLY | O_CLOEXEC)) >= 0);
    }
}

/* Each of the seven in a list differs from those in the others, as long as all are held. */
static void namespaces_are_new_in_each_cell(struct live *live) {
    enum { CELLS = 4 };
    char ids[CELLS][512], *save, *id;
    int held[CELLS][7];
    for (int i = 0; i < CELLS; i++) {
        struct cell *cell = live_start(live);
        hold_namespaces(cell, ids[i], held[i]);
        live_ask(cell, "add 1");
        if (i == 2)
            cell_discard(cell); /* a rollback in between makes no difference */
        else
            live_commit(cell);
    }
    for (int i = 0; i < CELLS; i++) {
        char list[512];
        int n = 0;
        strcpy(list, ids[i]);
        for (id = strtok_r(list, " ", &save); id; id = strtok_r(NULL, " ", &save), n++)
            for (int j = 0; j < CELLS; j++)
                CHECK(i == j || !strstr(ids[j], id));
        CHECK_EQUAL(n, 7);
    }
}

static void process_has_the_same_id_in_each_cell(struct live *live) {
    long pid = live_call(live, SYS_getpid, "%s", "");
    CHECK(pid > 0);
    CHECK_EQUAL(live_call(live, SYS_getpid, "%s", ""), pid);
    CHECK_EQUAL(live_call(live, SYS_gettid, "%s", ""), pid);
    CHECK_EQUAL(live_call(live, SYS_getpgid, "0"), pid);
}

/* How a cell ends by itself, and what is seen of it. */
static const struct {
    const char *how;
    bool exited;
    int code, signal;
} ends[] = {
    {"end exit 0", true, 0, 0},      {"end exit 3", true, 3, 0},       {"end segv", false, 0, SIGSEGV},
    {"end kill", false, 0, SIGKILL}, {"end abort", false, 0, SIGABRT}, {"end exec", true, 42, 0},
};

static void death_of_a_cell_is_reported_and_leaves_the_session_as_it_was(struct live *live) {
    CHECK_TEXT(live_do(live, "add 1"), "1");
    CHECK_TEXT(live_do(live, "put kept.txt before"), "ok");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct cell *cell = live_start(live);
        CHECK_TEXT(live_ask(cell, "add 100"), "101");
        CHECK_TEXT(live_ask(cell, "append kept.txt lost"), "ok");
        CHECK_TEXT(live_ask(cell, "put /dev/shm/lost lost"), "ok");
        live_send(cell, "%s", ends[i].how);
        CHECK(live_receive(cell) == NULL);
        struct cell_end end = live_await_death(cell);
        CHECK_EQUAL(end.exited, ends[i].exited);
        CHECK_EQUAL(end.signaled, !ends[i].exited);
        CHECK_EQUAL(end.code, ends[i].code);
        CHECK_EQUAL(end.signal, ends[i].signal);
        live_check_counter(live, 1);
        CHECK_TEXT(live_do(live, "file kept.txt"), "before");
        CHECK_TEXT(live_do(live, "list /dev/shm"), "");
    }
}

static void freezing_a_cell_that_has_ended_is_an_error(struct live *live) {
    struct cell *cell = live_start(live);
    struct cell_end end;
    struct error error = {0};
    live_send(cell, "end exit 9");
    CHECK(live_receive(cell) == NULL);
    CHECK_EQUAL(cell_freeze(cell, &end, &error), -ESRCH);
    CHECK(end.exited && end.code == 9);
    cell_discard(cell);
    live_check_counter(live, 0);
}

/* It runs on, and is no worker any more. */
static void cell_that_runs_another_program_cannot_be_frozen(struct live *live) {
    struct cell *cell = live_start(live);
    struct cell_end end;
    struct error error = {0};
    live_send(cell, "end exec-and-stay");
    live_await_output(live, "up\n");
    CHECK_EQUAL(cell_freeze(cell, &end, &error), -EUCLEAN);
    CHECK(end.signaled);
    cell_discard(cell);
    live_check_counter(live, 0);
}

static void endless_loop_can_be_discarded(struct live *live) {
    live_do(live, "add 1");
    struct cell *cell = live_start(live);
    live_ask(cell, "add 100");
    live_send(cell, "end loop");
    cell_discard(cell);
    live_check_counter(live, 1);
}

static void cell_computes_unless_it_waits(struct live *live) {
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "add 1"), "1");
    while (cell_computes(cell)) /* it is about to wait for what it is sent next */
        sched_yield();
    live_send(cell, "end loop");
    while (!cell_computes(cell))
        sched_yield();
    cell_discard(cell);
    live_check_counter(live, 0);
}

static void stopped_cell_can_be_discarded(struct live *live) {
    live_do(live, "add 1");
    struct cell *cell = live_start(live);
    live_send(cell, "end stop");
    cell_discard(cell);
    live_check_counter(live, 1);
}

/* Ctrl-Z at any moment, also between the answer and the freeze: the session's next cell runs all the same. */
static void cell_stopped_by_a_signal_can_be_committed(struct live *live) {
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "add 1"), "1");
    cell_signal(cell, SIGSTOP);
    live_commit(cell);
    live_check_counter(live, 1);
    CHECK_TEXT(live_do(live, "thread wait"), "0");
    cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "add 1"), "2");
    cell_signal_group(cell, SIGTSTP);
    live_commit(cell);
    live_check_counter(live, 2);
    CHECK_TEXT(live_do(live, "poke 0"), "ok");
    CHECK_TEXT(live_do(live, "join 0"), "1000");
}

static void unstarted_cell_can_be_discarded(struct live *live) {
    for (int i = 0; i < 3; i++) {
        struct cell *cell;
        struct error error = {0};
        CHECK_EQUAL(cell_create(live->session, &(struct cell_options){0}, &cell, &error), 0);
        cell_discard(cell);
    }
    cell_discard(NULL);
    live_check_counter(live, 0);
}

static struct cell *start_from(struct live *live, enum cell_source source, enum cell_role role) {
    struct cell *cell;
    struct error error = {0};
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){.source = source, .role = role}, &cell, &error), 0);
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){0}), 0);
    return cell;
}

static void ephemeral_cell_runs_beside_a_running_cell_and_changes_nothing(struct live *live) {
    live_do(live, "add 1");
    live_do(live, "put /dev/shm/kept before");
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "add 10"), "11");
    CHECK_TEXT(live_ask(cell, "put /dev/shm/running x"), "ok");
    live_send(cell, "end loop");
    struct cell *ephemeral = start_from(live, CELL_FROM_CURRENT, CELL_EPHEMERAL);
    CHECK_TEXT(live_ask(ephemeral, "add 100"), "101");
    CHECK_TEXT(live_ask(ephemeral, "list /dev/shm"), "kept");
    CHECK_TEXT(live_ask(ephemeral, "append /dev/shm/kept ephemeral"), "ok");
    struct cell *another = start_from(live, CELL_FROM_CURRENT, CELL_EPHEMERAL);
    CHECK_TEXT(live_ask(another, "add 0"), "1");
    CHECK_TEXT(live_ask(another, "file /dev/shm/kept"), "before");
    live_send(another, "end kill");
    CHECK_EQUAL(live_await_death(another).signal, SIGKILL);
    cell_discard(ephemeral);
    cell_discard(cell);
    live_check_counter(live, 1);
    CHECK_TEXT(live_do(live, "file /dev/shm/kept"), "before");
    CHECK_TEXT(live_do(live, "list /dev/shm"), "kept");
}

static void ephemeral_cell_runs_on_while_a_cell_is_committed(struct live *live) {
    struct cell *cell = live_start(live);
    struct cell *ephemeral = start_from(live, CELL_FROM_CURRENT, CELL_EPHEMERAL);
    CHECK_TEXT(live_ask(cell, "add 1"), "1");
    live_commit(cell);
    CHECK_TEXT(live_ask(ephemeral, "add 50"), "50");
    live_check_counter(live, 1);
    cell_discard(ephemeral);
    live_check_counter(live, 1);
}

static void first_image_is_not_changed_by_cells(struct live *live) {
    live_do(live, "add 7");
    live_do(live, "add 7");
    struct cell *first = start_from(live, CELL_FROM_FIRST, CELL_BESIDE);
    CHECK_TEXT(live_ask(first, "add 3"), "3");
    cell_discard(first);
    first = start_from(live, CELL_FROM_FIRST, CELL_BESIDE);
    CHECK_TEXT(live_ask(first, "add 0"), "0");
    cell_discard(first);
    live_check_counter(live, 14);
}

static void working_folder_and_umask_are_carried_on(struct live *live) {
    CHECK_TEXT(live_do(live, "where"), live->folder);
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"sub/mine 0755"), 0);
    CHECK_EQUAL(live_call(live, SYS_chdir, "\"sub/mine"), 0);
    CHECK_EQUAL(live_call(live, SYS_umask, "0077"), 022);
    char expected[PATH_MAX + 16];
    (void)snprintf(expected, sizeof expected, "%s/sub/mine", live->folder);
    CHECK_TEXT(live_do(live, "where"), expected);
    CHECK_TEXT(live_do(live, "status Umask"), "0077");
    CHECK_TEXT(live_do(live, "put here.txt x"), "ok");
    CHECK_TEXT(live_do(live, "list ."), "here.txt");
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "call %d \"/", SYS_chdir), "0");
    CHECK_TEXT(live_ask(lost, "call %d 0", SYS_umask), "63");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "where"), expected);
    CHECK_TEXT(live_do(live, "status Umask"), "0077");
}

static void deleted_working_folder_does_not_end_the_session(struct live *live) {
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"/tmp/gone 0755"), 0);
    CHECK_EQUAL(live_call(live, SYS_chdir, "\"/tmp/gone"), 0);
    CHECK_EQUAL(live_call(live, SYS_rmdir, "\"/tmp/gone"), 0);
    live_check_counter(live, 0);
    CHECK_EQUAL(live_call(live, SYS_chdir, "\"/tmp"), 0);
    CHECK_TEXT(live_do(live, "where"), "/tmp");
}

/* /dev/shm/f with abcdef, open for both. */
static long open_letters(struct live *live) {
    CHECK_TEXT(live_do(live, "put /dev/shm/f abcdef"), "ok");
    return live_call(live, SYS_open, "\"/dev/shm/f %d", O_RDWR);
}

static void check_next_letters(struct live *live, long fd) {
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 2 0", fd), 2);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "read %ld", fd), "cdef");
    CHECK_TEXT(live_ask(lost, "call %d %ld \"XY 2", SYS_write, fd), "2");
    CHECK_TEXT(live_ask(lost, "call %d %ld", SYS_close, fd), "0");
    cell_discard(lost);
    CHECK_EQUAL(live_call(live, SYS_write, "%ld \"Z 1", fd), 1);
    CHECK_TEXT(live_do(live, "read %ld", fd), "def");
    CHECK_TEXT(live_do(live, "file /dev/shm/f"), "abZdef");
}

static void open_file_is_carried_on(struct live *live) {
    long fd = open_letters(live);
    CHECK(fd > 4);
    check_next_letters(live, fd);
}

/* Null, output and trace; after closing 0 the next file gets it. */
static void open_file_in_the_place_of_the_workers_own_is_carried_on(struct live *live) {
    static const long numbers[] = {0, 1, 2, 4};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        long fd = open_letters(live);
        CHECK_EQUAL(live_call(live, SYS_dup2, "%ld %ld", fd, numbers[i]), numbers[i]);
        CHECK_EQUAL(live_call(live, SYS_close, "%ld", fd), 0);
        check_next_letters(live, numbers[i]);
    }
}

/* A temporary file has no name any more; what stays is the offset. */
static void unlinked_file_is_carried_on_and_its_offset_rolled_back(struct live *live) {
    long fd = open_letters(live);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/dev/shm/f"), 0);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 3 0", fd), 3);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "read %ld", fd), "def");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "read %ld", fd), "def");
    CHECK_TEXT(live_do(live, "list /dev/shm"), "");
}

static void files_are_carried_on_and_host_files_never_written(struct live *live) {
    char path[PATH_MAX + 16];
    struct stat st;
    CHECK_TEXT(live_do(live, "append host.txt +"), "ok");
    CHECK_TEXT(live_do(live, "file host.txt"), "host+");
    CHECK_TEXT(live_do(live, "file " LIVE_WORK "/host.txt"), "host+");
    CHECK_TEXT(live_do(live, "put new.txt n"), "ok");
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"sub/deep.txt"), 0);
    CHECK_TEXT(live_do(live, "list ."), "host.txt new.txt sub");
    CHECK_TEXT(live_do(live, "list sub"), "");
    (void)snprintf(path, sizeof path, "%s/new.txt", live->folder);
    CHECK(stat(path, &st) < 0 && errno == ENOENT);
    (void)snprintf(path, sizeof path, "%s/sub/deep.txt", live->folder);
    CHECK(stat(path, &st) == 0 && st.st_size == 4);
    (void)snprintf(path, sizeof path, "%s/host.txt", live->folder);
    CHECK(stat(path, &st) == 0 && st.st_size == 4);
}

static void session_without_a_cell_can_be_destroyed(struct live *live) {
    session_destroy(live->session);
    live->session = NULL;
}

/* What is deleted is marked in the folder that it was in; marks take room. */
static void files_can_be_deleted_when_the_disk_is_full(struct live *live) {
    enum { FOLDERS = 20 };
    struct cell *cell = live_start(live);
    for (int i = 0; i < FOLDERS; i++) {
        CHECK_TEXT(live_ask(cell, "call %d \"sub%d 0700", SYS_mkdir, i), "0");
        CHECK_TEXT(live_ask(cell, "put sub%d/a.txt x", i), "ok");
    }
    live_commit(cell);
    cell = live_start(live);
    for (int i = 0; i < FOLDERS; i++)
        CHECK_TEXT(live_ask(cell, "call %d \"sub%d/a.txt", SYS_unlink, i), "0");
    for (int i = 0; strcmp(live_ask(cell, "call %d \"full%d 0700", SYS_mkdir, i), "0") == 0; i++)
        CHECK(i < 10000);
    live_commit(cell);
    cell = live_start(live);
    for (int i = 0; i < FOLDERS; i++)
        CHECK_TEXT(live_ask(cell, "list sub%d", i), "");
    live_commit(cell);
}

/* The sandbox that was asked for it, over a layer that is gone, is nobody's. */
static void cell_that_cannot_be_made_leaves_the_next_its_own_sandbox(struct live *live) {
    const pid_t keeper = live->session->current->keeper;
    struct error error = {0};
    struct rlimit before;
    struct cell *cell = NULL;
    CHECK_EQUAL(prlimit(keeper, RLIMIT_NPROC, NULL, &before), 0);
    CHECK_EQUAL(prlimit(keeper, RLIMIT_NPROC, &(struct rlimit){0, before.rlim_max}, NULL), 0);
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){0}, &cell, &error), -EAGAIN);
    CHECK_EQUAL(prlimit(keeper, RLIMIT_NPROC, &before, NULL), 0);
    CHECK_TEXT(live_do(live, "put kept.txt x"), "ok");
    CHECK_TEXT(live_do(live, "file kept.txt"), "x");
}

static const struct live_case cases[] = {
    {"state_is_carried_on", state_is_carried_on, NULL},
    {"namespaces_are_new_in_each_cell", namespaces_are_new_in_each_cell, NULL},
    {"process_has_the_same_id_in_each_cell", process_has_the_same_id_in_each_cell, NULL},
    {"death_of_a_cell_is_reported_and_leaves_the_session_as_it_was",
     death_of_a_cell_is_reported_and_leaves_the_session_as_it_was, NULL},
    {"freezing_a_cell_that_has_ended_is_an_error", freezing_a_cell_that_has_ended_is_an_error, NULL},
    {"cell_that_runs_another_program_cannot_be_frozen", cell_that_runs_another_program_cannot_be_frozen, NULL},
    {"endless_loop_can_be_discarded", endless_loop_can_be_discarded, NULL},
    {"cell_computes_unless_it_waits", cell_computes_unless_it_waits, NULL},
    {"stopped_cell_can_be_discarded", stopped_cell_can_be_discarded, NULL},
    {"cell_stopped_by_a_signal_can_be_committed", cell_stopped_by_a_signal_can_be_committed, NULL},
    {"unstarted_cell_can_be_discarded", unstarted_cell_can_be_discarded, NULL},
    {"ephemeral_cell_runs_beside_a_running_cell_and_changes_nothing",
     ephemeral_cell_runs_beside_a_running_cell_and_changes_nothing, NULL},
    {"ephemeral_cell_runs_on_while_a_cell_is_committed", ephemeral_cell_runs_on_while_a_cell_is_committed, NULL},
    {"first_image_is_not_changed_by_cells", first_image_is_not_changed_by_cells, NULL},
    {"working_folder_and_umask_are_carried_on", working_folder_and_umask_are_carried_on, NULL},
    {"deleted_working_folder_does_not_end_the_session", deleted_working_folder_does_not_end_the_session, NULL},
    {"open_file_is_carried_on", open_file_is_carried_on, NULL},
    {"open_file_in_the_place_of_the_workers_own_is_carried_on", open_file_in_the_place_of_the_workers_own_is_carried_on,
     NULL},
    {"unlinked_file_is_carried_on_and_its_offset_rolled_back", unlinked_file_is_carried_on_and_its_offset_rolled_back,
     NULL},
    {"files_are_carried_on_and_host_files_never_written", files_are_carried_on_and_host_files_never_written, NULL},
    {"files_can_be_deleted_when_the_disk_is_full", files_can_be_deleted_when_the_disk_is_full, NULL},
    {"cell_that_cannot_be_made_leaves_the_next_its_own_sandbox",
     cell_that_cannot_be_made_leaves_the_next_its_own_sandbox, NULL},
    {"session_without_a_cell_can_be_destroyed", session_without_a_cell_can_be_destroyed, NULL},
};

int main(void) {
    return live_main("cells", cases, sizeof cases / sizeof cases[0]);
}
