/*
 * usage.c - sums over /proc; the share of a processor is the difference to the previous reading.
 *
 * The sums are over all processes in /proc: the kernel is the first process of a pid
 * namespace that has only its images and cells. The first reading has no share. The ticks of
 * a process that has ended may be lost (processes.h): where the sum has decreased, the
 * share is 0.
 *
 * See: proc_stat(5), proc_meminfo(5).
 */

#include "usage.h"

#include "base/cleanup.h"
#include "kernel/base/clock.h"
#include "kernel/base/processes.h"
#include "kernel/jupyter/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    processes_read_all(&processes);
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
    processes_read_all(&all);
    return all.memory_bytes;
}

void usage_request(struct usage *usage, struct jupyter *jupyter, const struct request *request) {
    reply_send(jupyter, request, "usage_reply", NULL, make_usage(usage));
}
