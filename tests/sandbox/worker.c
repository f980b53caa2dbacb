/*
 * worker.c - the worker of the live tests: a line comes in on descriptor 3, a line goes out. Linked statically, so
 * that it needs nothing but itself inside the sandbox.
 *
 * It keeps state between lines, as an interpreter does, and it can misbehave in every way that a test names.
 */
#include "worker.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_WORDS = 8 };

static char reply_text[WORKER_LINE_BYTES];
static bool is_due;
static long counter;

void reply(const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reply_text, sizeof reply_text, format, args);
    va_end(args);
    is_due = true;
}

void send_reply(void) {
    size_t n = strlen(reply_text);
    if (!is_due)
        return; /* the command has sent it itself */
    is_due = false;
    reply_text[n] = '\n';
    for (size_t done = 0; done <= n;) {
        ssize_t r = write(WORKER_FD, reply_text + done, n + 1 - done);
        if (r < 0 && errno != EINTR)
            return;
        done += r > 0 ? (size_t)r : 0;
    }
    reply_text[0] = 0;
}

static void do_add(char **words) {
    counter += strtol(words[1], NULL, 0);
    reply("%ld", counter);
}

/* A system call by its number; a word behind a quote is passed as a pointer to it, and "~" in it is a blank. */
static void do_call(char **words) {
    long argument[6] = {0};
    for (int i = 0; i < 6 && words[2 + i]; i++)
        for (char *at = words[2 + i]; words[2 + i][0] == '"' && (at = strchr(at, '~'));)
            *at = ' ';
    for (int i = 0; i < 6 && words[2 + i]; i++)
        argument[i] = words[2 + i][0] == '"' ? (long)(words[2 + i] + 1) : strtol(words[2 + i], NULL, 0);
    long r = syscall(strtol(words[1], NULL, 0), argument[0], argument[1], argument[2], argument[3], argument[4],
                     argument[5]);
    reply("%ld", r < 0 ? -(long)errno : r);
}

static void reply_content(int fd) {
    char text[WORKER_LINE_BYTES - 1];
    size_t used = 0;
    ssize_t n;
    while ((n = read(fd, text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = 0;
    for (char *p = text; (p = strchr(p, '\n'));)
        *p = '|';
    reply("%s", n < 0 ? strerrorname_np(errno) : text);
}

/* The content of a file, its lines parted by "|". */
static void do_file(char **words) {
    int fd = open(words[1], O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        reply("%s", strerrorname_np(errno));
        return;
    }
    reply_content(fd);
    close(fd);
}

static void write_to(const char *path, int flags, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
    reply("%s", n < 0 ? strerrorname_np(errno) : "ok");
    if (fd >= 0)
        close(fd);
}

static void do_put(char **words) {
    write_to(words[1], O_TRUNC, words[2]);
}

static void do_append(char **words) {
    write_to(words[1], O_APPEND, words[2]);
}

static void do_list(char **words) {
    struct dirent **entries;
    char text[WORKER_LINE_BYTES] = "";
    int n = scandir(words[1], &entries, NULL, alphasort);
    if (n < 0) {
        reply("%s", strerrorname_np(errno));
        return;
    }
    for (int i = 0; i < n; i++) {
        size_t used = strlen(text);
        if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0)
            (void)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "", entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    reply("%s", text);
}

/* The value of one line of /proc/self/status. */
static void do_status(char **words) {
    char line[512];
    FILE *file = fopen("/proc/self/status", "re");
    size_t n = strlen(words[1]);
    reply("none");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, words[1], n) == 0 && line[n] == ':') {
            line[strcspn(line, "\n")] = 0;
            reply("%s", line + n + 1 + strspn(line + n + 1, "\t "));
        }
    if (file)
        (void)fclose(file);
}

static void do_where(char **words) {
    char folder[4096];
    (void)words;
    reply("%s", getcwd(folder, sizeof folder) ? folder : strerrorname_np(errno));
}

static void do_namespaces(char **words) {
    static const char *const names[] = {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"};
    char path[64], link[64], text[512] = "";
    (void)words;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "/proc/self/ns/%s", names[i]);
        ssize_t n = readlink(path, link, sizeof link - 1);
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%.*s", used ? " " : "", n > 0 ? (int)n : 0, link);
    }
    reply("%s", text);
}

/* Reads from a descriptor that is open, from where it stands. */
static void do_read(char **words) {
    reply_content((int)strtol(words[1], NULL, 0));
}

static void do_connect(char **words) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtol(words[2], NULL, 10))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, words[1], &address.sin_addr);
    int r = connect(fd, (struct sockaddr *)&address, sizeof address);
    reply("%s", r ? strerrorname_np(errno) : "connected");
    close(fd);
}

/* Writes to a file until it can't. */
static void do_fill(char **words) {
    static const char block[1 << 16];
    int fd = open(words[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    ssize_t n = 0;
    for (long i = 0; i < 1 << 14 && (n = write(fd, block, sizeof block)) > 0; i++)
        continue;
    reply("%s", n < 0 ? strerrorname_np(errno) : "endless");
    close(fd);
}

/* Opens a file until there is no descriptor left. */
static void do_exhaust(char **words) {
    long n = 0;
    while (open(words[1], O_RDONLY) >= 0)
        n++;
    reply("%s %ld", strerrorname_np(errno), n);
}

static const struct {
    const char *name;
    int words; /* that it needs, its name among them */
    void (*run)(char **words);
} commands[] = {
    {"add", 2, do_add},         {"call", 2, do_call},       {"file", 2, do_file},
    {"put", 3, do_put},         {"append", 3, do_append},   {"list", 2, do_list},
    {"status", 2, do_status},   {"where", 1, do_where},     {"namespaces", 1, do_namespaces},
    {"read", 2, do_read},       {"connect", 3, do_connect}, {"fill", 2, do_fill},
    {"exhaust", 2, do_exhaust}, {"thread", 2, do_thread},   {"poke", 2, do_poke},
    {"join", 2, do_join},       {"count", 2, do_count},     {"name", 2, do_name},
    {"lock", 1, do_lock},       {"signals", 1, do_signals}, {"fault", 1, do_fault},
    {"child", 2, do_child},     {"bomb", 2, do_bomb},       {"shared", 1, do_shared},
    {"end", 2, do_end},         {"spoil", 2, do_spoil},     {"make", 2, do_make},
    {"strange", 4, do_strange}, {"take", 2, do_take},       {"tick", 2, do_tick},
    {"say", 3, do_say},         {"raise", 3, do_raise},     {"watch", 4, do_watch},
    {"ready", 2, do_ready},     {"pass", 3, do_pass},       {"map", 4, do_map},
    {"store", 3, do_store},     {"load", 2, do_load},       {"serve", 2, do_serve},
    {"ask", 2, do_ask},         {"hoard", 2, do_hoard},     {"race", 1, do_race},
};

static void run_line(char *line) {
    char *words[MAX_WORDS + 1] = {0}, *save;
    int n = 0;
    for (char *word = strtok_r(line, " ", &save); word && n < MAX_WORDS; word = strtok_r(NULL, " ", &save))
        words[n++] = word;
    reply("what?");
    for (size_t i = 0; n > 0 && i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, words[0]) == 0 && n >= commands[i].words)
            commands[i].run(words);
}

/* Byte by byte: the next line may come on another socket. A closed descriptor is one that will be there again. */
static void read_line(char line[WORKER_LINE_BYTES]) {
    for (size_t n = 0; n < WORKER_LINE_BYTES - 1;) {
        ssize_t r = read(WORKER_FD, line + n, 1);
        if (r == 0)
            _exit(0);
        if (r < 0) {
            sched_yield();
            continue;
        }
        if (line[n] == '\n') {
            line[n] = 0;
            return;
        }
        n++;
    }
    _exit(100);
}

int main(void) {
    static char line[WORKER_LINE_BYTES];
    reply("ready");
    for (;;) {
        send_reply();
        read_line(line);
        run_line(line);
    }
}
