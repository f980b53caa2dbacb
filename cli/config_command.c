/* config_command.c - `petri config check [FILE]` and `petri config schema`. */

#include "cli/commands.h"
#include "cli/options.h"
#include "kernel/base/terminal.h"
#include "kernel/policy/config.h"

#include <string.h>

struct problems {
    const char *path;
    unsigned n;
};

static void tell_problem(void *arg, unsigned line, const char *sentence) {
    struct problems *problems = arg;
    problems->n++;
    terminal_complain("%s:%u: %s", problems->path, line, sentence);
}

static int check(const char *path) {
    char found[PATH_MAX];
    struct problems problems = {found, 0};
    struct error error;
    if (!config_find(path, found)) {
        terminal_print("There is no configuration file: petri uses the defaults.\n");
        return 0;
    }
    if (config_check(path, tell_problem, &problems, &error) < 0) {
        if (problems.n == 0)
            terminal_complain("%s", error.text);
        return EXIT_USAGE;
    }
    terminal_print("The configuration %s is good.\n", found);
    return 0;
}

static int show_schema(void) {
    json_auto_t *schema = config_schema();
    return terminal_put_json(schema);
}

int command_config(const struct arguments *arguments) {
    const char *what = arguments->operands[0];
    const char *path = arguments->n_operands > 1 ? arguments->operands[1] : arguments->values[OPTION_CONFIG];
    if (strcmp(what, "check") == 0)
        return check(path);
    if (strcmp(what, "schema") == 0 && arguments->n_operands == 1)
        return show_schema();
    terminal_complain("petri config takes check [FILE] or schema; see petri config --help");
    return EXIT_USAGE;
}
