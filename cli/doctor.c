/*
 * doctor.c - `petri doctor`: tests what this machine can do.
 *
 * Each probe runs in a forked process, because some enter namespaces, which can't
 * be left again. Its diagnosis comes through a pipe; a process that is killed counts
 * as unusable. The worst finding is the program's exit status. What can be done
 * follows, each remedy once.
 */

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/probes.h"
#include "cli/remedies.h"
#include "kernel/base/paths.h"
#include "kernel/base/terminal.h"
#include "kernel/interpreter/python.h"
#include "protocol/text.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char *const finding_names[] = {"good", "degraded", "unusable"};
_Static_assert(sizeof finding_names / sizeof finding_names[0] == FINDING_N, "one name a finding");

/* The sentence for the worst finding. */
static const char *const verdicts[] = {
    "cells run here, and every limit can be enforced",
    "cells run here, but Linux does not do all that petri asks of it: what is degraded below says what petri does "
    "instead",
    "no cell can run here",
};
_Static_assert(sizeof verdicts / sizeof verdicts[0] == FINDING_N, "one verdict a finding");

static void run_child(const struct probe *probe, const char *python, int fd) {
    struct diagnosis diagnosis = {0};
    probe->run(python, &diagnosis);
    _exit(write(fd, &diagnosis, sizeof diagnosis) == (ssize_t)sizeof diagnosis ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Reads until all processes that have the pipe open for writing have ended. False where that is no whole diagnosis. */
static bool read_diagnosis(int fd, struct diagnosis *diagnosis) {
    size_t bytes = 0;
    ssize_t n;
    while (bytes < sizeof *diagnosis && (n = read(fd, (char *)diagnosis + bytes, sizeof *diagnosis - bytes)) > 0)
        bytes += (size_t)n;
    diagnosis->text[sizeof diagnosis->text - 1] = '\0';
    return bytes == sizeof *diagnosis && diagnosis->finding < FINDING_N && diagnosis->remedy < REMEDY_N;
}

/* Runs a probe in a process. Who enters namespaces leaves another one behind, which ends when the one that writes does.
 */
static void run_probe(const struct probe *probe, const char *python, struct diagnosis *ret_diagnosis) {
    static const struct diagnosis none = {
        FINDING_UNUSABLE, REMEDY_NONE,
        "the process that tries it could not be "
        "started, or was killed: is a limit on processes (ulimit -u) or on memory too low?"};
    int fds[2];
    *ret_diagnosis = none;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        run_child(probe, python, fds[1]);
    close(fds[1]);
    if (pid > 0 && !read_diagnosis(fds[0], ret_diagnosis))
        *ret_diagnosis = none;
    close(fds[0]);
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
}

/* A row of the report. Its text may have a path that is not UTF-8. */
static json_t *row_of(const struct probe *probe, const struct diagnosis *diagnosis) {
    return json_pack("{s:s, s:s, s:s, s:o}", "probe", probe->name, "finding", finding_names[diagnosis->finding],
                     "needed_for", probe->needed_for, "text", text_to_json(diagnosis->text, strlen(diagnosis->text)));
}

/* All rows in ret_found, and for each remedy the probes that it helps in helped[]. Returns the worst finding. */
static enum finding run_all(const char *python, json_t *found, json_t *helped[REMEDY_N]) {
    enum finding worst = FINDING_GOOD;
    for (size_t i = 0; i < probes_n; i++) {
        struct diagnosis diagnosis;
        run_probe(&probes[i], python, &diagnosis);
        worst = diagnosis.finding > worst ? diagnosis.finding : worst;
        json_array_append_new(found, row_of(&probes[i], &diagnosis));
        if (!helped[diagnosis.remedy])
            helped[diagnosis.remedy] = json_array();
        json_array_append_new(helped[diagnosis.remedy], json_string(probes[i].name));
    }
    return worst;
}

/* What to do, in the order of the table. */
static json_t *make_remedies(json_t *helped[REMEDY_N]) {
    json_t *remedies = json_array();
    for (int i = 0; i < REMEDY_N; i++) {
        if (helped[i] && i != REMEDY_NONE)
            json_array_append_new(remedies, remedy_make((enum remedy)i, helped[i]));
        json_decref(helped[i]);
    }
    return remedies;
}

/* The report: {"finding", "text", "probes", "remedies"}. */
static json_t *make_report(const char *python, enum finding *ret_worst) {
    json_t *helped[REMEDY_N] = {NULL};
    json_t *found = json_array();
    const enum finding worst = run_all(python, found, helped);
    *ret_worst = worst;
    return json_pack("{s:s, s:s, s:o, s:o}", "finding", finding_names[worst], "text", verdicts[worst], "probes", found,
                     "remedies", make_remedies(helped));
}

/* The first row before this one that says the same: what is missing for one probe is missing for others, too. */
static const json_t *find_same(const json_t *found, size_t before) {
    const char *text = text_in(json_array_get(found, before), "text");
    for (size_t i = 0; i < before; i++)
        if (strcmp(text_in(json_array_get(found, i), "text"), text) == 0)
            return json_array_get(found, i);
    return NULL;
}

static void print_report(const json_t *report) {
    const json_t *found = json_object_get(report, "probes");
    const json_t *remedies = json_object_get(report, "remedies");
    size_t i;
    json_t *row;
    terminal_print("petri: %s.\n\n", text_in(report, "text"));
    json_array_foreach(found, i, row) {
        const json_t *same = find_same(found, i);
        terminal_print("%-9s %-12s %s%s%s\n", text_in(row, "finding"), text_in(row, "probe"),
                       same ? "the same as " : "", text_in(same ? same : row, same ? "probe" : "text"),
                       same ? "." : "");
    }
    if (json_array_size(remedies) > 0)
        terminal_print("\nWhat to do:\n");
    json_array_foreach(remedies, i, row) remedy_print(row);
}

/* Writes the seccomp profile for containers, as it lies among petri's own files. */
static int print_seccomp(void) {
    struct paths paths;
    json_error_t why;
    const int r = paths_find(&paths);
    json_auto_t *profile = r == 0 ? json_load_file(paths.seccomp, 0, &why) : NULL;
    if (profile)
        return terminal_put_json(profile);
    terminal_complain("the seccomp profile can't be read: %s", r == 0 ? why.text : "petri's own files are not there");
    return FINDING_UNUSABLE;
}

int command_doctor(const struct arguments *arguments) {
    const char *name = arguments->values[OPTION_PYTHON];
    struct python python;
    struct error error;
    enum finding worst;
    if (arguments->values[OPTION_SECCOMP])
        return print_seccomp();
    int r = python_ask(python_name(name), &python, &error);
    if (r < 0 && name) {
        terminal_complain("%s", error.text);
        return FINDING_UNUSABLE;
    }
    json_auto_t *report = make_report(r == 0 ? python.executable : NULL, &worst);
    if (!arguments->values[OPTION_JSON])
        print_report(report);
    else if (terminal_put_json(report) != 0 && worst == FINDING_GOOD)
        return EXIT_FAILURE;
    return (int)worst;
}
