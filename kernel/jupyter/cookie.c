/* cookie.c - SO_COOKIE of a descriptor. */

#include "cookie.h"

#include <sys/socket.h>

uint64_t cookie_of(int fd) {
    uint64_t cookie = 0;
    socklen_t bytes = sizeof cookie;
    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &bytes) < 0 ? 0 : cookie;
}
