/*
 * anon_inodes.h - eventfds, timerfds, signalfds and inotify of an image: objects that are told by what /proc says of
 * them.
 *
 * A timer goes on in the next cell towards the moment that it had: so it may be
 * past at once. A fresh inotify watches nothing, and so did the old one: its
 * watches were on files as an earlier sandbox saw them.
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
