#include "kernel/base/filename.h"
#include "kernel/policy/spec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct spec spec;
static struct limits limits;
static struct error error;

static int parse(const char *text) {
    json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    json_t *environment = json_pack("[s, s]", "MODE", "REGION");
    struct profile profile;
    profile_of_kind(PROFILE_NOTEBOOK, &profile);
    const struct limits_change limits_change = {&profile, ASKER_CELL, &error};
    assert_non_null(json);
    limits_defaults(PROFILE_NOTEBOOK, &limits);
    error.text[0] = '\0';
    int r = spec_parse(&(struct spec_terms){&limits_change, environment}, json, &limits, &spec);
    json_decref(json);
    json_decref(environment);
    return r;
}

static void test_spec_without_any_key_is_all_zero(void **state) {
    static const struct spec nothing;
    (void)state;
    assert_int_equal(parse("{}"), 0);
    assert_memory_equal(&spec, &nothing, sizeof spec);
    assert_int_equal(spec_parse(NULL, NULL, &limits, &spec), 0);
    assert_memory_equal(&spec, &nothing, sizeof spec);
}

static void test_spec_with_all_keys_is_read(void **state) {
    (void)state;
    assert_int_equal(
        parse("{\"limits\": {\"timeout\": \"3s\"}, \"files\": [{\"path\": \"a/b.csv\", \"text\": \"x\\u0000y\"},"
              " {\"path\": \"c\", \"data\": \"AP8=\"}], \"stdin\": \"1\\n2\\n\", \"env\": {\"MODE\": \"fast\"},"
              " \"task\": \"T-1\", \"fresh\": true, \"inline_bytes\": 100, \"expect\": {\"artifacts\":"
              " [{\"path\": \"o.png\", \"mime\": \"image/png\", \"max_bytes\": 9}, {\"path\": \"p\"}],"
              " \"stdout_regex\": \"^a\", \"result_json_schema\": {\"type\": \"integer\"}}}"),
        0);
    assert_int_equal(limits.values[LIMIT_TIMEOUT], 3000);
    assert_int_equal(spec.n_files, 2);
    assert_string_equal(spec.files[0].path, "a/b.csv");
    assert_int_equal(spec.files[0].bytes, 3);
    assert_memory_equal(spec.files[0].data, "x\0y", 3);
    assert_int_equal(spec.files[1].bytes, 2);
    assert_memory_equal(spec.files[1].data, "\0\xff", 2);
    assert_string_equal(json_string_value(spec.stdin_text), "1\n2\n");
    assert_string_equal(json_string_value(json_object_get(spec.env, "MODE")), "fast");
    assert_string_equal(spec.task, "T-1");
    assert_true(spec.fresh);
    assert_int_equal(spec.inline_bytes, 100);
    assert_int_equal(spec.n_expected, 2);
    assert_string_equal(spec.expected[0].mime, "image/png");
    assert_int_equal(spec.expected[0].max_bytes, 9);
    assert_null(spec.expected[1].mime);
    assert_int_equal(spec.expected[1].max_bytes, -1);
    assert_string_equal(json_string_value(spec.stdout_regex), "^a");
    assert_true(json_is_object(spec.result_json_schema));
    spec_fini(&spec);
}

static void test_spec_with_bad_metadata_is_refused_with_a_reason(void **state) {
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"[]", "metadata.petri has to be an object"},
        {"{\"file\": []}",
         "metadata.petri has no \"file\"; there are \"cache\", \"checkpoint\", \"commit\", \"env\", \"expect\","
         " \"files\", \"fresh\", \"from\", \"inline_bytes\", \"limits\", \"stdin\" and \"task\""},
        {"{\"commit\": 1}", "metadata.petri: \"commit\" has to be true, false or \"branch\""},
        {"{\"commit\": \"other\"}", "metadata.petri: \"commit\" has to be true, false or \"branch\""},
        {"{\"commit\": \"branch\"}", "a branch begins from an image: \"commit\" \"branch\" needs \"from\""},
        {"{\"from\": 1}", "metadata.petri: \"from\" has to be the id of a run, a checkpoint, or \"first\""},
        {"{\"from\": \"\"}", "metadata.petri: \"from\" has to be the id of a run, a checkpoint, or \"first\""},
        {"{\"checkpoint\": 1}", "metadata.petri: \"checkpoint\" has to be a name of up to 64 bytes"},
        {"{\"checkpoint\": \"7\"}", "checkpoint: the name \"7\" is a number, which stands for a cell"},
        {"{\"checkpoint\": \"a\", \"commit\": false}",
         "\"checkpoint\" names what a run leaves, and this one leaves nothing"},
        {"{\"fresh\": true, \"from\": \"first\"}", "a fresh run begins from the first image and leaves "
                                                   "nothing: \"from\" and \"commit\" are for others"},
        {"{\"fresh\": 1}", "metadata.petri: \"fresh\" has to be true or false"},
        {"{\"limits\": 1}", "limits are an object of names and values"},
        {"{\"limits\": {\"timeout\": \"2h\"}}", "timeout 7200 s is over the ceiling of 3600 s in profile notebook"},
        {"{\"stdin\": null}", "metadata.petri: \"stdin\" has to be a text of up to 8 MiB"},
        {"{\"task\": \"\"}", "metadata.petri: \"task\" has to be a text of 1 to 128 bytes without control characters"},
        {"{\"task\": \"a\\nb\"}",
         "metadata.petri: \"task\" has to be a text of 1 to 128 bytes without control characters"},
        {"{\"inline_bytes\": -1}",
         "metadata.petri: \"inline_bytes\" has to be a whole number of bytes, at most 1048576"},
        {"{\"env\": []}", "metadata.petri: \"env\" has to be an object of up to 64 names and texts"},
        {"{\"env\": {\"HOME\": \"/\"}}", "env: the configuration does not allow \"HOME\"; it allows MODE, REGION"},
        {"{\"env\": {\"MODE\": 1}}", "env: \"MODE\" has to be a text of up to 32 KiB without NUL"},
        {"{\"env\": {\"MODE\": \"a\\u0000b\"}}", "env: \"MODE\" has to be a text of up to 32 KiB without NUL"},
        {"{\"files\": {}}", "metadata.petri: \"files\" has to be a list of up to 256 files"},
        {"{\"files\": [1]}", "files[0] has to be an object"},
        {"{\"files\": [{\"text\": \"\"}]}", "files[0] has no \"path\""},
        {"{\"files\": [{\"path\": \"a\"}]}", "files[0] has neither \"text\" nor \"data\""},
        {"{\"files\": [{\"path\": \"a\", \"text\": \"\", \"data\": \"\"}]}", "a file has either \"text\" or \"data\""},
        {"{\"files\": [{\"path\": \"a\", \"data\": \"A\"}]}", "files[0]: \"data\" has to be base64 of up to 32 MiB"},
        {"{\"files\": [{\"path\": \"a\", \"mode\": 1}]}",
         "files[0] has no \"mode\"; there are \"data\", \"path\" and \"text\""},
        {"{\"files\": [{\"path\": \"/a\", \"text\": \"\"}]}", "the path \"/a\" is absolute"},
        {"{\"files\": [{\"path\": \"a/../b\", \"text\": \"\"}]}", "the path \"a/../b\" has \".\" or \"..\" in it"},
        {"{\"files\": [{\"path\": \"a\", \"text\": \"\"}, {\"path\": \"a/b\", \"text\": \"\"}]}",
         "files[1]: \"a/b\" is in the way of \"a\""},
        {"{\"expect\": {\"result\": 1}}",
         "expect has no \"result\"; there are \"artifacts\", \"result_json_schema\" and"
         " \"stdout_regex\""},
        {"{\"expect\": {\"artifacts\": [{\"path\": \"a\", \"mime\": \"png\"}]}}",
         "expect.artifacts[0]: \"mime\" has to be a MIME type such as \"image/png\""},
        {"{\"expect\": {\"artifacts\": [{}]}}", "expect.artifacts[0] has no \"path\""},
        {"{\"expect\": {\"stdout_regex\": \"\"}}",
         "expect: \"stdout_regex\" has to be a regular expression of 1 to 4096 bytes"},
        {"{\"expect\": {\"result_json_schema\": 1}}", "expect: \"result_json_schema\" has to be a JSON Schema (an"
                                                      " object, true or false) of up to 256 KiB"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spec.n_files = 77;
        assert_int_equal(parse(rows[i].text), -EINVAL);
        assert_string_equal(error.text, rows[i].why);
        assert_int_equal(spec.n_files, 77); /* untouched on failure */
    }
}

/* A list of n times the same, each with its number for %d. */
static char *repeated(const char *before, const char *item, int n, const char *after) {
    size_t size = strlen(before) + strlen(after) + (size_t)n * (strlen(item) + 12) + 1;
    char *text = malloc(size);
    int at = snprintf(text, size, "%s", before);
    for (int i = 0; i < n; i++) {
        at += snprintf(text + at, size - (size_t)at, i ? "," : "");
        at += snprintf(text + at, size - (size_t)at, item, i); /* NOLINT(clang-diagnostic-format-nonliteral) */
    }
    snprintf(text + at, size - (size_t)at, "%s", after);
    return text;
}

static void test_spec_with_one_file_over_the_limit_is_refused(void **state) {
    (void)state;
    for (int over = 0; over < 2; over++) {
        char *text = repeated("{\"files\": [", "{\"path\": \"%d\", \"text\": \"\"}", SPEC_FILES + over, "]}");
        assert_int_equal(parse(text), over ? -EINVAL : 0);
        free(text);
        if (!over)
            spec_fini(&spec);
    }
    assert_string_equal(error.text, "metadata.petri: \"files\" has to be a list of up to 256 files");
}

static void test_spec_goes_beside_where_it_is_fresh_or_a_branch(void **state) {
    static const struct {
        const char *petri;
        bool beside;
    } rows[] = {{"{\"fresh\": true}", true},
                {"{\"fresh\": true, \"file\": 1}", true},
                {"{\"fresh\": false}", false},
                {"{\"fresh\": 1}", false},
                {"{\"fresh\": \"true\"}", false},
                {"{}", false},
                {"[{\"fresh\": true}]", false},
                {"{\"from\": \"first\", \"commit\": false}", true},
                {"{\"from\": \"first\", \"commit\": \"branch\"}", true},
                {"{\"from\": \"first\", \"commit\": \"other\"}", false},
                {"{\"commit\": \"branch\"}", false},
                {"{\"from\": \"first\", \"commit\": true}", false},
                {"{\"from\": \"first\", \"commit\": 0}", false},
                {"{\"from\": 1, \"commit\": false}", false},
                {"{\"commit\": false}", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_auto_t *petri = json_loads(rows[i].petri, 0, NULL);
        assert_non_null(petri);
        assert_int_equal(spec_goes_beside(petri), rows[i].beside);
    }
    assert_false(spec_goes_beside(NULL));
}

static void test_filename_of_a_bad_path_gives_its_problem(void **state) {
    static const struct {
        const char *path, *problem;
    } rows[] = {
        {"a", NULL},
        {"a b/\xc3\xa4.txt", NULL},
        {".hidden/..x", NULL},
        {"", "is empty"},
        {"/a", "is absolute"},
        {"a//b", "has an empty name in it"},
        {"a/", "has an empty name in it"},
        {"./a", "has \".\" or \"..\" in it"},
        {"a/..", "has \".\" or \"..\" in it"},
        {"a\nb", "has control characters in it"},
        {"a\x7f", "has control characters in it"},
        {"a\xc2\x9b", "has control characters in it"},
        {"a\xe2\x80\xaegpj.exe", "has control characters in it"},
        {"\xff", "is not UTF-8"},
        {"a\u2028b", "has control characters in it"},
        {"a\u2029b", "has control characters in it"},
        {"a\u200fb", "has control characters in it"},
        {"a\u061cb", "has control characters in it"},
        {"a\u2066b", "has control characters in it"},
        {"a\u200bb", "has characters in it that are not seen"},
        {"\ufeffa", "has characters in it that are not seen"},
        {"a\u00adb", "has characters in it that are not seen"},
        {"a\u2060b", "has characters in it that are not seen"},
        {"\u3164", "has characters in it that are not seen"},
        {"\u2800", "has characters in it that are not seen"},
        {"a\ue000", "has characters in it that are not seen"},
        {"a\U000e0001\U000e0061", "has characters in it that are not seen"},
        {"a\U000e007f", "has characters in it that are not seen"},
        {"a\U000e0200", "has characters in it that are not seen"}, /* not assigned, and never to be shown */
        {"a\U0010fffd", "has characters in it that are not seen"},
        {"a\U0001fffe", "has characters in it that are not seen"},
        {"a\ufdd0", "has characters in it that are not seen"},
        {"Make\u200cfile", "has characters in it that are not seen"},
        {"plot\ufe0f.png", "has characters in it that are not seen"},
        {"\u0645\u200c/a", "has characters in it that are not seen"},
        {"\u0645\u200c\u200c\u062e", "has characters in it that are not seen"},
        {"\u200d\u0645", "has characters in it that are not seen"},
        {"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.txt", NULL}, /* Persian */
        {"\u2764\ufe0f.png", NULL},                                     /* emoji */
        {"\U0001f469\u200d\U0001f52c \u2764\ufe0f\u200d\U0001f525.png", NULL},
        {"at\u202f3\u00a0h\u3000.txt", NULL}, /* spaces are seen */
        {"\u5831\u544a\u66f8.csv", NULL},
        {"a ", "has a name in it that ends in a space or a dot"},
        {"a./b", "has a name in it that ends in a space or a dot"},
        {"a.txt\u00a0", "has a name in it that ends in a space or a dot"},
        {"a\u3000/b", "has a name in it that ends in a space or a dot"},
        {"1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3", "is more than 32 folders deep"},
    };
    char name[1100];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *problem = filename_problem(rows[i].path, strlen(rows[i].path));
        if (rows[i].problem)
            assert_string_equal(problem, rows[i].problem);
        else
            assert_null(problem);
    }
    assert_string_equal(filename_problem("a\0b", 3), "has control characters in it");
    memset(name, 'x', sizeof name);
    assert_null(filename_problem(name, 200));
    assert_string_equal(filename_problem(name, 201), "has a name of more than 200 bytes in it");
    assert_string_equal(filename_problem(name, 1025), "is longer than 1024 bytes");
}

static void test_filename_with_unseen_characters_shows_question_marks(void **state) {
    static const struct {
        const char *path, *shown;
    } rows[] = {
        {"a\nb\x1b[2J", "a?b?[2J"}, {"\u202egpj.exe", "?gpj.exe"},
        {"a\u200bb\ufeff", "a?b?"}, {"\u00e4 \u2764\ufe0f", "\u00e4 \u2764\ufe0f"},
        {"a\U000e0061", "a?"},      {"\xff", "\xff"},
    };
    char shown[32];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(filename_shown(rows[i].path, shown, sizeof shown), rows[i].shown);
    assert_string_equal(filename_shown("abc", shown, 3), "ab");
    assert_string_equal(filename_shown("a\u00e4", shown, 3), "a"); /* no half of a character */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spec_without_any_key_is_all_zero),
        cmocka_unit_test(test_spec_with_all_keys_is_read),
        cmocka_unit_test(test_spec_with_bad_metadata_is_refused_with_a_reason),
        cmocka_unit_test(test_spec_with_one_file_over_the_limit_is_refused),
        cmocka_unit_test(test_spec_goes_beside_where_it_is_fresh_or_a_branch),
        cmocka_unit_test(test_filename_of_a_bad_path_gives_its_problem),
        cmocka_unit_test(test_filename_with_unseen_characters_shows_question_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
