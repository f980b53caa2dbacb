/*
 * displays.h - rich outputs of a cell, held to their limits of size and number.
 *
 * One that is too large is replaced by a text that says what it was; of those
 * over the number, the first is, and the others are counted and dropped.
 * An update shows nothing more than was there before, so it has a size only.
 * The limit of size is an error's too, which is replaced by one that says so,
 * and that of a comm's message, which nothing can stand for: it is dropped.
 */
#ifndef PETRI_DISPLAYS_H
#define PETRI_DISPLAYS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Of one cell. All zero but the limits is a cell that has shown nothing. */
struct displays {
    int64_t limit_bytes; /* of one */
    int64_t limit_n;
    int64_t n;
    uint64_t dropped_bytes;
};

/* The bytes of the texts in a message's content, keys included. */
size_t displays_bytes(json_t *content);

/*
 * What is to be published of a message of the cell's: content itself (also for
 * every message that has no limit here), what stands in its place, or NULL
 * where nothing does. buffer_bytes counts what the message has beside its
 * content. The caller's: json_decref().
 */
json_t *displays_take(struct displays *displays, const char *msg_type, json_t *content, size_t buffer_bytes);

#endif
