/*
 * sys.h - the /sys that cells see: ordinary files that say which processors there are.
 *
 * lscpu(1), which joblib asks for the number of cores, does not work without,
 * and torch complains. There is no sysfs in a sandbox.
 *
 * See: sysfs-devices-system-cpu.
 */
#ifndef PETRI_SANDBOX_MOUNTS_SYS_H
#define PETRI_SANDBOX_MOUNTS_SYS_H

#include "sandbox/sandbox.h"

#define SYS_PROCESSORS "/sys/devices/system/cpu"

/* Fills SYS_PROCESSORS, a folder, from the sysfs below old; with nothing where that has none. 0 or -errno. */
int sys_build(const char *old, struct error *ret_error);

#endif
