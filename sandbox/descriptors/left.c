/*
 * left.c - puts an eventfd in the place of an open file.
 *
 * A number is closed before the eventfd is made, for the image may have used up its numbers.
 */
#define _GNU_SOURCE
#include "left.h"

#include "sandbox/descriptors/descriptor.h"
#include "sandbox/inject/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

static int leave(const struct inject_task *keeper, int number) {
    int r = helper_do(keeper, (struct inject_call){.number = SYS_close, .argument = {(uint64_t)number}});
    if (r)
        return r;
    const int made = helper_open(keeper, (struct inject_call){.number = SYS_eventfd2, .argument = {0, EFD_CLOEXEC}});
    if (made < 0 || made == number)
        return made < 0 ? made : 0;
    r = helper_open(
        keeper, (struct inject_call){.number = SYS_dup3, .argument = {(uint64_t)made, (uint64_t)number, O_CLOEXEC}});
    const int closed = helper_do(keeper, (struct inject_call){.number = SYS_close, .argument = {(uint64_t)made}});
    return r < 0 ? r : closed;
}

int left_open_file(const struct descriptors *list, size_t first, const struct inject_task *keeper) {
    int r = 0;
    for (size_t i = first; r == 0 && i != DESCRIPTORS_NONE; i = list->at[i].next)
        r = leave(keeper, list->at[i].fd);
    return r;
}
