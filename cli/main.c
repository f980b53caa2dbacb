/*
 * main.c - the program, with one row for each command.
 *
 * sandbox_begin() is called first: each session starts this program again as a
 * process of the sandbox, which does not return from it.
 */

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/own_limits.h"
#include "kernel/base/terminal.h"
#include "sandbox/sandbox.h"

#include <stdio.h>
#include <string.h>

static const struct command commands[] = {
    {"kernel", "CONNECTION_FILE", 1,
     TAKES(OPTION_PROFILE) | TAKES(OPTION_CONFIG) | TAKES(OPTION_PYTHON) | TAKES(OPTION_ARTIFACTS) |
         TAKES(OPTION_WRITABLE),
     "Runs the kernel; kernel.json starts this", .run = command_kernel, .passes_traits = true,
     .exits = {{0, "it was told to stop"},
               {1, "it had no memory, or no port of the connection file was free"},
               {2, "the command line or the connection file is wrong"}}},
    {"install", "", 0,
     TAKES(OPTION_USER) | TAKES(OPTION_SYS_PREFIX) | TAKES(OPTION_PREFIX) | TAKES(OPTION_PYTHON) |
         TAKES(OPTION_PROGRAM) | TAKES(OPTION_PROFILE) | TAKES(OPTION_CONFIG),
     "Registers petri's kernels with Jupyter, a profile's too, and adds their timeline to JupyterLab",
     .run = command_install,
     .exits = {{0, "the kernels are registered"},
               {1, "they could not be written, or the interpreter could not be asked what it is"},
               {2, "the command line or the configuration is wrong"}}},
    {"uninstall", "", 0,
     TAKES(OPTION_USER) | TAKES(OPTION_SYS_PREFIX) | TAKES(OPTION_PREFIX) | TAKES(OPTION_PYTHON) |
         TAKES(OPTION_PROFILE),
     "Removes what petri install has written, a profile's kernel too if it is named", .run = command_uninstall,
     .exits = {{0, "nothing of it is there any more"},
               {1, "something could not be removed, or the interpreter could not be asked what it is"},
               {2, "the command line is wrong"}}},
    {"config", "check [FILE]|schema", 1, TAKES(OPTION_CONFIG),
     "Checks a configuration file, or writes the JSON Schema of such files", .run = command_config, .n_optional = 1,
     .exits = {{0, "the files are good, or there are none"},
               {1, "the schema could not be written"},
               {2, "a file or the command line is wrong"}}},
    {"run", "FILE.py|-", 1,
     TAKES(OPTION_PROFILE) | TAKES(OPTION_CONFIG) | TAKES(OPTION_PYTHON) | TAKES(OPTION_TIMEOUT) |
         TAKES(OPTION_MEMORY) | TAKES(OPTION_STDIN) | TAKES(OPTION_FILE) | TAKES(OPTION_ARTIFACTS) | TAKES(OPTION_TEXT),
     "Runs one cell without Jupyter and writes its report as JSON, or its output as text", .run = command_run,
     .exits = {{0, "the code ended without an error"},
               {1, "the code raised an error, or the report could not be written"},
               {2, "the command line is wrong, or petri refused to run the code"},
               {3, "the code passed a limit or crashed"},
               {4, "the sandbox could not be made"},
               {130, "a signal ended petri"}}},
    {"runs", "", 0,
     TAKES(OPTION_JSON) | TAKES(OPTION_LIMIT) | TAKES(OPTION_TASK) | TAKES(OPTION_OUTCOME) | TAKES(OPTION_SESSION) |
         TAKES(OPTION_CONFIG),
     "Lists the recorded runs, the newest first, or draws those of a session", .run = command_runs,
     .exits = {{0, "the list was written, even if it is empty"},
               {1, "the records could not be read, or the list could not be written"},
               {2, "there are no records, or the command line or the configuration is wrong"}}},
    {"show", "RUN", 1, TAKES(OPTION_JSON) | TAKES(OPTION_CONFIG),
     "Shows a recorded run; the beginning of its id is enough", .run = command_show,
     .exits = {{0, "the run was shown"},
               {1, "its JSON could not be written"},
               {2, "there is no such run, or the command line or the configuration is wrong"}}},
    {"replay", "[RUN]", 0,
     TAKES(OPTION_JSON) | TAKES(OPTION_SESSION) | TAKES(OPTION_CONFIG) | TAKES(OPTION_PYTHON) | TAKES(OPTION_FOLDER),
     "Runs a recorded run, or all runs of a session, again and says what differs", .run = command_replay,
     .n_optional = 1,
     .exits = {{0, "nothing differs"},
               {1, "something differs"},
               {2, "the run could not be replayed, or the command line or the configuration is wrong"}}},
    {"ps", "", 0, TAKES(OPTION_JSON), "Lists the kernels of this user that run, as root those of all users",
     .run = command_ps,
     .exits = {{0, "the list was written, even if it is empty"},
               {1, "the list could not be made or written"},
               {2, "the command line is wrong"}}},
    {"doctor", "", 0, TAKES(OPTION_JSON) | TAKES(OPTION_PYTHON) | TAKES(OPTION_SECCOMP),
     "Says what this machine gives, what is missing and how to mend it", .run = command_doctor,
     .exits = {{0, "cells run here, and every limit can be enforced"},
               {1, "cells run here, and something is degraded"},
               {2, "no cell can run here, or the command line is wrong"}}},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static int show_version(void) {
    terminal_print("petri " PETRI_VERSION "\n");
    return 0;
}

static int show_help(void) {
    terminal_print("Usage: petri COMMAND [ARGUMENT]...\n\n"
                   "A Jupyter kernel whose every cell runs in a sandbox of its own.\n\n"
                   "Commands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        terminal_print("  %-10s %s\n", commands[i].name, commands[i].help);
    terminal_print("\npetri COMMAND --help shows the options of a command.\n");
    return 0;
}

static int fail_usage(const char *why) {
    terminal_complain("%s; see petri --help", why);
    return EXIT_USAGE;
}

static bool runs_cells(const struct command *command) {
    return command->run == command_kernel || command->run == command_run || command->run == command_doctor ||
           command->run == command_replay;
}

static int run_command(const struct command *command, int argc, char *argv[]) {
    char why[256];
    struct arguments arguments;
    struct error error;
    if (options_parse(command, argc, argv, &arguments, &error) < 0)
        return fail_usage(error.text);
    if (arguments.values[OPTION_VERSION])
        return show_version();
    if (arguments.values[OPTION_HELP])
        return options_usage(command), 0;
    if (runs_cells(command) && !own_limits_suffice(why, sizeof why)) {
        terminal_complain("%s", why);
        return EXIT_USAGE;
    }
    return command->run(&arguments);
}

int main(int argc, char *argv[]) {
    char why[256];
    sandbox_begin();
    if (argc < 2)
        return fail_usage("it needs a command");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return show_help();
    if (strcmp(argv[1], "--version") == 0)
        return show_version();
    own_limits_take_signals();
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run_command(&commands[i], argc - 2, argv + 2);
    snprintf(why, sizeof why, "there is no command %s", argv[1]);
    return fail_usage(why);
}
