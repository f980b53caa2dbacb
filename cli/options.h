/*
 * options.h - parses the command line.
 *
 * It does not use getopt_long(3) or argp(3), because all commands share one
 * table, and a kernel has to ignore IPython's settings with any name: those
 * functions treat an unknown option as an error, and accept abbreviated names.
 */
#ifndef PETRI_OPTIONS_H
#define PETRI_OPTIONS_H

#include "base/cleanup.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum option {
    OPTION_ARTIFACTS,
    OPTION_CONFIG,
    OPTION_FILE,
    OPTION_FOLDER,
    OPTION_HELP,
    OPTION_JSON,
    OPTION_LIMIT,
    OPTION_MEMORY,
    OPTION_OUTCOME,
    OPTION_PREFIX,
    OPTION_PROFILE,
    OPTION_PROGRAM,
    OPTION_PYTHON,
    OPTION_SECCOMP,
    OPTION_SESSION,
    OPTION_STDIN,
    OPTION_SYS_PREFIX,
    OPTION_TASK,
    OPTION_TEXT,
    OPTION_TIMEOUT,
    OPTION_USER,
    OPTION_VERSION,
    OPTION_WRITABLE,
    OPTION_N,
};

#define TAKES(option) (1u << (option))

enum { OPTIONS_MAX_OPERANDS = 8, OPTIONS_MAX_FILES = 256, OPTIONS_MAX_EXITS = 6 };

/* A command line that was read; texts are borrowed from argv. */
struct arguments {
    const char *values[OPTION_N]; /* NULL where not given; "" for an option without a value */
    const char *operands[OPTIONS_MAX_OPERANDS];
    size_t n_operands;
    const char *files[OPTIONS_MAX_FILES]; /* OPTION_FILE, each time it was given */
    size_t n_files;
};

/* What an exit status of a command means; without a text where there are no more. */
struct exit_meaning {
    int status;
    const char *text;
};

/* One row of the command table, main.c. */
struct command {
    const char *name;
    const char *operands; /* as the usage line shows them */
    size_t n_operands;    /* how many it needs */
    unsigned options;     /* of TAKES(OPTION_...) */
    const char *help;
    int (*run)(const struct arguments *arguments); /* returns the exit status */
    size_t n_optional;                             /* how many operands it takes beyond those that it needs */
    bool passes_traits; /* ignores --Class.trait=value, which clients pass to any kernel that is called python3 */
    struct exit_meaning exits[OPTIONS_MAX_EXITS];
};

/*
 * Reads what comes after the command's name. 0, or -EINVAL with one sentence
 * in ret_error. With --help or --version nothing else is checked.
 */
int options_parse(const struct command *command, int argc, char *const argv[], struct arguments *ret_arguments,
                  struct error *ret_error) MUST_CHECK;

/*
 * Writes the usage of a command to standard output: its options, and what its exit
 * status means. help2man(1) makes the manual page of it, so the headings are those
 * that it knows.
 */
void options_usage(const struct command *command);

#endif
