/*
 * descriptors.h - the descriptors of an image: dumped when its cell is frozen, restored in each cell that is made of
 * it.
 *
 * A copy of an image has copies of its descriptors, but they lead to the same open
 * files: an offset that a cell moves, a flag that it sets and what it reads from a
 * pipe would stay so after a rollback. So each cell gets objects of its own under
 * the same numbers, with the same content. The table in descriptors.c says what is
 * done for each kind. What can't be copied and has no more state than flags and an
 * offset is shared, and gets these back when a cell is rolled back. What can be
 * neither copied nor shared is refused here, while its cell can still be rolled
 * back.
 *
 * The number of a descriptor tells nothing of its kind: a cell that closes its
 * standard input gets 0 for the next file that it opens.
 *
 * See: proc_pid_fd(5), proc_pid_fdinfo(5), kcmp(2), dup(2).
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_DESCRIPTORS_H
#define PETRI_SANDBOX_DESCRIPTORS_DESCRIPTORS_H

#include "base/cleanup.h"
#include "sandbox/descriptors/descriptor.h"
#include "sandbox/descriptors/restorer.h"

/*
 * More of them and a cell is rolled back: each costs the next cell a
 * microsecond, and one that is given to it some twenty.
 */
enum { DESCRIPTORS_MAX = 32768, DESCRIPTORS_RESTORED_MAX = 8192 };

/*
 * Finds what a stopped process has open, but for its control socket, and takes
 * what waits in its pipes: it is to be an image, which never reads them itself.
 * known is borrowed for the call. ret is the caller's: descriptors_fini(). 0, -ENOTSUP where something can't be carried
 * on (then error->text says what in words for a user), or -errno.
 */
int descriptors_dump(pid_t pid, const struct descriptors_known *known, struct descriptors *ret,
                     struct error *ret_error) MUST_CHECK;

void descriptors_fini(struct descriptors *list);

/* What the list takes of our own memory, with what waits in pipes and sockets. */
uint64_t descriptors_bytes(const struct descriptors *list);

/*
 * Has the restorer's task make what the image had, under the same numbers. A cell
 * beside the session's own gets pipes of its own in the place of the session's, or
 * /dev/null. 0, -EUCLEAN or -errno.
 */
int descriptors_restore(struct descriptors *list, struct restorer *restorer) MUST_CHECK;

/*
 * Puts flags and offsets of what cells share with the image back, from outside.
 * pid: the image's keeper. Whatever a cell has done to them, this doesn't block.
 * 0 or the first -errno.
 */
int descriptors_put_back(const struct descriptors *list, pid_t pid);

/*
 * Takes back what no cell may leave, committed or not, in what it shares with all
 * others: locks of those open files, and the mode of the session's pipes. list
 * and pid: of the image that the cell was made of, whose open files are all that
 * it could lock and others have; outputs: as in descriptors_known.
 */
void descriptors_end_cell(const struct descriptors *list, pid_t pid, const int outputs[DESCRIPTORS_OUTPUTS]);

#endif
