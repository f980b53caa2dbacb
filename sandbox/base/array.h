/*
 * array.h - arrays that grow by one row after the other.
 */
#ifndef PETRI_SANDBOX_BASE_ARRAY_H
#define PETRI_SANDBOX_BASE_ARRAY_H

#include <errno.h>
#include <stdlib.h>

/*
 * Makes room for one more row in an array of n, of which rows are only ever
 * added in this way: it has room for the next power of two. array is the address
 * of a pointer that free(3) takes. 0, or -ENOMEM and the array is as it was.
 */
static inline int array_make_room(void *array, size_t n, size_t row_bytes) {
    void **at = array;
    if (n & (n - 1))
        return 0;
    void *grown = reallocarray(*at, n ? 2 * n : 1, row_bytes);
    if (!grown)
        return -ENOMEM;
    *at = grown;
    return 0;
}

#endif
