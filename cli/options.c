/*
 * options.c - one table of all options, and one pass over the arguments.
 *
 * All commands share the table, so an option means the same in each; a mask says
 * which options a command has. Where an option is given twice, the last value
 * counts, except for --file. After "--" everything is an operand.
 */

#include "options.h"

#include "kernel/base/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *value; /* as the usage shows it; NULL where the option takes none */
    const char *help;
} rows[] = {
    [OPTION_ARTIFACTS] = {"--artifacts", "DIR", "folder to copy files to that the code makes; made if it is not there"},
    [OPTION_CONFIG] = {"--config", "FILE", "configuration to use instead of the user's own, over that of /etc/petri"},
    [OPTION_FILE] = {"--file", "FILE[:NAME]", "put a file into the folder of the code, under its own name or another"},
    [OPTION_FOLDER] = {"--folder", "DIR", "folder to run in, instead of the recorded one"},
    [OPTION_HELP] = {"--help", NULL, "show this text"},
    [OPTION_JSON] = {"--json", NULL, "write JSON"},
    [OPTION_LIMIT] = {"--limit", "N", "how many runs at most (default: 20)"},
    [OPTION_MEMORY] = {"--memory", "SIZE", "limit of memory, such as 512M"},
    [OPTION_OUTCOME] = {"--outcome", "NAME", "only runs that ended like this: ok, error, timeout, ..."},
    [OPTION_PREFIX] = {"--prefix", "DIR", "work below DIR/share/jupyter"},
    [OPTION_PROFILE] = {"--profile", "NAME",
                        "limits to work with: notebook (default), strict or one of the configuration"},
    [OPTION_PROGRAM] = {"--program", "PATH",
                        "for packages: have the kernelspecs name this program, and --python, as they are given"},
    [OPTION_PYTHON] = {"--python", "PATH",
                       "interpreter for the cells (default: the one that petri is installed for, or python3)"},
    [OPTION_SECCOMP] = {"--seccomp", NULL, "write the seccomp profile for containers, and try nothing"},
    [OPTION_SESSION] = {"--session", "ID",
                        "all runs of this session, as the tree of its states; the beginning of the id is enough"},
    [OPTION_STDIN] = {"--stdin", "FILE", "what the code reads from standard input; - for one's own"},
    [OPTION_SYS_PREFIX] = {"--sys-prefix", NULL, "work in the environment of the interpreter"},
    [OPTION_TIMEOUT] = {"--timeout", "TIME", "limit of time, such as 10s"},
    [OPTION_TASK] = {"--task", "ID", "only runs of this task"},
    [OPTION_TEXT] = {"--text", NULL, "write what the code puts out, and one line about the run, for people"},
    [OPTION_USER] = {"--user", NULL, "work in the user's own Jupyter folder (default)"},
    [OPTION_VERSION] = {"--version", NULL, "show the version"},
    [OPTION_WRITABLE] = {"--writable", NULL, "write what cells change into the notebook's folder"},
};
_Static_assert(sizeof rows / sizeof rows[0] == OPTION_N, "one row an option");

/* Every command takes these. */
#define ALWAYS (TAKES(OPTION_HELP) | TAKES(OPTION_VERSION))

/* The option that text names, up to a '=' in it; OPTION_N where the command takes none of that name. */
static int find_option(const struct command *command, const char *text) {
    size_t n = strcspn(text, "=");
    for (int i = 0; i < OPTION_N; i++)
        if (((command->options | ALWAYS) & TAKES(i)) && strlen(rows[i].name) == n && memcmp(rows[i].name, text, n) == 0)
            return i;
    return OPTION_N;
}

/* Whether text is a setting of IPython's, as nbclient passes one: --HistoryManager.hist_file=:memory: */
static bool is_trait(const char *text) {
    const char *dot = strchr(text, '.');
    const char *equals = strchr(text, '=');
    return strncmp(text, "--", 2) == 0 && text[2] >= 'A' && text[2] <= 'Z' && dot && equals && dot < equals;
}

/* Whether the option has a value if it needs one, and none if it takes none. */
static int check_form(int option, bool has_value, bool is_last, struct error *ret_error) {
    if (!rows[option].value && has_value)
        return error_set(ret_error, EINVAL, "%s takes no value", rows[option].name);
    if (rows[option].value && !has_value && is_last)
        return error_set(ret_error, EINVAL, "%s needs a value: %s", rows[option].name, rows[option].value);
    return 0;
}

/* The only option that may be given several times. */
static int note_file(struct arguments *arguments, struct error *ret_error) {
    if (arguments->n_files == OPTIONS_MAX_FILES)
        return error_set(ret_error, EINVAL, "%s can be given %d times", rows[OPTION_FILE].name, OPTIONS_MAX_FILES);
    arguments->files[arguments->n_files++] = arguments->values[OPTION_FILE];
    return 0;
}

/* Reads the option at argv[*at], and its value, which may be the next argument. */
static int read_option(const struct command *command, int argc, char *const argv[], int *at,
                       struct arguments *arguments, struct error *ret_error) {
    const char *equals = strchr(argv[*at], '=');
    int option = find_option(command, argv[*at]);
    if (option == OPTION_N && command->passes_traits && is_trait(argv[*at]))
        return 0;
    if (option == OPTION_N)
        return error_set(ret_error, EINVAL, "petri %s has no option %s", command->name, argv[*at]);
    int r = check_form(option, equals != NULL, *at + 1 == argc, ret_error);
    if (r < 0)
        return r;
    if (!rows[option].value)
        arguments->values[option] = "";
    else
        arguments->values[option] = equals ? equals + 1 : argv[++*at];
    return option == OPTION_FILE ? note_file(arguments, ret_error) : 0;
}

static int read_operand(const struct command *command, const char *text, struct arguments *arguments,
                        struct error *ret_error) {
    if (arguments->n_operands == command->n_operands + command->n_optional)
        return error_set(ret_error, EINVAL, "petri %s does not know what to do with %s", command->name, text);
    arguments->operands[arguments->n_operands++] = text;
    return 0;
}

int options_parse(const struct command *command, int argc, char *const argv[], struct arguments *ret_arguments,
                  struct error *ret_error) {
    struct arguments arguments = {0};
    bool only_operands = false;
    for (int i = 0; i < argc; i++) {
        int r = 0;
        if (!only_operands && strcmp(argv[i], "--") == 0)
            only_operands = true;
        else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0')
            r = read_option(command, argc, argv, &i, &arguments, ret_error);
        else
            r = read_operand(command, argv[i], &arguments, ret_error);
        if (r < 0)
            return r;
    }
    bool asks = arguments.values[OPTION_HELP] || arguments.values[OPTION_VERSION];
    if (!asks && arguments.n_operands < command->n_operands)
        return error_set(ret_error, EINVAL, "petri %s needs %s", command->name, command->operands);
    *ret_arguments = arguments;
    return 0;
}

static void print_options(const struct command *command) {
    terminal_print("Options:\n");
    for (int i = 0; i < OPTION_N; i++) {
        char text[64];
        if (!((command->options | ALWAYS) & TAKES(i)))
            continue;
        snprintf(text, sizeof text, "%s %s", rows[i].name, rows[i].value ? rows[i].value : "");
        terminal_print("  %-20s %s\n", text, rows[i].help);
    }
}

static void print_exits(const struct command *command) {
    terminal_print("\nExit status:\n");
    for (size_t i = 0; i < OPTIONS_MAX_EXITS && command->exits[i].text; i++)
        terminal_print("  %-4d %s\n", command->exits[i].status, command->exits[i].text);
}

void options_usage(const struct command *command) {
    terminal_print("Usage: petri %s%s%s [OPTION]...\n\n%s.\n\n", command->name, command->operands[0] ? " " : "",
                   command->operands, command->help);
    print_options(command);
    print_exits(command);
}
