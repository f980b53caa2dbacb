/*
 * commands.h - petri's commands; each returns the exit status.
 */
#ifndef PETRI_COMMANDS_H
#define PETRI_COMMANDS_H

struct arguments;

enum { EXIT_USAGE = 2 };

int command_kernel(const struct arguments *arguments);
int command_install(const struct arguments *arguments);
int command_uninstall(const struct arguments *arguments);
int command_config(const struct arguments *arguments);
int command_replay(const struct arguments *arguments);
int command_runs(const struct arguments *arguments);
int command_show(const struct arguments *arguments);
int command_doctor(const struct arguments *arguments);
int command_ps(const struct arguments *arguments);
int command_run(const struct arguments *arguments);

#endif
