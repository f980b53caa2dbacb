/*
 * difference.h - differences of measurements that never wrap around.
 *
 * What is measured at different times, or piece by piece, need not add up:
 * pages and room come free between two looks.
 */
#ifndef PETRI_SANDBOX_BASE_DIFFERENCE_H
#define PETRI_SANDBOX_BASE_DIFFERENCE_H

#include <stdint.h>

/* What `all` has beyond `part`, in their unit; 0 where it has less. */
static inline uint64_t positive_difference(uint64_t all, uint64_t part) {
    return all > part ? all - part : 0;
}

#endif
