/*
 * array.h - arrays that grow row by row.
 */
#ifndef PETRI_BASE_ARRAY_H
#define PETRI_BASE_ARRAY_H

#include <errno.h>
#include <stdlib.h>

/*
 * Makes room for one more row in an array of n. All rows have to be added in this
 * way, because the capacity is always the next power of two. array is the address
 * of a pointer from malloc(3). 0, or -ENOMEM and the array is unchanged.
 */
static inline int array_grow(void *array, size_t n, size_t row_bytes) {
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
