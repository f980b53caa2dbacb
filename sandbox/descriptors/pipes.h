/*
 * pipes.h - the pipes and FIFOs of an image: what waits in them is taken when the cell is frozen, and put into the
 * pipes of each cell that is made of it.
 *
 * All other processes of a cell have ended when it is frozen, so both ends of an
 * image's pipes are in the image. A FIFO is opened anew by its path, so that it is
 * the one that other programs open there.
 *
 * See: pipe(7), fifo(7).
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_PIPES_H
#define PETRI_SANDBOX_DESCRIPTORS_PIPES_H

#include "base/cleanup.h"
#include "sandbox/descriptors/descriptor.h"
#include "sandbox/descriptors/restorer.h"

int pipes_dump(struct descriptors_source *source, struct descriptors *list) MUST_CHECK;
int pipes_restore(struct descriptors *list, struct restorer *restorer) MUST_CHECK;
void pipes_fini(struct descriptor *descriptor);
size_t pipes_bytes(const struct descriptor *descriptor);

#endif
