/*
 * probes.c - the probes, and the order in which they run.
 *
 * The order is that of the table: what explains others comes first (the machine,
 * a container), and what depends on a cell having run comes after that.
 */

#include "probes.h"

#include "base/cleanup.h"
#include "cli/container.h"
#include "kernel/base/paths.h"
#include "kernel/base/sandbox_error.h"
#include "kernel/policy/config.h"
#include "kernel/worker/selftest.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/utsname.h>

/* Reads a small file of /proc or /sys as one text. 0 or -errno. */
static int read_proc_text(const char *path, char *buf, size_t size) {
    auto_file file = fopen(path, "re");
    if (!file)
        return -errno;
    size_t n = fread(buf, 1, size - 1, file);
    buf[n] = '\0';
    return 0;
}

static enum finding probe_linux(const char *python, char *text, size_t size) {
    struct utsname name;
    char *dot;
    (void)python;
    if (uname(&name) < 0)
        return FINDING_UNUSABLE;
    long major = strtol(name.release, &dot, 10);
    long minor = *dot == '.' ? strtol(dot + 1, NULL, 10) : 0;
    bool known = strcmp(name.machine, "x86_64") == 0 && (major > 5 || (major == 5 && minor >= 11));
    snprintf(text, size, "Linux %s on %s%s", name.release, name.machine,
             known ? "." : ": petri needs Linux 5.11 or newer on x86_64.");
    return known ? FINDING_GOOD : FINDING_UNUSABLE;
}

static enum finding probe_files(const char *python, char *text, size_t size) {
    struct paths paths;
    (void)python;
    int r = paths_find(&paths);
    if (r == 0)
        snprintf(text, size, "%s.", paths.worker);
    else
        snprintf(text, size, "petri's own files are not where its program is: build or install it anew.");
    return r == 0 ? FINDING_GOOD : FINDING_UNUSABLE;
}

/* The bounds of all kernels that the configuration sets; none where it can't be used, which is petri config check's. */
static struct sandbox_bounds find_bounds(void) {
    struct config config;
    struct error ignored;
    struct sandbox_bounds bounds = {0};
    if (config_load(NULL, NULL, &config, &ignored) < 0)
        return bounds;
    bounds = (struct sandbox_bounds){(uint64_t)config.kernels.memory_bytes, (uint64_t)config.kernels.processes};
    config_fini(&config);
    return bounds;
}

/* Into this folder's namespaces, as the kernel does. 0, or -errno with a sentence in ret_error. */
static int enter_bounded(struct workdir *workdir, const struct sandbox_bounds *bounds, struct sandbox_host *host,
                         struct error *ret_error) {
    struct error cause = {0};
    int r = workdir_open(workdir, NULL, ret_error);
    if (r < 0)
        return r;
    const struct sandbox_folder folder = workdir_folder(workdir);
    r = sandbox_enter(&folder, bounds, host, &cause);
    return r < 0 ? error_set_sandbox(ret_error, r, &cause) : 0;
}

static int enter(struct workdir *workdir, struct sandbox_host *host, struct error *ret_error) {
    return enter_bounded(workdir, &(struct sandbox_bounds){0}, host, ret_error);
}

/* Adds what this container, if it is one, has to be started with: another sentence. */
static void add_container_options(char *text, size_t size) {
    const size_t n = strlen(text);
    const struct container *container = container_find("");
    const bool ended = n > 0 && text[n - 1] == '.';
    if (container && container->options)
        snprintf(text + n, size - n, "%s In %s petri needs: %s. See docs/containers.md of petri's sources.",
                 ended ? "" : ".", container->name, container->options);
}

/* What a runtime may have refused was asked for after the folder was opened. */
static enum finding fail(const struct workdir *workdir, const struct error *error, char *text, size_t size) {
    const bool refused = error->err == EPERM || error->err == EACCES || error->err == ENOSYS;
    snprintf(text, size, "%s", error->text);
    if (refused && workdir->fd >= 0)
        add_container_options(text, size);
    return FINDING_UNUSABLE;
}

static enum finding probe_namespaces(const char *python, char *text, size_t size) {
    auto_workdir workdir = {.fd = -1};
    struct sandbox_host host;
    struct error error;
    (void)python;
    if (enter(&workdir, &host, &error) < 0)
        return fail(&workdir, &error, text, size);
    snprintf(text, size, "user, pid and mount namespaces can be made.");
    return FINDING_GOOD;
}

static enum finding probe_cell(const char *python, char *text, size_t size) {
    auto_workdir workdir = {.fd = -1};
    struct sandbox_host host;
    struct error error;
    if (!python) {
        snprintf(text, size, "there is no Python 3 to try with; name one with --python.");
        return FINDING_UNUSABLE;
    }
    if (enter(&workdir, &host, &error) < 0 || selftest_run(&host, &workdir, python, &error) < 0)
        return fail(&workdir, &error, text, size);
    snprintf(text, size, "%s was started, captured, and ran a cell.", python);
    return FINDING_GOOD;
}

/* Which hierarchies of control groups are mounted. */
static const char *cgroup_version(void) {
    char text[4096];
    if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
        return "version 2";
    if (read_proc_text("/proc/self/cgroup", text, sizeof text) < 0 || !strchr(text, '\n'))
        return "none";
    return strstr(text, ":memory:") ? "version 1" : "without a memory controller";
}

/* What of the bounds that are asked for does not hold, as a sentence behind others; "" where all do. */
static const char *missing_bounds(const struct sandbox_bounds *asked, const struct sandbox_bounds *holds) {
    const bool memory = asked->memory_bytes && !holds->memory_bytes;
    const bool processes = asked->processes && !holds->processes;
    if (memory && processes)
        return " The bounds of the memory and the processes of all kernels together (\"kernels\" of the configuration) "
               "don't hold.";
    if (memory)
        return " The bound of the memory of all kernels together (\"kernels\" of the configuration) does not hold.";
    return processes
               ? " The bound of the processes of all kernels together (\"kernels\" of the configuration) does not "
                 "hold."
               : "";
}

static enum finding probe_cgroup(const char *python, char *text, size_t size) {
    auto_workdir workdir = {.fd = -1};
    struct sandbox_host host;
    struct error error;
    const struct sandbox_bounds bounds = find_bounds();
    const char *version = cgroup_version();
    (void)python;
    if (enter_bounded(&workdir, &bounds, &host, &error) < 0)
        return fail(&workdir, &error, text, size);
    const char *missing = missing_bounds(&bounds, &host.bounded);
    if (host.backend) {
        snprintf(text, size, "%s; cells get groups of their own (%s).%s", version, sandbox_memory_backend(&host),
                 missing);
        return missing[0] ? FINDING_DEGRADED : FINDING_GOOD;
    }
    snprintf(
        text, size,
        "%s, but none that petri may divide. So petri itself measures the memory of cells, every 10 ms: for so long "
        "a cell may hold more than its limit. All other limits are the same.%s To change that, start Jupyter under "
        "systemd from a login session or with systemd-run --user --scope -p Delegate=yes; in a container, have "
        "whoever starts it mount /sys/fs/cgroup writable.",
        version, missing);
    return FINDING_DEGRADED;
}

static enum finding probe_seccomp(const char *python, char *text, size_t size) {
    char actions[512];
    (void)python;
    if (read_proc_text("/proc/sys/kernel/seccomp/actions_avail", actions, sizeof actions) < 0) {
        snprintf(text, size, "there are no filters of system calls: the kernel needs CONFIG_SECCOMP_FILTER.");
        return FINDING_UNUSABLE;
    }
    const int r = sandbox_try_listener();
    if (r == 0) {
        snprintf(text, size, "filters, and refused calls can be reported.");
        return FINDING_GOOD;
    }
    if (r == -EBUSY) {
        snprintf(
            text, size,
            "filters, but refused calls go unreported: what started petri (a container's runtime, perhaps) listens "
            "to its calls already, and Linux allows one listener.");
        return FINDING_DEGRADED;
    }
    snprintf(text, size, "filters of system calls are refused (%s).", strerror(-r));
    add_container_options(text, size);
    return FINDING_UNUSABLE;
}

static enum finding probe_ptrace(const char *python, char *text, size_t size) {
    char scope[16];
    (void)python;
    if (read_proc_text("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope) < 0) {
        snprintf(text, size, "not restricted by Yama.");
        return FINDING_GOOD;
    }
    scope[strcspn(scope, "\n")] = '\0';
    bool off = strcmp(scope, "3") == 0;
    snprintf(text, size, "kernel.yama.ptrace_scope is %s%s", scope,
             off ? ", which forbids it: set it to at most 2 (takes a restart)."
                 : ", which permits it for own children.");
    return off ? FINDING_UNUSABLE : FINDING_GOOD;
}

/* Comes after the cell, which has loaded the module where there is one. */
static enum finding probe_overlay(const char *python, char *text, size_t size) {
    char systems[4096];
    (void)python;
    bool there = read_proc_text("/proc/filesystems", systems, sizeof systems) == 0 && strstr(systems, "\toverlay\n");
    snprintf(text, size, "%s",
             there ? "there is the overlay file system."
                   : "there is no overlay file system: modprobe overlay, or a kernel with CONFIG_OVERLAY_FS.");
    return there ? FINDING_GOOD : FINDING_UNUSABLE;
}

static enum finding probe_apparmor(const char *python, char *text, size_t size) {
    char restricted[16] = "";
    auto_workdir workdir = {.fd = -1};
    struct sandbox_host host;
    struct error error;
    (void)python;
    if (read_proc_text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", restricted, sizeof restricted) < 0 ||
        restricted[0] == '0') {
        snprintf(text, size, "it does not restrict user namespaces.");
        return FINDING_GOOD;
    }
    if (enter(&workdir, &host, &error) == 0) {
        snprintf(text, size, "it restricts user namespaces, but not petri's.");
        return FINDING_GOOD;
    }
    snprintf(text, size,
             "it forbids petri user namespaces: give petri a profile with \"userns,\" in /etc/apparmor.d, or "
             "set kernel.apparmor_restrict_unprivileged_userns=0.");
    return FINDING_UNUSABLE;
}

static enum finding probe_container(const char *python, char *text, size_t size) {
    const struct container *container = container_find("");
    (void)python;
    snprintf(text, size, "%s%s.", container ? "this is " : "this looks like no container",
             container ? container->name : "");
    return FINDING_GOOD;
}

static enum finding probe_kcmp(const char *python, char *text, size_t size) {
    const int r = sandbox_try_compare();
    (void)python;
    if (r == 0) {
        snprintf(text, size, "it tells which descriptors share an open file.");
        return FINDING_GOOD;
    }
    snprintf(text, size,
             "it is refused (%s). So copies of a descriptor (dup) each have a position of their own from one cell to "
             "the next, and an epoll may lose what it watches.%s",
             strerror(-r), r == -ENOSYS ? " The kernel needs CONFIG_KCMP." : "");
    add_container_options(text, size);
    return FINDING_DEGRADED;
}

const struct probe probes[] = {
    {"linux", "every cell", probe_linux},
    {"container", "knowing where to look: what follows may be the container's doing", probe_container},
    {"files", "the worker that runs cells", probe_files},
    {"apparmor", "user namespaces for an ordinary user", probe_apparmor},
    {"namespaces", "every cell", probe_namespaces},
    {"ptrace", "the state that goes on from cell to cell", probe_ptrace},
    {"kcmp", "the descriptors that go on from cell to cell", probe_kcmp},
    {"seccomp", "every cell", probe_seccomp},
    {"cell", "all of it together, with a real interpreter", probe_cell},
    {"overlay", "the files of cells", probe_overlay},
    {"cgroup", "limits of memory and what a cell has used", probe_cgroup},
};
const size_t probes_n = sizeof probes / sizeof probes[0];
