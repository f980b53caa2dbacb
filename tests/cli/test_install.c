/* What is written for Jupyter, and where petri finds its own files. */
#include "cli/install.h"
#include "kernel/base/paths.h"
#include "kernel/interpreter/environment.h"
#include "tests/kernel/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void test_kernel_json_is_what_jupyter_reads(void **state) {
    json_t *json = kernelspec_json(&kernelspecs[1], "/opt/petri/bin/petri", "/usr/bin/python3");
    json_t *expected =
        json_pack("{s:[s,s,s,s,s,s,s], s:s, s:s, s:s, s:s, s:{s:b, s:[s]}}", "argv", "/opt/petri/bin/petri", "kernel",
                  "{connection_file}", "--profile", "strict", "--python", "/usr/bin/python3", "display_name",
                  "Python 3 (petri, strict)", "language", "python", "interrupt_mode", "message",
                  "kernel_protocol_version", "5.6.0", "metadata", "debugger", 0, "supported_encryption", "curve");
    (void)state;
    assert_non_null(json);
    assert_true(json_equal(json, expected));
    json_decref(json);
    json_decref(expected);
}

static void test_kernel_json_of_the_writable_mode_asks_for_it(void **state) {
    json_t *json = kernelspec_json(&kernelspecs[2], "/p", "/py");
    const json_t *argv = json_object_get(json, "argv");
    (void)state;
    assert_string_equal(kernelspecs[2].name, "petri-writable");
    assert_int_equal(json_array_size(argv), 8);
    assert_string_equal(json_string_value(json_array_get(argv, 4)), "notebook");
    assert_string_equal(json_string_value(json_array_get(argv, 7)), "--writable");
    json_decref(json);
}

static void test_kernel_json_without_an_interpreter_leaves_it_to_the_program(void **state) {
    json_t *json = kernelspec_json(&kernelspecs[2], "{resource_dir}/petri", NULL);
    const json_t *argv = json_object_get(json, "argv");
    (void)state;
    assert_int_equal(json_array_size(argv), 6);
    assert_string_equal(json_string_value(json_array_get(argv, 0)), "{resource_dir}/petri");
    assert_string_equal(json_string_value(json_array_get(argv, 5)), "--writable");
    json_decref(json);
}

static const char *const logos_made[] = {"logos/logo-32x32.png", "logos/logo-64x64.png", "logos/logo-svg.svg",
                                         "logos/help.html"};

static void test_kernelspec_write_creates_and_then_replaces_the_folder(void **state) {
    char kernels[PATH_MAX], logos[PATH_MAX], path[2 * PATH_MAX];
    (void)state;
    tree_folder("logos");
    tree_file("logos/logo-32x32.png", "32");
    tree_file("logos/logo-64x64.png", "64");
    tree_file("logos/logo-svg.svg", "svg");
    tree_file("logos/help.html", "help");
    tree_path(logos, "logos");
    tree_path(kernels, "share/jupyter/kernels");
    for (int i = 0; i < 2; i++) {
        json_t *json = kernelspec_json(&kernelspecs[0], i ? "/new" : "/old", "/py");
        assert_int_equal(kernelspec_write(&kernelspecs[0], kernels, logos, json), 0);
        json_decref(json);
    }
    snprintf(path, sizeof path, "%s/petri/kernel.json", kernels);
    json_t *read_back = json_load_file(path, 0, NULL);
    assert_string_equal(json_string_value(json_array_get(json_object_get(read_back, "argv"), 0)), "/new");
    json_decref(read_back);
    static const char *const beside[] = {"logo-svg.svg", "help.html"};
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        snprintf(path, sizeof path, "%s/petri/%s", kernels, beside[i]);
        assert_int_equal(access(path, R_OK), 0);
    }
}

/* As in an environment of somebody else's that root installs into. */
static void test_kernelspec_write_does_not_follow_links(void **state) {
    static const char *const names[] = {"kernel.json", "kernel.json.new", "logo-svg.svg", "logo-svg.svg.new"};
    char kernels[PATH_MAX], logos[PATH_MAX], path[PATH_MAX], target[PATH_MAX], name[64];
    struct stat st;
    (void)state;
    for (size_t i = 0; i < sizeof logos_made / sizeof logos_made[0]; i++)
        tree_file(logos_made[i], "logo");
    tree_folder("kernels/petri");
    tree_file("target", "");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(name, sizeof name, "kernels/petri/%s", names[i]);
        assert_int_equal(symlink(tree_path(target, "target"), tree_path(path, name)), 0);
    }
    json_t *json = kernelspec_json(&kernelspecs[0], "/p", "/py");
    tree_path(kernels, "kernels");
    tree_path(logos, "logos");
    assert_int_equal(kernelspec_write(&kernelspecs[0], kernels, logos, json), 0);
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(lstat(tree_path(path, "kernels/petri/kernel.json"), &st), 0);
    assert_true(S_ISREG(st.st_mode));
    tree_folder("elsewhere");
    assert_int_equal(rename(tree_path(path, "kernels/petri"), tree_path(target, "kernels/old")), 0);
    assert_int_equal(symlink("../elsewhere", path), 0);
    assert_true(kernelspec_write(&kernelspecs[0], kernels, logos, json) < 0);
    assert_int_equal(rmdir(tree_path(path, "elsewhere")), 0); /* it is empty */
    json_decref(json);
}

static void test_kernelspec_write_without_logos_fails(void **state) {
    char kernels[PATH_MAX], logos[PATH_MAX];
    (void)state;
    json_t *json = kernelspec_json(&kernelspecs[0], "/p", "/py");
    assert_int_equal(kernelspec_write(&kernelspecs[0], tree_path(kernels, "k"), tree_path(logos, "none"), json),
                     -ENOENT);
    json_decref(json);
}

static void make_files_in(const char *root, const char *worker) {
    char name[64];
    snprintf(name, sizeof name, "%s/worker", root);
    tree_folder(name);
    tree_folder(worker);
    snprintf(name, sizeof name, "%s/kernelspec", root);
    tree_folder(name);
}

static void test_paths_installed_are_below_share(void **state) {
    char program[PATH_MAX], expected[PATH_MAX];
    struct paths paths;
    (void)state;
    tree_folder("bin");
    tree_folder("share");
    tree_folder("share/petri");
    make_files_in("share/petri", "share/petri/worker/petri_worker");
    assert_int_equal(paths_find_for(tree_path(program, "bin/petri"), &paths), 0);
    assert_string_equal(paths.seccomp, "");
    assert_string_equal(paths.labextension, "");
    tree_folder("share/petri/site");
    tree_folder("share/petri/labextension");
    tree_folder("share/petri/containers");
    tree_folder("share/petri/containers/seccomp.json");
    assert_int_equal(paths_find_for(tree_path(program, "bin/petri"), &paths), 0);
    assert_string_equal(paths.seccomp, tree_path(expected, "share/petri/containers/seccomp.json"));
    assert_string_equal(paths.labextension, tree_path(expected, "share/petri/labextension"));
    assert_string_equal(paths.worker, tree_path(expected, "share/petri/worker"));
    assert_string_equal(paths.site, tree_path(expected, "share/petri/site"));
}

static void test_paths_built_are_in_the_checkout(void **state) {
    char program[PATH_MAX], expected[PATH_MAX];
    struct paths paths;
    (void)state;
    tree_folder("build");
    tree_folder("build/dev");
    make_files_in(".", "worker/petri_worker");
    assert_int_equal(paths_find_for(tree_path(program, "build/petri"), &paths), 0);
    assert_string_equal(paths.worker, tree_path(expected, "worker"));
    assert_string_equal(paths.site, "");
    tree_folder("build/dev/site");
    tree_folder("client");
    tree_folder("client/lab");
    tree_folder("client/lab/labextension");
    assert_int_equal(paths_find_for(tree_path(program, "build/dev/petri"), &paths), 0);
    assert_string_equal(paths.kernelspec, tree_path(expected, "kernelspec"));
    assert_string_equal(paths.site, tree_path(expected, "build/dev/site"));
    assert_string_equal(paths.labextension, tree_path(expected, "client/lab/labextension"));
}

static void test_paths_of_a_program_without_its_files_are_not_found(void **state) {
    char program[PATH_MAX];
    struct paths paths;
    (void)state;
    tree_folder("bin");
    assert_int_equal(paths_find_for(tree_path(program, "bin/petri"), &paths), -ENOENT);
}

static const char *value_of(char **environment, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; environment[i]; i++)
        if (strncmp(environment[i], name, n) == 0 && environment[i][n] == '=')
            return environment[i] + n + 1;
    return NULL;
}

static void test_environment_of_cells_has_only_listed_variables(void **state) {
    char python[PATH_MAX], path[160];
    (void)state;
    tree_folder("bin");
    tree_file("pyvenv.cfg", "home = /usr/bin\n");
    setenv("PETRI_TEST_SECRET", "not for cells", 1);
    setenv("TZ", "Europe/Paris", 1);
    tree_path(python, "bin/python");
    char **environment = environment_make(&(struct environment_facts){.python = python, .site = "/s", .cpus = 2});
    assert_non_null(environment);
    assert_null(value_of(environment, "PETRI_TEST_SECRET"));
    assert_string_equal(value_of(environment, "TZ"), "Europe/Paris");
    assert_string_equal(value_of(environment, "HOME"), "/home/petri");
    assert_string_equal(value_of(environment, "OMP_NUM_THREADS"), "2");
    assert_string_equal(value_of(environment, "PETRI_SITE"), "/s");
    assert_string_equal(value_of(environment, "VIRTUAL_ENV"), tree);
    snprintf(path, sizeof path, "%s/bin:/usr/local/bin:/usr/bin:/bin", tree);
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

#define TEST(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)

static void test_path_in_a_closed_folder_is_closed_to_others(void **state) {
    char path[PATH_MAX], closed[PATH_MAX], expected[PATH_MAX];
    (void)state;
    tree_folder("open");
    tree_folder("open/shut");
    tree_file("open/shut/python", "");
    tree_path(path, "open/shut/python");
    tree_path(expected, "");
    for (char *end = expected + strlen(expected); end > expected && end[-1] == '/';)
        *--end = '\0';
    assert_int_equal(chmod(expected, 0755), 0);
    assert_int_equal(chmod(path, 0755), 0);
    tree_path(expected, "open/shut");
    assert_int_equal(paths_closed_to_others(path, closed), 0);
    assert_int_equal(chmod(expected, 0750), 0);
    assert_int_equal(paths_closed_to_others(path, closed), 1);
    assert_string_equal(closed, expected);
    assert_int_equal(paths_closed_to_others("/none/such", closed), 0);
    assert_int_equal(paths_closed_to_others("relative", closed), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_kernel_json_is_what_jupyter_reads),
        TEST(test_kernel_json_of_the_writable_mode_asks_for_it),
        TEST(test_kernel_json_without_an_interpreter_leaves_it_to_the_program),
        TEST(test_kernelspec_write_creates_and_then_replaces_the_folder),
        TEST(test_kernelspec_write_does_not_follow_links),
        TEST(test_kernelspec_write_without_logos_fails),
        TEST(test_paths_installed_are_below_share),
        TEST(test_paths_built_are_in_the_checkout),
        TEST(test_paths_of_a_program_without_its_files_are_not_found),
        TEST(test_path_in_a_closed_folder_is_closed_to_others),
        TEST(test_environment_of_cells_has_only_listed_variables),
        TEST(test_environment_of_a_system_python_names_no_venv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
