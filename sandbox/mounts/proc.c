/*
 * proc.c - a list of what stays visible; everything else is covered.
 *
 * The covers are made once a session, from the zygote's whole /proc; in each
 * sandbox the entries of its procfs are walked, and each one that is not in the
 * list gets one. So an entry that a later Linux adds is covered, too.
 */
#define _GNU_SOURCE
#include "proc.h"

#include "base/cleanup.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* The covers of all entries that have none of their own. */
#define NO_FILE ".file"
#define NO_FOLDER ".folder"

/*
 * The entries that are not empty. Live ones tell of the machine what system
 * calls would tell as well (sysinfo(2), uname(2), clock_gettime(2), cpuid) or
 * what is the same on all of its kind; a cover of its own is made once a session.
 */
static const struct {
    const char *name;
    enum { LIVE, OWN_COVER } how;
} shown[] = {
    {"cpuinfo", LIVE},     /* OpenBLAS, torch, psutil, lscpu */
    {"filesystems", LIVE}, /* psutil, df */
    {"loadavg", LIVE},     /* getloadavg(3) */
    {"meminfo", LIVE},     /* sysconf(3), psutil, free */
    {"stat", OWN_COVER},   /* get_nprocs(3), psutil, ps: the processors and the time of boot, but no counts */
    {"sys", OWN_COVER},    /* the files of settings[] */
    {"uptime", LIVE},      /* ps, uptime */
    {"version", LIVE},     /* what uname(2) tells, and the compiler */
    {"vmstat", OWN_COVER}, /* psutil: no page was swapped */
};

/* Of /proc/sys: limits that programs keep to, and names, as they were when the session began. */
static const char *const settings[] = {
    "fs/aio-max-nr",
    "fs/file-max",
    "fs/inotify/max_queued_events",
    "fs/inotify/max_user_instances",
    "fs/inotify/max_user_watches",
    "fs/nr_open",
    "fs/pipe-max-size",
    "kernel/cap_last_cap",
    "kernel/domainname",
    "kernel/hostname",
    "kernel/ngroups_max",
    "kernel/osrelease",
    "kernel/ostype",
    "kernel/overflowgid",
    "kernel/overflowuid",
    "kernel/pid_max",
    "kernel/threads-max",
    "kernel/version",
    "vm/max_map_count",
    "vm/mmap_min_addr",
    "vm/overcommit_memory",
    "vm/overcommit_ratio",
};

enum { SETTING_SIZE = 256 };

static int fail(const char *folder, const char *name, int err, struct error *error) {
    return step_failed(error, STEP_TEMPLATE_FILE, err, "%s/%s", folder, name);
}

/* What each kind of line of /proc/stat becomes; those of other kinds are left out. */
static void write_stat_line(FILE *out, const char *line) {
    static const char *const no_count[] = {"intr", "ctxt", "processes", "procs_blocked", "softirq"};
    int name = (int)strcspn(line, " ");
    if (strncmp(line, "cpu", 3) == 0)
        fprintf(out, "%.*s%s 0 0 0 0 0 0 0 0 0 0\n", name, line, name == 3 ? " " : "");
    else if (strncmp(line, "btime ", 6) == 0)
        fputs(line, out);
    else if (strncmp(line, "procs_running ", 14) == 0)
        fputs("procs_running 1\n", out);
    for (size_t i = 0; i < sizeof no_count / sizeof no_count[0]; i++)
        if (strncmp(line, no_count[i], (size_t)name) == 0 && !no_count[i][name])
            fprintf(out, "%s 0\n", no_count[i]);
}

/* /proc/stat counts interrupts and the time of each processor: enough to see when keys are pressed. */
static int build_stat(int dir_fd) {
    auto_free char *line = NULL, *text = NULL;
    size_t size = 0, text_size = 0;
    auto_file in = fopen("/proc/stat", "re");
    FILE *out = in ? open_memstream(&text, &text_size) : NULL;
    if (!out)
        return -errno;
    while (getline(&line, &size, in) > 0)
        write_stat_line(out, line);
    return fclose(out) ? -errno : system_make_file(dir_fd, "stat", text);
}

static int copy_setting(int dir_fd, const char *name) {
    char source[64], target[64], text[SETTING_SIZE];
    snprintf(source, sizeof source, "/proc/sys/%s", name);
    snprintf(target, sizeof target, "sys/%s", name);
    ssize_t n = system_read_file(AT_FDCWD, source, text, sizeof text);
    return n < 0 ? 0 : system_make_file(dir_fd, target, text); /* one that this Linux lacks is no loss */
}

int proc_build_covers(const char *folder, struct error *ret_error) {
    static const struct {
        const char *name, *text;
    } made[] = {
        {NO_FILE, ""},
        {"vmstat", "pswpin 0\npswpout 0\n"},
    };
    auto_fd dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0 || mkdirat(dir_fd, NO_FOLDER, 0555))
        return fail(folder, NO_FOLDER, errno, ret_error);
    int r = build_stat(dir_fd);
    if (r)
        return fail(folder, "stat", -r, ret_error);
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        if ((r = system_make_file(dir_fd, made[i].name, made[i].text)))
            return fail(folder, made[i].name, -r, ret_error);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if ((r = copy_setting(dir_fd, settings[i])))
            return fail(folder, settings[i], -r, ret_error);
    return 0;
}

/* What of folder covers an entry of procfs; NULL for what stays as it is: processes, what is shown, and links. */
static const char *cover_of(const struct dirent *entry) {
    if (entry->d_type == DT_LNK || entry->d_name[0] == '.' || (entry->d_name[0] >= '1' && entry->d_name[0] <= '9'))
        return NULL;
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        if (strcmp(entry->d_name, shown[i].name) == 0)
            return shown[i].how == LIVE ? NULL : shown[i].name;
    return entry->d_type == DT_DIR ? NO_FOLDER : NO_FILE;
}

/* Covers one entry. One that is gone by now (a module of the host's was unloaded) needs nothing. */
static int cover(const char *folder, const char *target, const struct dirent *entry, struct error *error) {
    char source[PATH_MAX], place[PATH_MAX];
    const char *name = cover_of(entry);
    if (!name)
        return 0;
    snprintf(source, sizeof source, "%s/%s", folder, name);
    snprintf(place, sizeof place, "%s/%s", target, entry->d_name);
    int err = mount(source, place, NULL, MS_BIND, NULL) ? errno : 0;
    if (err == ENOENT && access(place, F_OK))
        return 0;
    return err ? step_failed(error, STEP_MOUNT_BIND, err, "%s", place) : 0;
}

/*
 * hidepid=4: of other processes than those that the reader may look at, not
 * even the number. That leaves out pid 1 of a sandbox, whose command line is
 * the kernel's own.
 */
int proc_mount(const char *folder, const char *target, struct error *ret_error) {
    const struct dirent *entry;
    int r = 0;
    if (mount("proc", target, "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=4"))
        return step_failed(ret_error, STEP_MOUNT_PROC, errno, "%s", "");
    auto_dir dir = opendir(target);
    if (!dir)
        return step_failed(ret_error, STEP_MOUNT_PROC, errno, "%s", target);
    while (r == 0 && (errno = 0, entry = readdir(dir)))
        r = cover(folder, target, entry, ret_error);
    if (r == 0 && errno)
        r = step_failed(ret_error, STEP_MOUNT_PROC, errno, "%s", target);
    return r;
}
