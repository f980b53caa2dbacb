/*
 * filter_listener.c - finds the row of the policy that a waiting call is for, says what was tried, and answers.
 *
 * What is read of the call's memory may be changed by other threads of the cell
 * at any time. So it is only told, and decides nothing but the errno: a
 * connection that is let go on stays in an empty network namespace.
 */
#define _GNU_SOURCE
#include "filter_listener.h"

#include "base/cleanup.h"
#include "sandbox/filter/filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/un.h>

/* Where the address of a peer stands among the arguments. */
static const struct {
    const char *name;
    int address, bytes;
} network_calls[] = {
    {"connect", 1, 2},
    {"sendto", 4, 5},
};

/* The row that decided: the one of the call without a test, or the first whose test matches. */
static const struct filter_row *find_row(const char *name, const struct seccomp_data *data) {
    for (size_t i = 0; i < filter_n_rows; i++) {
        const struct filter_row *row = &filter_rows[i];
        if (strcmp(row->name, name) == 0 &&
            ((uint32_t)data->args[row->test.argument] & row->test.mask) == row->test.value)
            return row;
    }
    return NULL;
}

static int read_memory(pid_t pid, uint64_t address, void *buf, size_t bytes) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, buf, bytes, (off_t)address);
    return n < 0 ? -errno : (int)n;
}

/* Linux takes the unspecified address (0.0.0.0, ::) for the loopback's. See: ip(7), ipv6(7). */
static bool is_here_v4(const void *address) {
    struct in_addr v4;
    memcpy(&v4, address, sizeof v4);
    return ntohl(v4.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET || v4.s_addr == htonl(INADDR_ANY);
}

/* gRPC and the JVM reach 127.0.0.1 as ::ffff:127.0.0.1. */
static bool is_here_v6(const struct in6_addr *address) {
    return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && is_here_v4(&address->s6_addr[12]));
}

/* Whether it is an address of the cell's own namespace, by whatever name. */
static bool is_here(const struct sockaddr_storage *address) {
    if (address->ss_family == AF_INET)
        return is_here_v4(&((const struct sockaddr_in *)address)->sin_addr);
    return is_here_v6(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

/* "ADDRESS port N" of an internet address that lies outside. 1, or 0 for all others. */
static int describe_address(const struct sockaddr_storage *address, char *buf, size_t size) {
    char text[INET6_ADDRSTRLEN];
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    bool is_v4 = address->ss_family == AF_INET;
    if ((!is_v4 && address->ss_family != AF_INET6) || is_here(address))
        return 0;
    const void *bytes = is_v4 ? (const void *)&v4->sin_addr : (const void *)&v6->sin6_addr;
    if (!inet_ntop(address->ss_family, bytes, text, sizeof text))
        return 0;
    snprintf(buf, size, "%s port %u", text, ntohs(is_v4 ? v4->sin_port : v6->sin6_port));
    return 1;
}

static int describe_network(const struct seccomp_notif *notif, const char *name, char *buf, size_t size) {
    struct sockaddr_storage address = {0};
    for (size_t i = 0; i < sizeof network_calls / sizeof network_calls[0]; i++) {
        if (strcmp(name, network_calls[i].name) != 0)
            continue;
        size_t bytes = (size_t)notif->data.args[network_calls[i].bytes];
        if (bytes > sizeof address)
            bytes = sizeof address;
        if (read_memory((pid_t)notif->pid, notif->data.args[network_calls[i].address], &address, bytes) > 0)
            return describe_address(&address, buf, size);
    }
    return 0;
}

static int answer(int listener_fd, const struct seccomp_notif *notif, const struct filter_row *row, bool outside) {
    struct seccomp_notif_resp response = {.id = notif->id};
    if (row && row->kind == FILTER_NOTIFY && !outside)
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE; /* the empty network namespace is what contains it */
    else
        response.error = row && row->kind != FILTER_NOTIFY ? -row->err : (row ? -ENETUNREACH : -EPERM);
    /* ENOENT: the task has been killed, and needs no answer. */
    return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response) && errno != ENOENT ? -errno : 0;
}

int filter_listener_take(int listener_fd, struct denied_call *ret_call, pid_t *ret_pid) {
    struct seccomp_notif notif = {0};
    struct denied_call call = {0};
    *ret_call = call;
    if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &notif))
        return errno == ENOENT || errno == EINTR ? 0 : -errno;
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, notif.data.nr);
    snprintf(call.syscall, sizeof call.syscall, "%s", name ? name : "?");
    free(name);
    const struct filter_row *row = find_row(call.syscall, &notif.data);
    bool outside = describe_network(&notif, call.syscall, call.detail, sizeof call.detail);
    if (!outside && row)
        snprintf(call.detail, sizeof call.detail, "%s", row->why);
    int r = answer(listener_fd, &notif, row, outside);
    if (r)
        return r;
    *ret_call = call;
    *ret_pid = (pid_t)notif.pid;
    return row && row->kind == FILTER_NOTIFY && !outside ? 0 : 1;
}

int sandbox_try_listener(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {1, &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -errno;
    auto_fd fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    return fd < 0 ? -errno : 0;
}
