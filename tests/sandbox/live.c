#include "live.h"

#include "sandbox/files/tree.h"
#include "sandbox/session/cell.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { EXIT_SKIP = 77, STUCK_MS = 20000, LINE_BYTES = 16384, DISK_BYTES = 32 << 20, DISK_FILES = 4096 };

/* One test: a case, and the user that it runs as. */
struct variant {
    const struct live_case *live_case;
    bool ordinary_user;
    char base[64]; /* a temporary folder of the test's own */
    int worker_fd; /* the program that sessions start, to read */
};

static void write_file(const char *folder, const char *name, const char *text) {
    char path[PATH_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void make_folder(char path[PATH_MAX], const char *base, const char *name) {
    int n = snprintf(path, PATH_MAX, "%s/%s", base, name);
    CHECK(n > 0 && n < PATH_MAX);
    CHECK_EQUAL(mkdir(path, 0755), 0);
}

/* A copy of the user's own, of a file in a folder that the user may not be able to reach. */
static void copy_worker(const char *folder, int worker_fd) {
    char command[PATH_MAX + 64];
    int n = snprintf(command, sizeof command, "cp /proc/self/fd/%d %s/worker", worker_fd, folder);
    CHECK(n > 0 && (size_t)n < sizeof command);
    CHECK_EQUAL(system(command), 0);
    close(worker_fd);
}

/* In the process that is to be the session's, and as its user. */
static void make_files(struct live *live, const char *base, int worker_fd) {
    char sub[PATH_MAX];
    make_folder(live->folder, base, "notebook");
    make_folder(live->outside, base, "outside");
    make_folder(sub, base, "worker");
    copy_worker(sub, worker_fd);
    write_file(live->folder, "host.txt", "host");
    make_folder(sub, live->folder, "sub");
    write_file(sub, "deep.txt", "deep");
    write_file(live->outside, "secret.txt", "secret");
}

static void fail_with(const char *what, const struct error *error) {
    char text[1024];
    (void)fprintf(stderr, "%s: %s\n", what, sandbox_error_text(error, text, sizeof text));
    CHECK(!"what was to happen");
}

static void await_ready(const struct session *session) {
    char line[16] = "";
    struct pollfd fd = {.fd = session_control_fd(session), .events = POLLIN};
    for (size_t n = 0; n < sizeof line - 1 && !strchr(line, '\n'); n++) {
        CHECK_EQUAL(poll(&fd, 1, STUCK_MS), 1);
        CHECK_EQUAL(read(fd.fd, line + n, 1), 1);
    }
    CHECK_TEXT(line, "ready\n");
}

static void start_session(struct live *live, const char *base) {
    char folder[80], worker[96];
    struct error error = {0};
    (void)snprintf(folder, sizeof folder, "%s/worker", base);
    (void)snprintf(worker, sizeof worker, "%s/worker", folder);
    struct session_options options = {.host = &live->host,
                                      .folder = live->folder,
                                      .python = "/usr/bin/env",
                                      .readonly = (const char *const[]){folder, NULL},
                                      .argv = (const char *const[]){worker, NULL},
                                      .env = (const char *const[]){"HOME=/home/petri", NULL},
                                      .disk_bytes = DISK_BYTES,
                                      .disk_inodes = DISK_FILES};
    if (session_create(&options, &live->session, &error))
        fail_with("session_create", &error);
    await_ready(live->session);
    if (session_capture(live->session, &error))
        fail_with("session_capture", &error);
}

static int be_live(void *argument) {
    const struct variant *variant = argument;
    struct live live = {0};
    struct error error = {0};
    char text[1024];
    make_files(&live, variant->base, variant->worker_fd);
    if (variant->live_case->prepare)
        variant->live_case->prepare();
    const struct sandbox_folder folder = {
        .fd = open(live.folder, O_PATH | O_DIRECTORY | O_CLOEXEC), .map_owner = true, .map_group = true};
    CHECK(folder.fd >= 0);
    int r = sandbox_enter(&folder, &(struct sandbox_bounds){0}, NULL, &live.host, &error);
    if (r) {
        (void)fprintf(stderr, "%s\n", sandbox_error_text(&error, text, sizeof text));
        return EXIT_SKIP;
    }
    start_session(&live, variant->base);
    variant->live_case->run(&live);
    session_destroy(live.session);
    return 0;
}

static void run_variant(void **state) {
    struct variant *variant = *state;
    const char *require = getenv("PETRI_REQUIRE_LIVE");
    strcpy(variant->base, "/tmp/petri-live-XXXXXX");
    assert_non_null(mkdtemp(variant->base));
    assert_int_equal(chmod(variant->base, 0777), 0);
    variant->worker_fd = open(LIVE_WORKER, O_RDONLY);
    assert_true(variant->worker_fd >= 0);
    int status = fork_and_wait(be_live, variant, variant->ordinary_user);
    close(variant->worker_fd);
    assert_int_equal(tree_remove(AT_FDCWD, variant->base), 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP) {
        if (require && strcmp(require, "1") == 0)
            fail_msg("this machine has no sandboxes, and PETRI_REQUIRE_LIVE=1");
        skip();
    }
    if (status)
        fail_msg("the session's process ended with wait status %#x", (unsigned)status);
}

static int try_to_become(void *unused) {
    (void)unused;
    return become_ordinary_user() ? 1 : 0;
}

/* Root of a user namespace may have no other user to become. */
static bool can_become_ordinary_user(void) {
    return fork_and_wait(try_to_become, NULL, false) == 0;
}

int live_main(const char *group, const struct live_case *cases, size_t n) {
    sandbox_begin();
    bool root = geteuid() == 0 && can_become_ordinary_user();
    struct CMUnitTest *tests = calloc(2 * n, sizeof *tests);
    struct variant *variants = calloc(2 * n, sizeof *variants);
    char(*names)[128] = calloc(2 * n, sizeof *names);
    size_t m = 0;
    if (!tests || !variants || !names)
        return 1;
    for (size_t i = 0; i < n; i++)
        for (int ordinary_user = 0; ordinary_user <= root; ordinary_user++, m++) {
            variants[m] = (struct variant){.live_case = &cases[i], .ordinary_user = ordinary_user};
            (void)snprintf(names[m], sizeof names[m], "test_%s_%s", cases[i].name,
                           root && !ordinary_user ? "as_root" : "as_an_ordinary_user");
            tests[m] = (struct CMUnitTest){names[m], run_variant, NULL, NULL, &variants[m]};
        }
    int failed = _cmocka_run_group_tests(group, tests, m, NULL, NULL);
    free(tests);
    free(variants);
    free(names);
    return failed;
}

int live_times(int n) {
    const char *brief = getenv("PETRI_LIVE_BRIEF");
    return brief && strcmp(brief, "1") == 0 ? n / 6 : n;
}

struct cell *live_start(struct live *live) {
    struct cell *cell = NULL;
    struct error error = {0};
    if (cell_create(live->session, &(struct cell_options){0}, &cell, &error))
        fail_with("cell_create", &error);
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){0}), 0);
    return cell;
}

static void send_line(const struct cell *cell, const char *format, va_list args) {
    char line[LINE_BYTES];
    int n = vsnprintf(line, sizeof line - 1, format, args);
    CHECK(n > 0 && (size_t)n < sizeof line - 1);
    line[n] = '\n';
    CHECK_EQUAL(write(cell_control_fd(cell), line, (size_t)n + 1), n + 1);
}

void live_send(const struct cell *cell, const char *format, ...) {
    va_list args;
    va_start(args, format);
    send_line(cell, format, args);
    va_end(args);
}

int live_await(const struct cell *cell, int ms) {
    struct pollfd fds[] = {{.fd = cell_control_fd(cell), .events = POLLIN},
                           {.fd = cell_exit_fd(cell), .events = POLLIN},
                           {.fd = session_denied_fd(cell->session), .events = POLLIN}};
    struct denied_call call;
    int n;
    while ((n = poll(fds, 3, ms)) > 0 && !fds[0].revents && !fds[1].revents)
        CHECK(session_take_denied(cell->session, &call) >= 0);
    return n <= 0 ? 0 : fds[0].revents ? 1 : -1;
}

const char *live_receive(const struct cell *cell) {
    static char line[LINE_BYTES];
    for (size_t n = 0; n < sizeof line;) {
        const int found = live_await(cell, STUCK_MS);
        CHECK(found != 0); /* an answer, or the worker's end */
        ssize_t r = found > 0 ? read(cell_control_fd(cell), line + n, 1) : 0;
        if (r <= 0)
            return NULL;
        if (line[n] == '\n') {
            line[n] = 0;
            return line;
        }
        n++;
    }
    CHECK(!"a line as long as lines are");
    return NULL;
}

static const char *ask(const struct cell *cell, const char *format, va_list args) {
    send_line(cell, format, args);
    const char *line = live_receive(cell);
    if (!line)
        (void)fprintf(stderr, "no answer to \"%s\"\n", format);
    CHECK(line != NULL);
    return line;
}

const char *live_ask(const struct cell *cell, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *line = ask(cell, format, args);
    va_end(args);
    return line;
}

const char *live_do(struct live *live, const char *format, ...) {
    va_list args;
    struct cell *cell = live_start(live);
    va_start(args, format);
    const char *line = ask(cell, format, args);
    va_end(args);
    live_commit(cell);
    return line;
}

long live_call(struct live *live, long number, const char *format, ...) {
    char arguments[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(arguments, sizeof arguments, format, args);
    va_end(args);
    return strtol(live_do(live, "call %ld %s", number, arguments), NULL, 10);
}

struct live_pair live_make_pair(struct live *live, const char *what) {
    struct live_pair pair;
    CHECK_EQUAL(sscanf(live_do(live, "make %s", what), "%d %d", &pair.a, &pair.b), 2);
    CHECK(pair.a > 4 && pair.b > 4);
    return pair;
}

int live_make_one(struct live *live, const char *what) {
    int fd = (int)strtol(live_do(live, "make %s", what), NULL, 10);
    CHECK(fd > 4);
    return fd;
}

unsigned live_commit(struct cell *cell) {
    struct cell_end end;
    struct error error = {0};
    if (cell_freeze(cell, &end, &error))
        fail_with("cell_freeze", &error);
    cell_commit(cell);
    return end.leftovers;
}

void live_end(struct cell *cell) {
    struct cell_end end;
    struct error error = {0};
    int r = cell_freeze(cell, &end, &error);
    CHECK(r == 0 || r == -EUCLEAN);
    if (r)
        cell_discard(cell);
    else
        cell_commit(cell);
}

void live_make_connection(const struct cell *cell, int ret_fds[2]) {
    CHECK_EQUAL(sscanf(live_ask(cell, "make connection"), "%d %d", &ret_fds[0], &ret_fds[1]), 2);
}

int live_worker_of(const struct cell *cell) {
    char line[64];
    int pid = 0;
    (void)snprintf(line, sizeof line, "/proc/self/fdinfo/%d", cell_exit_fd(cell));
    FILE *file = fopen(line, "re");
    while (file && fgets(line, sizeof line, file))
        (void)sscanf(line, "Pid: %d", &pid);
    CHECK(file && pid > 0);
    (void)fclose(file);
    return pid;
}

void live_check_hidden(const char *answer) {
    if (strcmp(answer, "EPERM") != 0)
        CHECK_TEXT(answer, "ENOENT");
}

void live_await_errands(void) {
    const int alone = 3; /* "." and ".." are listed, too */
    for (int i = 0; i < 10000 && live_count_entries("/proc/self/task") != alone; i++)
        usleep(1000);
    CHECK_EQUAL(live_count_entries("/proc/self/task"), alone);
}

uint64_t live_kept_bytes(struct live *live) {
    uint64_t bytes;
    while (!session_measure_kept(live->session, &bytes))
        usleep(1000);
    return bytes;
}

struct kept_image *live_keep(const struct live *live) {
    struct kept_image *kept = NULL;
    CHECK_EQUAL(session_keep(live->session, &kept), 0);
    return kept;
}

struct cell *live_branch(const struct live *live, struct kept_image *kept) {
    struct cell *cell;
    struct error error = {0};
    const struct cell_options options = {.source = CELL_FROM_KEPT, .kept = kept, .role = CELL_BESIDE};
    while (session_settle(live->session) && !session_has_place(live->session))
        usleep(1000);
    CHECK_EQUAL(cell_create(live->session, &options, &cell, &error), 0);
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){0}), 0);
    return cell;
}

struct kept_image *live_keep_branch(struct cell *cell) {
    struct kept_image *kept = NULL;
    struct cell_end end;
    struct error error = {0};
    CHECK_EQUAL(cell_freeze(cell, &end, &error), 0);
    CHECK_EQUAL(cell_keep(cell, &kept), 0);
    cell_discard(cell);
    return kept;
}

void live_check_refused(struct live *live, struct cell *cell, const char *reason) {
    struct cell_end end;
    struct error error = {0};
    CHECK_EQUAL(cell_freeze(cell, &end, &error), -ENOTSUP);
    if (!strstr(error.text, reason))
        fail_with("cell_freeze", &error);
    cell_discard(cell);
    live_check_counter(live, 0);
}

int live_count_processes(void) {
    DIR *dir = opendir("/proc");
    int n = 0;
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
    closedir(dir);
    return n;
}

void live_await_processes(struct live *live, int before) {
    for (int ms = 0; session_settle(live->session) || live_count_processes() > before + 1; ms++) {
        CHECK(ms < STUCK_MS);
        usleep(1000);
    }
}

int live_count_entries(const char *path) {
    DIR *dir = opendir(path);
    int n = 0;
    CHECK(dir != NULL);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

int live_count_lines(const char *path) {
    FILE *file = fopen(path, "re");
    int n = 0;
    CHECK(file != NULL);
    for (int c; (c = getc(file)) != EOF;)
        n += c == '\n';
    (void)fclose(file);
    return n;
}

struct cell_end live_await_death(struct cell *cell) {
    struct cell_end end;
    struct pollfd fd = {.fd = cell_exit_fd(cell), .events = POLLIN};
    CHECK_EQUAL(poll(&fd, 1, STUCK_MS), 1);
    cell_end_of(cell, &end);
    cell_discard(cell);
    return end;
}

void live_await_output(struct live *live, const char *text) {
    char got[256] = "";
    struct pollfd fd = {.fd = session_stdout_fd(live->session), .events = POLLIN};
    for (size_t n = 0; n < strlen(text);) {
        CHECK(n < sizeof got - 1 && poll(&fd, 1, STUCK_MS) == 1);
        ssize_t r = read(fd.fd, got + n, sizeof got - 1 - n);
        CHECK(r > 0);
        n += (size_t)r;
    }
    CHECK_TEXT(got, text);
}

void live_check_counter(struct live *live, long value) {
    char expected[32];
    (void)snprintf(expected, sizeof expected, "%ld", value);
    CHECK_TEXT(live_do(live, "add 0"), expected);
}
