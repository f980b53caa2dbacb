/*
 * spawn_steps.c - small steps that several spawned processes take, and their report.
 *
 * A report is one write to a pipe, no longer than PIPE_BUF, so it comes whole or
 * not at all.
 */
#define _GNU_SOURCE
#include "spawn_steps.h"

#include "base/cleanup.h"
#include "sandbox/base/step.h"

#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

pid_t spawn_clone(unsigned long flags) {
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0);
}

_Static_assert(sizeof(struct spawn_report) <= PIPE_BUF, "it comes whole or not at all");

int spawn_await_report(int fd, bool end_is_success, struct error *ret_error) {
    struct spawn_report report = {0};
    ssize_t n;
    do
        n = read(fd, &report, sizeof report);
    while (n < 0 && errno == EINTR);
    if (n == 0 && end_is_success)
        return 0;
    if (n != (ssize_t)(report.result ? sizeof report : sizeof report.result))
        return step_failed(ret_error, STEP_NAMESPACES, EPIPE, "the process ended early");
    if (report.result)
        *ret_error = report.error;
    return report.result;
}

void spawn_send_report(int fd, int result, const struct error *error) {
    const struct spawn_report packet = {.result = result, .error = *error};
    const size_t bytes = result ? sizeof packet : sizeof packet.result;
    if (write(fd, &packet, bytes) != (ssize_t)bytes || result)
        _exit(1);
}

void spawn_raise_loopback(void) {
    struct ifreq request = {.ifr_name = "lo"};
    auto_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (fd >= 0)
        (void)ioctl(fd, SIOCSIFFLAGS, &request);
}

int spawn_listen_for_names(void) {
    enum { DNS_PORT = 53 };
    const struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons(DNS_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    auto_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&here, sizeof here))
        return -1;
    return steal_fd(&fd);
}
