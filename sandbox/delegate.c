#define _GNU_SOURCE
#include "delegate.h"

#include "cleanup.h"
#include "resources.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#define SYSTEM_BUS "/run/dbus/system_bus_socket"
#define SYSTEMD_RUNS "/run/systemd/system" /* sd_booted(3) */

enum { PATIENCE_S = 20, MESSAGE_BYTES = 1024, ANSWER_BYTES = 65536 };

/* What a message on the bus is. See: D-Bus Specification, "Message Format". */
enum { TYPE_CALL = 1, TYPE_ERROR = 3 };
enum { FIELD_PATH = 1, FIELD_INTERFACE = 2, FIELD_MEMBER = 3, FIELD_DESTINATION = 6, FIELD_SIGNATURE = 8 };
enum { AT_TYPE = 1, AT_BODY_BYTES = 4, AT_FIELDS_BYTES = 12, FIXED_BYTES = 16 };

/* A method that is called. */
struct method {
    const char *destination, *path, *interface, *member, *signature;
};

static const struct method hello = {"org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello",
                                    NULL};
static const struct method add_match = {"org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                        "AddMatch", "s"};
static const struct method start_unit = {"org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                                         "org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))"};

/* Each end of a job: one of them is that of our scope's start. */
static const char match_rule[] = "type='signal',sender='org.freedesktop.systemd1',member='JobRemoved'";

/* A message being written, aligned from its own start. Too much is remembered, and the message is then not sent. */
struct message {
    uint8_t bytes[MESSAGE_BYTES];
    size_t n;
    bool overflow;
};

static void put(struct message *message, const void *bytes, size_t n) {
    message->overflow |= n > sizeof message->bytes - message->n;
    if (message->overflow)
        return;
    memcpy(message->bytes + message->n, bytes, n);
    message->n += n;
}

static void align(struct message *message, size_t to) {
    static const uint8_t zeroes[8];
    put(message, zeroes, (to - message->n % to) % to);
}

static void put_byte(struct message *message, uint8_t value) {
    put(message, &value, 1);
}

static void put_u32(struct message *message, uint32_t value) {
    align(message, 4);
    put(message, &value, 4);
}

static void put_string(struct message *message, const char *text) {
    put_u32(message, (uint32_t)strlen(text));
    put(message, text, strlen(text) + 1);
}

static void put_signature(struct message *message, const char *text) {
    put_byte(message, (uint8_t)strlen(text));
    put(message, text, strlen(text) + 1);
}

/* Writes a length where zero was put for it, once what it counts is there. */
static void set_u32(struct message *message, size_t at, size_t value) {
    uint32_t length = (uint32_t)value;
    if (!message->overflow)
        memcpy(message->bytes + at, &length, sizeof length);
}

/* An array of what is aligned to 8: its length is at the returned place, and counts from where begin_array() ends. */
static size_t begin_array(struct message *message) {
    put_u32(message, 0);
    size_t at = message->n - 4;
    align(message, 8);
    return at;
}

static void end_array(struct message *message, size_t at) {
    set_u32(message, at, message->n - ((at + 4 + 7) & ~(size_t)7));
}

static void put_field(struct message *message, uint8_t field, const char *type, const char *text) {
    align(message, 8);
    put_byte(message, field);
    put_signature(message, type);
    if (*type == 'g')
        put_signature(message, text);
    else
        put_string(message, text);
}

static void begin_call(struct message *message, const struct method *method, uint32_t serial) {
    const uint16_t one = 1;
    bool little_endian = *(const uint8_t *)&one == 1;
    *message = (struct message){.n = 0};
    put(message, (const uint8_t[]){little_endian ? 'l' : 'B', TYPE_CALL, 0, 1}, 4);
    put_u32(message, 0);
    put_u32(message, serial);
    size_t fields = begin_array(message);
    put_field(message, FIELD_PATH, "o", method->path);
    put_field(message, FIELD_INTERFACE, "s", method->interface);
    put_field(message, FIELD_MEMBER, "s", method->member);
    put_field(message, FIELD_DESTINATION, "s", method->destination);
    if (method->signature)
        put_field(message, FIELD_SIGNATURE, "g", method->signature);
    end_array(message, fields);
    align(message, 8);
}

static int send_call(int fd, struct message *message, size_t body) {
    set_u32(message, AT_BODY_BYTES, message->n - body);
    if (message->overflow)
        return -EMSGSIZE;
    ssize_t n = send(fd, message->bytes, message->n, MSG_NOSIGNAL);
    return n == (ssize_t)message->n ? 0 : (n < 0 ? -errno : -EIO);
}

static void put_property(struct message *message, const char *name, const char *type) {
    align(message, 8);
    put_string(message, name);
    put_signature(message, type);
}

/* The unit: this process in it, a tree of its own, and forgotten once it is over. */
static int send_start_unit(int fd, const char *unit) {
    struct message message;
    begin_call(&message, &start_unit, 3);
    size_t body = message.n;
    put_string(&message, unit);
    put_string(&message, "fail");
    size_t properties = begin_array(&message);
    put_property(&message, "Description", "s");
    put_string(&message, "petri: a kernel and its cells");
    put_property(&message, "PIDs", "au");
    put_u32(&message, sizeof(uint32_t));
    put_u32(&message, (uint32_t)getpid());
    put_property(&message, "Delegate", "b");
    put_u32(&message, 1);
    put_property(&message, "CollectMode", "s");
    put_string(&message, "inactive-or-failed");
    end_array(&message, properties);
    end_array(&message, begin_array(&message));
    return send_call(fd, &message, body);
}

/* Everything that is to be said, at once: nothing of it depends on an answer. */
static int send_all(int fd, const char *unit) {
    struct message message;
    char hex[32] = "", digits[16], text[80];
    snprintf(digits, sizeof digits, "%u", geteuid());
    for (size_t i = 0; digits[i]; i++) {
        hex[2 * i] = '3'; /* digits are 0x30 to 0x39 */
        hex[2 * i + 1] = digits[i];
    }
    int n = snprintf(text, sizeof text, "%cAUTH EXTERNAL %s\r\nBEGIN\r\n", 0, hex);
    if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
        return -EIO;
    begin_call(&message, &hello, 1);
    int r = send_call(fd, &message, message.n);
    begin_call(&message, &add_match, 2);
    size_t body = message.n;
    put_string(&message, match_rule);
    if (r == 0)
        r = send_call(fd, &message, body);
    return r ? r : send_start_unit(fd, unit);
}

static int receive(int fd, void *buf, size_t size) {
    ssize_t n = recv(fd, buf, size, MSG_WAITALL);
    if (n == (ssize_t)size)
        return 0;
    return n >= 0 ? -EPIPE : (errno == EAGAIN ? -ETIMEDOUT : -errno);
}

/* The one line that the bus says before messages: OK and its id, or that it won't have us. */
static int receive_welcome(int fd) {
    char line[128] = "";
    size_t n = 0;
    do {
        int r = receive(fd, line + n, 1);
        if (r)
            return r;
    } while (line[n++] != '\n' && n < sizeof line - 1);
    return strncmp(line, "OK ", 3) == 0 ? 0 : -EPERM;
}

/* Reads a message and forgets all of it but its type. */
static int receive_message(int fd, uint8_t *ret_type) {
    uint8_t fixed[FIXED_BYTES];
    uint32_t body_bytes, fields_bytes;
    int r = receive(fd, fixed, sizeof fixed);
    if (r)
        return r;
    memcpy(&body_bytes, fixed + AT_BODY_BYTES, 4);
    memcpy(&fields_bytes, fixed + AT_FIELDS_BYTES, 4);
    size_t rest = (((size_t)fields_bytes + 7) & ~(size_t)7) + body_bytes;
    auto_free uint8_t *bytes = rest <= ANSWER_BYTES ? malloc(rest + 1) : NULL;
    if (!bytes)
        return -EMSGSIZE;
    *ret_type = fixed[AT_TYPE];
    return rest ? receive(fd, bytes, rest) : 0;
}

static bool is_in(const char *unit) {
    char path[PATH_MAX];
    const char *last = resources_own_path("", path, sizeof path) == 0 ? strrchr(path, '/') : NULL;
    return last && strcmp(last + 1, unit) == 0;
}

static int64_t now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Each message is a reason to look; an error is the answer to one of our three calls. */
static int await_scope(int fd, const char *unit) {
    uint8_t type = 0;
    int64_t deadline = now_s() + PATIENCE_S;
    int r = receive_welcome(fd);
    while (r == 0 && !is_in(unit)) {
        r = receive_message(fd, &type);
        if (r == 0 && type == TYPE_ERROR)
            r = -EPERM;
        if (r == 0 && now_s() > deadline)
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

int delegate_scope(void) {
    char unit[64];
    struct timespec now;
    if (access(SYSTEMD_RUNS, F_OK))
        return -ENOENT;
    auto_fd fd = open_bus();
    if (fd < 0)
        return fd;
    clock_gettime(CLOCK_MONOTONIC, &now); /* a pid comes again, maybe before its last scope is forgotten */
    snprintf(unit, sizeof unit, "petri-%d-%" PRIx64 ".scope", getpid(), (uint64_t)now.tv_sec);
    int r = send_all(fd, unit);
    return r ? r : await_scope(fd, unit);
}
