/*
 * image_name.h - what an image of a session may be called, and the line of code that it is shown with.
 *
 * The texts are those of clients and cells. See: kernel/timeline/timeline.h.
 */
#ifndef PETRI_IMAGE_NAME_H
#define PETRI_IMAGE_NAME_H

#include <stddef.h>

enum { IMAGE_NAME_BYTES = 64 }; /* the longest name, without the NUL */

/* What is wrong with a name, as the end of the sentence "the name …", or NULL. A name is 1 to IMAGE_NAME_BYTES bytes
 * of visible UTF-8 without spaces, no number, and not "first". */
const char *image_name_problem(const char *name);

/* The same for a text that may also be a number, "first" or the id of a run: for whatever timeline_find() can find. It
 * has so many bytes and needs no NUL behind them. */
const char *image_name_text_problem(const char *text, size_t bytes);

/*
 * The first line of a text that is not blank, without the white space around it: visible UTF-8 that fits into size
 * bytes with its NUL. Where it was cut it ends in "…", for which size has to be at least 4. Each unseen character
 * (protocol/unseen.h) and each piece that is not UTF-8 becomes "?", a tab becomes a space. Returns buf.
 */
const char *image_name_line(const char *text, size_t bytes, char *buf, size_t size);

#endif
