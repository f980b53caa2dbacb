/* What cells see of /proc, and of its mounts. */
#include "tests/sandbox/live.h"

#include "sandbox/mounts/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void only_its_own_processes_are_seen(struct live *live) {
    char numbers[256] = "", *save;
    struct cell *cell = live_start(live);
    char list[16384];
    int n = 0;
    strcpy(list, live_ask(cell, "list /proc"));
    for (char *word = strtok_r(list, " ", &save); word; word = strtok_r(NULL, " ", &save))
        if (word[0] >= '1' && word[0] <= '9')
            n += snprintf(numbers + n, sizeof numbers - (size_t)n, "%s ", word);
    char expected[64];
    (void)snprintf(expected, sizeof expected, "%s ", live_ask(cell, "call %d", SYS_getpid));
    CHECK_TEXT(numbers, expected);
    live_check_hidden(live_ask(cell, "file /proc/1/environ"));
    live_check_hidden(live_ask(cell, "file /proc/1/cmdline"));
    live_check_hidden(live_ask(cell, "file /proc/1/comm"));
    cell_discard(cell);
}

/* What of /proc is more than a name: procfs's own, and what petri made in its place; or a process. */
static bool is_shown(const char *name) {
    static const char *const shown[] = {"cpuinfo", "filesystems", "loadavg",     "meminfo", "mounts",  "net",   "self",
                                        "stat",    "sys",         "thread-self", "uptime",  "version", "vmstat"};
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        if (strcmp(name, shown[i]) == 0)
            return true;
    return name[0] >= '1' && name[0] <= '9';
}

static void proc_has_nothing_but_what_is_listed(struct live *live) {
    char list[16384], *save;
    int n = 0;
    struct cell *cell = live_start(live);
    strcpy(list, live_ask(cell, "list /proc"));
    for (char *name = strtok_r(list, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        if (is_shown(name))
            continue;
        const char *answer = live_ask(cell, "list /proc/%s", name);
        if (strcmp(answer, "ENOTDIR") == 0)
            answer = live_ask(cell, "file /proc/%s", name);
        if (answer[0])
            CHECK_TEXT(name, "an empty entry of /proc");
        n++;
    }
    CHECK(n > 10); /* any Linux has more than we show */
    CHECK_TEXT(live_ask(cell, "list /proc/sys"), "fs kernel vm");
    cell_discard(cell);
}

/* What libraries and tools read must be there, and true. */
static void proc_has_what_libraries_read(struct live *live) {
    static const char *const filled[] = {"/proc/cpuinfo",
                                         "/proc/meminfo",
                                         "/proc/loadavg",
                                         "/proc/uptime",
                                         "/proc/version",
                                         "/proc/filesystems",
                                         "/proc/self/maps",
                                         "/proc/thread-self/status",
                                         "/proc/mounts",
                                         "/proc/net/dev",
                                         "/proc/sys/kernel/osrelease",
                                         "/proc/sys/kernel/pid_max",
                                         "/proc/sys/vm/overcommit_memory",
                                         "/proc/sys/fs/file-max",
                                         "/proc/sys/fs/pipe-max-size"};
    struct cell *cell = live_start(live);
    for (size_t i = 0; i < sizeof filled / sizeof filled[0]; i++) {
        const char *answer = live_ask(cell, "file %s", filled[i]);
        if (!answer[0] || answer[0] == 'E')
            CHECK_TEXT(answer, filled[i]);
    }
    cell_discard(cell);
}

/* The processors of this machine, and nothing that has been counted on it. */
static void stat_has_processors_and_no_counts(struct live *live) {
    char line[64], expected[4096] = "";
    struct cell *cell = live_start(live);
    const char *stat = live_ask(cell, "file /proc/stat");
    CHECK(strncmp(stat, "cpu  0 0 0 0 0 0 0 0 0 0|cpu0 0 0 0", 34) == 0);
    CHECK(strstr(stat, "|intr 0|ctxt 0|btime ") != NULL);
    CHECK(strstr(stat, "|softirq 0|") != NULL);
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN) && cpu < 64; cpu++) {
        (void)snprintf(line, sizeof line, "|cpu%ld 0 0 0 0 0 0 0 0 0 0|", cpu);
        CHECK(strstr(stat, line) != NULL);
    }
    FILE *file = fopen(SYS_PROCESSORS "/possible", "re");
    if (file && fgets(expected, sizeof expected, file)) {
        expected[strcspn(expected, "\n")] = '|';
        CHECK_TEXT(live_ask(cell, "file " SYS_PROCESSORS "/possible"), expected);
    }
    if (file)
        (void)fclose(file);
    cell_discard(cell);
}

/* Of one line of a process' mountinfo: nothing but the place where it is seen may name a folder of the host's. */
static void check_mount(char *line, const char *base) {
    char *save, *field = strtok_r(line, " ", &save);
    for (int i = 1; field; i++, field = strtok_r(NULL, " \n", &save))
        if (i != 5 && strstr(field, base))
            CHECK_TEXT(field, "no folder of the host's");
        else if (i == 5 && (strcmp(field, "/session") == 0 || strncmp(field, "/.petri", 7) == 0))
            CHECK_TEXT(field, "no folder of the template's");
}

static void check_mounts(int pid, const char *base) {
    char path[64], line[4096];
    int n = 0, n_proc = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/mountinfo", pid);
    FILE *file = fopen(path, "re");
    for (; file && fgets(line, sizeof line, file); n++) {
        n_proc += strstr(line, " - proc ") != NULL;
        check_mount(line, base);
    }
    CHECK(file && n > 5);
    CHECK_EQUAL(n_proc, 1);
    (void)fclose(file);
}

/* The folder of all that a session of these tests has on the host. */
static void base_of(const struct live *live, char base[PATH_MAX]) {
    strcpy(base, live->folder);
    *strrchr(base, '/') = 0;
}

static void mountinfo_of_a_cell_names_no_folder_of_the_host(struct live *live) {
    char base[PATH_MAX];
    struct cell *cell = live_start(live);
    base_of(live, base);
    live_ask(cell, "add 0");
    check_mounts(live_worker_of(cell), base);
    cell_discard(cell);
}

static bool is_empty(int fd) {
    char byte;
    struct stat st;
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    if (!S_ISDIR(st.st_mode))
        return read(fd, &byte, 1) == 0;
    DIR *dir = fdopendir(dup(fd));
    CHECK(dir && readdir(dir) && readdir(dir)); /* . and .. */
    bool empty = !readdir(dir);
    closedir(dir);
    return empty;
}

static void check_proc_of(int pid) {
    char path[96];
    int n = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/root/proc", pid);
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || is_shown(entry->d_name))
            continue;
        int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        if (!is_empty(fd))
            CHECK_TEXT(entry->d_name, "an empty entry of /proc");
        close(fd);
        n++;
    }
    closedir(dir);
    CHECK(n > 10);
}

/* Seen from outside, too. */
static void proc_of_a_worker_is_covered(struct live *live) {
    struct cell *cell = live_start(live);
    live_ask(cell, "add 0");
    check_proc_of(live_worker_of(cell));
    cell_discard(cell);
}

static const struct live_case cases[] = {
    LIVE_CASE(only_its_own_processes_are_seen),
    LIVE_CASE(proc_has_nothing_but_what_is_listed),
    LIVE_CASE(proc_has_what_libraries_read),
    LIVE_CASE(stat_has_processors_and_no_counts),
    LIVE_CASE(mountinfo_of_a_cell_names_no_folder_of_the_host),
    LIVE_CASE(proc_of_a_worker_is_covered),
};

int main(void) {
    return live_main("what a cell sees of /proc", cases, sizeof cases / sizeof cases[0]);
}
