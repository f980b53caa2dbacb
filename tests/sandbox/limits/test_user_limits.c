/* What Linux counts by user: cells that take all they can get leave enough to the user's other programs. */
#include "sandbox/limits/user_limits.h"
#include "tests/sandbox/live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What most programs have, whatever they might raise it to. */
enum { USUAL_DESCRIPTORS = 1024 };

/* What another program of the user may want. 0, or the errno. */

static int send_a_descriptor(void) {
    int sockets[2], sent = 0;
    char space[CMSG_SPACE(sizeof sent)] = {0};
    struct iovec byte = {.iov_base = (char[]){'x'}, .iov_len = 1};
    struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    *CMSG_FIRSTHDR(&message) =
        (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof sent)};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &sent, sizeof sent);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
        return errno;
    return sendmsg(sockets[0], &message, 0) == 1 ? 0 : errno;
}

static int watch_files(void) {
    int fd = inotify_init1(IN_CLOEXEC);
    return fd < 0 || inotify_add_watch(fd, "/", IN_OPEN) < 0 ? errno : 0;
}

static int have_a_pipe_of_the_usual_size(void) {
    int pair[2];
    if (pipe(pair))
        return errno;
    return fcntl(pair[0], F_GETPIPE_SZ) == 65536 ? 0 : EDQUOT;
}

static int make_a_timer(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    return timer_create(CLOCK_MONOTONIC, &event, &timer) ? errno : 0;
}

/* What comes of it in another program, with the limits that most have. 0, or the errno. */
static int try_elsewhere(int (*want)(void)) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit))
            _exit(errno);
        limit.rlim_cur = limit.rlim_max < USUAL_DESCRIPTORS ? limit.rlim_max : USUAL_DESCRIPTORS;
        _exit(setrlimit(RLIMIT_NOFILE, &limit) ? errno : want());
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void check_that_others_can(int (*want)(void), const char *what) {
    int err = try_elsewhere(want);
    CHECK_TEXT(err ? strerrorname_np(err) : what, what);
}

/* Kept in the image, as long as the session lives; and the session lives. */
static void check_a_hoard(struct live *live, const char *hoard, int (*want)(void), const char *what) {
    check_that_others_can(want, what);
    const char *answer = live_do(live, "hoard %s", hoard);
    CHECK(strncmp(answer, "endless", strlen("endless")) != 0);
    check_that_others_can(want, what);
    for (int i = 0; i < 3; i++)
        live_check_counter(live, 0);
}

/* No image has any: a cell that leaves some is rolled back. */
static void descriptors_in_flight_leave_the_users_programs_enough(struct live *live) {
    struct cell_end end;
    struct error error = {0};
    struct cell *cell = live_start(live);
    CHECK(strncmp(live_ask(cell, "hoard flight"), "endless", strlen("endless")) != 0);
    check_that_others_can(send_a_descriptor, "send a descriptor");
    CHECK_EQUAL(cell_freeze(cell, &end, &error), -ENOTSUP);
    cell_discard(cell);
    check_that_others_can(send_a_descriptor, "send a descriptor");
    live_check_counter(live, 0);
}

static rlim_t own_descriptors(void) {
    struct rlimit own;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &own), 0);
    CHECK_EQUAL(own.rlim_cur, own.rlim_max);
    return own.rlim_max;
}

/* Linux compares each sender with its limit before it counts any of those that send at the same time. */
static void senders_at_one_time_are_noticed_and_ended(struct live *live) {
    struct cell_usage usage;
    struct cell_end end;
    struct error error = {0};
    struct cell *cell = live_start(live);
    cell_measure(cell, &usage);
    CHECK(!usage.over_in_flight);
    live_ask(cell, "race");
    bool enough_left = try_elsewhere(send_a_descriptor) == 0;
    while (!cell_measure_last(cell, &usage))
        usleep(1000);
    CHECK(enough_left || usage.over_in_flight);
    CHECK_EQUAL(cell_freeze(cell, &end, &error), -ENOTSUP); /* whatever is in flight, no image has it */
    CHECK_EQUAL(end.usage.over_in_flight, usage.over_in_flight);
    cell_discard(cell);
    for (int i = 0; i < 5000 && try_elsewhere(send_a_descriptor) != 0; i++)
        continue; /* what it held goes as its processes do */
    check_that_others_can(send_a_descriptor, "send a descriptor");
    live_check_counter(live, 0);
}

/* Whose they are decides: a cell that has none is not ended for what the user's other programs have. */
static void descriptors_in_flight_of_others_end_no_cell(struct live *live) {
    struct cell_usage usage;
    (void)own_descriptors(); /* enough for this */
    for (int i = 0; i <= USER_LIMITS_IN_FLIGHT; i++)
        CHECK_EQUAL(send_a_descriptor(), 0); /* and keep it there */
    CHECK(user_limits_in_flight_exceeded());
    struct cell *cell = live_start(live);
    live_ask(cell, "add 0");
    cell_measure(cell, &usage);
    CHECK(!usage.over_in_flight);
    live_commit(cell);
}

static void instances_of_inotify_are_left_to_the_users_programs(struct live *live) {
    check_a_hoard(live, "inotify", watch_files, "watch files");
}

static void pipes_leave_the_users_programs_their_size(struct live *live) {
    check_a_hoard(live, "pipes", have_a_pipe_of_the_usual_size, "have a pipe of the usual size");
}

/* Waiting signals are lost when a cell ends, so it must run. */
static void waiting_signals_leave_the_users_programs_enough(struct live *live) {
    struct cell *cell = live_start(live);
    const char *answer = live_ask(cell, "hoard signals");
    CHECK(strncmp(answer, "EAGAIN ", strlen("EAGAIN ")) == 0);
    check_that_others_can(make_a_timer, "make a timer");
    cell_discard(cell);
}

static void locked_memory_is_little(struct live *live) {
    const char *answer = live_do(live, "hoard locked");
    CHECK(strncmp(answer, "ENOMEM ", strlen("ENOMEM ")) == 0 && atoi(answer + strlen("ENOMEM ")) <= 16);
}

/* The n-th number (0 is the soft limit, 1 the hard one) of a line of a running cell's limits. */
static long limit_of_cells(struct live *live, const char *line, int n) {
    const char *limits = strstr(live_do(live, "file /proc/self/limits"), line);
    CHECK(limits != NULL);
    char *end = NULL;
    long soft = strtol(limits + strlen(line), &end, 10), hard = strtol(end, NULL, 10);
    return n ? hard : soft;
}

static void limits_of_cells_lie_well_below_the_kernels(struct live *live) {
    rlim_t own = own_descriptors();
    rlim_t least = own / 2 < USER_LIMITS_DESCRIPTORS ? own / 2 : USER_LIMITS_DESCRIPTORS;
    for (int n = 0; n < 2; n++) {
        CHECK_EQUAL(limit_of_cells(live, "Max open files", n), (long)least);
        CHECK_EQUAL(limit_of_cells(live, "Max pending signals", n), 1024);
        CHECK_EQUAL(limit_of_cells(live, "Max locked memory", n), 64 << 10);
        CHECK_EQUAL(limit_of_cells(live, "Max msgqueue size", n), 0);
    }
}

static void limits_of_cells_allow_no_priority(struct live *live) {
    for (int n = 0; n < 2; n++) {
        CHECK_EQUAL(limit_of_cells(live, "Max nice priority", n), 0);
        CHECK_EQUAL(limit_of_cells(live, "Max realtime priority", n), 0);
    }
}

/* As audio users have it; whoever may not raise them has them at 0 as a rule. */
static void high_priorities(void) {
    (void)setrlimit(RLIMIT_NICE, &(struct rlimit){40, 40});
    (void)setrlimit(RLIMIT_RTPRIO, &(struct rlimit){95, 95});
}

static void few_descriptors(void) {
    CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 256}) == 0);
}

/* As many as images would have; the limit says how many that may be. */
static void kept_images_leave_a_reserve_of_a_small_limit(struct live *live) {
    const rlim_t own = own_descriptors();
    uint64_t limit = 0;
    const int room = dup(STDERR_FILENO); /* the lowest that is free */
    (void)live;
    CHECK(room >= 0 && !user_limits_lacks_descriptors(own, &limit) && limit == own);
    while (dup(STDERR_FILENO) < (int)(own - own / 4))
        ;
    CHECK(user_limits_lacks_descriptors(own, &limit));
    CHECK(!user_limits_lacks_descriptors(0, &limit)); /* what images don't have is none of theirs */
    for (int fd = room + 1; fd < room + 32; fd++)
        close(fd);
    CHECK(!user_limits_lacks_descriptors(own, &limit));
}

static const struct live_case cases[] = {
    {"descriptors_in_flight_leave_the_users_programs_enough", descriptors_in_flight_leave_the_users_programs_enough,
     NULL},
    {"senders_at_one_time_are_noticed_and_ended", senders_at_one_time_are_noticed_and_ended, NULL},
    {"descriptors_in_flight_of_others_end_no_cell", descriptors_in_flight_of_others_end_no_cell, NULL},
    {"instances_of_inotify_are_left_to_the_users_programs", instances_of_inotify_are_left_to_the_users_programs, NULL},
    {"pipes_leave_the_users_programs_their_size", pipes_leave_the_users_programs_their_size, NULL},
    {"waiting_signals_leave_the_users_programs_enough", waiting_signals_leave_the_users_programs_enough, NULL},
    {"locked_memory_is_little", locked_memory_is_little, NULL},
    {"limits_of_cells_lie_well_below_the_kernels", limits_of_cells_lie_well_below_the_kernels, NULL},
    {"limits_of_cells_are_half_of_a_small_hard_limit", limits_of_cells_lie_well_below_the_kernels, few_descriptors},
    {"kept_images_leave_a_reserve_of_a_small_limit", kept_images_leave_a_reserve_of_a_small_limit, few_descriptors},
    {"limits_of_cells_allow_no_priority", limits_of_cells_allow_no_priority, high_priorities},
};

int main(void) {
    return live_main("what is counted by user", cases, sizeof cases / sizeof cases[0]);
}
