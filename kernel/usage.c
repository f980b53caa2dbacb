#include "usage.h"

#include "kernel/cleanup.h"
#include "kernel/clock.h"
#include "kernel/kernel.h"
#include "kernel/reply.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What processes hold and have used. */
struct processes {
    uint64_t memory_bytes;
    uint64_t ticks;
};

/* Fields of /proc/meminfo, by what they are called in the reply; "used" and "percent" follow from them. */
static const struct {
    const char *name;
    const char *key;
} memory_rows[] = {
    {"total", "MemTotal"}, {"available", "MemAvailable"}, {"free", "MemFree"},
    {"active", "Active"},  {"inactive", "Inactive"},      {"buffers", "Buffers"},
    {"cached", "Cached"},  {"shared", "Shmem"},           {"slab", "Slab"},
};

/* A line "Key:   123 kB" of a file of such lines, in bytes; 0 where there is none. */
static uint64_t read_kib(FILE *file, const char *key) {
    char line[256];
    uint64_t kib;
    size_t n = strlen(key);
    rewind(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, n) == 0 && line[n] == ':' && sscanf(line + n + 1, "%" SCNu64, &kib) == 1)
            return kib * 1024;
    return 0;
}

/* Time in user and kernel mode, of the process and those it has waited for: fields 14 to 17. See: proc_pid_stat(5). */
static uint64_t ticks_of(const char *pid) {
    char path[64], text[1024];
    uint64_t own, system, children, children_system;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    auto_file file = fopen(path, "re");
    if (!file || !fgets(text, sizeof text, file))
        return 0;
    const char *after_name = strrchr(text, ')');
    if (!after_name ||
        sscanf(after_name, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &own, &system, &children, &children_system) != 4)
        return 0;
    return own + system + children + children_system;
}

/* Proportional: what processes share counts once. */
static uint64_t memory_of(const char *pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/smaps_rollup", pid);
    auto_file file = fopen(path, "re");
    return file ? read_kib(file, "Pss") : 0;
}

/* All that this /proc shows: the kernel is the first of a namespace that holds its images and cells and no others. */
static void read_processes(struct processes *ret) {
    struct processes all = {0};
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        all.memory_bytes += memory_of(entry->d_name);
        all.ticks += ticks_of(entry->d_name);
    }
    if (folder)
        closedir(folder);
    *ret = all;
}

/* The first line of /proc/stat: user nice system idle iowait irq softirq steal. */
static void read_host(uint64_t *ret_ticks, uint64_t *ret_idle) {
    uint64_t field[8] = {0};
    auto_file file = fopen("/proc/stat", "re");
    *ret_ticks = *ret_idle = 0;
    if (!file ||
        fscanf(file, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &field[0], &field[1], &field[2], &field[3], &field[4], &field[5], &field[6], &field[7]) != 8)
        return;
    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++)
        *ret_ticks += field[i];
    *ret_idle = field[3] + field[4];
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
    json_object_set_new(memory, "percent", json_real(total > 0 ? (double)(1000 * used / total) / 10 : 0));
    return memory;
}

/* How much of one processor's time; 0 where nothing was read before, or a process has ended since. */
static double share(uint64_t now, uint64_t before, double whole) {
    return now > before && before > 0 && whole > 0 ? 100.0 * (double)(now - before) / whole : 0.0;
}

/* Takes the readings of now and returns the reply, with the shares since the last ones. */
static json_t *make_content(struct kernel *kernel) {
    struct usage before = kernel->usage;
    struct usage *now = &kernel->usage;
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
                     (int)kernel->pid, "kernel_cpu", kernel_cpu, "kernel_memory", (json_int_t)processes.memory_bytes,
                     "cpu_count", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "host_cpu_percent",
                     before.host_ticks > 0 ? 100.0 - idle : 0.0, "host_virtual_memory", host_memory());
}

void usage_request(struct kernel *kernel, const struct request *request) {
    reply_send(kernel, request, "usage_reply", NULL, make_content(kernel));
}
