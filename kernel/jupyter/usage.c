/*
 * usage.c - sums over /proc; the share of a processor is the difference to the previous reading.
 *
 * The first reading has no share. Memory is proportional (Pss), because cells
 * share most of their memory with their image, and a sum of resident sizes would
 * count it once for each. A cell's worker and its keeper have one address space
 * between them, which Pss counts for both: it is added once. The ticks of a process that has ended are lost, unless
 * its parent has waited for it; where the sum has decreased, the share is 0.
 *
 * See: proc_pid_stat(5), proc_pid_smaps(5), proc_stat(5).
 */

#include "usage.h"

#include "base/cleanup.h"
#include "kernel/base/clock.h"
#include "kernel/jupyter/reply.h"

#include <ctype.h>
#include <dirent.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Memory and CPU time of processes. */
struct processes {
    uint64_t memory_bytes;
    uint64_t ticks;
};

/* Fields of the reply and of /proc/meminfo; "used" and "percent" are computed from them. */
static const struct {
    const char *name;
    const char *key;
} memory_rows[] = {
    {"total", "MemTotal"}, {"available", "MemAvailable"}, {"free", "MemFree"},
    {"active", "Active"},  {"inactive", "Inactive"},      {"buffers", "Buffers"},
    {"cached", "Cached"},  {"shared", "Shmem"},           {"slab", "Slab"},
};

/* The value of a line "Key: 123 kB" in bytes; 0 where there is none. */
static uint64_t read_kib(FILE *file, const char *key) {
    char line[256];
    size_t n = strlen(key);
    rewind(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, n) == 0 && line[n] == ':')
            return strtoull(line + n + 1, NULL, 10) * 1024;
    return 0;
}

/* The numbers of a line, from its i-th word on; a word that is no number is 0. */
static void read_words(char *line, int i, uint64_t *ret_numbers, size_t n) {
    char *rest = line;
    char *word;
    while (i > 0 && strsep(&rest, " "))
        i--;
    for (size_t at = 0; at < n; at++) {
        word = strsep(&rest, " ");
        ret_numbers[at] = word ? strtoull(word, NULL, 10) : 0;
    }
}

/* Time in user and kernel mode, of the process and those it has waited for: fields 14 to 17. See: proc_pid_stat(5). */
static uint64_t ticks_of(const char *pid) {
    enum { BEHIND_NAME = 12 }; /* of ") state ppid ...", the words before field 14 */
    char path[64], text[1024];
    uint64_t ticks[4];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    auto_file file = fopen(path, "re");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0; /* the name may have lines */
    text[n] = 0;
    char *after_name = strrchr(text, ')');
    if (!after_name)
        return 0;
    read_words(after_name, BEHIND_NAME, ticks, sizeof ticks / sizeof ticks[0]);
    return ticks[0] + ticks[1] + ticks[2] + ticks[3];
}

/* Pss: shared memory counts once in the sum of all processes. */
static uint64_t memory_of(const char *pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/smaps_rollup", pid);
    auto_file file = fopen(path, "re");
    return file ? read_kib(file, "Pss") : 0;
}

/* Processes whose memory is added. Those beyond the room are added without being compared. */
struct counted {
    size_t n;
    pid_t pid[64];
};

/* Whether one of them has the same address space; if not, adds the process. See: kcmp(2). */
static bool has_counted(struct counted *counted, pid_t pid) {
    for (size_t i = 0; i < counted->n; i++)
        if (syscall(SYS_kcmp, pid, counted->pid[i], KCMP_VM, 0, 0) == 0)
            return true;
    if (counted->n < sizeof counted->pid / sizeof counted->pid[0])
        counted->pid[counted->n++] = pid;
    return false;
}

/*
 * Sums over all processes in /proc: the kernel is the first process of a pid
 * namespace that has only its images and cells.
 */
static void read_processes(struct processes *ret) {
    struct processes all = {0};
    struct counted counted = {0};
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (!has_counted(&counted, (pid_t)atoi(entry->d_name)))
            all.memory_bytes += memory_of(entry->d_name);
        all.ticks += ticks_of(entry->d_name);
    }
    if (folder)
        closedir(folder);
    *ret = all;
}

/* The first line of /proc/stat: "cpu  user nice system idle iowait irq softirq steal ...", two spaces after the name.
 */
static void read_host(uint64_t *ret_ticks, uint64_t *ret_idle) {
    enum { IDLE = 3, IOWAIT = 4 };
    uint64_t ticks[8];
    char text[512];
    auto_file file = fopen("/proc/stat", "re");
    *ret_ticks = *ret_idle = 0;
    if (!file || !fgets(text, sizeof text, file))
        return;
    read_words(text, 2, ticks, sizeof ticks / sizeof ticks[0]);
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++)
        *ret_ticks += ticks[i];
    *ret_idle = ticks[IDLE] + ticks[IOWAIT];
}

static json_t *host_memory(void) {
    json_t *memory = json_object();
    auto_file file = fopen("/proc/meminfo", "re");
    if (!file)
        return memory;
    for (size_t i = 0; i < sizeof memory_rows / sizeof memory_rows[0]; i++)
        json_object_set_new(memory, memory_rows[i].name, json_integer((json_int_t)read_kib(file, memory_rows[i].key)));
    json_int_t total = json_integer_value(json_object_get(memory, "total"));
    json_int_t used = total - json_integer_value(json_object_get(memory, "available"));
    json_object_set_new(memory, "used", json_integer(used));
    json_object_set_new(memory, "percent", json_real(total > 0 ? 100.0 * (double)used / (double)total : 0));
    return memory;
}

/* The share of one processor's time; 0 where there is no previous reading, or the sum has decreased. */
static double share(uint64_t now, uint64_t before, double whole) {
    return now > before && before > 0 && whole > 0 ? 100.0 * (double)(now - before) / whole : 0.0;
}

/* Reads now, and returns the reply with the shares since the last reading. */
static json_t *make_usage(struct usage *now) {
    struct usage before = *now;
    struct processes processes;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    read_processes(&processes);
    now->at_us = clock_us();
    now->kernel_ticks = processes.ticks;
    read_host(&now->host_ticks, &now->host_idle_ticks);
    double seconds = (double)(now->at_us - before.at_us) / CLOCK_S;
    double kernel_cpu = share(now->kernel_ticks, before.kernel_ticks, seconds * (double)sysconf(_SC_CLK_TCK));
    double host_ticks = (double)(now->host_ticks - before.host_ticks);
    double idle = share(now->host_idle_ticks, before.host_idle_ticks, host_ticks);
    return json_pack("{s:s, s:s, s:i, s:f, s:I, s:I, s:f, s:o}", "status", "ok", "hostname", host, "pid",
                     (int)before.pid, "kernel_cpu", kernel_cpu, "kernel_memory", (json_int_t)processes.memory_bytes,
                     "cpu_count", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "host_cpu_percent",
                     before.host_ticks > 0 ? 100.0 - idle : 0.0, "host_virtual_memory", host_memory());
}

uint64_t usage_memory_bytes(void) {
    struct processes all;
    read_processes(&all);
    return all.memory_bytes;
}

void usage_request(struct usage *usage, struct jupyter *jupyter, const struct request *request) {
    reply_send(jupyter, request, "usage_reply", NULL, make_usage(usage));
}
