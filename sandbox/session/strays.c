/*
 * strays.c - compares the children of this process with those that the session knows.
 *
 * Known are the zygote, the worker, what is killed and not reaped yet, and the
 * tasks of all cells and images. Every other child in a pid namespace below ours
 * is killed.
 *
 * Without its zygote a session is over, and all that the zygote had is left to us:
 * no strays. The first of a pid namespace can't be waited for as long as we have
 * not reaped what is in that.
 */
#define _GNU_SOURCE
#include "strays.h"

#include "sandbox/process/descendants.h"
#include "sandbox/process/process.h"
#include "sandbox/session/cell.h"
#include "sandbox/session/kept.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { MAX_CHILDREN = 4096 };

static bool is_of_image(const struct image *image, pid_t pid) {
    return image && image->keeper == pid;
}

static bool is_of_cell(const struct cell *cell, pid_t pid) {
    return cell->worker == pid || cell->keeper == pid || is_of_image(cell->image, pid) ||
           is_of_image(cell->result, pid);
}

static bool is_known(const struct session *session, pid_t pid) {
    for (const struct cell *cell = session->cells; cell; cell = cell->next)
        if (is_of_cell(cell, pid))
            return true;
    return killed_has(&session->killed, pid) || killed_has(&session->killed_ephemeral, pid) ||
           beside_has(session, pid) || pid == session->zygote.pid || pid == session->worker ||
           is_of_image(session->first, pid) || is_of_image(session->current, pid);
}

static int by_number(const void *a, const void *b) {
    const pid_t one = *(const pid_t *)a, other = *(const pid_t *)b;
    return (one > other) - (one < other);
}

/* Whether it is in a pid namespace below ours: then it has a number more than we see. */
static bool is_below(pid_t pid) {
    char buf[PROCESS_STATUS];
    struct procfs_text text;
    pid_t inside;
    return process_read(pid, "status", buf, sizeof buf, &text) == 0 && procfs_find_inner_id(text, "NSpid", &inside);
}

void strays_end(struct session *session) {
    pid_t children[MAX_CHILDREN], keepers[MAX_CHILDREN];
    if (zygote_has_ended(&session->zygote))
        return;
    int n = descendants_list_children(getpid(), gettid(), children, MAX_CHILDREN);
    const size_t n_keepers = kept_list_keepers(session, keepers, MAX_CHILDREN);
    qsort(keepers, n_keepers, sizeof keepers[0], by_number);
    for (int i = 0; i < n; i++) {
        if (bsearch(&children[i], keepers, n_keepers, sizeof keepers[0], by_number) || is_known(session, children[i]) ||
            !is_below(children[i]))
            continue;
        kill(children[i], SIGKILL);
        session->strays += waitpid(children[i], NULL, __WALL) == children[i];
    }
}
