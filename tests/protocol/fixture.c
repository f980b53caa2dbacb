#include "fixture.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

json_t *fixture_load(const char *name) {
    char path[256];
    json_error_t error;
    (void)snprintf(path, sizeof path, "fixtures/%s", name);
    json_t *rows = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (!json_is_array(rows) || json_array_size(rows) == 0)
        fail_msg("%s: %s (run make_fixtures.py)", path, error.text);
    return rows;
}

void *fixture_unhex(const json_t *hex, size_t *ret_bytes) {
    size_t digits = json_string_length(hex);
    unsigned char *bytes = malloc(digits / 2 + 1);
    assert_non_null(bytes);
    assert_true(json_is_string(hex));
    assert_int_equal(sodium_hex2bin(bytes, digits / 2 + 1, json_string_value(hex), digits, NULL, ret_bytes, NULL), 0);
    return bytes;
}

void *fixture_bytes(const json_t *row, const char *key, size_t *ret_bytes) {
    return fixture_unhex(json_object_get(row, key), ret_bytes);
}
