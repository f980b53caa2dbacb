/*
 * processes.c - one look at /proc for the tree and the ticks, and one at each process for its memory.
 *
 * Processes end while they are looked at: what can't be read any more adds nothing.
 */

#include "processes.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <ctype.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

struct process {
    pid_t pid;
    pid_t parent;
    uint64_t ticks; /* of the process and those it has waited for */
};

struct table {
    struct process *rows; /* owned */
    size_t n;
};

/* Fields 4 and 14 to 17. See: proc_pid_stat(5). */
static bool read_process(pid_t pid, struct process *ret) {
    char path[64], text[1024];
    unsigned long ticks[4];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    auto_file file = fopen(path, "re");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0; /* the name may have lines */
    text[n] = 0;
    const char *after_name = strrchr(text, ')');
    *ret = (struct process){.pid = pid};
    if (!after_name || sscanf(after_name, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &ret->parent,
                              &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 5)
        return false;
    ret->ticks = ticks[0] + ticks[1] + ticks[2] + ticks[3];
    return true;
}

static void read_table(struct table *ret_table) {
    struct table table = {0};
    auto_dir dir = opendir("/proc");
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        struct process process;
        if (!isdigit((unsigned char)entry->d_name[0]) || !read_process((pid_t)atoi(entry->d_name), &process))
            continue;
        if (array_grow(&table.rows, table.n, sizeof *table.rows) < 0)
            break;
        table.rows[table.n++] = process;
    }
    *ret_table = table;
}

/* The value of a line "Pss: 123 kB" in bytes. */
static bool find_kib(FILE *file, const char *key, uint64_t *ret_bytes) {
    char line[256];
    size_t n = strlen(key);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, n) == 0 && line[n] == ':') {
            *ret_bytes = strtoull(line + n + 1, NULL, 10) * 1024;
            return true;
        }
    return false;
}

/* Pss; where Linux keeps that from us, what is resident and no file's. */
static uint64_t memory_of(pid_t pid) {
    char path[64];
    uint64_t bytes = 0;
    unsigned long resident, shared;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    auto_file file = fopen(path, "re");
    if (file && find_kib(file, "Pss", &bytes))
        return bytes;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    auto_file statm = fopen(path, "re");
    if (!statm || fscanf(statm, "%*s %lu %lu", &resident, &shared) != 2 || shared > resident)
        return 0;
    return (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
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

static void add_process(const struct process *process, struct counted *counted, struct processes *all) {
    all->n++;
    all->ticks += process->ticks;
    if (!has_counted(counted, process->pid))
        all->memory_bytes += memory_of(process->pid);
}

void processes_read_all(struct processes *ret) {
    struct processes all = {0};
    struct counted counted = {0};
    struct table table;
    read_table(&table);
    for (size_t i = 0; i < table.n; i++)
        add_process(&table.rows[i], &counted, &all);
    free(table.rows);
    *ret = all;
}

/* Moves a row to the n-th place. */
static void move_to(struct table *table, size_t i, size_t n) {
    const struct process process = table->rows[i];
    table->rows[i] = table->rows[n];
    table->rows[n] = process;
}

/* Moves what is below pid to the front, each behind its parent: the rows there are the queue of the walk. */
static size_t gather_below(struct table *table, pid_t pid) {
    size_t n = 0;
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].pid == pid)
            move_to(table, i, n++);
    for (size_t at = 0; at < n; at++)
        for (size_t i = n; i < table->n; i++)
            if (table->rows[i].parent == table->rows[at].pid)
                move_to(table, i, n++);
    return n;
}

void processes_read_below(pid_t pid, struct processes *ret) {
    struct processes all = {0};
    struct counted counted = {0};
    struct table table;
    read_table(&table);
    const size_t n = gather_below(&table, pid);
    for (size_t i = 0; i < n; i++)
        add_process(&table.rows[i], &counted, &all);
    free(table.rows);
    *ret = all;
}
