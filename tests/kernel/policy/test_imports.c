#include "kernel/policy/imports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char found[1024];

static bool note(void *arg, const char *module, int line) {
    (void)arg;
    snprintf(found + strlen(found), sizeof found - strlen(found), "%s%d:%s", found[0] ? " " : "", line, module);
    return true;
}

static void test_imports_are_found_with_their_lines(void **state) {
    static const struct {
        const char *code;
        const char *found;
    } rows[] = {
        {"import os", "1:os"},
        {"import os.path as p, sys , re", "1:os.path 1:sys 1:re"},
        {"x = 1\n  import a . b\n", "2:a.b"},
        {"from urllib import request, parse as p", "1:urllib 1:urllib.request 1:urllib.parse"},
        {"from a.b import (c,\n  d, # import e\n)\nimport f", "1:a.b 1:a.b.c 1:a.b.d 4:f"},
        {"from a \\\n import b", "1:a 1:a.b"},
        {"from os import *", "1:os"},
        {"if x: import os; import sys", "1:os 1:sys"},
        {"try:\n    import ssl\nexcept ImportError: pass", "2:ssl"},
        {"import \xc3\xa4", "1:\xc3\xa4"},
        {"from . import x\nfrom .a import b", ""},
        {"# import os\n'import os'\n'''\nimport os\n'''", ""},
        {"'''a\n'''; import os", "2:os"},
        {"s = \"\\\"\nimport os\"\nimport sys", "2:os 3:sys"}, /* a string ends with its line */
        {"f(\nimport os\n)", ""},
        {"important = 1\nimport_os = 2\nx.import_(1)\nfrom_ = 1", ""},
        {"d = {'a': 1}\nx[1:import_y]", ""},
        {"", ""},
        {"import", ""},
        {"from", ""},
        {"from x", ""},
        {"from x import", "1:x"},
        {")\nimport os", "2:os"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t n = strlen(rows[i].code);
        char *copy = malloc(n ? n : 1); /* no byte behind its end may be looked at */
        memcpy(copy, rows[i].code, n);
        found[0] = '\0';
        imports_scan(copy, n, note, NULL);
        assert_string_equal(found, rows[i].found);
        free(copy);
    }
}

static bool stop(void *arg, const char *module, int line) {
    (void)line;
    strcat(arg, module);
    return false;
}

static void test_imports_scan_stops_when_the_callback_asks(void **state) {
    char seen[16] = "";
    (void)state;
    imports_scan("import a, b\nimport c", 20, stop, seen);
    assert_string_equal(seen, "a");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_imports_are_found_with_their_lines),
        cmocka_unit_test(test_imports_scan_stops_when_the_callback_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
