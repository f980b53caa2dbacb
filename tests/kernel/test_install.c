/* What is written for Jupyter, and where petri finds its own files. */
#include "kernel/environment.h"
#include "kernel/install.h"
#include "kernel/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[32];

static int setup(void **state) {
    (void)state;
    strcpy(folder, "/tmp/petri-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *ftw) {
    (void)stat, (void)kind, (void)ftw;
    return remove(path);
}

static int teardown(void **state) {
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* name below the test's folder, in a buffer of its own for each caller. */
static const char *below(char buf[96], const char *name) {
    snprintf(buf, 96, "%s/%s", folder, name);
    return buf;
}

static void make(const char *name, const char *text) {
    char path[96];
    if (!text) {
        assert_int_equal(mkdir(below(path, name), 0755), 0);
        return;
    }
    FILE *file = fopen(below(path, name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_kernel_json_is_what_jupyter_reads(void **state) {
    json_t *json = kernelspec_json(&kernelspecs[1], "/opt/petri/bin/petri", "/usr/bin/python3");
    json_t *expected = json_pack("{s:[s,s,s,s,s,s,s], s:s, s:s, s:s, s:s, s:{s:b, s:[s]}}", "argv", "/opt/petri/bin/petri",
                                 "kernel", "{connection_file}", "--profile", "strict", "--python", "/usr/bin/python3",
                                 "display_name", "Python 3 (petri, strict)", "language", "python", "interrupt_mode",
                                 "message", "kernel_protocol_version", "5.6.0", "metadata", "debugger", 0,
                                 "supported_encryption", "curve");
    (void)state;
    assert_non_null(json);
    assert_true(json_equal(json, expected));
    json_decref(json);
    json_decref(expected);
}

static void test_kernelspec_write_makes_and_replaces(void **state) {
    char kernels[96], logos[96], path[128];
    (void)state;
    make("logos", NULL);
    make("logos/logo-32x32.png", "32");
    make("logos/logo-64x64.png", "64");
    make("logos/logo-svg.svg", "svg");
    below(logos, "logos");
    below(kernels, "share/jupyter/kernels");
    for (int i = 0; i < 2; i++) {
        json_t *json = kernelspec_json(&kernelspecs[0], i ? "/new" : "/old", "/py");
        assert_int_equal(kernelspec_write(&kernelspecs[0], kernels, logos, json), 0);
        json_decref(json);
    }
    snprintf(path, sizeof path, "%s/petri/kernel.json", kernels);
    json_t *read_back = json_load_file(path, 0, NULL);
    assert_string_equal(json_string_value(json_array_get(json_object_get(read_back, "argv"), 0)), "/new");
    json_decref(read_back);
    snprintf(path, sizeof path, "%s/petri/logo-svg.svg", kernels);
    assert_int_equal(access(path, R_OK), 0);
}

static void test_kernelspec_write_without_logos_fails(void **state) {
    char kernels[96], logos[96];
    (void)state;
    json_t *json = kernelspec_json(&kernelspecs[0], "/p", "/py");
    assert_int_equal(kernelspec_write(&kernelspecs[0], below(kernels, "k"), below(logos, "none"), json), -ENOENT);
    json_decref(json);
}

static void make_files_in(const char *root, const char *worker) {
    char name[64];
    snprintf(name, sizeof name, "%s/worker", root);
    make(name, NULL);
    make(worker, NULL);
    snprintf(name, sizeof name, "%s/kernelspec", root);
    make(name, NULL);
}

static void test_paths_installed_are_below_share(void **state) {
    char program[96], expected[96];
    struct paths paths;
    (void)state;
    make("bin", NULL);
    make("share", NULL);
    make("share/petri", NULL);
    make_files_in("share/petri", "share/petri/worker/petri_worker");
    make("share/petri/site", NULL);
    assert_int_equal(paths_find_for(below(program, "bin/petri"), &paths), 0);
    assert_string_equal(paths.worker, below(expected, "share/petri/worker"));
    assert_string_equal(paths.site, below(expected, "share/petri/site"));
}

static void test_paths_built_are_in_the_checkout(void **state) {
    char program[96], expected[96];
    struct paths paths;
    (void)state;
    make("build", NULL);
    make("build/dev", NULL);
    make_files_in(".", "worker/petri_worker");
    assert_int_equal(paths_find_for(below(program, "build/petri"), &paths), 0);
    assert_string_equal(paths.worker, below(expected, "worker"));
    assert_string_equal(paths.site, "");
    make("build/dev/site", NULL);
    assert_int_equal(paths_find_for(below(program, "build/dev/petri"), &paths), 0);
    assert_string_equal(paths.kernelspec, below(expected, "kernelspec"));
    assert_string_equal(paths.site, below(expected, "build/dev/site"));
}

static void test_paths_of_a_program_alone_are_not_found(void **state) {
    char program[96];
    struct paths paths;
    (void)state;
    make("bin", NULL);
    assert_int_equal(paths_find_for(below(program, "bin/petri"), &paths), -ENOENT);
}

static const char *value_of(char **environment, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; environment[i]; i++)
        if (strncmp(environment[i], name, n) == 0 && environment[i][n] == '=')
            return environment[i] + n + 1;
    return NULL;
}

static void test_environment_is_a_list_of_its_own(void **state) {
    char python[96], prefix[96], path[160];
    (void)state;
    make("bin", NULL);
    make("pyvenv.cfg", "home = /usr/bin\n");
    setenv("PETRI_TEST_SECRET", "not for cells", 1);
    setenv("TZ", "Europe/Paris", 1);
    below(python, "bin/python");
    char **environment = environment_make(&(struct environment_facts){.python = python, .site = "/s", .cpus = 2});
    assert_non_null(environment);
    assert_null(value_of(environment, "PETRI_TEST_SECRET"));
    assert_string_equal(value_of(environment, "TZ"), "Europe/Paris");
    assert_string_equal(value_of(environment, "HOME"), "/home/petri");
    assert_string_equal(value_of(environment, "OMP_NUM_THREADS"), "2");
    assert_string_equal(value_of(environment, "PETRI_SITE"), "/s");
    assert_string_equal(value_of(environment, "VIRTUAL_ENV"), strcpy(prefix, folder));
    snprintf(path, sizeof path, "%s/bin:/usr/local/bin:/usr/bin:/bin", folder);
    assert_string_equal(value_of(environment, "PATH"), path);
    environment_free(environment);
}

static void test_environment_of_a_system_python_names_no_venv(void **state) {
    (void)state;
    char **environment =
        environment_make(&(struct environment_facts){.python = "/usr/bin/python3", .site = "", .cpus = 1});
    assert_non_null(environment);
    assert_null(value_of(environment, "VIRTUAL_ENV"));
    assert_null(value_of(environment, "PETRI_SITE"));
    environment_free(environment);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_kernel_json_is_what_jupyter_reads),    TEST(test_kernelspec_write_makes_and_replaces),
        TEST(test_kernelspec_write_without_logos_fails), TEST(test_paths_installed_are_below_share),
        TEST(test_paths_built_are_in_the_checkout),      TEST(test_paths_of_a_program_alone_are_not_found),
        TEST(test_environment_is_a_list_of_its_own),     TEST(test_environment_of_a_system_python_names_no_venv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
