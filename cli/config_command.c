/* config_command.c - `petri config check [FILE]` and `petri config schema`. */

#include "cli/commands.h"
#include "cli/options.h"
#include "kernel/base/terminal.h"
#include "kernel/policy/config_origins.h"

#include <string.h>

static void tell_problem(void *arg, const char *path, unsigned line, const char *sentence) {
    (void)arg;
    terminal_complain("%s:%u: %s", path, line, sentence);
}

static void tell_origin(void *arg, const struct config_origin *origin) {
    const struct config_files *files = arg;
    if (files->policy.text || origin->standing[0])
        terminal_print("  %s: %s%s%s\n", origin->key, origin->path ? origin->path : "the default",
                       origin->standing[0] ? ", " : "", origin->standing);
}

/* Which files are good, and what of each holds where there are two, or something is said of a key. */
static void tell_good(struct config_files *files) {
    if (files->own.text)
        terminal_print("The configuration %s is good.\n", files->own.path);
    if (files->policy.text)
        terminal_print("The configuration %s is good. It holds for every user of this machine%s.\n", files->policy.path,
                       files->own.text ? ", and the other is read over it" : "");
    config_origins(files, tell_origin, files);
}

static int check_files(struct config_files *files) {
    if (!files->policy.text && !files->own.text)
        terminal_print("There is no configuration file: petri uses the defaults.\n");
    else if (config_check(files, &(struct config_listener){.problem = tell_problem}) < 0)
        return EXIT_USAGE;
    else
        tell_good(files);
    return 0;
}

static int check(const char *path) {
    struct config_files files;
    struct error error;
    if (config_files_read(path, &files, &error) < 0) {
        terminal_complain("%s", error.text);
        return EXIT_USAGE;
    }
    int status = check_files(&files);
    config_files_fini(&files);
    return status;
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
