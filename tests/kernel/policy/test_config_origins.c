#include "kernel/policy/config_origins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char told[1024];

static void tell(void *arg, const struct config_origin *origin) {
    const size_t n = strlen(told);
    (void)arg;
    snprintf(told + n, sizeof told - n, "%s|%s|%s\n", origin->key, origin->path ? origin->path : "-", origin->standing);
}

static const char *origins(const char *policy, const char *own) {
    struct config_files files = {.policy = {.path = "P", .text = (char *)(uintptr_t)policy, .bytes = strlen(policy)},
                                 .own = {.path = "O", .text = (char *)(uintptr_t)own, .bytes = strlen(own)}};
    told[0] = '\0';
    config_origins(&files, tell, NULL);
    return told;
}

static void test_config_origins_of_two_files_name_the_one_that_holds(void **state) {
    (void)state;
    assert_string_equal(origins("{\"history\": false, \"inputs\": [\"/srv\"], \"records\": {\"keep_days\": 3}}",
                                "{\"history\": true, \"records\": {\"max_bytes\": 5}, \"cache\": {\"ttl\": \"1h\"}}"),
                        "history|O|instead of /etc/petri/config.json\ninputs|P|\nrecords.keep_days|P|\n"
                        "records.max_bytes|O|\ncache.ttl|O|\n");
    assert_string_equal(origins("{\"records\": {\"keep_days\": 3}}", "{\"records\": false}"),
                        "records|O|instead of /etc/petri/config.json\n");
    assert_string_equal(origins("{\"records\": false}", "{\"records\": {\"keep_days\": 3}}"), "records.keep_days|O|\n");
}

static void test_config_origins_say_what_is_locked_and_what_bounds(void **state) {
    (void)state;
    assert_string_equal(
        origins("{\"locked\": [\"history\", \"records\"], \"history\": false,"
                " \"profiles\": {\"strict\": {\"timeout\": \"1s\", \"ceilings\": {\"timeout\": \"2s\"}}}}",
                "{}"),
        "locked|P|\nhistory|P|locked\nprofiles.strict.timeout|P|\n"
        "profiles.strict.ceilings.timeout|P|the most that another file can set\nrecords|-|locked\n");
    assert_string_equal(origins("{}", "{\"locked\": true}"),
                        "locked|O|without effect: only /etc/petri/config.json can lock keys\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_origins_of_two_files_name_the_one_that_holds),
        cmocka_unit_test(test_config_origins_say_what_is_locked_and_what_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
