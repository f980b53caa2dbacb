/*
 * kept_measure.c - what kept images hold beside the present one.
 *
 * No process tells that: what several kept images have and the present one has lost is in none of
 * their private memory. So it is what all have together, less what the present one has. A control
 * group counts that; without one each process tells its part of what it shares.
 */
#include "sandbox/base/difference.h"
#include "sandbox/process/process.h"
#include "sandbox/session/cell.h"
#include "sandbox/session/kept.h"

/* Anonymous memory that a process has, shared or not. See: proc_pid_status(5). */
static uint64_t anonymous_bytes(pid_t pid) {
    char buf[PROCESS_STATUS];
    struct procfs_text status;
    uint64_t kilobytes;
    return process_read(pid, "status", buf, sizeof buf, &status) == 0 &&
                   procfs_find_number(status, "RssAnon", 10, &kilobytes)
               ? kilobytes << 10
               : 0;
}

static uint64_t part_of(pid_t pid) {
    struct watcher_shares shares;
    watcher_read_shares(pid, &shares);
    return shares.anon_bytes + shares.shared_bytes;
}

/* What all images of the session hold together: what several share is in the part of each. */
static uint64_t sum_parts(const struct session *session) {
    uint64_t bytes = part_of(session->current->keeper);
    if (session->first != session->current && !kept_has(session, session->first))
        bytes += part_of(session->first->keeper);
    for (const struct kept_image *kept = session->kept; kept; kept = kept->next)
        bytes += kept->image == session->current ? 0 : part_of(kept->image->keeper);
    return bytes;
}

/* What cells beside have left is counted in the group of their place. */
static uint64_t outside_bytes(const struct session *session) {
    uint64_t bytes = 0;
    for (const struct kept_image *kept = session->kept; kept; kept = kept->next)
        bytes += kept->image->outside_bytes;
    return bytes;
}

static uint64_t memory_of_all(const struct session *session) {
    struct resources_reading reading;
    if (!session->host.backend)
        return sum_parts(session);
    if (session->host.backend->read(&session->host.groups[SANDBOX_CELLS], &reading))
        return 0;
    return positive_difference(reading.memory_bytes, session_files_bytes(session, SESSION_FILES_LIVE)) +
           outside_bytes(session);
}

static uint64_t saved_bytes(const struct session *session) {
    uint64_t bytes = 0;
    for (const struct kept_image *kept = session->kept; kept; kept = kept->next)
        bytes += shared_bytes(&kept->image->shared);
    return bytes;
}

uint64_t session_kept_bytes(const struct session *session) {
    const uint64_t memory = positive_difference(memory_of_all(session), anonymous_bytes(session->current->keeper));
    const uint64_t files = positive_difference(session_files_bytes(session, SESSION_FILES_KEPT),
                                               session_files_bytes(session, SESSION_FILES_LIVE));
    return positive_difference(memory, session->kept_base_bytes) + files + saved_bytes(session);
}

/* What their group has beside images, such as page tables, is none of theirs. */
void kept_measure_base(struct session *session) {
    const uint64_t own = anonymous_bytes(session->current->keeper);
    session->kept_base_bytes = session->host.backend ? positive_difference(memory_of_all(session), own) : 0;
}
