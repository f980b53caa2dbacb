/*
 * step.c - the table of steps: what was being done, and what a person can do about it.
 *
 * The sentence is made where it is shown, of the step, the clause and
 * strerror(3): so a process that sets a sandbox up has to send no text of its own
 * but the clause.
 */

#include "step.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One row a step: what was being done, and what helps where it can't be done. */
static const struct {
    const char *what;
    const char *mend;
} steps[] = {
    [STEP_NONE] = {"nothing failed", ""},
    [STEP_PRIVILEGES] = {"looking at the privileges that petri was started with",
                         "It needs none, and would only have more to lose: start it as root or as an ordinary user, "
                         "without the set-user-ID or set-group-ID bit and without capabilities (of the file, or "
                         "ambient ones of whoever starts it)."},
    [STEP_USER_NAMESPACE] = {"making a user namespace",
                             "Allow unprivileged user namespaces: sysctl user.max_user_namespaces above 0, "
                             "kernel.unprivileged_userns_clone=1 (Debian), an AppArmor profile for petri or "
                             "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), or in a container a seccomp "
                             "profile that permits unshare and clone."},
    [STEP_ID_MAP] = {"writing the user id map", "In a container, run it with user namespaces permitted."},
    [STEP_PID_NAMESPACE] = {"making a pid namespace", "Raise sysctl user.max_pid_namespaces."},
    [STEP_MOUNT_NAMESPACE] = {"making a mount namespace",
                              "Raise sysctl user.max_mnt_namespaces; in a container, the seccomp profile must permit "
                              "unshare and mount."},
    [STEP_MOUNT_PROC] = {"mounting a fresh /proc",
                         "Something covers parts of /proc, and Linux then mounts no other there. Have a container "
                         "started without that (podman: --security-opt 'unmask=/proc/*', Docker: --security-opt "
                         "systempaths=unconfined, Kubernetes: hostUsers: false and procMount: Unmasked), a service of "
                         "systemd's without ProtectKernelTunables= and ProtectKernelLogs=."},
    [STEP_MOUNT_TMPFS] = {"mounting a tmpfs", "Linux 5.12 or newer is needed."},
    [STEP_MOUNT_BIND] = {"showing a folder read-only", "Check that it exists and may be read."},
    [STEP_MOUNT_OVERLAY] =
        {"mounting an overlay, through which cells see folders",
         "Linux 5.12 or newer with the overlay module is needed (modprobe overlay), and folders on a "
         "file system that an overlay can lie over: not vfat, exFAT, CIFS or sysfs."},
    [STEP_MOUNT_ATTRIBUTES] = {"making a mount read-only", "Linux 5.12 or newer is needed."},
    [STEP_PIVOT_ROOT] = {"changing the root", "In a container, the seccomp profile must permit pivot_root."},
    [STEP_TEMPLATE_FILE] = {"making a file of the sandbox's root", ""},
    [STEP_NAMESPACES] = {"making the namespaces of a sandbox",
                         "Raise the limits user.max_*_namespaces, and check that Linux has network, ipc, uts and "
                         "cgroup namespaces."},
    [STEP_FOLDER] = {"showing the notebook's folder to cells",
                     "Check that it is there and may be read, and restart the kernel."},
    [STEP_LAYER] = {"making a layer for the cell's files",
                    "Restart the kernel if this happens again: it begins without files of the session's."},
    [STEP_CREDENTIALS] = {"giving up privileges", ""},
    [STEP_NO_NEW_PRIVS] = {"setting no_new_privs", ""},
    [STEP_EXEC] = {"starting the interpreter", "Check the path given with --python."},
    [STEP_FORK] = {"starting a process", "The limit on processes (ulimit -u, pids.max) is too low."},
    [STEP_ZYGOTE] = {"talking to the process that makes sandboxes", "It has ended: restart the kernel."},
    [STEP_PIPE] = {"making a pipe or socket", "The limit on open files (ulimit -n) is too low."},
    [STEP_MEMORY] = {"getting memory",
                     "The machine, or the container, has none left: petri ps lists the kernels with theirs."},
    [STEP_PTRACE] =
        {"tracing the worker with ptrace",
         "Set kernel.yama.ptrace_scope to at most 2; in a container, permit ptrace in the seccomp profile."},
    [STEP_WORKER_DIED] = {"stopping the worker", "It has ended: restart the kernel."},
    [STEP_THREADS] = {"stopping the threads", "There were too many, or they would not stop."},
    [STEP_INJECT] = {"running a system call in the worker",
                     "The cell changed memory or descriptors that petri needs, or its threads did not stop in time."},
    [STEP_IMAGE] = {"copying the image", "The machine or the limit on processes is out of room."},
    [STEP_KEEPER] = {"reading the memory of the state",
                     "The process that held it was ended, by Linux for want of memory or from outside: that state is "
                     "lost, and %timeline lists the others, to which %restore goes."},
    [STEP_REGISTERS] = {"setting the registers of the state's threads",
                        "A thread has used some that Linux doesn't give to another cell."},
    [STEP_SETNS] = {"entering the sandbox's namespaces", ""},
    [STEP_CLONE] = {"starting a task in the sandbox", "Linux 5.9 or newer with CONFIG_CHECKPOINT_RESTORE is needed."},
    [STEP_FILTER] = {"installing the seccomp filter",
                     "Linux with CONFIG_SECCOMP_FILTER is needed; in a container, permit seccomp."},
    [STEP_CGROUP] = {"moving the worker into its control group", "Check the permissions of the control group."},
    [STEP_DESCRIPTORS] = {"keeping open files for the next cell", "Restart the kernel if this happens again."},
    [STEP_USER_LIMITS] = {"lowering the limits of cells", "The hard limit on open files (ulimit -Hn) is too low."},
    [STEP_PLACE] = {"finding a place beside the session's cell",
                    "The processes of earlier runs have not ended: try again, or restart the kernel."},
    [STEP_PYTHON] = {"finding the interpreter", "Give its path with --python."},
};
_Static_assert(sizeof steps / sizeof steps[0] == STEP_N, "one row a step");

int step_failed(struct error *ret_error, enum sandbox_step step, int err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int r = error_vset(ret_error, err, format, args);
    va_end(args);
    if (ret_error)
        ret_error->step = (int)step;
    return r;
}

static enum sandbox_step step_of(const struct error *error) {
    return error->step >= 0 && error->step < STEP_N ? (enum sandbox_step)error->step : STEP_NONE;
}

const char *sandbox_error_mend(const struct error *error) {
    return steps[step_of(error)].mend;
}

bool sandbox_error_is_of_module(const struct error *error) {
    return (error->step == STEP_USER_NAMESPACE && error->err == EACCES) ||
           (error->step == STEP_ID_MAP && error->err == EPERM);
}

const char *sandbox_error_text(const struct error *error, char *buf, size_t size) {
    const char *mend = sandbox_error_mend(error);
    snprintf(buf, size, "%s failed%s%s%s%s%s%s%s", steps[step_of(error)].what, error->text[0] ? " (" : "", error->text,
             error->text[0] ? ")" : "", error->err ? ": " : "", error->err ? strerror(error->err) : "",
             mend[0] ? ". " : ".", mend);
    return buf;
}
