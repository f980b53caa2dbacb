#include "kernel/records/redact.h"
#include "kernel/records/secrets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define A16 "ABCDEFGH01234567"
#define A20 "aB3dE6gH9jK2mN5pQ8sT"
#define A36 A20 A16
#define X32 "0123456789abcdef0123456789abcdef"
#define X64 X32 X32

/* A text and what becomes of it; a token written in two pieces is no token to who looks through this file. */
static const struct {
    const char *text;
    const char *redacted;
} found[] = {
    {"id AK"
     "IA" A16 ".",
     "id [redacted: AWS]."},
    {"AS"
     "IA" A16,
     "[redacted: AWS]"},
    {"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
     "aws_secret_access_key = [redacted: credential]"},
    {"gh"
     "p_" A36,
     "[redacted: GitHub]"},
    {"gh"
     "s_" A36 "\n",
     "[redacted: GitHub]\n"},
    {"github"
     "_pat_" A20 "_" A36,
     "[redacted: GitHub]"},
    {"'gl"
     "pat-" A20 "'",
     "'[redacted: GitLab]'"},
    {"xo"
     "xb-123456789012-" A20,
     "[redacted: Slack]"},
    {"xa"
     "pp-1-A0123-456-" A20,
     "[redacted: Slack]"},
    {"https://hooks.slack"
     ".com/services/T00000000/B00000000/" A20,
     "https://[redacted: Slack]"},
    {"s"
     "k-" A36,
     "[redacted: API key]"},
    {"s"
     "k-proj-" A36 "_" A20,
     "[redacted: API key]"},
    {"s"
     "k-ant-api03-" A36 "-" A36 "-AA",
     "[redacted: API key]"},
    {"gs"
     "k_" A36,
     "[redacted: Groq]"},
    {"h"
     "f_" A36,
     "[redacted: Hugging Face]"},
    {"?key=AI"
     "zaSy" A16 A16 "x&q=1",
     "?key=[redacted: Google]&q=1"},
    {"GOC"
     "SPX-" A20 "abcdefgh",
     "[redacted: Google]"},
    {"s"
     "k_live_" A20,
     "[redacted: Stripe]"},
    {"r"
     "k_test_" A20,
     "[redacted: Stripe]"},
    {"wh"
     "sec_" A36,
     "[redacted: Stripe]"},
    {"np"
     "m_" A36,
     "[redacted: npm]"},
    {"py"
     "pi-AgEIcHlwaS5vcmc" A36 A36,
     "[redacted: PyPI]"},
    {"do"
     "p_v1_" X64,
     "[redacted: DigitalOcean]"},
    {"da"
     "pi" X32,
     "[redacted: Databricks]"},
    {"S"
     "G." A20 "xy." A36 "abcdefg",
     "[redacted: SendGrid]"},
    {"S"
     "K" X32,
     "[redacted: Twilio]"},
    {"sh"
     "pat_" X32,
     "[redacted: Shopify]"},
    {"hv"
     "s." A36,
     "[redacted: Vault]"},
    {"ey"
     "JhbGciOiJIUzI1NiJ9.ey"
     "JzdWIiOiIxIn0.c2lnbmF0dXJl end",
     "[redacted: JWT] end"},
    {"Authorization: Bearer " A20, "Authorization: Bearer [redacted: credential]"},
    {"{\"Authorization\": \"Basic dXNlcjpwYXNz\"}", "{\"Authorization\": \"Basic [redacted: credential]\"}"},
    {"curl -H 'X: Bearer " A20 "'", "curl -H 'X: [redacted: Bearer]'"},
    {"-----BEGIN RSA PRIVATE KEY-----\nMIIEow==\n-----END RSA PRIVATE KEY-----\nrest", "[redacted: private key]\nrest"},
    {"-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----'", "[redacted: private key]'"},
    {"a -----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz", "a [redacted: private key]"},
    {"postgresql://me:hunter2@db:5432/x", "postgresql://me:[redacted: URL]@db:5432/x"},
    {"redis://:p@ss@cache/0", "redis://:[redacted: URL]@cache/0"},
    /* One that keeps another from being found. */
    {"pwd='a -----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----'", "pwd='[redacted: credential]'"},
    {"https://gh"
     "p_" A36 ":x-oauth@example.org/",
     "https://[redacted: GitHub]:[redacted: URL]@example.org/"},
    {"x://API_KEY=b1c2|me:hunter2@db", "x://API_KEY=[redacted: credential]|me:[redacted: URL]@db"},
    {"gh"
     "p_" A36 "-password='x'",
     "[redacted: GitHub]-password='[redacted: credential]'"},
    {"password = \"hunter2\"", "password = \"[redacted: credential]\""},
    {"DB_PASSWORD=hunter", "DB_PASSWORD=[redacted: credential]"},
    {"export PGPASSWD='x y'", "export PGPASSWD='[redacted: credential]'"},
    {"connect(user='me', password='hunter2')", "connect(user='me', password='[redacted: credential]')"},
    {"{\"api_key\": \"abc\", \"n\": 1}", "{\"api_key\": \"[redacted: credential]\", \"n\": 1}"},
    {"{\\\"api_key\\\": \\\"abc\\\"}", "{\\\"api_key\\\": \\\"[redacted: credential]\\\"}"},
    {"os.environ[\"CLIENT_SECRET\"] = 'abc'", "os.environ[\"CLIENT_SECRET\"] = '[redacted: credential]'"},
    {"password: str = 'abc'", "password: str = '[redacted: credential]'"},
    {"if password == 'abc':", "if password == '[redacted: credential]':"},
    {"access_token=abcdef0123456789", "access_token=[redacted: credential]"},
    {"DefaultEndpointsProtocol=https;AccountKey=abc/12==;X=1",
     "DefaultEndpointsProtocol=https;AccountKey=[redacted: credential];X=1"},
    /* As repr() and a coloured traceback show them. */
    {"'line\\ngh"
     "p_" A36 "'",
     "'line\\n[redacted: GitHub]'"},
    {"\x1b[32mgh"
     "p_" A36 "\x1b[0m",
     "\x1b[32m[redacted: GitHub]\x1b[0m"},
    {"password \x1b[38;5;241m=\x1b[39m \x1b[33m\"\x1b[39m\x1b[33mhunter2\x1b[39m\"",
     "password \x1b[38;5;241m=\x1b[39m \x1b[33m\"\x1b[39m\x1b[33m[redacted: credential]\x1b[39m\""},
};

/* What looks like it and is none. */
static const char *const kept[] = {
    "",
    "AKIA",
    "AKIA" A16 "8", /* too long */
    "XAKIA" A16,    /* not where a word begins */
    "AKIAabcdefgh01234567",
    "ghp_short",
    "my_ghp_" A36,
    "github_pat_short",
    "class=\"sk-container-id-1 sk-toggleable__label-arrow sk-estimator-doc-link-fitted\"",
    "task-" A36,
    "AIzaShort",
    "hf_hub_download(repo_id)",
    "npm_package_json_which_is_longer_than_thirty_six",
    "eyJhbGciOiJIUzI1NiJ9",
    "eyJhbGciOiJIUzI1NiJ9.notajwt.x",
    "SG.short.short",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "123e4567-e89b-12d3-a456-426614174000",
    "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIID\n-----END PUBLIC KEY-----",
    "http://host:8080/path@x",
    "postgresql://me@db/x",
    "postgresql://me:${PASSWORD}@db",
    "f'postgresql://me:{password}@db'",
    "password = getpass()",
    "password = getpass(\"Password: \"); y = \"abc\"",
    "password = input('password? ')",
    "connect(password=password)",
    "password=None",
    "password = os.environ['DB']",
    "def login(user, password: str) -> str:",
    "password = \"\"",
    "max_tokens=4096",
    "tokenizer.pad_token = '<pad>'",
    "token = tokens[0]",
    "token: 12",
    "the secret of success",
    "secret = {}",
    "Authorization: required for all",
    "Bearer of bad news and more of them",
    "headers = {'Authorization': f'Bearer {token}'}",
    "df['password'].str.len()",
    "[redacted: AWS] password='[redacted: credential]'",
};

static char *redacted(const char *text, size_t *ret_n) {
    struct bytes out = {0};
    *ret_n = secrets_remove(text, strlen(text), &out);
    bytes_append(&out, "", 1);
    assert_true(bytes_ok(&out));
    return out.data;
}

static void test_redact_replaces_secrets(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        size_t n;
        char *once = redacted(found[i].text, &n);
        assert_string_equal(once, found[i].redacted);
        assert_true(n > 0);
        char *twice = redacted(once, &n);
        assert_string_equal(twice, once);
        assert_int_equal(n, 0);
        free(once);
        free(twice);
    }
}

static void test_redact_leaves_text_without_secrets_unchanged(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        size_t n;
        char *text = redacted(kept[i], &n);
        assert_string_equal(text, kept[i]);
        assert_int_equal(n, 0);
        free(text);
    }
}

/* Each row of the table has a token in the corpus above or is of the same form as one that has. */
static void test_redact_rows_begin_with_a_literal_and_match_their_own_token(void **state) {
    (void)state;
    for (size_t i = 0; i < secrets_n_rows; i++) {
        const struct secrets_row *row = &secrets_rows[i];
        struct bytes token = {0};
        size_t n;
        assert_non_null(row->parts[0].literal);
        for (size_t k = 0; k < SECRETS_PARTS; k++) {
            const struct secrets_part *part = &row->parts[k];
            if (part->literal)
                bytes_append_text(&token, part->literal);
            for (size_t j = 0; !part->literal && j < part->min; j++)
                bytes_append(&token, part->class & SECRETS_UPPER ? (j % 2 ? "7" : "Q") : (j % 2 ? "7" : "c"), 1);
        }
        bytes_append(&token, "", 1);
        char *out = redacted(token.data, &n);
        assert_int_equal(n, 1);
        assert_memory_equal(out, "[redacted: ", 11);
        assert_memory_equal(out + 11, row->kind, strlen(row->kind));
        free(out);
        bytes_fini(&token);
    }
}

/* Steps that look at all of what is left from each word would take hours for this. */
static void test_redact_of_a_long_hostile_text_takes_linear_time(void **state) {
    static const char *const units[] = {
        "eyJ-",  "sk-",         "sk-xoxb-eyJ-ya29.",          "password:",  "token=",
        "://a:", "-----BEGIN ", "-----BEGIN RSA PRIVATE KEY", "password='", "Bearer-Bearer ",
        "a-"};
    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        struct bytes text = {0};
        struct bytes out = {0};
        while (text.n < 2 * LONG_TEXT_BYTES)
            bytes_append_text(&text, units[i]);
        secrets_remove(text.data, text.n, &out);
        assert_true(bytes_ok(&out));
        bytes_fini(&text);
        bytes_fini(&out);
    }
}

static void test_redact_json_covers_texts_keys_and_named_values(void **state) {
    struct patterns *patterns = NULL;
    size_t n = 0;
    json_t *texts = json_pack("[s, s]", "K-[0-9]+", "secret word");
    json_t *json = json_pack("{s:s, s:[s, i, n, b], s:{s:s, s:s}}", "password", "x", "list", "a K-12 b", 7, 1, "K-1",
                             "token", "abcdef0123456789", "plain", "the secret word");
    json_t *wanted = json_pack("{s:s, s:[s, i, n, b], s:{s:s, s:s}}", "password", "[redacted: credential]", "list",
                               "a [redacted: configured pattern] b", 7, 1, "[redacted: configured pattern]", "token",
                               "[redacted: credential]", "plain", "the [redacted: configured pattern]");
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

static void test_redact_pattern_that_times_out_redacts_the_rest(void **state) {
    struct patterns *patterns = NULL;
    struct bytes out = {0};
    char text[20000];
    json_t *texts = json_pack("[s]", "(a|aa)+[^a]$");
    (void)state;
    memset(text, 'a', sizeof text);
    assert_int_equal(patterns_create(texts, &patterns), 0);
    assert_int_equal(redact_text(&(struct redaction){.patterns = patterns}, text, sizeof text, &out), 1);
    assert_true(out.n < 100);
    bytes_fini(&out);
    json_decref(texts);
    patterns_destroy(patterns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redact_replaces_secrets),
        cmocka_unit_test(test_redact_leaves_text_without_secrets_unchanged),
        cmocka_unit_test(test_redact_rows_begin_with_a_literal_and_match_their_own_token),
        cmocka_unit_test(test_redact_of_a_long_hostile_text_takes_linear_time),
        cmocka_unit_test(test_redact_json_covers_texts_keys_and_named_values),
        cmocka_unit_test(test_redact_pattern_that_times_out_redacts_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
