/*
 * large_mappings.c - parts of a mapping that differ in a flag.
 *
 * A process may reserve more memory than the machine has, but not at once: that is
 * what Linux compares. Mappings side by side become one, though, and one that is
 * too large in this way is reserved at once when it is copied, so fork(2) fails with
 * ENOMEM, each time. Parts of which every other one is left out of core dumps, which
 * cells have none of, stay apart, and are copied one by one.
 *
 * The keeper makes each call by itself and checked, because it stands outside any
 * sandbox.
 */
#define _GNU_SOURCE
#include "large_mappings.h"

#include "sandbox/inject/helper.h"
#include "sandbox/process/mappings.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

enum { PAGE = 4096, SHARE = 4, PARTS_MAX = 1024 };

/* What is copied easily: a part of the machine's memory. */
static uint64_t part_bytes(void) {
    struct sysinfo machine;
    return sysinfo(&machine) ? 0 : (uint64_t)machine.totalram * machine.mem_unit / SHARE / PAGE * PAGE;
}

/* Divides one mapping. What Linux refuses stays as it is. 0 or -errno. */
static int divide(const struct inject_task *keeper, const struct procfs_mapping *m, uint64_t bytes, int *parts) {
    int r = 0;
    for (uint64_t at = m->start; r == 0 && at < m->end && *parts < PARTS_MAX; at += bytes, ++*parts) {
        const uint64_t n = m->end - at < bytes ? m->end - at : bytes;
        const uint64_t advice = *parts % 2 ? MADV_DONTDUMP : MADV_DODUMP;
        r = helper_do(keeper, (struct inject_call){.number = SYS_madvise, .argument = {at, n, advice}});
        if (r == -EINVAL || r == -ENOMEM)
            r = 0;
    }
    return r;
}

int large_mappings_divide(const struct inject_task *keeper) {
    const uint64_t bytes = part_bytes();
    auto_free char *buf = NULL;
    size_t size = 0;
    struct procfs_mapping m;
    int parts = 0, r = 0, more = 0;
    auto_file maps = process_open(keeper->tid, "maps");
    if (!maps)
        return -errno;
    while (r == 0 && bytes > 0 && (more = mappings_next_private(maps, &buf, &size, &m)) == 1)
        if (m.end - m.start > bytes)
            r = divide(keeper, &m, bytes, &parts);
    return r ? r : more < 0 ? more : parts;
}
