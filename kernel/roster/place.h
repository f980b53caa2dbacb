/*
 * place.h - the folders where the kernels of a user have their files.
 *
 * They do not depend on the environment, for one Jupyter server has
 * XDG_RUNTIME_DIR and the next one, of a hub or a service, hasn't: a user's kernels
 * would not find each other. The first that can be had is used; all of them are
 * read, because /run/user/UID comes and goes with logins.
 *
 *     /run/user/UID/petri    where there is a login session
 *     /run/petri-UID         as root
 *     /dev/shm/petri-UID     else: in memory, like the others, and not cleaned by age as /tmp
 *
 * See: XDG Base Directory Specification, user-runtime-directories in file-hierarchy(7).
 */
#ifndef PETRI_ROSTER_PLACE_H
#define PETRI_ROSTER_PLACE_H

#include "base/cleanup.h"
#include "base/error.h"

#include <sys/types.h>

/* Folders of one user's, open and owned; those that are not there are left out. */
struct place {
    size_t n;
    int fds[3];
};

/*
 * Opens this user's folders, and makes the first that can be made where there is
 * none. 0 with at least one; or -errno with a clause in ret_error, as where another
 * user has taken the name. ret_place is the caller's: place_close().
 */
int place_open_own(struct place *ret_place, struct error *ret_error) MUST_CHECK;

void place_close(struct place *place);

/* Called with each folder, which is borrowed for the call. */
typedef void place_visitor(void *arg, int folder_fd, uid_t owner);

/* Visits the folders of this user, as root those of all users. */
void place_visit(place_visitor *visit, void *arg);

#endif
