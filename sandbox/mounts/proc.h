/*
 * proc.h - what a sandbox shows of /proc: its own processes, and of the machine only what is in a short list.
 *
 * procfs has an option, subset=pid, that leaves out all but the processes; but
 * with it nothing can stand where cpuinfo and meminfo would, and libraries read
 * those. So a sandbox has the whole of procfs, and every entry that is not in
 * the list is covered by an empty file or folder, also those that later versions
 * of Linux add.
 *
 * See: procfs(5), proc.rst ("Mount options"), mount_namespaces(7).
 */
#ifndef PETRI_SANDBOX_MOUNTS_PROC_H
#define PETRI_SANDBOX_MOUNTS_PROC_H

#include "sandbox/sandbox.h"

/*
 * Makes what the entries are covered with in folder, which must exist and be
 * the template's own: made from the /proc of the caller, which must show the
 * whole of procfs. 0 or -errno with ret_error filled.
 */
int proc_build_covers(const char *folder, struct error *ret_error);

/*
 * Mounts the procfs of the caller's pid namespace at target, read-only, and
 * covers it with what stands in folder. The mount namespace must have a procfs
 * that nothing covers, or Linux allows no other: the zygote's. 0 or -errno
 * with ret_error filled.
 */
int proc_mount(const char *folder, const char *target, struct error *ret_error);

#endif
