/*
 * secrets_table.c - the formats of tokens that can be distinguished from other text, a row each.
 *
 * The order of rows matters only where one begins like another: the first that
 * matches counts. A row is only tried where the first character of its literal is
 * found.
 *
 * See: the documentation of each service on its tokens' form; RFC 7519 (JWT), RFC
 * 6750 (Bearer).
 */

#include "kernel/records/secrets.h"

#define ALNUM (SECRETS_DIGIT | SECRETS_LOWER | SECRETS_UPPER)
#define HEX (SECRETS_DIGIT | SECRETS_HEX)
#define CAPITAL (SECRETS_DIGIT | SECRETS_UPPER)
#define WORD (ALNUM | SECRETS_UNDERSCORE)
#define URL64 (WORD | SECRETS_DASH)
#define TOKEN68 (URL64 | SECRETS_DOT | SECRETS_TILDE | SECRETS_BASE64)
#define MIXED (SECRETS_DIGIT | SECRETS_UPPER)

#define IS(text)                                                                                                       \
    { .literal = (text) }
#define RUN(set, least, most)                                                                                          \
    { .class = (set), .min = (least), .max = (most) }

const struct secrets_row secrets_rows[] = {
    {"AWS", 0, {IS("AKIA"), RUN(CAPITAL, 16, 16)}},
    {"AWS", 0, {IS("ASIA"), RUN(CAPITAL, 16, 16)}},
    {"AWS", 0, {IS("ABIA"), RUN(CAPITAL, 16, 16)}},
    {"AWS", 0, {IS("ACCA"), RUN(CAPITAL, 16, 16)}},
    {"GitHub", 0, {IS("ghp_"), RUN(ALNUM, 36, 0)}},
    {"GitHub", 0, {IS("gho_"), RUN(ALNUM, 36, 0)}},
    {"GitHub", 0, {IS("ghu_"), RUN(ALNUM, 36, 0)}},
    {"GitHub", 0, {IS("ghs_"), RUN(ALNUM, 36, 0)}},
    {"GitHub", 0, {IS("ghr_"), RUN(ALNUM, 36, 0)}},
    {"GitHub", 0, {IS("github_pat_"), RUN(WORD, 22, 0)}},
    {"GitLab", 0, {IS("glpat-"), RUN(URL64, 20, 0)}},
    {"GitLab", 0, {IS("glptt-"), RUN(URL64, 20, 0)}},
    {"GitLab", 0, {IS("gldt-"), RUN(URL64, 20, 0)}},
    {"GitLab", 0, {IS("glrt-"), RUN(URL64, 20, 0)}},
    {"Slack", SECRETS_DIGIT, {IS("xoxb-"), RUN(ALNUM | SECRETS_DASH, 16, 0)}},
    {"Slack", SECRETS_DIGIT, {IS("xoxp-"), RUN(ALNUM | SECRETS_DASH, 16, 0)}},
    {"Slack", SECRETS_DIGIT, {IS("xoxa-"), RUN(ALNUM | SECRETS_DASH, 16, 0)}},
    {"Slack", SECRETS_DIGIT, {IS("xoxr-"), RUN(ALNUM | SECRETS_DASH, 16, 0)}},
    {"Slack", SECRETS_DIGIT, {IS("xoxs-"), RUN(ALNUM | SECRETS_DASH, 16, 0)}},
    {"Slack", SECRETS_DIGIT, {IS("xoxe-"), RUN(ALNUM | SECRETS_DASH, 16, 0)}},
    {"Slack", SECRETS_DIGIT, {IS("xapp-"), RUN(ALNUM | SECRETS_DASH, 16, 0)}},
    {"Slack", MIXED, {IS("hooks.slack.com/services/"), RUN(ALNUM | SECRETS_BASE64, 20, 0)}},
    /* sk-container-id-1 and its like are scikit-learn's CSS: keys have capitals and digits. */
    {"API key", MIXED, {IS("sk-"), RUN(URL64, 20, 0)}},
    {"Groq", 0, {IS("gsk_"), RUN(ALNUM, 32, 0)}},
    {"xAI", 0, {IS("xai-"), RUN(ALNUM, 40, 0)}},
    {"NVIDIA", MIXED, {IS("nvapi-"), RUN(URL64, 40, 0)}},
    {"Hugging Face", 0, {IS("hf_"), RUN(ALNUM, 30, 0)}},
    {"Replicate", 0, {IS("r8_"), RUN(ALNUM, 32, 0)}},
    {"Google", 0, {IS("AIza"), RUN(URL64, 35, 35)}},
    {"Google", MIXED, {IS("ya29."), RUN(URL64 | SECRETS_DOT, 20, 0)}},
    {"Google", 0, {IS("GOCSPX-"), RUN(URL64, 28, 28)}},
    {"Stripe", 0, {IS("sk_live_"), RUN(ALNUM, 16, 0)}},
    {"Stripe", 0, {IS("sk_test_"), RUN(ALNUM, 16, 0)}},
    {"Stripe", 0, {IS("rk_live_"), RUN(ALNUM, 16, 0)}},
    {"Stripe", 0, {IS("rk_test_"), RUN(ALNUM, 16, 0)}},
    {"Stripe", 0, {IS("whsec_"), RUN(ALNUM | SECRETS_BASE64, 24, 0)}},
    {"npm", 0, {IS("npm_"), RUN(ALNUM, 36, 36)}},
    {"PyPI", 0, {IS("pypi-AgE"), RUN(URL64, 50, 0)}},
    {"PyPI", 0, {IS("pypi-AgN"), RUN(URL64, 50, 0)}},
    {"crates.io", MIXED, {IS("cio"), RUN(ALNUM, 32, 32)}},
    {"RubyGems", 0, {IS("rubygems_"), RUN(HEX, 48, 48)}},
    {"Docker", 0, {IS("dckr_pat_"), RUN(URL64, 27, 0)}},
    {"DigitalOcean", 0, {IS("dop_v1_"), RUN(HEX, 64, 64)}},
    {"DigitalOcean", 0, {IS("doo_v1_"), RUN(HEX, 64, 64)}},
    {"Databricks", 0, {IS("dapi"), RUN(HEX, 32, 32)}},
    {"SendGrid", 0, {IS("SG."), RUN(URL64, 22, 22), IS("."), RUN(URL64, 43, 43)}},
    {"Mailgun", 0, {IS("key-"), RUN(HEX, 32, 32)}},
    {"Twilio", 0, {IS("SK"), RUN(HEX, 32, 32)}},
    {"Shopify", 0, {IS("shpat_"), RUN(HEX, 32, 32)}},
    {"Shopify", 0, {IS("shpss_"), RUN(HEX, 32, 32)}},
    {"Vault", 0, {IS("hvs."), RUN(URL64, 24, 0)}},
    {"Vault", 0, {IS("hvb."), RUN(URL64, 24, 0)}},
    {"Grafana", 0, {IS("glsa_"), RUN(ALNUM, 32, 32), IS("_"), RUN(HEX, 8, 8)}},
    {"Linear", 0, {IS("lin_api_"), RUN(ALNUM, 32, 0)}},
    {"Atlassian", 0, {IS("ATATT3"), RUN(URL64 | SECRETS_BASE64, 40, 0)}},
    {"age", 0, {IS("AGE-SECRET-KEY-1"), RUN(CAPITAL, 58, 58)}},
    {"JWT", 0, {IS("eyJ"), RUN(URL64, 10, 0), IS(".eyJ"), RUN(URL64, 4, 0), IS(".")}},
    {"Bearer", SECRETS_DIGIT, {IS("Bearer "), RUN(TOKEN68, 16, 0)}},
    {"Bearer", SECRETS_DIGIT, {IS("bearer "), RUN(TOKEN68, 16, 0)}},
};
const size_t secrets_n_rows = sizeof secrets_rows / sizeof secrets_rows[0];

const struct secrets_name secrets_names[] = {
    {"password", false, false},       {"passwd", false, false},
    {"passphrase", false, false},     {"pwd", false, false},
    {"secret", false, false},         {"apikey", false, false},
    {"api_key", false, false},        {"api-key", false, false},
    {"access_key", false, false},     {"secret_key", false, false},
    {"private_key", false, false},    {"accountkey", false, false},
    {"encryption_key", false, false}, {"authorization", true, false},
    {"token", false, true},           {"access-key", false, false},
};
const size_t secrets_n_names = sizeof secrets_names / sizeof secrets_names[0];
