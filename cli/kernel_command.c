/* kernel_command.c - `petri kernel`, which Jupyter starts. */

#include "cli/commands.h"
#include "cli/options.h"
#include "kernel/start.h"

_Static_assert((int)START_EXIT_USAGE == (int)EXIT_USAGE, "one exit status for a wrong command line");

int command_kernel(const struct arguments *arguments) {
    const struct start_options options = {.connection_file = arguments->operands[0],
                                          .python = arguments->values[OPTION_PYTHON],
                                          .profile = arguments->values[OPTION_PROFILE],
                                          .config = arguments->values[OPTION_CONFIG],
                                          .artifacts = arguments->values[OPTION_ARTIFACTS],
                                          .writable = arguments->values[OPTION_WRITABLE] != NULL};
    return start_kernel(&options);
}
