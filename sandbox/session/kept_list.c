/*
 * kept_list.c - which images are kept.
 */
#include "sandbox/image/image.h"
#include "sandbox/session/kept.h"
#include "sandbox/session/session.h"

bool kept_has(const struct session *session, const struct image *image) {
    const struct kept_image *kept = session->kept;
    while (kept && kept->image != image)
        kept = kept->next;
    return kept;
}

size_t kept_list_keepers(const struct session *session, pid_t *ret_pids, size_t max) {
    size_t n = 0;
    for (const struct kept_image *kept = session->kept; kept && n < max; kept = kept->next)
        ret_pids[n++] = kept->image->keeper;
    return n;
}
