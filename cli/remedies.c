/*
 * remedies.c - one table: a row a remedy, in the words of who has to act.
 *
 * A word between two @ stands for what is known only where doctor runs.
 */

#include "remedies.h"

#include "base/cleanup.h"
#include "cli/container.h"
#include "kernel/base/paths.h"
#include "kernel/base/terminal.h"
#include "protocol/text.h"

#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { COMMANDS_MAX = 3 };

#define ADMINISTRATOR "the administrator of this machine"
#define STARTER "whoever starts this container"
#define YOU "you"

#define DROP_IN "/etc/systemd/system/user@.service.d/petri.conf"
#define APPARMOR_PROFILE "/etc/apparmor.d/petri-kernel"
/* A file each: several of them may be needed at once, or one after the other. */
#define SYSCTL_CLONE "/etc/sysctl.d/60-petri-userns-clone.conf"
#define SYSCTL_NAMESPACES "/etc/sysctl.d/60-petri-user-namespaces.conf"
#define SYSCTL_YAMA "/etc/sysctl.d/60-petri-ptrace.conf"
/* A file of another name may set it again when the machine starts. See: sysctl.d(5). */
#define FIND_OTHERS(key, value)                                                                                        \
    "grep -rs " key " /etc/sysctl.conf /etc/sysctl.d /run/sysctl.d /usr/lib/sysctl.d # where " value                   \
    " is set, take it out"

static const struct {
    const char *who;
    const char *text;    /* ends with a colon where lines follow */
    const char *options; /* of a container */
    const char *path, *content;
    const char *commands[COMMANDS_MAX];
} rows[] = {
    [REMEDY_LINUX] =
        {.who = ADMINISTRATOR,
         .text =
             "petri needs Linux 5.12 or newer on x86-64, as distributions build it: Debian 12, Ubuntu 22.04, RHEL 9, or "
             "later ones."},
    [REMEDY_FILES] = {.who = YOU,
                      .text = "Install petri anew: its program was moved away from its files, or these were removed."},
    [REMEDY_PYTHON] = {.who = YOU,
                       .text = "Install Python 3.10 or newer, or name an interpreter: petri doctor --python PATH."},
    /* Ubuntu's own profiles for programs that make user namespaces have this form. */
    [REMEDY_APPARMOR] = {.who = ADMINISTRATOR,
                         .text =
                             "AppArmor keeps programs that have no profile from using user namespaces "
                             "(kernel.apparmor_restrict_unprivileged_userns is 1, Ubuntu's default). Give this petri a "
                             "profile; whoever may run it, and so have it run any program as an interpreter, can then "
                             "make such namespaces with that program, too:",
                         .path = APPARMOR_PROFILE,
                         .content = "abi <abi/4.0>,\n"
                                    "include <tunables/global>\n"
                                    "\n"
                                    "profile petri-kernel \"@PROGRAM@\" flags=(unconfined) {\n"
                                    "  userns,\n"
                                    "\n"
                                    "  include if exists <local/petri-kernel>\n"
                                    "}\n",
                         .commands = {"sudo apparmor_parser --replace " APPARMOR_PROFILE}},
    [REMEDY_USER_NAMESPACES_OFF] =
        {.who = ADMINISTRATOR,
         .text = "User namespaces are switched off for ordinary users "
                 "(kernel.unprivileged_userns_clone is 0), perhaps on purpose: with them, each user "
                 "reaches more of Linux's code. Switch them on:",
         .path = SYSCTL_CLONE,
         .content = "kernel.unprivileged_userns_clone = 1\n",
         .commands = {"sudo sysctl --load=" SYSCTL_CLONE, FIND_OTHERS("unprivileged_userns_clone", "0")}},
    [REMEDY_USER_NAMESPACES_NONE] =
        {.who = ADMINISTRATOR,
         .text =
             "User namespaces are switched off (user.max_user_namespaces is 0), perhaps on purpose: with them, each user "
             "reaches more of Linux's code. Allow some; each kernel takes a few, and each cell one:",
         .path = SYSCTL_NAMESPACES,
         .content = "user.max_user_namespaces = 10000\n",
         .commands = {"sudo sysctl --load=" SYSCTL_NAMESPACES, FIND_OTHERS("max_user_namespaces", "0")}},
    [REMEDY_CONTAINER] =
        {.who = STARTER,
         .text = "The defaults of @RUNTIME@ refuse what petri makes sandboxes of. Start the container with "
                 "these options; where they name seccomp.json, petri doctor --seccomp >seccomp.json writes "
                 "it. They take protection from all that runs in the container: let none of it be root. On a "
                 "host with SELinux more may be needed (docs/containers.md says what each option is for):",
         .options = "@OPTIONS@"},
    [REMEDY_YAMA] =
        {.who = ADMINISTRATOR,
         .text = "kernel.yama.ptrace_scope is 3, and then no program may trace another one, not even its own child. "
                 "Linux can't take that back while it runs, so start the machine again after this:",
         .path = SYSCTL_YAMA,
         .content = "kernel.yama.ptrace_scope = 1\n",
         .commands = {FIND_OTHERS("ptrace_scope", "3")}},
    [REMEDY_OVERLAY] =
        {.who = ADMINISTRATOR,
         .text = "Load the overlay file system, now and whenever the machine starts (if modprobe refuses, a file in "
                 "/etc/modprobe.d forbids the module, or this Linux has none):",
         .path = "/etc/modules-load.d/petri.conf",
         .content = "overlay\n",
         .commands = {"sudo modprobe overlay"}},
    [REMEDY_MANAGER] =
        {.who = ADMINISTRATOR,
         .text = "A control group would have to come from a manager of systemd's, and none runs for the user @USER@. "
                 "Keep one running, and start the kernels again:",
         .commands =
             {"sudo loginctl enable-linger @UID@"}}, /* a shell takes the backslash out of a name as DOMAIN\ada */
    [REMEDY_BUS] =
        {.who = ADMINISTRATOR,
         .text = "A control group would have to come from the manager of systemd's that runs for the user @USER@, "
                 "and there is no bus to ask it by, /run/user/@UID@/bus. Install what makes one (in Debian and "
                 "Ubuntu the package dbus-user-session), and have the user log in anew."},
    [REMEDY_CONTROLLER] = {.who = ADMINISTRATOR,
                           .text =
                               "The user @USER@ has a manager of systemd's, but may not divide memory. Delegate that; "
                               "the last command ends all that the user runs:",
                           .path = DROP_IN,
                           .content = "[Service]\nDelegate=cpu memory pids\n",
                           .commands = {"sudo systemctl daemon-reload", "sudo systemctl restart user@@UID@.service"}},
};
_Static_assert(sizeof rows / sizeof rows[0] == REMEDY_N, "one row a remedy");

/* What a word between two @ stands for. */
struct values {
    char program[2 * PATH_MAX]; /* as AppArmor reads a path */
    char user[64], uid[16];
    const char *runtime, *options;
};

/*
 * A path in a rule's quotes, without a meaning of its signs; a character that would end the line is any one there, and
 * so can't end the here-document that the rule is shown in. See: apparmor.d(5), "Globbing".
 */
static void quote_path(const char *path, char *buf, size_t size) {
    size_t n = 0;
    for (; *path && n + 2 < size; path++) {
        const bool control = (unsigned char)*path < ' ';
        if (strchr("\"\\*?[]{}^@", *path))
            buf[n++] = '\\';
        buf[n++] = control ? '?' : *path;
    }
    buf[n] = '\0';
}

static void values_find(struct values *ret_values) {
    struct paths paths;
    const struct passwd *entry = getpwuid(geteuid());
    const struct container *container = container_find("");
    quote_path(paths_find(&paths) == 0 ? paths.program : "petri", ret_values->program, sizeof ret_values->program);
    snprintf(ret_values->uid, sizeof ret_values->uid, "%u", geteuid());
    snprintf(ret_values->user, sizeof ret_values->user, "%s", entry ? entry->pw_name : ret_values->uid);
    ret_values->runtime = container ? container->name : "";
    ret_values->options = container && container->options ? container->options : "";
}

/* The value of the word of n characters; NULL where it is none of ours. */
static const char *value_of(const struct values *values, const char *word, size_t n) {
    const struct {
        const char *word, *value;
    } known[] = {
        {"PROGRAM", values->program}, {"USER", values->user},       {"UID", values->uid},
        {"RUNTIME", values->runtime}, {"OPTIONS", values->options},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i].word) == n && memcmp(known[i].word, word, n) == 0)
            return known[i].value;
    return NULL;
}

/* A text of the table with the values in it, as JSON. */
static json_t *fill(const char *text, const struct values *values) {
    auto_free char *filled = NULL;
    size_t size;
    FILE *out = open_memstream(&filled, &size);
    if (!out)
        return NULL;
    while (*text) {
        const size_t n = *text == '@' ? strspn(text + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
        const char *value = n > 0 && text[n + 1] == '@' ? value_of(values, text + 1, n) : NULL;
        fwrite(value ? value : text, 1, value ? strlen(value) : 1, out);
        text += value ? n + 2 : 1;
    }
    return fclose(out) == 0 ? text_to_json(filled, size) : NULL;
}

/* Without sudo where it is root who reads it. */
static json_t *fill_commands(const char *const commands[COMMANDS_MAX], const struct values *values) {
    static const char sudo[] = "sudo ";
    json_t *filled = json_array();
    for (size_t i = 0; i < COMMANDS_MAX && commands[i]; i++) {
        const bool needless = geteuid() == 0 && strncmp(commands[i], sudo, sizeof sudo - 1) == 0;
        json_array_append_new(filled, fill(commands[i] + (needless ? sizeof sudo - 1 : 0), values));
    }
    return filled;
}

json_t *remedy_make(enum remedy remedy, json_t *probes) {
    struct values values;
    values_find(&values);
    json_t *made =
        json_pack("{s:s, s:O, s:o}", "who", rows[remedy].who, "for", probes, "text", fill(rows[remedy].text, &values));
    if (rows[remedy].options)
        json_object_set_new(made, "options", fill(rows[remedy].options, &values));
    if (rows[remedy].path)
        json_object_set_new(made, "file",
                            json_pack("{s:o, s:o}", "path", fill(rows[remedy].path, &values), "content",
                                      fill(rows[remedy].content, &values)));
    if (rows[remedy].commands[0])
        json_object_set_new(made, "commands", fill_commands(rows[remedy].commands, &values));
    return made;
}

/* "namespaces, cell". */
static void print_names(const json_t *names) {
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name) terminal_print("%s%s", i > 0 ? ", " : "", json_string_value(name));
}

/* A folder that holds the file may be missing; a package's own folders are there. */
static void print_file(const json_t *file) {
    const char *path = text_in(file, "path");
    const char *sudo = geteuid() == 0 ? "" : "sudo ";
    terminal_print("%smkdir -p %.*s\n", sudo, (int)(strrchr(path, '/') - path), path);
    terminal_print("%stee %s >/dev/null <<'END'\n%sEND\n", sudo, path, text_in(file, "content"));
}

void remedy_print(const json_t *remedy) {
    const json_t *file = json_object_get(remedy, "file");
    size_t i;
    json_t *command;
    terminal_print("\nFor %s (", text_in(remedy, "who"));
    print_names(json_object_get(remedy, "for"));
    terminal_print("): %s\n", text_in(remedy, "text"));
    if (file || json_object_get(remedy, "options") || json_object_get(remedy, "commands"))
        terminal_print("\n");
    if (json_object_get(remedy, "options"))
        terminal_print("%s\n", text_in(remedy, "options"));
    if (file)
        print_file(file);
    json_array_foreach(json_object_get(remedy, "commands"), i, command)
        terminal_print("%s\n", json_string_value(command));
}
