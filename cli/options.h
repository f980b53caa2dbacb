/*
 * options.h - the command line: which options there are, and which a command takes.
 *
 * Ours, because all commands share one table, and a kernel has to pass over
 * settings of IPython's with any name: getopt_long(3) and argp(3) take what
 * they don't know for a mistake, and the beginning of an option's name for the
 * whole.
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
    OPTION_PYTHON,
    OPTION_STDIN,
    OPTION_SYS_PREFIX,
    OPTION_TASK,
    OPTION_TIMEOUT,
    OPTION_USER,
    OPTION_VERSION,
    OPTION_WRITABLE,
    OPTION_N,
};

#define TAKES(option) (1u << (option))

enum { OPTIONS_MAX_OPERANDS = 8, OPTIONS_MAX_FILES = 256 };

/* A command line that was read; texts are borrowed from argv. */
struct arguments {
    const char *values[OPTION_N]; /* NULL where not given; "" for an option without a value */
    const char *operands[OPTIONS_MAX_OPERANDS];
    size_t n_operands;
    const char *files[OPTIONS_MAX_FILES]; /* OPTION_FILE, each time it was given */
    size_t n_files;
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
    bool passes_traits; /* over --Class.trait=value: clients give those to any kernel that is called python3 */
};

/*
 * Reads what comes after the command's name. 0, or -EINVAL with one sentence
 * in ret_error. With --help or --version nothing else is checked.
 */
int options_parse(const struct command *command, int argc, char *const argv[], struct arguments *ret_arguments,
                  struct error *ret_error) MUST_CHECK;

/* Writes the usage of a command with its options to standard output. */
void options_usage(const struct command *command);

#endif
