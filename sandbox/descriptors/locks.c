/*
 * locks.c - reading locks, ending them, and taking them again.
 *
 * Locks are read from fdinfo at the freeze. Those of open files (flock, OFD) are
 * ended then, by a duplicate; record locks belong to the process, so the keeper
 * ends its own when the cell is committed. A cell takes all of them again after
 * its files have been opened.
 */
#define _GNU_SOURCE
#include "locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>

enum { LINE_BYTES = 160, RECORD = F_SETLK, OPEN_FILE = F_OFD_SETLK, WHOLE = 0 };

struct lock {
    int command; /* of fcntl(2); WHOLE is flock(2)'s */
    bool write;
    int64_t start, bytes; /* 0 bytes: to the end */
};

struct locks {
    size_t n;
    struct lock lock[LOCKS_MAX];
};

static const struct {
    const char *name;
    int command;
} kinds[] = {{"POSIX", RECORD}, {"OFDLCK", OPEN_FILE}, {"FLOCK", WHOLE}};

/* "1: POSIX  ADVISORY  WRITE 12 00:2e:17 0 EOF" */
static bool parse(struct procfs_text value, struct lock *ret) {
    char line[LINE_BYTES], kind[8], access[8], end[24];
    long long start;
    snprintf(line, sizeof line, "%.*s", (int)(value.n < LINE_BYTES ? value.n : 0), value.at);
    if (sscanf(line, "%*d: %7s %*s %7s %*d %*s %lld %23s", kind, access, &start, end) != 4)
        return false;
    const long long last = strcmp(end, "EOF") == 0 ? 0 : strtoll(end, NULL, 10);
    ret->write = strcmp(access, "WRITE") == 0;
    ret->start = start;
    ret->bytes = strcmp(end, "EOF") == 0 ? 0 : last - start + 1;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kind, kinds[i].name) == 0) {
            ret->command = kinds[i].command;
            return true;
        }
    return false;
}

int locks_note(struct procfs_text fdinfo, struct descriptor *descriptor) {
    struct procfs_text line, value;
    struct locks *locks = calloc(1, sizeof *locks);
    if (!locks)
        return -ENOMEM;
    descriptor->state = locks;
    while (procfs_next_line(&fdinfo, &line)) {
        if (!procfs_get_value(line, "lock", &value))
            continue;
        if (locks->n == LOCKS_MAX)
            return -E2BIG;
        if (!parse(value, &locks->lock[locks->n++]))
            return -EBADMSG;
    }
    return 0;
}

/* Those of a descriptor, or NULL. */
static const struct locks *locks_of(const struct descriptors *list, size_t i) {
    const struct descriptor *descriptor = &list->at[i];
    const bool file = descriptor->kind == DESCRIPTOR_FILE || descriptor->kind == DESCRIPTOR_UNNAMED;
    return file && descriptor_is_first(list, i) ? descriptor->state : NULL;
}

static bool has_records(const struct locks *locks) {
    for (size_t k = 0; k < locks->n; k++)
        if (locks->lock[k].command == RECORD)
            return true;
    return false;
}

int locks_end(const struct descriptors *list, const struct inject_task *keeper) {
    const struct flock none = {.l_type = F_UNLCK};
    const struct inject_memory memory = {keeper->area->scratch, &none, sizeof none};
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        const struct locks *locks = locks_of(list, i);
        if (!locks || !has_records(locks))
            continue;
        struct inject_call call = {.number = SYS_fcntl,
                                   .argument = {(uint64_t)list->at[i].fd, F_SETLK, keeper->area->scratch}};
        r = inject_checked(keeper, &call, &memory, NULL);
        if (r == 0)
            r = inject_failure(&call, 1, NULL);
    }
    return r;
}

static int restore(struct restorer *restorer, int fd, const struct lock *lock) {
    const struct flock record = {
        .l_type = lock->write ? F_WRLCK : F_RDLCK, .l_start = (off_t)lock->start, .l_len = (off_t)lock->bytes};
    struct inject_call call = {.number = SYS_fcntl,
                               .argument = {(uint64_t)fd, (uint64_t)lock->command, restorer_at(restorer, 0)}};
    if (lock->command == WHOLE)
        call = (struct inject_call){
            .number = SYS_flock, .argument = {(uint64_t)fd, (uint64_t)((lock->write ? LOCK_EX : LOCK_SH) | LOCK_NB)}};
    int r = restorer_put(restorer, 0, &record, sizeof record);
    return r ? r : restorer_call(restorer, &call);
}

int locks_restore(const struct descriptors *list, struct restorer *restorer) {
    const bool any = list->of_kind[DESCRIPTOR_FILE] + list->of_kind[DESCRIPTOR_UNNAMED] > 0;
    int r = restorer_run(restorer);
    for (size_t i = 0; r == 0 && any && (restorer->whole || !restorer->layered) && i < list->n; i++) {
        const struct locks *locks = locks_of(list, i);
        for (size_t k = 0; r == 0 && locks && k < locks->n; k++)
            r = restore(restorer, list->at[i].fd, &locks->lock[k]);
    }
    return r;
}
