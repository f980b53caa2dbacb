/*
 * remedies.h - what a person can do about what `petri doctor` finds: who has to act, and what they have to write and
 * run.
 *
 * A remedy is made as JSON, which --json shows, and people are shown that JSON as text, so both say the same.
 */
#ifndef PETRI_CLI_REMEDIES_H
#define PETRI_CLI_REMEDIES_H

#include <jansson.h>

enum remedy {
    REMEDY_NONE,
    REMEDY_LINUX,
    REMEDY_FILES,
    REMEDY_PYTHON,
    REMEDY_APPARMOR,
    REMEDY_USER_NAMESPACES_OFF,
    REMEDY_USER_NAMESPACES_NONE,
    REMEDY_CONTAINER,
    REMEDY_YAMA,
    REMEDY_OVERLAY,
    REMEDY_MANAGER,
    REMEDY_BUS,
    REMEDY_CONTROLLER,
    REMEDY_N,
};

/*
 * The remedy for the probes, an array of their names, of which it takes a reference: {"who", "for", "text"}, and where
 * they are part of it "options" of a container, "file" {"path", "content"} and "commands". A new reference, or NULL
 * where there is no memory. The text and the files name this program, this user, and the runtime of this container.
 */
json_t *remedy_make(enum remedy remedy, json_t *probes);

/*
 * Prints one for a person, its file and commands as lines that a shell takes, at the beginning of the line: a file is
 * written by a here-document, which ends only there.
 */
void remedy_print(const json_t *remedy);

#endif
