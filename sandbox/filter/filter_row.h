/*
 * filter_row.h - how the rows of filter_table.c are written: a macro for each kind, and the masks that they test.
 *
 * For the table alone: the macros have names as short as rows want them.
 */
#ifndef PETRI_SANDBOX_FILTER_FILTER_ROW_H
#define PETRI_SANDBOX_FILTER_FILTER_ROW_H

#include <linux/sched.h>

#define ALLOW(call)                                                                                                    \
    { #call, FILTER_ALLOW, 0, {0 }, "" }
#define ALLOW_IF(call, argument, mask, value)                                                                          \
    { #call, FILTER_ALLOW, 0, {argument, mask, value }, "" }
#define ERRNO(call, err, why)                                                                                          \
    { #call, FILTER_ERRNO, err, {0 }, why }
#define ERRNO_IF(call, argument, mask, value, err, why)                                                                \
    { #call, FILTER_ERRNO, err, {argument, mask, value }, why }
#define NOOP(call, why)                                                                                                \
    { #call, FILTER_NOOP, 0, {0 }, why }
#define NOOP_IF(call, argument, mask, value, why)                                                                      \
    { #call, FILTER_NOOP, 0, {argument, mask, value }, why }
#define TRACE(call, why)                                                                                               \
    { #call, FILTER_TRACE, 0, {0 }, why }
#define TRACE_IF(call, argument, mask, value, why)                                                                     \
    { #call, FILTER_TRACE, 0, {argument, mask, value }, why }
#define NOTIFY(call, why)                                                                                              \
    { #call, FILTER_NOTIFY, 0, {0 }, why }
#define DENY(call, err, why)                                                                                           \
    { #call, FILTER_DENY, err, {0 }, why }

#define ALL 0xffffffffU

/* ARCH_GET_XCOMP_SUPP and the two behind it, which older headers lack: AMX is asked for with them. */
enum { GET_XCOMP_SUPP = 0x1021, GET_XCOMP_PERM, REQ_XCOMP_PERM };

/*
 * What a clone may not ask for. CLONE_NEWTIME is in the low byte, which is the
 * exit signal here; clone3 has it, and clone3 is not to be had. With CLONE_PARENT
 * the new process would be a child of the kernel's, and with CLONE_PTRACE no
 * process' tracee: neither could be ended with its cell.
 */
#define CLONE_NAMESPACES                                                                                               \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define CLONE_FORBIDDEN (CLONE_NAMESPACES | CLONE_PARENT | CLONE_PTRACE | CLONE_UNTRACED)

/*
 * A process is carried on with one table of descriptors and one working folder:
 * what a thread had for itself alone would neither be seen at the freeze nor be
 * there in the next cell.
 */
#define CLONE_OF_THREAD (CLONE_THREAD | CLONE_FILES | CLONE_FS)

/* fcntl's commands up to this are those of POSIX, and locks of open files; Linux' own begin at 1024. */
enum { FCNTL_OLD = 63, FCNTL_DUPFD_QUERY = 1027 };

/* Classes of I/O priorities, whose header came with Linux 5.15; what is below them is a level. See: ioprio_set(2). */
#define IO_CLASS 0xffffe000U
enum { IO_NONE = 0, IO_BEST_EFFORT = 2 << 13, IO_IDLE = 3 << 13 };

/* RWF_NOWAIT: reads only what is in the page cache. */
enum { READ_NOWAIT = 8 };

#endif
