#include "kernel/policy/limits.h"
#include "kernel/policy/limits_change.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The table's profile of a kind; until the next call. */
static const struct profile *of(enum profile_kind kind) {
    static struct profile profile;
    profile_of_kind(kind, &profile);
    return &profile;
}

static void test_limits_rows_are_complete_and_below_their_ceiling(void **state) {
    (void)state;
    for (int i = 0; i < LIMIT_N; i++) {
        assert_non_null(limit_rows[i].name);
        assert_non_null(limit_rows[i].help);
        assert_non_null(limit_rows[i].by);
        for (int profile = 0; profile < PROFILE_N; profile++) {
            assert_true(limit_rows[i].of[profile].normal > 0 || i == LIMIT_CPU); /* cpu follows from others */
            assert_true(limit_rows[i].of[profile].normal == LIMITS_SHARE ||
                        limit_rows[i].of[profile].normal <= limit_rows[i].of[profile].ceiling);
        }
        assert_true(limit_rows[i].of[PROFILE_STRICT].ceiling <= limit_rows[i].of[PROFILE_NOTEBOOK].ceiling);
    }
}

static void test_limits_names_are_unique(void **state) {
    (void)state;
    for (int i = 0; i < LIMIT_N; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(limit_rows[i].name, limit_rows[j].name);
}

static void test_limits_text_uses_the_largest_whole_unit(void **state) {
    static const struct {
        enum limit_unit unit;
        int64_t value;
        const char *text;
    } rows[] = {
        {UNIT_MS, 120000, "120 s"},       {UNIT_MS, 1500, "1500 ms"},           {UNIT_MS, 0, "0 ms"},
        {UNIT_BYTES, 1 << 20, "1 MiB"},   {UNIT_BYTES, 1536 << 20, "1536 MiB"}, {UNIT_BYTES, 2048, "2 KiB"},
        {UNIT_BYTES, 1025, "1025 bytes"}, {UNIT_COUNT, 1024, "1024"},           {UNIT_MS, LIMITS_NONE, "none"},
    };
    char text[32];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(limits_text(rows[i].unit, rows[i].value, text, sizeof text), rows[i].text);
}

static void test_limits_defaults_are_resolved_and_within_the_ceiling(void **state) {
    (void)state;
    for (int profile = 0; profile < PROFILE_N; profile++) {
        struct limits limits;
        limits_defaults((enum profile_kind)profile, &limits);
        limits_resolve(&limits);
        for (int i = 0; i < LIMIT_N; i++) {
            assert_true(limits.values[i] > 0);
            assert_true(limits.values[i] <= limits_ceiling(of((enum profile_kind)profile), (enum limit)i));
        }
    }
}

static void test_limits_cpu_follows_timeout_and_cpus(void **state) {
    struct limits limits = {.values = {[LIMIT_TIMEOUT] = 3000, [LIMIT_CPUS] = 2}};
    (void)state;
    limits_resolve(&limits);
    assert_int_equal(limits.values[LIMIT_CPU], 6000);
    limits.values[LIMIT_CPU] = 10;
    limits_resolve(&limits);
    assert_int_equal(limits.values[LIMIT_CPU], 10);
}

static void test_limits_beside_are_not_over_those_of_the_cell(void **state) {
    (void)state;
    for (int profile = 0; profile < PROFILE_N; profile++) {
        struct limits limits, beside;
        limits_defaults((enum profile_kind)profile, &limits);
        int at_once = limits_beside(&limits, 4, &beside);
        limits_resolve(&limits);
        assert_in_range(at_once, 1, limits.values[LIMIT_CPUS]);
        assert_int_equal(beside.values[LIMIT_CPUS], 1);
        for (int i = 0; i < LIMIT_N; i++)
            assert_in_range(beside.values[i], 1, limits.values[i]);
        assert_true(at_once * beside.values[LIMIT_MEMORY] <= limits.values[LIMIT_MEMORY]);
        assert_true(at_once * beside.values[LIMIT_PROCESSES] <= limits.values[LIMIT_PROCESSES]);
    }
}

static void test_limits_beside_are_shared_by_all_introspections(void **state) {
    struct limits limits = {.values = {[LIMIT_TIMEOUT] = 3000, [LIMIT_CPUS] = 8, [LIMIT_MEMORY] = 400 << 20}}, beside;
    (void)state;
    limits.values[LIMIT_PROCESSES] = 3;
    assert_int_equal(limits_beside(&limits, 4, &beside), 4);
    assert_int_equal(beside.values[LIMIT_MEMORY], 100 << 20);
    assert_int_equal(beside.values[LIMIT_PROCESSES], 1); /* none would be no limit */
    assert_int_equal(beside.values[LIMIT_TIMEOUT], 3000);
    assert_int_equal(beside.values[LIMIT_CPU], 10000);
}

static void test_limits_that_are_not_set_are_not_reported(void **state) {
    struct limits limits;
    (void)state;
    limits_defaults(PROFILE_NOTEBOOK, &limits);
    json_t *json = limits_json(&limits);
    assert_int_equal(json_integer_value(json_object_get(json, "timeout_ms")), 3600000);
    assert_int_equal(json_integer_value(json_object_get(json, "output_bytes")), 8 << 20);
    assert_int_equal(json_integer_value(json_object_get(json, "displays")), 1000);
    assert_int_equal(json_integer_value(json_object_get(json, "artifact_bytes")), 1 << 30);
    size_t set = 0;
    for (int i = 0; i < LIMIT_N; i++)
        set += limits.values[i] != LIMITS_NONE;
    assert_int_equal(json_object_size(json), set);
    assert_null(json_object_get(json, "runs")); /* nobody has set one */
    json_decref(json);
}

/* Gives a proposal, and what it says is the most, to the parser. */
static void check_proposal(enum profile_kind profile, enum limit limit, int64_t value) {
    struct limits limits;
    struct error error = {0};
    char text[96], line[128];
    const struct limits_change change = {of(profile), ASKER_CELL, &error};
    limits_more(of(profile), limit, value, text, sizeof text);
    if (!text[0])
        return;
    limits_defaults(profile, &limits);
    limits.values[limit] = LIMITS_NONE; /* of those that can only be lowered */
    const char *asked = text + strlen("%%limits "), *comma = strchr(asked, ','), *up = strstr(asked, " up to ");
    assert_int_equal(limits_change_line(&change, &limits, asked, comma ? (size_t)(comma - asked) : strlen(asked)), 0);
    assert_true(limits.values[limit] > value || limits.values[limit] == limits_ceiling(of(profile), limit));
    snprintf(line, sizeof line, "%s=%s", limit_rows[limit].name, up ? up + strlen(" up to ") : "1");
    if (up)
        assert_int_equal(limits_change_line(&change, &limits, line, strlen(line)), 0);
}

/* What a hint proposes is accepted where it stands: each limit's, at and below its default and its ceiling. */
static void test_limits_more_proposes_what_is_accepted(void **state) {
    static const int64_t parts[] = {1, 2, 3, 7, 1000};
    (void)state;
    for (int profile = 0; profile < PROFILE_N; profile++) {
        for (int i = 0; i < LIMIT_N; i++) {
            const int64_t ceiling = limits_ceiling(of((enum profile_kind)profile), (enum limit)i);
            const int64_t most = ceiling == LIMITS_NONE ? 100000 : ceiling;
            for (size_t j = 0; j < sizeof parts / sizeof parts[0] && !limit_rows[i].of_session; j++)
                check_proposal((enum profile_kind)profile, (enum limit)i, most / parts[j] > 0 ? most / parts[j] : 1);
        }
    }
}

static void test_limits_more_at_the_ceiling_proposes_nothing(void **state) {
    char text[96];
    (void)state;
    assert_string_equal(limits_more(of(PROFILE_STRICT), LIMIT_TIMEOUT, 60000, text, sizeof text), "");
    assert_string_equal(limits_more(of(PROFILE_STRICT), LIMIT_TIMEOUT, 5000, text, sizeof text),
                        "%%limits timeout=10s, or more up to 1m");
    assert_string_equal(limits_more(of(PROFILE_STRICT), LIMIT_MEMORY, 600 << 20, text, sizeof text),
                        "%%limits memory=1G, the most that there is");
    assert_string_equal(limits_more(of(PROFILE_NOTEBOOK), LIMIT_CPU, 1500, text, sizeof text), "%%limits cpu=3s");
}

static void test_profile_names_round_trip(void **state) {
    enum profile_kind profile = PROFILE_NOTEBOOK;
    (void)state;
    for (int i = 0; i < PROFILE_N; i++) {
        assert_int_equal(profile_from_name(profile_name((enum profile_kind)i), &profile), 0);
        assert_int_equal(profile, i);
    }
    assert_int_equal(profile_from_name("lax", &profile), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits_rows_are_complete_and_below_their_ceiling),
        cmocka_unit_test(test_limits_names_are_unique),
        cmocka_unit_test(test_limits_text_uses_the_largest_whole_unit),
        cmocka_unit_test(test_limits_defaults_are_resolved_and_within_the_ceiling),
        cmocka_unit_test(test_limits_cpu_follows_timeout_and_cpus),
        cmocka_unit_test(test_limits_beside_are_not_over_those_of_the_cell),
        cmocka_unit_test(test_limits_beside_are_shared_by_all_introspections),
        cmocka_unit_test(test_limits_that_are_not_set_are_not_reported),
        cmocka_unit_test(test_limits_more_proposes_what_is_accepted),
        cmocka_unit_test(test_limits_more_at_the_ceiling_proposes_nothing),
        cmocka_unit_test(test_profile_names_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
