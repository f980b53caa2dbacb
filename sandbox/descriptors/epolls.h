/*
 * epolls.h - the epoll descriptors of an image: made anew, watching the cell's own descriptors.
 *
 * See: epoll(7), proc_pid_fdinfo(5), KCMP_EPOLL_TFD in kcmp(2).
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_EPOLLS_H
#define PETRI_SANDBOX_DESCRIPTORS_EPOLLS_H

#include "base/cleanup.h"
#include "sandbox/descriptors/descriptor.h"
#include "sandbox/descriptors/restorer.h"

int epolls_dump(struct descriptors_source *source, struct descriptors *list) MUST_CHECK;
int epolls_restore(struct descriptors *list, struct restorer *restorer) MUST_CHECK;
void epolls_fini(struct descriptor *descriptor);
size_t epolls_bytes(const struct descriptor *descriptor);

#endif
