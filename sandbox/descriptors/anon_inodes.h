/*
 * anon_inodes.h - eventfds, timerfds, signalfds and inotify of an image: /proc has all that there is to know of them.
 *
 * A timer keeps the moment at which it expires, so it may have expired when the
 * next cell starts. A new inotify watches nothing: the watches of the old one were
 * on files as an earlier sandbox showed them.
 *
 * See: proc_pid_fdinfo(5), eventfd(2), timerfd_create(2), signalfd(2), inotify(7).
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_ANON_INODES_H
#define PETRI_SANDBOX_DESCRIPTORS_ANON_INODES_H

#include "base/cleanup.h"
#include "sandbox/descriptors/descriptor.h"
#include "sandbox/descriptors/restorer.h"

int anon_inodes_dump_eventfd(struct descriptors_source *source, struct descriptors *list) MUST_CHECK;
int anon_inodes_dump_timerfd(struct descriptors_source *source, struct descriptors *list) MUST_CHECK;
int anon_inodes_dump_signalfd(struct descriptors_source *source, struct descriptors *list) MUST_CHECK;

int anon_inodes_restore_eventfd(struct descriptors *list, struct restorer *restorer) MUST_CHECK;
int anon_inodes_restore_timerfd(struct descriptors *list, struct restorer *restorer) MUST_CHECK;
int anon_inodes_restore_signalfd(struct descriptors *list, struct restorer *restorer) MUST_CHECK;
int anon_inodes_restore_inotify(struct descriptors *list, struct restorer *restorer) MUST_CHECK;

#endif
