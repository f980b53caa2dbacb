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
#include <stdarg.h>
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

/* Whether a file of /proc or /sys has this number, and nothing else. */
static bool has_number(const char *path, long number) {
    char text[32], *end;
    if (read_proc_text(path, text, sizeof text) < 0)
        return false;
    const long found = strtol(text, &end, 10);
    return end != text && (*end == '\n' || *end == '\0') && found == number;
}

/* Fills a diagnosis. */
__attribute__((format(printf, 4, 5))) static void say(struct diagnosis *diagnosis, enum finding finding,
                                                      enum remedy remedy, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(diagnosis->text, sizeof diagnosis->text, format, args);
    va_end(args);
    diagnosis->finding = finding;
    diagnosis->remedy = remedy;
}

static void good(struct diagnosis *diagnosis, const char *text) {
    say(diagnosis, FINDING_GOOD, REMEDY_NONE, "%s", text);
}

/* Mounts get their attributes by mount_setattr(2), which Linux has since 5.12. */
static void probe_linux(const char *python, struct diagnosis *diagnosis) {
    struct utsname name;
    char *dot;
    (void)python;
    if (uname(&name) < 0)
        return say(diagnosis, FINDING_UNUSABLE, REMEDY_LINUX, "it does not say what it is.");
    const long major = strtol(name.release, &dot, 10);
    const long minor = *dot == '.' ? strtol(dot + 1, NULL, 10) : 0;
    const bool machine = strcmp(name.machine, "x86_64") == 0;
    const bool known = machine && (major > 5 || (major == 5 && minor >= 12));
    say(diagnosis, known ? FINDING_GOOD : FINDING_UNUSABLE, known ? REMEDY_NONE : REMEDY_LINUX, "Linux %s on %s%s",
        name.release, name.machine,
        known     ? "."
        : machine ? ", which is too old."
                  : ", which is another machine.");
}

static void probe_files(const char *python, struct diagnosis *diagnosis) {
    struct paths paths;
    (void)python;
    if (paths_find(&paths) == 0)
        return say(diagnosis, FINDING_GOOD, REMEDY_NONE, "%s.", paths.worker);
    if (access("/proc/self/exe", F_OK) < 0)
        return say(diagnosis, FINDING_UNUSABLE, REMEDY_NONE, "there is no /proc, by which petri finds its own files.");
    say(diagnosis, FINDING_UNUSABLE, REMEDY_FILES, "petri's own files are not where its program is.");
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
    r = sandbox_enter(&folder, bounds, NULL, host, &cause);
    return r < 0 ? error_set_sandbox(ret_error, r, &cause) : 0;
}

static int enter(struct workdir *workdir, struct sandbox_host *host, struct error *ret_error) {
    return enter_bounded(workdir, &(struct sandbox_bounds){0}, host, ret_error);
}

/* That of a container that is refused something; none where this is no container, or one that needs no known options.
 */
static enum remedy of_container(void) {
    const struct container *container = container_find("");
    return container && container->options ? REMEDY_CONTAINER : REMEDY_NONE;
}

/* Whether AppArmor keeps programs that have no profile from using user namespaces. */
static bool restricts_namespaces(void) {
    return has_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1);
}

/*
 * What helps where no user namespace can be made. The first and the last are switches of the machine's, in its
 * containers, too; the second is one of the user namespace that petri is in.
 */
static enum remedy find_switch(const struct error *error) {
    if (geteuid() != 0 && has_number("/proc/sys/kernel/unprivileged_userns_clone", 0))
        return REMEDY_USER_NAMESPACES_OFF;
    if (has_number("/proc/sys/user/max_user_namespaces", 0))
        return REMEDY_USER_NAMESPACES_NONE;
    return restricts_namespaces() && sandbox_error_is_of_module(error) ? REMEDY_APPARMOR : REMEDY_NONE;
}

static bool has_overlay(void) {
    char systems[4096];
    return read_proc_text("/proc/filesystems", systems, sizeof systems) == 0 && strstr(systems, "\toverlay\n");
}

/* What helps where no cell runs in namespaces that can be made. The machine decides on both, in its containers, too. */
static enum remedy find_lack(const struct error *error) {
    if (error->err == EPERM && has_number("/proc/sys/kernel/yama/ptrace_scope", 3))
        return REMEDY_YAMA;
    return error->err == ENODEV && !has_overlay() ? REMEDY_OVERLAY : REMEDY_NONE;
}

/* What a runtime may have refused was asked for after the folder was opened. */
static enum remedy find_remedy(const struct workdir *workdir, const struct error *error, bool entered) {
    const bool refused = error->err == EPERM || error->err == EACCES || error->err == ENOSYS;
    if (workdir->fd < 0)
        return REMEDY_NONE;
    const enum remedy of_machine = entered ? find_lack(error) : find_switch(error);
    return of_machine == REMEDY_NONE && refused ? of_container() : of_machine;
}

/* The sentence of the sandbox says what may help; not where that is known better. */
static void fail(struct diagnosis *diagnosis, const struct workdir *workdir, const struct error *error, bool entered) {
    const enum remedy remedy = find_remedy(workdir, error, entered);
    const char *mend = error->step ? sandbox_error_mend(error) : "";
    size_t n = strlen(error->text);
    if (remedy != REMEDY_NONE && n > strlen(mend) && strcmp(error->text + n - strlen(mend), mend) == 0)
        n -= strlen(mend);
    while (n > 0 && error->text[n - 1] == ' ')
        n--;
    const bool ended = n > 0 && error->text[n - 1] == '.';
    say(diagnosis, FINDING_UNUSABLE, remedy, "%.*s%s", (int)n, error->text, ended ? "" : ".");
}

static void probe_namespaces(const char *python, struct diagnosis *diagnosis) {
    auto_workdir workdir = {.fd = -1};
    struct sandbox_host host;
    struct error error;
    (void)python;
    if (enter(&workdir, &host, &error) < 0)
        return fail(diagnosis, &workdir, &error, false);
    good(diagnosis, "user, pid and mount namespaces can be made.");
}

static void probe_cell(const char *python, struct diagnosis *diagnosis) {
    auto_workdir workdir = {.fd = -1};
    struct sandbox_host host;
    struct error error;
    if (!python)
        return say(diagnosis, FINDING_UNUSABLE, REMEDY_PYTHON, "there is no Python 3 to try with.");
    if (enter(&workdir, &host, &error) < 0)
        return fail(diagnosis, &workdir, &error, false);
    if (selftest_run(&host, &workdir, python, &error) < 0)
        return fail(diagnosis, &workdir, &error, true);
    say(diagnosis, FINDING_GOOD, REMEDY_NONE, "%s was started, captured, and ran a cell.", python);
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

/*
 * Who could give petri a group: under systemd the user's manager, which may not run, may have no bus, or may not have
 * the memory controller. See: sandbox/limits/delegate.h; user@.service(5).
 */
static enum remedy find_group_remedy(void) {
    char path[128], controllers[256];
    const unsigned uid = geteuid();
    if (uid == 0 || access("/run/systemd/system", F_OK) < 0 || access("/sys/fs/cgroup/cgroup.controllers", F_OK) < 0)
        return REMEDY_NONE;
    snprintf(path, sizeof path, "/run/user/%u/bus", uid);
    if (access(path, F_OK) < 0) {
        snprintf(path, sizeof path, "/run/user/%u/systemd", uid);
        return access(path, F_OK) < 0 ? REMEDY_MANAGER : REMEDY_BUS;
    }
    snprintf(path, sizeof path, "/sys/fs/cgroup/user.slice/user-%u.slice/user@%u.service/cgroup.controllers", uid, uid);
    if (read_proc_text(path, controllers, sizeof controllers) == 0 && !strstr(controllers, "memory"))
        return REMEDY_CONTROLLER;
    return REMEDY_NONE;
}

static void probe_cgroup(const char *python, struct diagnosis *diagnosis) {
    auto_workdir workdir = {.fd = -1};
    struct sandbox_host host;
    struct error error;
    const struct sandbox_bounds bounds = find_bounds();
    const enum remedy remedy = find_group_remedy(); /* in the namespaces it is another user who asks */
    const char *version = cgroup_version();
    (void)python;
    if (enter_bounded(&workdir, &bounds, &host, &error) < 0)
        return fail(diagnosis, &workdir, &error, false);
    const char *missing = missing_bounds(&bounds, &host.bounded);
    if (host.backend)
        return say(diagnosis, missing[0] ? FINDING_DEGRADED : FINDING_GOOD, REMEDY_NONE,
                   "%s; cells get groups of their own (%s).%s", version, sandbox_memory_backend(&host), missing);
    static const char of_container[] = " To get one takes, from whoever starts the container, a writable "
                                       "/sys/fs/cgroup, and with version 2 a group in which nothing else runs; what "
                                       "the container itself may use at most is a bound for all of its kernels "
                                       "together.";
    static const char of_machine[] = " To get one takes systemd, and a login.";
    say(diagnosis, FINDING_DEGRADED, remedy,
        "%s, but none that petri may divide. So petri itself measures the memory of cells, every 10 ms: for so long "
        "a cell may hold more than its limit. All other limits are the same.%s%s",
        version, missing,
        remedy != REMEDY_NONE ? ""
        : container_find("")  ? of_container
                              : of_machine);
}

static void probe_seccomp(const char *python, struct diagnosis *diagnosis) {
    char actions[512];
    (void)python;
    if (read_proc_text("/proc/sys/kernel/seccomp/actions_avail", actions, sizeof actions) < 0)
        return say(diagnosis, FINDING_UNUSABLE, REMEDY_LINUX,
                   "there are no filters of system calls: the kernel needs CONFIG_SECCOMP_FILTER.");
    const int r = sandbox_try_listener();
    if (r == 0)
        return good(diagnosis, "filters, and refused calls can be reported.");
    if (r == -EBUSY)
        return say(
            diagnosis, FINDING_DEGRADED, REMEDY_NONE,
            "filters, but refused calls go unreported: what started petri (a container's runtime, perhaps) listens "
            "to its calls already, and Linux allows one listener.");
    say(diagnosis, FINDING_UNUSABLE, of_container(), "filters of system calls are refused (%s).", strerror(-r));
}

static void probe_ptrace(const char *python, struct diagnosis *diagnosis) {
    char scope[16];
    (void)python;
    if (read_proc_text("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope) < 0)
        return good(diagnosis, "not restricted by Yama.");
    scope[strcspn(scope, "\n")] = '\0';
    const bool off = strcmp(scope, "3") == 0;
    say(diagnosis, off ? FINDING_UNUSABLE : FINDING_GOOD, off ? REMEDY_YAMA : REMEDY_NONE,
        "kernel.yama.ptrace_scope is %s, which %s.", scope, off ? "forbids it" : "permits it for own children");
}

/* Comes after the cell, which has loaded the module where there is one; unless none came as far as that. */
static void probe_overlay(const char *python, struct diagnosis *diagnosis) {
    auto_workdir workdir = {.fd = -1};
    struct sandbox_host host;
    struct error error;
    (void)python;
    if (has_overlay())
        return good(diagnosis, "there is the overlay file system.");
    if (enter(&workdir, &host, &error) < 0)
        return fail(diagnosis, &workdir, &error, false);
    say(diagnosis, FINDING_UNUSABLE, REMEDY_OVERLAY,
        "there is no overlay file system: it is a module that is not loaded, or the kernel lacks CONFIG_OVERLAY_FS.");
}

static void probe_apparmor(const char *python, struct diagnosis *diagnosis) {
    auto_workdir workdir = {.fd = -1};
    struct sandbox_host host;
    struct error error;
    (void)python;
    if (!restricts_namespaces())
        return good(diagnosis, "it does not restrict user namespaces.");
    if (enter(&workdir, &host, &error) == 0)
        return good(diagnosis, "it restricts user namespaces, but not petri's.");
    if (!sandbox_error_is_of_module(&error))
        return good(diagnosis, "it restricts user namespaces, but is not what petri's fail by.");
    say(diagnosis, FINDING_UNUSABLE, REMEDY_APPARMOR, "it restricts user namespaces, and petri's, too.");
}

static void probe_container(const char *python, struct diagnosis *diagnosis) {
    const struct container *container = container_find("");
    (void)python;
    say(diagnosis, FINDING_GOOD, REMEDY_NONE, "%s%s.", container ? "this is " : "this looks like no container",
        container ? container->name : "");
}

static void probe_kcmp(const char *python, struct diagnosis *diagnosis) {
    const int r = sandbox_try_compare();
    (void)python;
    if (r == 0)
        return good(diagnosis, "it tells which descriptors share an open file.");
    say(diagnosis, FINDING_DEGRADED, of_container(),
        "it is refused (%s). So copies of a descriptor (dup) each have a position of their own from one cell to "
        "the next, and an epoll may lose what it watches.%s",
        strerror(-r), r == -ENOSYS ? " The kernel needs CONFIG_KCMP." : "");
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
