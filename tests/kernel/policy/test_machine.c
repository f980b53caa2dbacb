/* What there is of memory, in trees that look like a machine's. */
#include "kernel/policy/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define MEMINFO "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    8000000 kB\n"
#define KB INT64_C(1024)
#define V1_STAT "cache 5\nhierarchical_memory_limit 4096000\nhierarchical_memsw_limit 1\n"
#define V1_NONE "hierarchical_memory_limit 9223372036854771712\n"

struct row {
    const char *name;
    const char *files[9]; /* path and text, by turns */
    int64_t total, available;
};

static const struct row rows[] = {
    {"no groups", {"proc/meminfo", MEMINFO}, 16000000 * KB, 8000000 * KB},
    {"nothing", {NULL}, INT64_MAX, INT64_MAX},
    {"v2 without a limit",
     {"proc/meminfo", MEMINFO, "proc/self/cgroup", "0::/a\n", "sys/fs/cgroup/a/memory.max", "max\n",
      "sys/fs/cgroup/a/memory.current", "7\n"},
     16000000 * KB,
     8000000 * KB},
    {"v2, a limit above",
     {"proc/meminfo", MEMINFO, "proc/self/cgroup", "0::/a/b\n", "sys/fs/cgroup/a/memory.max", "5000000\n",
      "sys/fs/cgroup/a/memory.current", "1000000\n"},
     5000000,
     4000000},
    {"v2, a container's own",
     {"proc/meminfo", MEMINFO, "proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "5000000\n",
      "sys/fs/cgroup/memory.current", "6000000\n"},
     5000000,
     0},
    {"v1",
     {"proc/meminfo", MEMINFO, "proc/self/cgroup", "3:cpu:/x\n9:memory:/a\n", "sys/fs/cgroup/memory/a/memory.stat",
      V1_STAT, "sys/fs/cgroup/memory/a/memory.usage_in_bytes", "96000\n"},
     4096000,
     4000000},
    {"v1, a container's own",
     {"proc/meminfo", MEMINFO, "proc/self/cgroup", "9:memory:/not/seen\n", "sys/fs/cgroup/memory/memory.stat", V1_STAT,
      "sys/fs/cgroup/memory/memory.usage_in_bytes", "96000\n"},
     4096000,
     4000000},
    {"v1 without a limit",
     {"proc/meminfo", MEMINFO, "proc/self/cgroup", "9:memory:/\n", "sys/fs/cgroup/memory/memory.stat", V1_NONE,
      "sys/fs/cgroup/memory/memory.usage_in_bytes", "96000\n"},
     16000000 * KB,
     8000000 * KB},
    {"strange", {"proc/meminfo", "MemTotal: x\nMemAvailable: 99999999999999999999 kB\n"}, INT64_MAX, INT64_MAX},
};

static void put(const char *root, const char *path, const char *text) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *at = strchr(whole + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        (void)mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_machine_memory_is_the_minimum_of_machine_and_control_groups(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char root[] = "/tmp/petri-machine-XXXXXX", command[64];
        assert_non_null(mkdtemp(root));
        for (size_t k = 0; rows[i].files[k]; k += 2)
            put(root, rows[i].files[k], rows[i].files[k + 1]);
        struct machine_memory memory = machine_memory(root);
        snprintf(command, sizeof command, "rm -r %s", root);
        assert_int_equal(system(command), 0);
        if (memory.total != rows[i].total || memory.available != rows[i].available)
            fail_msg("%s: %jd, %jd", rows[i].name, (intmax_t)memory.total, (intmax_t)memory.available);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine_memory_is_the_minimum_of_machine_and_control_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
