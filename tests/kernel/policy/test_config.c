#include "kernel/policy/config.h"
#include "tests/kernel/tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct config config;
static struct error error;

/* Texts as those of files, NULL for none. The files' texts are literals: they are not freed. */
static int parse_over(const char *policy, const char *own, const char *profile) {
    struct config_files files = {0};
    error.text[0] = '\0';
    if (policy) {
        files.policy = (struct config_file){.text = (char *)(uintptr_t)policy, .bytes = strlen(policy)};
        snprintf(files.policy.path, sizeof files.policy.path, CONFIG_POLICY_PATH);
    }
    if (own)
        files.own = (struct config_file){.text = (char *)(uintptr_t)own, .bytes = strlen(own)};
    if (policy && own)
        snprintf(files.own.path, sizeof files.own.path, "/home/u/own.json");
    return config_parse(&files, profile, &config, &error);
}

static int parse(const char *text) {
    return parse_over(NULL, text, "strict");
}

static void test_config_without_keys_is_the_defaults(void **state) {
    struct limits limits;
    (void)state;
    limits_defaults(PROFILE_STRICT, &limits);
    assert_int_equal(parse("{}"), 0);
    assert_memory_equal(&config.limits, &limits, sizeof limits);
    assert_int_equal(config.grace_ms, 2000);
    assert_true(config.history);
    assert_int_equal(parse("{\"history\": false}"), 0);
    assert_false(config.history);
}

static void test_config_of_another_profile_is_not_applied(void **state) {
    (void)state;
    assert_int_equal(parse("{\"profiles\": {\"strict\": {\"timeout\": \"7s\", \"disk\": \"1M\"},"
                           " \"notebook\": {\"timeout\": \"9s\"}}, \"interrupt_grace\": \"250ms\"}"),
                     0);
    assert_int_equal(config.limits.values[LIMIT_TIMEOUT], 7000);
    assert_int_equal(config.limits.values[LIMIT_DISK], 1 << 20);
    assert_int_equal(config.grace_ms, 250);
}

static void test_config_that_is_invalid_is_refused_with_a_reason(void **state) {
    static const struct {
        const char *text;
        const char *why;
    } rows[] = {
        {"", "It is not a JSON object."},
        {"[]", "It is not a JSON object."},
        {"{\"profile\": {}}",
         "\"profile\" is not known; there are \"artifacts\", \"cache\", \"environment\", \"history\", \"inputs\","
         " \"interrupt_grace\", \"kernels\", \"locked\", \"packages\", \"profiles\", \"records\", \"redact\", \"refuse\", \"variables\" and \"writable\"."},
        {"{\"profiles\": []}", "\"profiles\" has to be an object of profiles."},
        {"{\"profiles\": {\"lax\": {}}}",
         "\"profiles\": \"lax\" needs \"based_on\": \"notebook\", \"strict\" or another profile."},
        {"{\"profiles\": {\"notebook\": {\"timeout\": \"2h\"}}}",
         "\"profiles\": \"notebook\": timeout 7200 s is over the ceiling of 3600 s in profile notebook."},
        {"{\"history\": 1}", "\"history\" has to be true or false."},
        {"{\"records\": true}", "\"records\" has to be an object, or false."},
        {"{\"records\": {\"path\": \"runs.sqlite\"}}", "\"records\", \"path\": 'runs.sqlite' is no absolute path."},
        {"{\"records\": {\"keep_days\": 0}}", "\"records\", \"keep_days\" has to be a whole number above 0."},
        {"{\"records\": {\"max_bytes\": \"1 banana\"}}",
         "\"records\", \"max_bytes\" has to be a size such as \"512M\" or \"2G\"."},
        {"{\"records\": {\"days\": 1}}",
         "\"records\", \"days\" is not known; there are \"keep_days\", \"max_bytes\" and \"path\"."},
        {"{\"cache\": {\"for\": \"1h\"}}", "\"cache\", \"for\" is not known; there is \"ttl\"."},
        {"{\"redact\": \"x\"}", "\"redact\" has to be an array of texts."},
        {"{\"redact\": [\"a(\"]}", "\"redact\": missing closing parenthesis at byte 2 of the pattern."},
        {"{\"environment\": [\"LD_PRELOAD\"]}",
         "\"environment\": 'LD_PRELOAD' is no name that a variable of a cell may have."},
        {"{\"inputs\": [\"data\"]}", "\"inputs\": 'data' is no absolute path."},
        {"{\"inputs\": [\"/proc/meminfo\"]}",
         "\"inputs\": '/proc/meminfo' is in /proc, which each cell has of its own."},
        {"{\"packages\": [\"numpy>=2\"]}", "\"packages\": 'numpy>=2' is no name of a distribution."},
        {"{\"refuse\": {\"imports\": [\"os.\"]}}", "\"refuse\", \"imports\": 'os.' is no name of a module."},
        {"{\"artifacts\": \"../x\"}", "\"artifacts\": '../x' is no name of a folder beside the notebook."},
        {"{\"artifacts\": true}", "\"artifacts\" has to be a text, or false."},
        {"{\"writable\": true}", "\"writable\" has to be an object."},
        {"{\"writable\": {\"on\": 1}}", "\"writable\", \"on\" has to be true or false."},
        {"{\"writable\": {\"allow\": [\"/etc/x\"]}}",
         "\"writable\", \"allow\": '/etc/x' is no pattern of a name, or of a path below the folder."},
        {"{\"variables\": [\"A\"]}", "\"variables\" has to be an object of variables."},
        {"{\"variables\": {\"PATH\": \"/x\"}}",
         "\"variables\", \"PATH\": 'PATH' is no name that a variable of a cell may have."},
        {"{\"variables\": {\"A\": 12345}}",
         "\"variables\", \"A\" has to be a text, or true to pass on the variable that petri has."},
        {"{\"variables\": {\"A\": false}}",
         "\"variables\", \"A\" has to be a text, or true to pass on the variable that petri has."},
        {"{\"locked\": false}", "\"locked\" has to be true, or an array of keys of this file."},
        {"{\"locked\": [\"locked\"]}", "\"locked\": 'locked' is no key of this file."},
        {"{\"locked\": [\"keep_days\"]}", "\"locked\": 'keep_days' is no key of this file."},
        {"{\"interrupt_grace\": 2}", "\"interrupt_grace\" has to be a duration such as \"500ms\" or \"2s\"."},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        config.grace_ms = 77;
        assert_int_equal(parse(rows[i].text), -EINVAL);
        assert_string_equal(error.text, rows[i].why);
        assert_int_equal(config.grace_ms, 77); /* untouched on failure */
    }
}

static void test_config_reads_every_key(void **state) {
    (void)state;
    assert_int_equal(parse("{\"records\": {\"path\": \"/var/runs.sqlite\", \"keep_days\": 7, \"max_bytes\": \"64M\"},"
                           " \"cache\": {\"ttl\": \"1h\"}, \"environment\": [\"REGION\"], \"inputs\": [\"/srv/data\"],"
                           " \"packages\": [\"numpy\"], \"redact\": [\"K-[0-9]+\"], \"artifacts\": false,"
                           " \"refuse\": {\"imports\": [\"os\"], \"patterns\": [\"rm -rf\"]},"
                           " \"writable\": {\"on\": true, \"allow\": [\"Makefile\"]}}"),
                     0);
    assert_true(config.records.on);
    assert_string_equal(config.records.path, "/var/runs.sqlite");
    assert_int_equal(config.records.keep_days, 7);
    assert_int_equal(config.records.max_bytes, 64 << 20);
    assert_int_equal(config.cache.ttl_ms, 3600000);
    assert_string_equal(config.artifacts, "");
    assert_true(config.writable.on);
    const json_t *const texts[] = {config.environment,    config.inputs,          config.packages,      config.redact,
                                   config.refuse.imports, config.refuse.patterns, config.writable.allow};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(json_array_size(texts[i]), 1);
    config_fini(&config);
    assert_int_equal(parse("{\"records\": false}"), 0);
    assert_false(config.records.on);
}

static void check_profile(const char *text, const char *name, int64_t timeout_ms, int64_t ceiling_ms) {
    assert_int_equal(parse_over(NULL, text, name), 0);
    assert_string_equal(config.profile.name, name);
    assert_int_equal(config.limits.values[LIMIT_TIMEOUT], timeout_ms);
    assert_int_equal(limits_ceiling(&config.profile, LIMIT_TIMEOUT), ceiling_ms);
}

static void test_config_profile_is_what_it_is_based_on_with_its_own_ceilings_and_limits(void **state) {
    static const char text[] = "{\"profiles\": {"
                               "\"quiz\": {\"based_on\": \"exam\", \"memory\": \"128M\"},"
                               "\"exam\": {\"based_on\": \"strict\", \"timeout\": \"20s\","
                               " \"ceilings\": {\"timeout\": \"30s\"}},"
                               "\"short\": {\"based_on\": \"strict\", \"ceilings\": {\"timeout\": \"2s\"}},"
                               "\"strict\": {\"timeout\": \"90s\", \"ceilings\": {\"timeout\": \"2m\"}}}}";
    (void)state;
    check_profile(text, "strict", 90000, 120000);
    check_profile(text, "exam", 20000, 30000);
    assert_int_equal(config.profile.kind, PROFILE_STRICT);
    check_profile(text, "quiz", 20000, 30000);
    assert_int_equal(config.limits.values[LIMIT_MEMORY], 128 << 20);
    check_profile(text, "short", 2000, 2000); /* a default that nobody has chosen goes down with its ceiling */
    check_profile(text, "notebook", 3600000, 3600000);
    check_profile("{}", "strict", 5000, 60000);
}

static void test_config_profile_that_can_not_be_is_refused(void **state) {
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"{\"profiles\": {\"a\": {\"based_on\": \"b\"}, \"b\": {\"based_on\": \"a\"}}}",
         "\"profiles\": \"a\" is based on itself, or on too many others."},
        {"{\"profiles\": {\"a\": {\"based_on\": \"none\"}}}",
         "there is no profile none; there are notebook, strict, a."},
        {"{\"profiles\": {\"A b\": {\"based_on\": \"strict\"}}}",
         "\"profiles\": \"A b\" is no name of a profile (letters a to z, digits, - and _)."},
        {"{\"profiles\": {\"strict\": {\"based_on\": \"notebook\"}}}", "\"profiles\": \"strict\" is based on nothing."},
        {"{\"profiles\": {\"a\": {\"based_on\": \"strict\", \"timeout\": \"2m\"}}}",
         "\"profiles\": \"a\": timeout 120 s is over the ceiling of 60 s in profile a."},
        {"{\"profiles\": {\"strict\": {\"ceilings\": {\"timeout\": \"no\"}}}}",
         "\"profiles\": \"strict\": timeout needs a duration such as 500ms, 10s, 5m or 1h, not 'no'."},
        {"{\"profiles\": {\"strict\": {\"ceilings\": 5}}}",
         "\"profiles\": \"ceilings\" has to be an object of limits."},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(parse(rows[i].text), -EINVAL);
        assert_string_equal(error.text, rows[i].why);
    }
    assert_int_equal(parse_over(NULL, "{}", "exam"), -EINVAL);
    assert_string_equal(error.text, "there is no profile exam; there are notebook, strict.");
}

static void test_config_of_the_user_is_read_over_the_operators(void **state) {
    (void)state;
    assert_int_equal(parse_over("{\"history\": false, \"packages\": [\"numpy\"], \"records\": {\"keep_days\": 7},"
                                " \"profiles\": {\"strict\": {\"timeout\": \"9s\", \"memory\": \"64M\"}}}",
                                "{\"packages\": [\"pandas\", \"numpy\"], \"records\": {\"max_bytes\": \"1M\"},"
                                " \"profiles\": {\"strict\": {\"timeout\": \"8s\"}}}",
                                "strict"),
                     0);
    assert_false(config.history);
    assert_int_equal(json_array_size(config.packages), 2);
    assert_int_equal(config.records.keep_days, 7);
    assert_int_equal(config.records.max_bytes, 1 << 20);
    assert_int_equal(config.limits.values[LIMIT_TIMEOUT], 8000);
    assert_int_equal(config.limits.values[LIMIT_MEMORY], 64 << 20);
    config_fini(&config);
    assert_int_equal(parse_over("{\"records\": false}", "{\"records\": {\"keep_days\": 3}}", NULL), 0);
    assert_true(config.records.on);
}

#define EXAM                                                                                                           \
    "{\"profiles\": {\"strict\": {\"ceilings\": {\"timeout\": \"2m\"}}, \"exam\": {\"based_on\": \"strict\","          \
    " \"timeout\": \"20s\", \"ceilings\": {\"timeout\": \"30s\", \"memory\": \"512M\"}},"                              \
    " \"long\": {\"based_on\": \"strict\", \"ceilings\": {\"timeout\": \"10m\"}}}}"

static void check_over_exam(const char *own, const char *name, int64_t timeout_ms, int64_t ceiling_ms) {
    assert_int_equal(parse_over(EXAM, own, name), 0);
    assert_string_equal(config.profile.name, name);
    assert_int_equal(config.limits.values[LIMIT_TIMEOUT], timeout_ms);
    assert_int_equal(limits_ceiling(&config.profile, LIMIT_TIMEOUT), ceiling_ms);
    config_fini(&config);
}

static void test_config_of_the_user_within_the_operators_ceilings_is_used(void **state) {
    (void)state;
    check_over_exam(NULL, "exam", 20000, 30000);
    check_over_exam(NULL, "long", 5000, 600000); /* the operator's own profiles may go beyond one another */
    check_over_exam("{}", "strict", 5000, 120000);
    check_over_exam("{\"profiles\": {\"exam\": {\"timeout\": \"30s\"}}}", "exam", 30000, 30000);
    check_over_exam("{\"profiles\": {\"exam\": {\"ceilings\": {\"timeout\": \"9s\"}}}}", "exam", 9000, 9000);
    check_over_exam("{\"profiles\": {\"mine\": {\"based_on\": \"exam\", \"timeout\": \"1s\"}}}", "mine", 1000, 30000);
    check_over_exam("{\"profiles\": {\"mine\": {\"based_on\": \"notebook\", \"ceilings\": {\"timeout\": \"3h\"}}}}",
                    "mine", 3600000, 10800000); /* the operator has said nothing of this profile */
    check_over_exam("{\"profiles\": {\"strict\": {\"ceilings\": {\"processes\": 300}}}}", "strict", 5000, 120000);
}

#define OVER(name, what)                                                                                               \
    "The configuration /home/u/own.json, line 1: \"profiles\": \"" name "\": " what                                    \
    " that /etc/petri/config.json sets for every user of this machine."

static void test_config_of_the_user_over_the_operators_ceilings_is_refused(void **state) {
    static const struct {
        const char *own, *why;
    } rows[] = {
        {"{\"profiles\": {\"strict\": {\"ceilings\": {\"timeout\": \"3m\"}}}}",
         OVER("strict", "timeout 180 s is over the ceiling of 120 s")},
        {"{\"profiles\": {\"exam\": {\"timeout\": \"31s\"}}}",
         OVER("exam", "timeout 31 s is over the ceiling of 30 s")},
        {"{\"profiles\": {\"exam\": {\"ceilings\": {\"memory\": 536870913}}}}",
         OVER("exam", "memory 536870913 bytes is over the ceiling of 512 MiB")},
        {"{\"profiles\": {\"mine\": {\"based_on\": \"exam\", \"ceilings\": {\"timeout\": \"1h\"}}}}",
         OVER("mine", "timeout 3600 s is over the ceiling of 30 s")},
        {"{\"profiles\": {\"x\": {\"based_on\": \"y\", \"ceilings\": {\"timeout\": \"1h\"}}, \"y\": {\"based_on\":"
         " \"exam\"}}}",
         OVER("x", "timeout 3600 s is over the ceiling of 30 s")},
        {"{\"profiles\": {\"exam\": {\"based_on\": \"notebook\"}}}",
         "The configuration /home/u/own.json, line 1: \"profiles\": \"exam\" is a profile of /etc/petri/config.json, which"
         " says what it is based on."},
        {"{\"profiles\": {\"mine\": {\"based_on\": \"none\"}}}",
         "The configuration /home/u/own.json, line 1: there is no profile none; there are notebook, strict, mine, exam,"
         " long."},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(parse_over(EXAM, rows[i].own, "strict"), -EINVAL);
        assert_string_equal(error.text, rows[i].why);
    }
}

static void test_config_of_the_user_lowers_bounds_of_all_kernels_and_does_not_raise_them(void **state) {
    static const char policy[] = "{\"kernels\": {\"number\": 4, \"memory\": \"8G\"}}";
    (void)state;
    assert_int_equal(parse_over(policy, "{\"kernels\": {\"number\": 3, \"processes\": 100}}", NULL), 0);
    assert_int_equal(config.kernels.number, 3);
    assert_int_equal(config.kernels.memory_bytes, (int64_t)8 << 30);
    assert_int_equal(config.kernels.processes, 100);
    assert_int_equal(config.operators_kernels.number, 4);
    assert_int_equal(config.operators_kernels.processes, 0);
    assert_int_equal(parse_over(policy, "{\"kernels\": {\"number\": 5}}", NULL), -EINVAL);
    assert_string_equal(error.text, "The configuration /home/u/own.json, line 1: \"kernels\", \"number\" is over the "
                                    "bound of 4 that /etc/petri/config.json sets for every user of this machine.");
    assert_int_equal(parse_over(policy, "{\"kernels\": {\"memory\": \"9G\"}}", NULL), -EINVAL);
    assert_non_null(strstr(error.text, "over the bound of 8 GiB"));
    assert_int_equal(parse_over("{\"locked\": [\"kernels\"]}", "{\"kernels\": {\"number\": 1}}", NULL), -EINVAL);
    assert_int_equal(parse("{\"kernels\": {\"number\": 0}}"), -EINVAL);
    assert_int_equal(parse("{\"kernels\": {\"number\": \"3\"}}"), -EINVAL);
    assert_int_equal(parse("{\"kernels\": {\"number\": 2}}"), 0);
    assert_int_equal(config.operators_kernels.number, 0);
}

static void test_config_of_the_user_with_a_locked_key_is_refused(void **state) {
    static const char why[] = "The configuration /home/u/own.json, line 2: \"history\" is locked by"
                              " /etc/petri/config.json, which holds for every user of this machine: take it out of this"
                              " file.";
    static const char own[] = "{\"inputs\": [\"/srv\"],\n\"history\": true}";
    (void)state;
    assert_int_equal(parse_over("{\"locked\": [\"records\", \"history\"], \"history\": false}", own, NULL), -EINVAL);
    assert_string_equal(error.text, why);
    assert_int_equal(parse_over("{\"locked\": [\"records\"]}", own, NULL), 0);
    assert_true(config_locks(&config, "records") && !config_locks(&config, "history"));
    config_fini(&config);
    assert_int_equal(parse_over("{\"locked\": true}", own, NULL), -EINVAL);
    assert_int_equal(parse_over("{\"locked\": true}", "{\"profiles\": {}}", NULL), -EINVAL);
    assert_int_equal(parse_over("{\"locked\": true, \"history\": false}", NULL, NULL), 0); /* not for itself */
    assert_false(config.history);
    config_fini(&config);
    assert_int_equal(parse_over("{\"locked\": true}", "{\"locked\": [\"history\"]}", NULL), 0);
    config_fini(&config);
}

static void test_config_of_the_user_locks_nothing(void **state) {
    (void)state;
    assert_int_equal(parse("{\"locked\": true, \"history\": false}"), 0);
    assert_false(config_locks(&config, "history"));
}

static void test_config_of_the_operator_that_is_wrong_is_refused_with_a_good_one_over_it(void **state) {
    (void)state;
    assert_int_equal(parse_over("{\"history\": 1}", "{\"history\": true}", NULL), -EINVAL);
    assert_string_equal(error.text,
                        "The configuration /etc/petri/config.json, line 1: \"history\" has to be true or false.");
    assert_int_equal(parse_over("{", "{}", NULL), -EINVAL);
    assert_non_null(strstr(error.text, "/etc/petri/config.json, line 1: It is not a JSON object"));
}

/* A key that the parser takes is in the schema, and no other. */
static void test_config_schema_has_the_keys_of_the_parser(void **state) {
    char text[256];
    const char *name;
    json_t *property;
    json_t *schema = config_schema();
    const json_t *properties = json_object_get(schema, "properties");
    (void)state;
    assert_int_equal(json_object_size(properties), 15);
    json_object_foreach((json_t *)properties, name, property) {
        snprintf(text, sizeof text, "{\"%s\": null}", name);
        assert_int_equal(parse(text), -EINVAL);
        assert_null(strstr(error.text, "is not known"));
        assert_non_null(json_object_get(property, "description"));
    }
    const json_t *profiles = json_object_get(json_object_get(properties, "profiles"), "properties");
    const json_t *without_ceilings = json_array_get(json_object_get(json_object_get(profiles, "strict"), "anyOf"), 1);
    const json_t *processes = json_object_get(json_object_get(without_ceilings, "properties"), "processes");
    assert_int_equal(json_integer_value(json_object_get(processes, "maximum")), 256);
    assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
    json_decref(schema);
}

static void test_config_file_that_is_named_and_missing_is_an_error(void **state) {
    (void)state;
    assert_int_equal(config_load("/nowhere/petri.json", "strict", &config, &error), -ENOENT);
    assert_string_equal(error.text, "The configuration /nowhere/petri.json can't be read: No such file or directory.");
}

static void test_config_file_is_read(void **state) {
    char path[] = "/tmp/petri-test-XXXXXX";
    static const char text[] = "{\"profiles\": {\"strict\": {\"processes\": 3}}}";
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    assert_int_equal(config_load(path, "strict", &config, &error), 0);
    assert_int_equal(config.limits.values[LIMIT_PROCESSES], 3);
    unlink(path);
}

/* What a start finds in a HOME like that, with this in the configuration's place. Returns what is said. */
static const char *found(void) {
    error.text[0] = '\0';
    if (config_load(NULL, "strict", &config, &error) == 0)
        config_fini(&config);
    return error.text;
}

static int set_home(void **state) {
    return tree_make(state) < 0 || setenv("XDG_CONFIG_HOME", tree, 1) < 0 ? -1 : 0;
}

static int unset_home(void **state) {
    return unsetenv("XDG_CONFIG_HOME") < 0 ? -1 : tree_remove(state);
}

static const char *in(const char *name) {
    static char path[PATH_MAX];
    return tree_path(path, name);
}

/* As with sudo(8) that keeps HOME. */
static void test_config_of_another_user_is_used_only_if_named(void **state) {
    char expected[512];
    (void)state;
    if (geteuid() != 0)
        skip();
    tree_file("petri/config.json", "{\"history\": false}");
    assert_string_equal(found(), "");
    assert_int_equal(chown(in("petri/config.json"), 12345, 12345), 0);
    snprintf(expected, sizeof expected,
             "The configuration %s is not used: it belongs to another user (uid 12345). Name it with --config to use "
             "it all the same, or start petri with a HOME and an XDG_CONFIG_HOME of your own (sudo -H).",
             in("petri/config.json"));
    assert_string_equal(found(), expected);
    assert_int_equal(config_load(in("petri/config.json"), "strict", &config, &error), 0);
    assert_false(config.history);
    assert_int_equal(chown(in("petri/config.json"), 0, 0), 0);
    assert_int_equal(chown(in("petri"), 12345, 12345), 0);
    assert_non_null(strstr(found(), "is not used: its folder belongs to another user (uid 12345)."));
    assert_int_equal(chown(in("petri"), 0, 0), 0);
    assert_int_equal(chmod(in("petri/config.json"), 0666), 0);
    assert_non_null(strstr(found(), "is not used: every user can write to it (mode 0666)."));
}

static void test_config_through_a_link_is_checked_by_the_owner_of_its_target(void **state) {
    (void)state;
    tree_file("dotfiles/mine.json", "{}");
    tree_folder("petri");
    assert_int_equal(symlink("../dotfiles/mine.json", in("petri/config.json")), 0);
    assert_string_equal(found(), "");
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(in("dotfiles/mine.json"), 12345, 12345), 0);
    assert_non_null(strstr(found(), "it belongs to another user (uid 12345)"));
}

static void test_config_that_is_a_fifo_or_endless_is_refused_at_once(void **state) {
    (void)state;
    tree_folder("petri");
    assert_int_equal(mkfifo(in("petri/config.json"), 0600), 0);
    assert_non_null(strstr(found(), "can't be read: it is no regular file."));
    assert_int_equal(config_load(in("petri/config.json"), "strict", &config, &error), -EINVAL);
    assert_int_equal(config_load("/dev/zero", "strict", &config, &error), -EINVAL);
    assert_int_equal(unlink(in("petri/config.json")), 0);
    tree_file("petri/config.json", "{}");
    assert_int_equal(truncate(in("petri/config.json"), (off_t)1 << 40), 0);
    assert_non_null(strstr(found(), "it is too large (1099511627776 bytes; 1048575 are allowed)."));
}

#define AT_HOME(test) cmocka_unit_test_setup_teardown(test, set_home, unset_home)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_without_keys_is_the_defaults),
        cmocka_unit_test(test_config_of_another_profile_is_not_applied),
        cmocka_unit_test(test_config_that_is_invalid_is_refused_with_a_reason),
        cmocka_unit_test(test_config_reads_every_key),
        cmocka_unit_test(test_config_profile_is_what_it_is_based_on_with_its_own_ceilings_and_limits),
        cmocka_unit_test(test_config_profile_that_can_not_be_is_refused),
        cmocka_unit_test(test_config_of_the_user_is_read_over_the_operators),
        cmocka_unit_test(test_config_of_the_user_within_the_operators_ceilings_is_used),
        cmocka_unit_test(test_config_of_the_user_over_the_operators_ceilings_is_refused),
        cmocka_unit_test(test_config_of_the_user_lowers_bounds_of_all_kernels_and_does_not_raise_them),
        cmocka_unit_test(test_config_of_the_user_with_a_locked_key_is_refused),
        cmocka_unit_test(test_config_of_the_user_locks_nothing),
        cmocka_unit_test(test_config_of_the_operator_that_is_wrong_is_refused_with_a_good_one_over_it),
        cmocka_unit_test(test_config_schema_has_the_keys_of_the_parser),
        cmocka_unit_test(test_config_file_that_is_named_and_missing_is_an_error),
        cmocka_unit_test(test_config_file_is_read),
        AT_HOME(test_config_of_another_user_is_used_only_if_named),
        AT_HOME(test_config_through_a_link_is_checked_by_the_owner_of_its_target),
        AT_HOME(test_config_that_is_a_fifo_or_endless_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
