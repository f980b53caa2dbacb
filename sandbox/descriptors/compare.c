/*
 * compare.c - asks kcmp(2) the three questions that the other sources ask it, about this process itself.
 */
#include "sandbox/sandbox.h"

#include "base/cleanup.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

/* 0 where the answer is that the two are the same, as it should be; or -errno. */
static int ask(int what, unsigned long one, unsigned long other) {
    const pid_t own = getpid();
    long r = syscall(SYS_kcmp, own, own, what, one, other);
    return r < 0 ? -errno : r ? -EBADMSG : 0;
}

int sandbox_try_compare(void) {
    auto_fd watched = eventfd(0, EFD_CLOEXEC), epoll = epoll_create1(EPOLL_CLOEXEC);
    struct kcmp_epoll_slot slot = {.efd = (uint32_t)epoll, .tfd = (uint32_t)watched};
    if (watched < 0 || epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, watched, &(struct epoll_event){.events = EPOLLIN}))
        return -errno;
    int r = ask(KCMP_FILE, (unsigned long)watched, (unsigned long)watched);
    if (r == 0)
        r = ask(KCMP_VM, 0, 0);
    return r ? r : ask(KCMP_EPOLL_TFD, (unsigned long)watched, (unsigned long)&slot);
}
