/* What a cell sees and may do: files, privileges, the network, and nothing of the host's. */
#include "tests/sandbox/live.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void privileges_are_gone(struct live *live) {
    static const char *const none[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CHECK_TEXT(live_do(live, "status %s", none[i]), "0000000000000000");
    CHECK_TEXT(live_do(live, "status NoNewPrivs"), "1");
    CHECK_TEXT(live_do(live, "status Seccomp"), "2");
    CHECK_TEXT(live_do(live, "status Seccomp_filters"), "1");
    CHECK_TEXT(live_do(live, "status Uid"), "1000\t1000\t1000\t1000");
    CHECK_TEXT(live_do(live, "status Gid"), "1000\t1000\t1000\t1000");
}

static void privileges_are_gone_in_threads_and_children_too(struct live *live) {
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "thread wait"), "0");
    live_commit(cell);
    cell = live_start(live);
    const char *tasks = live_ask(cell, "list /proc/self/task");
    char path[64];
    int thread = atoi(strrchr(tasks, ' '));
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    const char *status = live_ask(cell, "file %s", path);
    CHECK(strstr(status, "|CapEff:\t0000000000000000|") && strstr(status, "|CapBnd:\t0000000000000000|"));
    CHECK(strstr(status, "|Seccomp:\t2|") && strstr(status, "|NoNewPrivs:\t1|"));
    live_commit(cell);
}

/* The real user behind a running cell's worker, seen from outside of its namespace. */
static void host_user_of_a_worker_is_the_one_that_was_chosen(struct live *live) {
    char path[64];
    struct stat st;
    struct cell *cell = live_start(live);
    live_ask(cell, "add 0");
    (void)snprintf(path, sizeof path, "/proc/%d", live_worker_of(cell));
    CHECK_EQUAL(stat(path, &st), 0);
    CHECK_EQUAL(st.st_uid, live->host.worker_uid);
    CHECK_EQUAL(st.st_gid, live->host.worker_gid);
    cell_discard(cell);
}

static void root_folder_has_only_the_entries_of_the_sandbox(struct live *live) {
    CHECK_TEXT(live_do(live, "list /dev"), "fd full null random shm stderr stdin stdout urandom zero");
    CHECK_TEXT(live_do(live, "list /home"), "petri");
    CHECK_TEXT(live_do(live, "list /home/petri"), "");
    CHECK_TEXT(live_do(live, "list /dev/shm"), "");
    CHECK_TEXT(live_do(live, "list /run"), "");
    CHECK_TEXT(live_do(live, "list /.petri"), "ENOENT");
    CHECK_TEXT(live_do(live, "list /.old"), "ENOENT");
    CHECK_TEXT(live_do(live, "list /root"), "ENOENT");
    CHECK_TEXT(live_do(live, "list /sys"), "devices");
    CHECK_TEXT(live_do(live, "list /sys/devices"), "system");
    CHECK_TEXT(live_do(live, "list /sys/devices/system"), "cpu");
    CHECK_TEXT(live_do(live, "list /boot"), "ENOENT");
}

static void etc_has_generated_files_only(struct live *live) {
    CHECK_TEXT(live_do(live, "file /etc/hostname"), "petri|");
    CHECK_TEXT(live_do(live, "file /etc/resolv.conf"), "nameserver 127.0.0.1|options attempts:1 timeout:1|");
    CHECK(strstr(live_do(live, "file /etc/passwd"), "|petri:x:1000:1000:petri:/home/petri:/bin/sh|"));
    CHECK(strstr(live_do(live, "file /etc/group"), "|petri:x:1000:|"));
    CHECK_TEXT(live_do(live, "file /etc/shadow"), "ENOENT");
    CHECK_TEXT(live_do(live, "file /etc/fstab"), "ENOENT");
    CHECK_TEXT(live_do(live, "file /proc/sys/kernel/hostname"), "petri|");
}

/* By whom they are owned decides how it is refused; that it is refused doesn't depend on it. */
static void host_files_cannot_be_written(struct live *live) {
    static const char *const paths[] = {"/usr/x",
                                        "/usr/bin/env",
                                        "/etc/x",
                                        "/etc/passwd",
                                        "/x",
                                        "/dev/x",
                                        "/.petri/x",
                                        "/home/x",
                                        "/proc/sys/kernel/core_pattern",
                                        "/proc/sys/kernel/hostname",
                                        "/proc/sysrq-trigger",
                                        "/proc/1/mem",
                                        "../worker/x"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const char *answer = live_do(live, "append %s x", paths[i]);
        if (strcmp(answer, "EROFS") != 0 && strcmp(answer, "EACCES") != 0 && strcmp(answer, "EPERM") != 0 &&
            strcmp(answer, "ENOENT") != 0)
            CHECK_TEXT(answer, paths[i]);
    }
}

/* A folder beside the notebook's is not shown, by no name. */
static void folders_beside_the_notebook_are_not_seen(struct live *live) {
    CHECK_TEXT(live_do(live, "file %s/secret.txt", live->outside), "ENOENT");
    CHECK_TEXT(live_do(live, "file ../outside/secret.txt"), "ENOENT");
    live_check_hidden(live_do(live, "file /proc/1/root%s/secret.txt", live->outside));
    CHECK_TEXT(live_do(live, "list .."), "notebook worker");
}

static void notebook_folder_is_seen_at_its_own_path_and_at_work(struct live *live) {
    CHECK_TEXT(live_do(live, "list %s", live->folder), "host.txt sub");
    CHECK_TEXT(live_do(live, "list " LIVE_WORK), "host.txt sub");
    CHECK_TEXT(live_do(live, "file " LIVE_WORK "/sub/deep.txt"), "deep");
    CHECK_TEXT(live_do(live, "put %s/both.txt x", live->folder), "ok");
    CHECK_TEXT(live_do(live, "file " LIVE_WORK "/both.txt"), "x");
}

/* Locked by a running cell, and by us at once: they are two files for Linux, with one content. */
static void check_lock_is_the_cells_own(struct live *live, const char *path) {
    struct cell *cell = live_start(live);
    int own = open(path, O_RDONLY | O_CLOEXEC);
    long fd = strtol(live_ask(cell, "call %d \"%s %d", SYS_open, path, O_RDONLY), NULL, 10);
    CHECK(own >= 0 && fd >= 0);
    CHECK_TEXT(live_ask(cell, "call %d %ld %d", SYS_flock, fd, LOCK_EX), "0");
    CHECK_EQUAL(flock(own, LOCK_EX | LOCK_NB), 0);
    close(own);
    cell_discard(cell);
}

static void locks_on_files_of_the_host_are_the_sessions_own(struct live *live) {
    char worker[PATH_MAX + 32];
    check_lock_is_the_cells_own(live, "/usr/bin/env");
    check_lock_is_the_cells_own(live, "/usr/lib/os-release");
    (void)snprintf(worker, sizeof worker, "%s/../worker/worker", live->outside);
    check_lock_is_the_cells_own(live, realpath(worker, (char[PATH_MAX]){0}));
}

/* They are the host's inodes, and whoever may write to a device may set its times to now. */
static void devices_can_be_used_and_their_inodes_not_changed(struct live *live) {
    static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        char path[32];
        struct stat before, after;
        (void)snprintf(path, sizeof path, "/dev/%s", devices[i]);
        CHECK_EQUAL(stat(path, &before), 0);
        CHECK_EQUAL(live_call(live, SYS_utimensat, "%d \"%s 0 0", AT_FDCWD, path), -EROFS);
        long fd = live_call(live, SYS_open, "\"%s %d", path, O_RDWR);
        CHECK(fd > 0);
        CHECK_EQUAL(live_call(live, SYS_utimensat, "%ld 0 0 0", fd), -EROFS);
        CHECK_EQUAL(live_call(live, SYS_write, "%ld \"x 1", fd), strcmp(devices[i], "full") == 0 ? -ENOSPC : 1);
        if (strcmp(devices[i], "null") != 0)
            CHECK_EQUAL(live_call(live, SYS_read, "%ld \"12345678 8", fd), 8);
        CHECK_EQUAL(live_call(live, SYS_close, "%ld", fd), 0);
        CHECK_EQUAL(stat(path, &after), 0);
        CHECK(memcmp(&after.st_mtim, &before.st_mtim, sizeof after.st_mtim) == 0);
    }
    /* The standard input, which the worker has had since before there was a cell, and the way that a shell opens it. */
    CHECK_EQUAL(live_call(live, SYS_utimensat, "0 0 0 0"), -EROFS);
    CHECK(live_call(live, SYS_open, "\"/dev/null %d 438", O_WRONLY | O_CREAT | O_TRUNC) > 0);
}

/* A program that runs can't be written to: that is the host's program only where the host's inode runs. */
static void program_that_runs_in_a_cell_can_be_replaced_by_the_host(struct live *live) {
    char worker[PATH_MAX + 32];
    struct cell *cell = live_start(live);
    live_ask(cell, "add 0");
    (void)snprintf(worker, sizeof worker, "%s/../worker/worker", live->outside);
    int fd = open(worker, O_WRONLY | O_CLOEXEC);
    CHECK_EQUAL(fd < 0 ? errno : 0, 0);
    close(fd);
    live_commit(cell);
}

#define MOUNTED "/usr/local/mounted.txt"
#define STACKED "/usr/local/stacked/deep/mounted.txt"

static void write_mounted(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, "mounted", 7) == 7);
    close(fd);
}

/* An overlay over an overlay: Linux allows no third. */
static void mount_stacked(void) {
    static const char *const folders[] = {"/usr/local/empty", "/usr/local/below", "/usr/local/below/deep",
                                          "/usr/local/once", "/usr/local/stacked"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        CHECK_EQUAL(mkdir(folders[i], 0755), 0);
    write_mounted("/usr/local/below/deep/mounted.txt");
    const char *options = "lowerdir=/usr/local/below:/usr/local/empty";
    CHECK_EQUAL(mount("test", "/usr/local/once", "overlay", MS_RDONLY, options), 0);
    options = "lowerdir=/usr/local/once:/usr/local/empty";
    CHECK_EQUAL(mount("test", "/usr/local/stacked", "overlay", MS_RDONLY, options), 0);
}

/* For root alone: what a user mounts is in namespaces of its own. */
static void mount_things_in_usr(void) {
    if (geteuid() != 0)
        return;
    CHECK_EQUAL(unshare(CLONE_NEWNS), 0);
    CHECK_EQUAL(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    CHECK_EQUAL(mount("test", "/usr/local", "tmpfs", 0, NULL), 0);
    write_mounted(MOUNTED);
    mount_stacked();
    CHECK_EQUAL(mount("/usr/lib/os-release", "/usr/bin/env", NULL, MS_BIND, NULL), 0);
}

/* An overlay doesn't cross mounts, and Linux allows none over a folder with mounts of another user namespace's. */
static void what_is_mounted_in_usr_is_seen(struct live *live) {
    if (access(MOUNTED, F_OK) != 0)
        return;
    char release[16384];
    CHECK_TEXT(live_do(live, "file " MOUNTED), "mounted");
    strcpy(release, live_do(live, "file /usr/lib/os-release"));
    CHECK(strstr(release, "NAME="));
    CHECK_TEXT(live_do(live, "file /usr/bin/env"), release);
    CHECK_TEXT(live_do(live, "list /usr/local"), "below empty mounted.txt once stacked");
    CHECK_TEXT(live_do(live, "file " STACKED), "mounted"); /* the host's own, for want of another */
    check_lock_is_the_cells_own(live, "/usr/local/below/deep/mounted.txt");
    check_lock_is_the_cells_own(live, "/usr/lib/os-release");
    CHECK(strcmp(live_do(live, "append " MOUNTED " x"), "ok") != 0);
    CHECK(strcmp(live_do(live, "append " STACKED " x"), "ok") != 0);
}

static void worker_has_no_descriptor_of_the_kernel(struct live *live) {
    struct cell *cell = live_start(live);
    const char *list = live_ask(cell, "list /proc/self/fd");
    CHECK_TEXT(list, "0 1 2 3 4 5"); /* 5 is the listing's own */
    cell_discard(cell);
}

static void environment_is_what_was_given(struct live *live) {
    FILE *file = fopen("/proc/self/environ", "re");
    CHECK(file != NULL && fgetc(file) != EOF); /* we have more */
    (void)fclose(file);
    CHECK_TEXT(live_do(live, "file /proc/self/environ"), "HOME=/home/petri");
}

/* A cell's connect(2) is told before it goes on; its answer. */
static const char *connect_and_be_told(struct live *live, const char *address, int port) {
    struct denied_call call = {{0}, {0}, NULL};
    struct cell *cell = live_start(live);
    struct pollfd fd = {.fd = session_denied_fd(live->session), .events = POLLIN};
    char expected[64];
    live_send(cell, "connect %s %d", address, port);
    CHECK_EQUAL(poll(&fd, 1, 20000), 1);
    CHECK_EQUAL(session_take_denied(live->session, &call), 1);
    CHECK_TEXT(call.syscall, "connect");
    (void)snprintf(expected, sizeof expected, "%s", address);
    CHECK(strstr(call.detail, expected) != NULL);
    CHECK(call.cell == cell);
    const char *answer = live_receive(cell);
    CHECK(answer != NULL);
    live_commit(cell);
    return answer;
}

/* A listener on the host's loopback is not there for a cell: it has a loopback of its own. */
static void listener_on_the_hosts_loopback_cannot_be_reached(struct live *live) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0);
    CHECK_EQUAL(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "connect 127.0.0.1 %d", ntohs(address.sin_port)), "ECONNREFUSED");
    live_commit(cell);
    CHECK_TEXT(connect_and_be_told(live, "192.0.2.1", 80), "ENETUNREACH");
    const char *routes = live_do(live, "file /proc/net/route");
    CHECK(strchr(routes, '|') && !strchr(routes, '|')[1]); /* nothing but the heading */
}

/* What is written counts against the session's size, and a rollback gives it back. */
static void disk_over_its_limit_is_enospc_until_space_is_freed(struct live *live) {
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "fill /tmp/full"), "ENOSPC");
    cell_discard(cell);
    CHECK_TEXT(live_do(live, "put /tmp/small x"), "ok");
    cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "fill " LIVE_WORK "/full"), "ENOSPC");
    live_commit(cell);
    CHECK_TEXT(live_do(live, "put /tmp/more x"), "ENOSPC");
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"" LIVE_WORK "/full"), 0);
    CHECK_TEXT(live_do(live, "put /tmp/more x"), "ok");
}

static const struct live_case cases[] = {
    {"privileges_are_gone", privileges_are_gone, NULL},
    {"privileges_are_gone_in_threads_too", privileges_are_gone_in_threads_and_children_too, NULL},
    {"host_user_of_a_worker_is_the_one_that_was_chosen", host_user_of_a_worker_is_the_one_that_was_chosen, NULL},
    {"root_folder_has_only_the_entries_of_the_sandbox", root_folder_has_only_the_entries_of_the_sandbox, NULL},
    {"etc_has_generated_files_only", etc_has_generated_files_only, NULL},
    {"host_files_cannot_be_written", host_files_cannot_be_written, NULL},
    {"folders_beside_the_notebook_are_not_seen", folders_beside_the_notebook_are_not_seen, NULL},
    {"notebook_folder_is_seen_at_its_own_path_and_at_work", notebook_folder_is_seen_at_its_own_path_and_at_work, NULL},
    {"locks_on_files_of_the_host_are_the_sessions_own", locks_on_files_of_the_host_are_the_sessions_own, NULL},
    {"devices_can_be_used_and_their_inodes_not_changed", devices_can_be_used_and_their_inodes_not_changed, NULL},
    {"program_that_runs_in_a_cell_can_be_replaced_by_the_host", program_that_runs_in_a_cell_can_be_replaced_by_the_host,
     NULL},
    {"what_is_mounted_in_usr_is_seen", what_is_mounted_in_usr_is_seen, mount_things_in_usr},
    {"worker_has_no_descriptor_of_the_kernel", worker_has_no_descriptor_of_the_kernel, NULL},
    {"environment_is_what_was_given", environment_is_what_was_given, NULL},
    {"listener_on_the_hosts_loopback_cannot_be_reached", listener_on_the_hosts_loopback_cannot_be_reached, NULL},
    {"disk_over_its_limit_is_enospc_until_space_is_freed", disk_over_its_limit_is_enospc_until_space_is_freed, NULL},
};

int main(void) {
    return live_main("what a cell sees", cases, sizeof cases / sizeof cases[0]);
}
