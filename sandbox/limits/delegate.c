/*
 * delegate.c - one call of StartTransientUnit, and waiting until this process is in the new scope.
 *
 * sd-bus is loaded with dlopen(3), so that petri runs where there is no systemd,
 * and by the functions that are stable since it exists. That the process has been
 * moved is read from /proc/self/cgroup, and not concluded from an answer: each
 * message on the bus is only a reason to look again. Everything waits until one
 * deadline.
 */
#define _GNU_SOURCE
#include "delegate.h"

#include "base/cleanup.h"
#include "sandbox/limits/cgroup.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#define LIBRARY "libsystemd.so.0"
#define SYSTEM_BUS "/run/dbus/system_bus_socket"
#define SYSTEMD_RUNS "/run/systemd/system" /* sd_booted(3) */

enum { PATIENCE_S = 20 };

/* Of sd-bus(3). All of it is opaque here, and stable since systemd 221, so building needs no header of systemd's. */
struct sd_bus;
struct sd_bus_error;
struct sd_bus_message;
struct sd_bus_slot;
typedef int answer_handler(struct sd_bus_message *answer, void *arg, struct sd_bus_error *ret_error);

/* The functions that are used, each called like the library's without sd_bus_. */
struct library {
    int (*new)(struct sd_bus **ret_bus);
    int (*set_fd)(struct sd_bus *bus, int input_fd, int output_fd);
    int (*set_bus_client)(struct sd_bus *bus, int is_client);
    int (*start)(struct sd_bus *bus);
    int (*call_method_async)(struct sd_bus *bus, struct sd_bus_slot **ret_slot, const char *destination,
                             const char *path, const char *interface, const char *member, answer_handler *handler,
                             void *arg, const char *types, ...);
    int (*message_is_method_error)(struct sd_bus_message *message, const char *name);
    int (*process)(struct sd_bus *bus, struct sd_bus_message **ret_message);
    int (*wait)(struct sd_bus *bus, uint64_t timeout_us);
    int (*is_open)(struct sd_bus *bus);
    void (*close)(struct sd_bus *bus);
    struct sd_bus *(*unref)(struct sd_bus *bus);
};

#define FUNCTION(name)                                                                                                 \
    { "sd_bus_" #name, offsetof(struct library, name) }
static const struct {
    const char *symbol;
    size_t at;
} functions[] = {
    FUNCTION(new),     FUNCTION(set_fd), FUNCTION(set_bus_client), FUNCTION(start), FUNCTION(call_method_async),
    FUNCTION(process), FUNCTION(wait),   FUNCTION(is_open),        FUNCTION(close), FUNCTION(message_is_method_error),
    FUNCTION(unref),
};
_Static_assert(sizeof functions / sizeof functions[0] == sizeof(struct library) / sizeof(void (*)(void)),
               "each is there");

/* A connection, and what has been answered on it. */
struct connection {
    struct library library;
    struct sd_bus *bus;
    bool refused;
    bool asked_bounds; /* and not answered */
};

/* The library stays: it is linked so that it can't be unloaded. */
static int load(struct library *ret_library) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return -ENOENT;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *address = dlsym(handle, functions[i].symbol);
        if (!address)
            return -ENOENT;
        memcpy((char *)ret_library + functions[i].at, &address, sizeof address);
    }
    return 0;
}

/* Steals fd, a connected socket. */
static int connection_init(struct connection *connection, int fd) {
    auto_fd ours = fd;
    *connection = (struct connection){.bus = NULL};
    int r = load(&connection->library);
    if (r == 0)
        r = connection->library.new(&connection->bus);
    if (r >= 0)
        r = connection->library.set_fd(connection->bus, ours, ours);
    if (r >= 0)
        steal_fd(&ours);
    if (r >= 0)
        r = connection->library.set_bus_client(connection->bus, true);
    if (r >= 0)
        r = connection->library.start(connection->bus);
    return r < 0 ? r : 0;
}

static void connection_fini(struct connection *connection) {
    if (!connection->bus)
        return;
    connection->library.close(connection->bus);
    connection->library.unref(connection->bus);
}

static int note_answer(struct sd_bus_message *answer, void *arg, struct sd_bus_error *ret_error) {
    struct connection *connection = arg;
    (void)ret_error;
    connection->refused |= connection->library.message_is_method_error(answer, NULL) > 0;
    return 0;
}

/* Each end of a job is told: one of them is that of our scope's start. */
static int ask_for_signals(struct connection *connection) {
    return connection->library.call_method_async(connection->bus, NULL, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                                 "org.freedesktop.DBus", "AddMatch", note_answer, connection, "s",
                                                 "type='signal',sender='org.freedesktop.systemd1',member='JobRemoved'");
}

static const char *slice(void) {
    return geteuid() == 0 ? "system-petri.slice" : "app-petri.slice";
}

/* Destination, path and interface. */
#define MANAGER "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"

/*
 * The unit: this process in it, a tree of its own, and forgotten once it is over;
 * in the slice, if it is to be: else the last property is one that it has already. The
 * numbers are how many properties, pids and other units follow.
 */
static int ask_for_scope(struct connection *connection, const char *unit, bool in_slice) {
    const char *property = in_slice ? "Slice" : "CollectMode";
    const char *value = in_slice ? slice() : "inactive-or-failed";
    return connection->library.call_method_async(
        connection->bus, NULL, MANAGER, "StartTransientUnit", note_answer, connection, "ssa(sv)a(sa(sv))", unit, "fail",
        5, "Description", "s", "petri: a kernel and its cells", "PIDs", "au", 1, (uint32_t)getpid(), "Delegate", "b", 1,
        "CollectMode", "s", "inactive-or-failed", property, "s", value, 0);
}

static int note_bounds(struct sd_bus_message *answer, void *arg, struct sd_bus_error *ret_error) {
    struct connection *connection = arg;
    (void)answer;
    (void)ret_error;
    connection->asked_bounds = false;
    return 0;
}

/* The slice is there by then: the scope before needs it. UINT64_MAX is no bound. */
static int ask_for_bounds(struct connection *connection, const struct sandbox_bounds *bounds) {
    connection->asked_bounds = true;
    return connection->library.call_method_async(connection->bus, NULL, MANAGER, "SetUnitProperties", note_bounds,
                                                 connection, "sba(sv)", slice(), 1, 2, "MemoryMax", "t",
                                                 bounds->memory_bytes ? bounds->memory_bytes : UINT64_MAX, "TasksMax",
                                                 "t", bounds->processes ? bounds->processes : UINT64_MAX);
}

static bool is_in(const char *unit) {
    char path[PATH_MAX];
    const char *last = cgroup_own_path("", path, sizeof path) == 0 ? strrchr(path, '/') : NULL;
    return last && strcmp(last + 1, unit) == 0;
}

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Handles one message, or waits for it. */
static int receive(struct connection *connection, int64_t deadline_us) {
    const struct library *library = &connection->library;
    int r = library->process(connection->bus, NULL);
    int64_t left_us = deadline_us - now_us();
    if (r >= 0 && !library->is_open(connection->bus))
        return -EPIPE;
    if (r == 0)
        r = left_us > 0 ? library->wait(connection->bus, (uint64_t)left_us) : -ETIMEDOUT;
    return r < 0 ? r : 0;
}

/* Each message is a reason to look; an error is the answer to one of our calls, and only the bounds can be without. */
static int await_scope(struct connection *connection, const char *unit) {
    int64_t deadline_us = now_us() + PATIENCE_S * INT64_C(1000000);
    int r = 0;
    while (r == 0 && (!is_in(unit) || connection->asked_bounds)) {
        r = receive(connection, deadline_us);
        if (r == 0 && connection->refused)
            r = -EPERM;
        if (r == 0 && now_us() > deadline_us)
            r = -ETIMEDOUT;
    }
    return r;
}

/* Where the bus of our manager is: the system's for root, the user's for others. */
static int bus_address(struct sockaddr_un *address) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int n;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (geteuid() == 0)
        n = snprintf(address->sun_path, sizeof address->sun_path, SYSTEM_BUS);
    else if (runtime && *runtime)
        n = snprintf(address->sun_path, sizeof address->sun_path, "%s/bus", runtime);
    else
        n = snprintf(address->sun_path, sizeof address->sun_path, "/run/user/%u/bus", geteuid());
    return n < (int)sizeof address->sun_path ? 0 : -ENAMETOOLONG;
}

/* Connected here and not by sd-bus, which would neither wait for a busy bus nor know where it is without a session. */
static int open_bus(void) {
    struct sockaddr_un address;
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int r = bus_address(&address);
    if (r)
        return r;
    auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) ||
        connect(fd, (const struct sockaddr *)&address, sizeof address))
        return -errno;
    return steal_fd(&fd);
}

int delegate_scope(const struct sandbox_bounds *bounds) {
    const bool bounded = bounds->memory_bytes || bounds->processes;
    char unit[64];
    struct timespec now;
    struct connection connection;
    if (access(SYSTEMD_RUNS, F_OK))
        return -ENOENT;
    int fd = open_bus();
    if (fd < 0)
        return fd;
    clock_gettime(CLOCK_MONOTONIC, &now); /* a pid comes again, maybe before its last scope is forgotten */
    snprintf(unit, sizeof unit, "petri-%d-%" PRIx64 ".scope", getpid(), (uint64_t)now.tv_sec);
    int r = connection_init(&connection, fd);
    if (r == 0)
        r = ask_for_signals(&connection);
    if (r >= 0)
        r = ask_for_scope(&connection, unit, bounded);
    if (r >= 0 && bounded)
        r = ask_for_bounds(&connection, bounds);
    if (r >= 0)
        r = await_scope(&connection, unit);
    connection_fini(&connection);
    return r;
}
