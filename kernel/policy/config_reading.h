/*
 * config_reading.h - one file while it is read: what the sources that read its keys share.
 */
#ifndef PETRI_CONFIG_READING_H
#define PETRI_CONFIG_READING_H

#include "kernel/policy/config_keys.h"

/* The key that is being read. */
struct config_reading {
    const struct config_source *source;
    struct config *config;
    const struct config_wrongs *wrongs; /* NULL where another reading of the same key tells them */
    struct config_place place;
    char path[160]; /* the key for error messages, as "\"records\", \"path\"" */
};

/* Tells that the key is wrong, in a sentence that begins with its path, or with a clause that begins with a colon.
 * -EINVAL. */
int config_refuse(const struct config_reading *reading, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same reading, of what a name in the current object is given to. name is borrowed. */
struct config_reading config_reading_of(const struct config_reading *reading, const char *name);

/*
 * Reads all profiles, and takes the one that is asked for. json is the object, or
 * NULL where the file has none. 0 or -EINVAL.
 */
int config_read_profiles(const struct config_reading *reading, const json_t *json);

#endif
