/*
 * compact.c - what is done for the image of a session that has grown, while nobody waits.
 */
#include "sandbox/process/process.h"
#include "sandbox/session/session.h"

#include <errno.h>

/* Bytes of private memory, written or not since the image before. 0 where they can't be told. See: proc_pid_statm(5).
 */
static uint64_t private_bytes(pid_t pid) {
    enum { RESIDENT = 1, SHARED = 2 };
    char buf[PROCESS_SMALL];
    struct procfs_text text;
    uint64_t resident, shared;
    if (process_read(pid, "statm", buf, sizeof buf, &text) || !procfs_get_number(text, RESIDENT, &resident) ||
        !procfs_get_number(text, SHARED, &shared) || resident < shared)
        return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t session_grown_bytes(const struct session *session) {
    const uint64_t now = private_bytes(session->current->keeper), first = private_bytes(session->first->keeper);
    return now > first ? now - first : 0;
}

int session_compact(struct session *session, cell_is_idle *is_idle, void *arg, size_t *ret_n) {
    const struct image *image = session->current;
    *ret_n = 0;
    const struct inject_task keeper = {image->keeper, 0, image->memory_fd, &session->area};
    habit_forget(&session->habit);
    habit_forget(&session->habit_ephemeral);
    int r = huge_pages_collapse(&session->huge, &keeper, is_idle, arg, ret_n);
    kept_bound_add(session, (uint64_t)*ret_n * HUGE_PAGE_BYTES);
    return r;
}
