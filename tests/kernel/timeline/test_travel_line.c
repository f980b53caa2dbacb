/* Cells that are one line such as "%undo 3", and those that only look like it. */
#include "kernel/timeline/travel_line.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SIXTY_FOUR "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
    const char *code;
    enum travel travel;
    unsigned n;
    const char *argument[2]; /* NULL for "" */
} good[] = {
    {"%undo", TRAVEL_UNDO, 1, {NULL}},
    {"%undo 3", TRAVEL_UNDO, 3, {NULL}},
    {"  %undo \t 03 \t", TRAVEL_UNDO, 3, {NULL}},
    {"%undo 1000000", TRAVEL_UNDO, 1000000, {NULL}},
    {"%undo # a comment, 3 words", TRAVEL_UNDO, 1, {NULL}},
    {"%undo 3 # three", TRAVEL_UNDO, 3, {NULL}},
    {"%undo#", TRAVEL_UNDO, 1, {NULL}},
    {"%undo 3\f", TRAVEL_UNDO, 3, {NULL}},
    {"%checkpoint #1 # the first", TRAVEL_CHECKPOINT, 0, {"#1"}},
    {"%timeline # where am I?", TRAVEL_TIMELINE, 0, {NULL}},
    {"%diff 3 #clean", TRAVEL_DIFF, 0, {"3"}},
    {"\n# a comment\r\n \t\n  # another\n%undo 2\r\n\n# one more", TRAVEL_UNDO, 2, {NULL}},
    {"# %redo\r%undo", TRAVEL_UNDO, 1, {NULL}},
    {"%redo", TRAVEL_REDO, 1, {NULL}},
    {"%redo 2\n", TRAVEL_REDO, 2, {NULL}},
    {"%checkpoint clean", TRAVEL_CHECKPOINT, 0, {"clean"}},
    {"%checkpoint \"clean\"", TRAVEL_CHECKPOINT, 0, {"\"clean\""}},
    {"%checkpoint größe", TRAVEL_CHECKPOINT, 0, {"größe"}},
    {"%checkpoint #1", TRAVEL_CHECKPOINT, 0, {"#1"}},
    {"%checkpoint " SIXTY_FOUR, TRAVEL_CHECKPOINT, 0, {SIXTY_FOUR}},
    {"%restore clean", TRAVEL_RESTORE, 0, {"clean"}},
    {"%restore 7", TRAVEL_RESTORE, 0, {"7"}},
    {"%restore first", TRAVEL_RESTORE, 0, {"first"}},
    {"%restore 4f1c2f9a-0f5e-4f0b-9b53-0a3f0e8f7a11", TRAVEL_RESTORE, 0, {"4f1c2f9a-0f5e-4f0b-9b53-0a3f0e8f7a11"}},
    {"%timeline", TRAVEL_TIMELINE, 0, {NULL}},
    {"%diff 3", TRAVEL_DIFF, 0, {"3"}},
    {"%diff  3  clean ", TRAVEL_DIFF, 0, {"3", "clean"}},
    {"%forget clean", TRAVEL_FORGET, 0, {"clean"}},
};

static const char *const none[] = {
    "",
    " \n\n",
    "# %undo",
    "undo",
    "%",
    "%undoable",
    "%undo?",
    "%undo_3",
    "%undo3",
    "%undoé",
    "%undo??",
    "??%undo",
    "%Undo",
    "%%undo",
    "%%undo 3",
    "% undo",
    "?%undo",
    "x = 1\n%undo",
    "%undo\nx = 1",
    "%undo wrong\nx = 1",
    "%undo\rx = 1",
    "%undo\n%undo",
    "%undo \\\n3",
    "%restore\n3",
    "'''\n%undo\n'''",
    "%timeline\n\n# a comment\n%undo",
    "%limits",
};

static const struct {
    const char *code;
    const char *sentence; /* its beginning */
} wrong[] = {
    {"%undo x", "%undo takes a number of cells from 1 to 1000000, such as %undo 3; 'x' is not taken"},
    {"%undo = 3", "%undo takes a number of cells from 1 to 1000000, such as %undo 3; '=' is not taken"},
    {"%undo=3", "%undo takes a number of cells from 1 to 1000000, such as %undo 3; '=3' is not taken"},
    {"%undo;", "%undo takes a number of cells from 1 to 1000000, such as %undo 3; ';' is not taken"},
    {"%undo(3)", "%undo takes"},
    {"%undo 3;", "%undo takes a number of cells from 1 to 1000000, such as %undo 3; '3;' is not taken"},
    {"%undo ?", "%undo takes a number of cells from 1 to 1000000, such as %undo 3; '?' is not taken"},
    {"%undo 3?", "%undo takes"},
    {"%undo 0", "%undo takes"},
    {"%undo -1", "%undo takes"},
    {"%undo +1", "%undo takes"},
    {"%undo 1.0", "%undo takes"},
    {"%undo 1 2", "%undo takes"},
    {"%undo 1000001", "%undo takes"},
    {"%undo 4294967297", "%undo takes"},
    {"%undo 99999999999999999999999999", "%undo takes"},
    {"%undo 9999999", "%undo takes a number of cells from 1 to 1000000, such as %undo 3; '9999999' is not taken"},
    {"%undo 3 three # three", "%undo takes a number of cells from 1 to 1000000, such as %undo 3; 'three' is not"},
    {"%redo x", "%redo takes a number of cells from 1 to 1000000, such as %redo 3; 'x' is not taken"},
    {"%checkpoint", "%checkpoint takes a name without spaces, such as %checkpoint clean"},
    {"%checkpoint my name", "%checkpoint takes a name without spaces, such as %checkpoint clean"},
    {"%checkpoint 3", "%checkpoint takes a name without spaces, such as %checkpoint clean; the name '3' is a number"},
    {"%checkpoint first",
     "%checkpoint takes a name without spaces, such as %checkpoint clean; the name 'first' stands"},
    {"%checkpoint a\x1b[0m",
     "%checkpoint takes a name without spaces, such as %checkpoint clean; the name 'a?[0m' has"},
    {"%checkpoint a\u00a0b", "%checkpoint takes a name"},
    {"%checkpoint " SIXTY_FOUR "x", "%checkpoint takes a name"},
    {"%restore", "%restore takes the name of a checkpoint or the number of a cell, such as %restore 3"},
    {"%restore 3 4", "%restore takes"},
    {"%restore \xff", "%restore takes"},
    {"%restore " SIXTY_FOUR SIXTY_FOUR, "%restore takes"},
    {"%timeline all", "%timeline takes nothing behind it; 'all' is not taken"},
    {"%timeline;", "%timeline takes nothing behind it; ';' is not taken"},
    {"%checkpoint # clean", "%checkpoint takes a name without spaces, such as %checkpoint clean; 'clean' is not"},
    {"%diff", "%diff takes one or two names of checkpoints or numbers of cells, such as %diff 3 clean"},
    {"%diff 1 2 3", "%diff takes"},
    {"%forget", "%forget takes the name of a checkpoint, such as %forget clean"},
    {"%forget 3", "%forget takes the name of a checkpoint"},
};

static void test_read_of_a_line_has_its_arguments(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct travel_line line;
        struct error error;
        assert_int_equal(travel_line_read(good[i].code, strlen(good[i].code), &line, &error), 0);
        assert_int_equal(line.travel, good[i].travel);
        assert_int_equal(line.n, good[i].n);
        for (int k = 0; k < 2; k++)
            assert_string_equal(line.argument[k], good[i].argument[k] ? good[i].argument[k] : "");
    }
}

static void test_read_of_other_code_is_none(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct travel_line line = {.travel = TRAVEL_UNDO, .n = 7, .argument = {"x", "x"}};
        assert_int_equal(travel_line_read(none[i], strlen(none[i]), &line, NULL), 0);
        if (line.travel != TRAVEL_NONE)
            fail_msg("'%s' is read as a line", none[i]);
        assert_int_equal(line.n, 0);
        assert_string_equal(line.argument[0], "");
    }
}

static void test_read_of_wrong_arguments_says_what_is_taken(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct travel_line line = {.travel = TRAVEL_UNDO, .n = 7};
        struct error error = {0};
        if (travel_line_read(wrong[i].code, strlen(wrong[i].code), &line, &error) != -EINVAL)
            fail_msg("'%s' is taken", wrong[i].code);
        if (strncmp(error.text, wrong[i].sentence, strlen(wrong[i].sentence)) != 0)
            fail_msg("'%s': %s", wrong[i].code, error.text);
        assert_int_equal(error.err, EINVAL);
        assert_int_equal(line.n, 7);
    }
}

static void test_read_of_a_nul_is_no_end(void **state) {
    struct travel_line line;
    struct error error;
    (void)state;
    assert_int_equal(travel_line_read("%undo\0", 6, &line, &error), 0);
    assert_int_equal(line.travel, TRAVEL_NONE);
    assert_int_equal(travel_line_read("%restore a\0b", 12, &line, &error), -EINVAL);
    assert_int_equal(travel_line_read("%undo 3\0", 8, &line, &error), -EINVAL);
}

static void test_question_about_a_line_is_known(void **state) {
    static const char *const asking[] = {"%undo?",       "%undo??",     "?%undo",     "??%undo",
                                         " %restore?\n", "# a\n%diff?", "%forget?\n#"};
    static const char *const not [] = {"",           "?",        "%undo",    "undo?",    "?%undo?",       "%undo ?",
                                       "%undoable?", "%undo 3?", "%undo???", "???%undo", "%undo?\nx = 1", "%undo;?",
                                       "? %undo",    "%limits?"};
    (void)state;
    for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++)
        if (!travel_line_asks(asking[i], strlen(asking[i])))
            fail_msg("'%s' is no question", asking[i]);
    for (size_t i = 0; i < sizeof not / sizeof not [0]; i++)
        if (travel_line_asks(not [i], strlen(not [i])))
            fail_msg("'%s' is a question", not [i]);
}

static void test_read_uses_only_its_bytes(void **state) {
    struct travel_line line;
    (void)state;
    assert_int_equal(travel_line_read("%undo 12x\ny = 1", 7, &line, NULL), 0);
    assert_int_equal(line.travel, TRAVEL_UNDO);
    assert_int_equal(line.n, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_of_a_line_has_its_arguments),
        cmocka_unit_test(test_read_of_other_code_is_none),
        cmocka_unit_test(test_read_of_wrong_arguments_says_what_is_taken),
        cmocka_unit_test(test_read_of_a_nul_is_no_end),
        cmocka_unit_test(test_question_about_a_line_is_known),
        cmocka_unit_test(test_read_uses_only_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
