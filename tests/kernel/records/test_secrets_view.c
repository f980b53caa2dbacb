#include "kernel/records/redact.h"
#include "kernel/records/secrets.h"
#include "kernel/records/secrets_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define A20 "aB3dE6gH9jK2mN5pQ8sT"
#define A36 A20 "ABCDEFGH01234567"
#define X32 "0123456789abcdef0123456789abcdef"

/* Keys whose end is known or not, with and without literals inside; in two pieces, so that no scanner takes this file
 * for a leak. */
static const char *const keys[] = {
    "AK"
    "IAIOSFODNN7EXAMPLE",
    "gh"
    "p_" A36,
    "s"
    "k-proj-" A36 A36,
    "s"
    "k-ant-api03-" A36 "-" A36 "-AA",
    "h"
    "f_" A36,
    "AI"
    "zaSy" A20 "abcdefghijklm",
    "S"
    "G." A20 "xy." A36 "abcdefg",
    "da"
    "pi" X32,
    "ey"
    "JhbGciOiJIUzI1NiJ9.ey"
    "JzdWIiOiIxIn0.c2lnbmF0dXJl",
};
enum { N_KEYS = sizeof keys / sizeof keys[0] };

/* What nobody sees, or what breaks a line, and how Python and HTML spell it. */
static const char *const inside[] = {
    "\x1b[31m",
    "\x1b[0;38;5;241m",
    "\x1b[K",
    "\x1b(B",
    "\x1b]0;title\a",
    "\x1b]8;;http://x\x1b\\",
    "\x1bP1$r\x1b\\",
    "\xc2\x9b"
    "1m", /* C1 */
    "\x1b[1m\x1b[31m",
    "\x01",
    "\x7f",
    "\xc2\x85", /* */
    "\xe2\x80\x8b",
    "\xe2\x80\x8c",
    "\xe2\x80\x8d",
    "\xe2\x80\x8e", /* U+200B to U+200E */
    "\xe2\x81\xa0",
    "\xef\xbb\xbf",
    "\xc2\xad",
    "\xcd\x8f", /* U+2060, U+FEFF, U+00AD, U+034F */
    "\xef\xb8\x8f",
    "\xf3\xa0\x84\x80",
    "\xf3\xa0\x81\x81", /* variation selectors, a tag */
    "\xe2\x80\xae",
    "\xe2\x81\xa6",
    "\xe2\x80\xa8",
    "\xd8\x9c", /* U+202E, U+2066, U+2028, U+061C */
    "\xe2\x80\x8b\xe2\x80\x8b\xe2\x80\x8b\xe2\x80\x8b",
    "\\x1b[31m",
    "\\u001b[31m",
    "\\033[31m",
    "\\u200b",
    "\\xad",
    "\\ufeff",
    "\\\\u202e",
    "\\U000e0041",
    "\\udb40\\udc41", /* as repr() and JSON write them */
    "<!-- -->",
    "<!-- a > b -->",
    "<!---->",
    "<b></b>",
    "<wbr>",
    "</span><span class=\"x>y\">",
    "<br/>",
    "<BR>",
    "\\u003cwbr\\u003e",
    "&#8203;",
    "&#x200B;",
    "&shy;",
    "&ZeroWidthSpace;", /* HTML */
    "\n",
    "\r\n",
    "\n\n",
    "\r",
    "\\n",
    "\\\\n",
    "\\r\\n",
    "\\r",
    "\\\n",
    "\\\r\n",
    "\b",
    "x\b",
    "\\x08",
    "\x1b[0m\n\x1b[31m",
};
enum { N_INSIDE = sizeof inside / sizeof inside[0] };

static char *redacted(const char *text, size_t bytes, size_t *ret_n) {
    struct bytes out = {0};
    *ret_n = secrets_remove(text, bytes, &out);
    bytes_append(&out, "", 1);
    assert_true(bytes_ok(&out));
    return out.data;
}

/* What is left of a key that has something inside, at each place; with ends around it that no key has. */
static void expect_gone(const char *key, const char *what, size_t at) {
    char text[512];
    size_t n;
    snprintf(text, sizeof text, "see: %.*s%s%s !", (int)at, key, what, key + at);
    char *left = redacted(text, strlen(text), &n);
    if (n == 0 || strncmp(left, "see: [redacted: ", 16) != 0 || strcmp(strchr(left, ']'), "] !") != 0)
        fail_msg("%zu in %s: %s", at, text, left);
    free(left);
}

static void test_redact_key_with_unseen_characters_at_any_place_is_taken_out(void **state) {
    (void)state;
    for (size_t i = 0; i < N_KEYS; i++)
        for (size_t k = 0; k < N_INSIDE; k++)
            for (size_t at = 1; at + 12 <= strlen(keys[i]); at++)
                expect_gone(keys[i], inside[k], at);
}

static void test_redact_key_with_unseen_text_between_all_characters_is_taken_out(void **state) {
    (void)state;
    for (size_t i = 0; i < N_KEYS; i++) {
        for (size_t k = 0; k < N_INSIDE; k++) {
            struct bytes text = {0};
            size_t n;
            for (const char *c = keys[i]; *c; c++) {
                bytes_append(&text, c, 1);
                bytes_append_text(&text, c[1] ? inside[k] : "");
            }
            char *left = redacted(text.data, text.n, &n);
            if (n == 0 || strncmp(left, "[redacted: ", 11) != 0 || strchr(left, ']')[1] != '\0')
                fail_msg("%.*s: %s", (int)text.n, text.data, left);
            free(left);
            bytes_fini(&text);
        }
    }
}

static const struct {
    const char *text, *left;
} hidden[] = {
    {"pass\xe2\x80\x8bword = 'hunter2'", "pass\xe2\x80\x8bword = '[redacted: credential]'"},
    {"password = 'hun\xe2\x80\x8bter2'", "password = '[redacted: credential]'"},
    {"<b>password</b> = <i>'hunter2'</i>", "<b>password</b> = <i>'[redacted: credential]'</i>"},
    {"password=&quot;hunter2&quot;", "password=&quot;[redacted: credential]&quot;"},
    {"redis://me:hun\x1b[1mter2@cache", "redis://me:[redacted: URL]@cache"},
    {"-----BEGIN RSA PRI\xe2\x80\x8bVATE KEY-----\nMIIE\n-----END RSA\x1b[0m PRIVATE KEY-----\nrest",
     "[redacted: private key]\nrest"},
    /* What a terminal or a notebook shows is the second. */
    {"waiting...\rgh"
     "p_\xe2\x80\x8b" A36,
     "waiting...\r[redacted: GitHub]"},
    {"........................................\rAK\bK"
     "IAIOSFODNN7EXAMPLE\x1b[K",
     "........................................\r[redacted: AWS]\x1b[K"},
    /* What stands behind the end of a line that could be a key's is a word. */
    {"gh"
     "p_" A36 "\nDone\n",
     "[redacted: GitHub]\nDone\n"},
    {"AK"
     "IAIOSFODNN7EXAMPLE\nNEXT",
     "[redacted: AWS]\nNEXT"},
    {"<td>AK"
     "IAIOSFODNN7EXAMPLE</td><td>OK</td>",
     "<td>[redacted: AWS]</td><td>OK</td>"},
    /* A tag that hides a key in what is no HTML. */
    {"<a gh"
     "p_\xe2\x80\x8b" A36 ">",
     "<a [redacted: GitHub]>"},
};

static void test_redact_finds_keys_as_they_are_displayed(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        size_t n;
        char *left = redacted(hidden[i].text, strlen(hidden[i].text), &n);
        assert_string_equal(left, hidden[i].left);
        free(left);
    }
}

/* Outputs as notebooks have them. */
static const char *const ordinary[] = {
    "\x1b[0;31m---------------------------------------------------------------------------\x1b[0m\n"
    "\x1b[0;31mZeroDivisionError\x1b[0m                         Traceback (most recent call last)\n"
    "Cell \x1b[0;32mIn[3], line 1\x1b[0m\n\x1b[0;32m----> 1\x1b[0m \x1b[38;5;241m1\x1b[39m\x1b[38;5;241m/\x1b[39m\n",
    "\x1b[1mtoken\x1b[0m: \x1b[32mstr\x1b[39m \x1b[38;5;241m=\x1b[39m tokens[\x1b[38;5;241m0\x1b[39m]\n",
    "  5%|5         | 5/100 [00:01<00:19,  4.99it/s]\r 10%|#         | 10/100 [00:02<00:18,  4.98it/s]\r\n",
    "N\bNA\bAM\bME\bE\n     ls - list directory contents\n",
    "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA10dzkAAAAOXRFWHRTb2Z0d2FyZQBNYXRwbG90bGliIHZlcnNpb24zLjguMiwg\n"
    "aHR0cHM6Ly9tYXRwbG90bGliLm9yZy8g+/AAAACXBIWXMAAA9hAAAPYQGoP6dpAABGdUlEQVR4nO3deXhU5d3/8c8kk30hISEh\n",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.txt\n"
    "d41d8cd98f00b204e9800998ecf8427e  b.txt\nda39a3ee5e6b4b0d3255bfef95601890afd80709  c.txt\n",
    "numpy\npandas\nscikit-learn\nhf_xet\nhttpcore\nhttpx\nhuggingface\ntransformers\ntokenizers\naccelerate\n",
    "sk-learn\npandas\nmatplotlib\nseaborn\nscipy\nstatsmodels\nxgboost\nlightgbm\n",
    "<div>\n<style scoped>\n    .dataframe tbody tr th { vertical-align: top; }\n</style>\n<table border=\"1\" "
    "class=\"dataframe\">\n  <thead>\n    <tr style=\"text-align: right;\">\n      <th></th>\n      <th>token</th>\n"
    "      <th>country</th>\n    </tr>\n  </thead>\n  <tbody>\n    <tr>\n      <td>abcdef</td>\n      <td>SK</td>\n"
    "      <td>d41d8cd98f00b204e9800998ecf8427e</td>\n    </tr>\n  </tbody>\n</table>\n<p>1 rows &times; 2 columns</p>",
    "<style>#sk-container-id-1 {--sklearn-color-text: black;}</style><div id=\"sk-container-id-1\" "
    "class=\"sk-top-container\"><pre>LinearRegression()</pre></div>",
    "if a<b and c>d: x = \"<not a tag\"; y = 'a\\nb\\tc\\\\d'; re.compile(r'\\d+\\s*\\w')",
    "DB_PASSWORD=\nDB_HOST=localhost\nSECRET=\nPORT=8080\n",
    "password:\n  required\ntoken:\nvalue\n",
    "see http://localhost:8888\nada@example.org and http://x:80\\nbob@example.org",
    "\\alpha + \\beta = \\nu \\rho \\frac{a}{b} \\u00e9\\u200b",
    "C:\\new\\table\\x86\\users",
    "emoji \xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9 \xe2\x9d\xa4\xef\xb8\x8f, \xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae",
    "int f(const char *p) { return *p<'a' ? p[1]>'b' : 0; } /* &amp; &lt;b&gt; &#8203; */",
    "{\"model\": \"x\", \"usage\": {\"prompt_tokens\": 12, \"total_tokens\": 345}, \"id\": \"chatcmpl-" A20 "\"}",
    "Bearer\nof bad news 12345678901234567890",
    "\xff\xfe broken \xc2 text \xe2\x80",
};

static void test_redact_leaves_ordinary_outputs_unchanged(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ordinary / sizeof ordinary[0]; i++) {
        size_t n;
        char *left = redacted(ordinary[i], strlen(ordinary[i]), &n);
        assert_string_equal(left, ordinary[i]);
        assert_int_equal(n, 0);
        free(left);
    }
}

/* As test_redact_of_a_long_hostile_text_takes_linear_time(), for what is left out and for what goes over lines. */
static void test_redact_of_a_long_text_of_openings_takes_linear_time(void **state) {
    static const char *const units[] = {
        "<",       "<!--",   "<a ",     "<a b=\"",  "<a '\"", "\x1b[",    "\x1b]",     "\\x1b]", "\\u003c",
        "\\",      "&#",     "&",       "\r",       "a\b",    "\xe2\x80", "eyJ\n",     "sk-\n",  "AKIA\n",
        "eyJa.\n", "ey\nJa", "hf_a\\n", "gh\x1b[m", "p\n",    "<b><!-- ", "\x1b]\x1b", "A\n7\n", "-----BEGIN \x1b[m"};
    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        struct bytes text = {0};
        struct bytes out = {0};
        while (text.n < LONG_TEXT_BYTES)
            bytes_append_text(&text, units[i]);
        secrets_remove(text.data, text.n, &out);
        assert_true(bytes_ok(&out));
        bytes_fini(&text);
        bytes_fini(&out);
    }
}

static void test_redact_patterns_and_names_are_found_as_they_are_displayed(void **state) {
    struct patterns *patterns = NULL;
    size_t n = 0;
    json_t *texts = json_pack("[s]", "K-[0-9]{4}");
    json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "pass\xe2\x80\x8bword", "x", "a", "a K-\x1b[1m12\x1b[m34 b", "b",
                             "K-<b>1</b>234 K-1234", "c", "K-12\b\b1234");
    json_t *wanted = json_pack("{s:s, s:s, s:s, s:s}", "pass\xe2\x80\x8bword", "[redacted: credential]", "a",
                               "a [redacted: configured pattern] b", "b",
                               "[redacted: configured pattern] [redacted: configured pattern]", "c",
                               "[redacted: configured pattern]");
    (void)state;
    assert_int_equal(patterns_create(texts, &patterns), 0);
    json_t *out = redact_json(&(struct redaction){.patterns = patterns}, json, &n);
    assert_true(json_equal(out, wanted));
    assert_int_equal(n, 5);
    json_decref(out);
    json_decref(wanted);
    json_decref(json);
    json_decref(texts);
    patterns_destroy(patterns);
}

static void test_secrets_view_has_the_position_of_each_byte(void **state) {
    static const char text[] = "a\x1b[1mb<i>&#67;";
    struct secrets_view view = {0};
    size_t start = 0, end = 3;
    (void)state;
    assert_int_equal(secrets_view_make(text, sizeof text - 1, SECRETS_VIEW_HTML, &view), 1);
    assert_int_equal(view.n, 3);
    assert_memory_equal(view.text, "abC", 3);
    secrets_view_range(&view, &start, &end);
    assert_int_equal(start, 0);
    assert_int_equal(end, sizeof text - 1);
    start = 1, end = 2;
    secrets_view_range(&view, &start, &end);
    assert_int_equal(start, 5);
    assert_int_equal(end, 6);
    secrets_view_fini(&view);
    assert_int_equal(secrets_view_make("abc\n", 4, 0, &view), 0);
    assert_int_equal(secrets_view_make("a\x1b[1m", 5, SECRETS_VIEW_HTML, &view), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redact_key_with_unseen_characters_at_any_place_is_taken_out),
        cmocka_unit_test(test_redact_key_with_unseen_text_between_all_characters_is_taken_out),
        cmocka_unit_test(test_redact_finds_keys_as_they_are_displayed),
        cmocka_unit_test(test_redact_leaves_ordinary_outputs_unchanged),
        cmocka_unit_test(test_redact_of_a_long_text_of_openings_takes_linear_time),
        cmocka_unit_test(test_redact_patterns_and_names_are_found_as_they_are_displayed),
        cmocka_unit_test(test_secrets_view_has_the_position_of_each_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
