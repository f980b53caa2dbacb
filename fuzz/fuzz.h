/*
 * fuzz.h - what every target of this folder has: its entry, and the way it
 * tells libFuzzer that an invariant is broken.
 *
 * See: LLVM, "libFuzzer", "Fuzz Target".
 */
#ifndef PETRI_FUZZ_H
#define PETRI_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INVARIANT(condition)                                                                                           \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
