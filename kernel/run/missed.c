/*
 * missed.c - see missed.h.
 */
#include "missed.h"

#include <stdbool.h>

/* The list without the cells whose numbers are in a range; the caller's. */
static json_t *without(const json_t *missed, int first, int last) {
    json_t *rest = json_array();
    size_t i;
    json_t *cell;
    json_array_foreach(missed, i, cell) {
        const json_int_t number = json_integer_value(json_array_get(cell, 0));
        if (number < first || number > last)
            json_array_append(rest, cell);
    }
    return rest;
}

static void put(json_t **missed, json_t *list) {
    json_decref(*missed);
    *missed = json_array_size(list) > 0 ? list : NULL;
    if (!*missed)
        json_decref(list);
}

static bool is_too_much(const json_t *list) {
    size_t bytes = 0, i;
    json_t *cell;
    json_array_foreach(list, i, cell) {
        bytes += json_string_length(json_array_get(cell, 1));
    }
    return json_array_size(list) > MISSED_MAX || bytes > MISSED_BYTES;
}

void missed_add(json_t **missed, int number, json_t *code) {
    json_t *list = *missed ? json_copy(*missed) : json_array();
    json_array_append_new(list, json_pack("[i, O]", number, code));
    while (is_too_much(list))
        json_array_remove(list, 0);
    put(missed, list);
}

void missed_remove(json_t **missed, int number) {
    put(missed, without(*missed, number, number));
}

void missed_remove_until(json_t **missed, int number) {
    put(missed, without(*missed, 0, number));
}
