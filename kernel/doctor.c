/*
 * doctor.c - `petri doctor`: what this machine gives, found out by trying.
 *
 * One row a probe. A probe runs in a process of its own, so that it may enter
 * namespaces or fail in any other way.
 */
#include "kernel/cleanup.h"
#include "kernel/commands.h"
#include "kernel/options.h"
#include "kernel/paths.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* What a probe found; also doctor's exit status, the worst of all. */
enum finding { FINDING_GOOD, FINDING_DEGRADED, FINDING_UNUSABLE };

static const char *const finding_names[] = {"good", "degraded", "unusable"};

struct probe {
    const char *name;
    const char *needed_for;
    /* Runs in a child of its own; writes a sentence where it does not find all good. */
    enum finding (*run)(char *text, size_t size);
};

static enum finding probe_namespaces(char *text, size_t size) {
    char folder[PATH_MAX];
    struct sandbox_ground ground;
    struct sandbox_error error = {0};
    if (!getcwd(folder, sizeof folder)) {
        snprintf(text, size, "this folder can't be named: %s", strerror(errno));
        return FINDING_UNUSABLE;
    }
    if (sandbox_enter(folder, &ground, &error) < 0) {
        sandbox_error_text(&error, text, size);
        return FINDING_UNUSABLE;
    }
    return FINDING_GOOD;
}

static enum finding probe_files(char *text, size_t size) {
    struct paths paths;
    if (paths_find(&paths) == 0)
        return FINDING_GOOD;
    snprintf(text, size, "petri's own files are not where its program is: build or install it anew.");
    return FINDING_UNUSABLE;
}

static const struct probe probes[] = {
    {"files", "the worker that runs cells", probe_files},
    {"namespaces", "every cell", probe_namespaces},
};
enum { N_PROBES = sizeof probes / sizeof probes[0], TEXT_BYTES = 640 };

static void run_child(const struct probe *probe, int fd) {
    char text[TEXT_BYTES] = "";
    enum finding finding = probe->run(text, sizeof text);
    if (write(fd, text, strlen(text)) < 0)
        finding = FINDING_UNUSABLE;
    _exit((int)finding);
}

/* Runs a probe apart and reads what it says. */
static enum finding run_probe(const struct probe *probe, char *text, size_t size) {
    int fds[2];
    int status = 0;
    text[0] = '\0';
    if (pipe2(fds, O_CLOEXEC) < 0)
        return FINDING_UNUSABLE;
    pid_t pid = fork();
    if (pid == 0)
        run_child(probe, fds[1]);
    close(fds[1]);
    ssize_t n = pid < 0 ? -1 : read(fds[0], text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    close(fds[0]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > FINDING_UNUSABLE)
        return FINDING_UNUSABLE;
    return (enum finding)WEXITSTATUS(status);
}

int command_doctor(const struct arguments *arguments) {
    json_auto_t *report = json_array();
    enum finding worst = FINDING_GOOD;
    for (size_t i = 0; i < N_PROBES; i++) {
        char text[TEXT_BYTES];
        enum finding finding = run_probe(&probes[i], text, sizeof text);
        worst = finding > worst ? finding : worst;
        if (!arguments->values[OPTION_JSON])
            printf("%-9s %-12s %s\n", finding_names[finding], probes[i].name, text);
        json_array_append_new(report,
                              json_pack("{s:s, s:s, s:s, s:s}", "probe", probes[i].name, "finding",
                                        finding_names[finding], "needed_for", probes[i].needed_for, "text", text));
    }
    if (arguments->values[OPTION_JSON] && json_dumpf(report, stdout, JSON_INDENT(1)) == 0)
        puts("");
    return (int)worst;
}
