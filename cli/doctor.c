/*
 * doctor.c - `petri doctor`: tests what this machine can do.
 *
 * Each probe runs in a forked process, because some enter namespaces, which can't
 * be left again. Its text comes through a pipe, and its finding is the exit
 * status; a process that is killed counts as unusable. The worst finding is the
 * program's exit status.
 */

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/probes.h"
#include "kernel/base/terminal.h"
#include "kernel/interpreter/python.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/wait.h>

enum { TEXT_BYTES = 900 };

static const char *const finding_names[] = {"good", "degraded", "unusable"};
_Static_assert(sizeof finding_names / sizeof finding_names[0] == FINDING_N, "one name a finding");

/* The sentence for the worst finding. */
static const char *const verdicts[] = {
    "cells run here, and every limit can be enforced",
    "cells run here, but Linux does not do all that petri asks of it: what is degraded below says what petri does "
    "instead, and who can change that",
    "no cell can run here",
};
_Static_assert(sizeof verdicts / sizeof verdicts[0] == FINDING_N, "one verdict a finding");

static void run_child(const struct probe *probe, const char *python, int fd) {
    char text[TEXT_BYTES] = "";
    enum finding finding = probe->run(python, text, sizeof text);
    if (write(fd, text, strlen(text)) < 0)
        finding = FINDING_UNUSABLE;
    _exit((int)finding);
}

/* Reads until all processes that have the pipe open for writing have ended. */
static void read_all(int fd, char *text, size_t size) {
    size_t bytes = 0;
    ssize_t n;
    while (bytes < size - 1 && (n = read(fd, text + bytes, size - 1 - bytes)) > 0)
        bytes += (size_t)n;
    text[bytes] = '\0';
}

/* Runs a probe in a process and reads its text. */
static enum finding run_probe(const struct probe *probe, const char *python, char *text, size_t size) {
    int fds[2];
    int status = 0;
    text[0] = '\0';
    if (pipe2(fds, O_CLOEXEC) < 0)
        return FINDING_UNUSABLE;
    pid_t pid = fork();
    if (pid == 0)
        run_child(probe, python, fds[1]);
    close(fds[1]);
    if (pid > 0)
        read_all(fds[0], text, size);
    close(fds[0]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) >= FINDING_N)
        return FINDING_UNUSABLE;
    return (enum finding)WEXITSTATUS(status);
}

static json_t *run_all(const char *python, enum finding *ret_worst) {
    json_t *found = json_array();
    enum finding worst = FINDING_GOOD;
    for (size_t i = 0; i < probes_n; i++) {
        char text[TEXT_BYTES];
        enum finding finding = run_probe(&probes[i], python, text, sizeof text);
        worst = finding > worst ? finding : worst;
        json_array_append_new(found,
                              json_pack("{s:s, s:s, s:s, s:s}", "probe", probes[i].name, "finding",
                                        finding_names[finding], "needed_for", probes[i].needed_for, "text", text));
    }
    *ret_worst = worst;
    return found;
}

static void print_text(const json_t *found, enum finding worst) {
    size_t i;
    json_t *row;
    terminal_print("petri: %s.\n\n", verdicts[worst]);
    json_array_foreach(found, i, row) terminal_print(
        "%-9s %-12s %s\n", json_string_value(json_object_get(row, "finding")),
        json_string_value(json_object_get(row, "probe")), json_string_value(json_object_get(row, "text")));
}

static int print_json(json_t *found, enum finding worst) {
    json_auto_t *report =
        json_pack("{s:s, s:s, s:O}", "finding", finding_names[worst], "text", verdicts[worst], "probes", found);
    return terminal_put_json(report);
}

int command_doctor(const struct arguments *arguments) {
    const char *name = arguments->values[OPTION_PYTHON];
    struct python python;
    struct error error;
    enum finding worst;
    int r = python_ask(python_name(name), &python, &error);
    if (r < 0 && name) {
        terminal_complain("%s", error.text);
        return FINDING_UNUSABLE;
    }
    json_auto_t *found = run_all(r == 0 ? python.executable : NULL, &worst);
    if (!arguments->values[OPTION_JSON])
        print_text(found, worst);
    else if (print_json(found, worst) != 0 && worst == FINDING_GOOD)
        return EXIT_FAILURE;
    return (int)worst;
}
