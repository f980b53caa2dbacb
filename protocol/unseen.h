/*
 * unseen.h - characters that are not seen, or that change how others are seen.
 *
 * Controls, what has no width, what turns the direction of writing, variation
 * selectors, tags: with them text reads otherwise than it is. Names that have
 * them are refused, what shows text to people takes them out, and what looks
 * for secrets looks past them.
 *
 * Ours, because a table this small says it: ICU is many megabytes for that, and
 * wcwidth(3) goes by the locale and the Unicode of the C library.
 *
 * See: The Unicode Standard 15.1, DerivedCoreProperties.txt; UAX #9.
 */
#ifndef PETRI_UNSEEN_H
#define PETRI_UNSEEN_H

#include <stddef.h>
#include <stdint.h>

/* Characters that a listing doesn't show as they are. */
enum unseen {
    UNSEEN_NOT,     /* it is seen */
    UNSEEN_CONTROL, /* a terminal might obey it, or it breaks a line, or reorders the text that a person reads */
    UNSEEN_BLANK,   /* nothing is drawn, or what each program likes */
    UNSEEN_JOINER,  /* joins letters, or keeps them apart, as Persian and emoji are written */
    UNSEEN_VARIANT, /* the shape of the character before it */
};

/* What a character is, whatever stands beside it. */
enum unseen unseen_kind(uint32_t code);

/* The character that n > 0 bytes begin with, and how many it has; a byte of broken text is one by itself, and
 * UTF8_REPLACEMENT_CODE. 0 for none. */
uint32_t unseen_decode(const unsigned char *text, size_t n, size_t *ret_bytes);

/*
 * What a person sees of the character at text, which has n bytes up to its end
 * and comes after before. Joiners and variants belong to scripts and emoji:
 * they are as good as seen behind, joiners also before, a character that is not
 * ASCII. Beside ASCII they could only make a text look like another.
 */
enum unseen unseen_look(const unsigned char *text, size_t n, uint32_t before, size_t *ret_bytes);

#endif
