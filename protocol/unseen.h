/*
 * unseen.h - characters that are invisible, or change how others are displayed ("unseen" here).
 *
 * These are control characters, characters without width, those that change the
 * direction of writing, variation selectors and tags. With them a text looks
 * different from what it is. File names that have them are refused, text for
 * people is shown without them, and the search for secrets ignores them.
 *
 * It does not need ICU (many megabytes), because the table is small. wcwidth(3)
 * depends on the locale and the C library's version of Unicode.
 *
 * See: The Unicode Standard 15.1, DerivedCoreProperties.txt; UAX #9.
 */
#ifndef PETRI_UNSEEN_H
#define PETRI_UNSEEN_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of characters that a listing doesn't show as they are. */
enum unseen {
    UNSEEN_NOT,     /* it is seen */
    UNSEEN_CONTROL, /* a terminal may execute it, or it breaks a line, or reorders text */
    UNSEEN_BLANK,   /* nothing is drawn, or it depends on the program */
    UNSEEN_JOINER,  /* joins letters or separates them, as in Persian and emoji */
    UNSEEN_VARIANT, /* changes the shape of the character before it */
};

/* The kind of a character, without regard to its neighbours. */
enum unseen unseen_kind(uint32_t code);

/* The first character of n > 0 bytes, and its length; a byte that is not UTF-8 counts as one UTF8_REPLACEMENT_CODE. */
uint32_t unseen_decode(const unsigned char *text, size_t n, size_t *ret_bytes);

/*
 * The kind of the character at text, which has n bytes up to its end; before is
 * the character before it. Joiners and variants are used in scripts and emoji, so
 * they count as seen after a character that is not ASCII, joiners also before
 * one. Next to ASCII they can only make a text look like another.
 */
enum unseen unseen_look(const unsigned char *text, size_t n, uint32_t before, size_t *ret_bytes);

#endif
