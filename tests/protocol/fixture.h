/*
 * fixture.h - what the tests of this folder share: fixtures and frames of text.
 *
 * Fixtures are read by jansson's own parser, never by the one under test.
 */
#ifndef PETRI_TESTS_FIXTURE_H
#define PETRI_TESTS_FIXTURE_H

#include "protocol/message.h"

#include <jansson.h>
#include <stddef.h>

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* The array in fixtures/NAME; fails the test where there is none, or an empty one. */
json_t *fixture_load(const char *name);

/* The bytes behind the hex string at key of row: malloc'ed, the caller's. */
void *fixture_bytes(const json_t *row, const char *key, size_t *ret_bytes);

/* The same for one hex string. */
void *fixture_unhex(const json_t *hex, size_t *ret_bytes);

/* A frame around a string literal. */
#define FRAME(text)                                                                                                    \
    (struct frame) {                                                                                                   \
        (text), sizeof(text) - 1                                                                                       \
    }

#define assert_frame_text(frame, text)                                                                                 \
    do {                                                                                                               \
        assert_int_equal((frame).bytes, strlen(text));                                                                 \
        assert_memory_equal((frame).data, (text), (frame).bytes);                                                      \
    } while (0)

#endif
