#include "kernel/files/autorun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char why[128];

/* Names that an honest cell writes. */
static void test_autorun_of_data_files_is_false(void **state) {
    static const char *const paths[] = {
        "plot.png",        "a/b/table.csv",       "data",          "README",
        "LICENSE",         "report (1).pdf",      "model.pkl",     "index.html",
        "notebook.ipynb",  "config.yaml",         "settings.json", "requirements.txt",
        "run.sh",          "script.js",           "main.c",        "file",
        "my.profile",      "a.b.c.tar.gz",        "a.service.csv", "heads/x",
        "conftest.py.txt", "Makefile.txt",        "pth",           "profile",
        "outfile",         "\xc3\x84nderung.txt", "model.py.bak",  "x.socket.log",
        "Profile.csv",     "pkg.py/data.csv",     "model.py",      "pkg/core.py",
        "fast.so",         "build/plot.png",      "Workspace/a",   "outfile/a",
    };
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (autorun_is(paths[i], why, sizeof why))
            fail_msg("%s %s", paths[i], why);
}

static void test_autorun_of_names_that_tools_run_is_true(void **state) {
    static const struct {
        const char *path, *why;
    } rows[] = {
        {".git/config", "is hidden, as settings of tools are"},
        {"a/.vscode/tasks.json", "is hidden, as settings of tools are"},
        {".envrc", "is hidden, as settings of tools are"},
        {"deep/er/.bashrc", "is hidden, as settings of tools are"},
        {".ipynb_checkpoints/a.ipynb", "is hidden, as settings of tools are"},
        {"--checkpoint-action=exec=sh x.sh", "begins with a dash, as options of commands do"},
        {"a/-rf", "begins with a dash, as options of commands do"},
        {"conftest.py", "is looked for by pytest, which would run or load it"},
        {"a/CONFTEST.PY", "is looked for by pytest, which would run or load it"},
        {"pkg/__init__.py", "is looked for by Python, which would run or load it"},
        {"sitecustomize.py", "is looked for by Python, which would run or load it"},
        {"x.pth", "is looked for by Python, which would run or load it"},
        {"evil.dist-info/entry_points.txt", "is looked for by Python, which would run or load it"},
        {"Makefile", "is looked for by make, which would run or load it"},
        {"sub/makefile", "is looked for by make, which would run or load it"},
        {"package.json", "is looked for by npm, which would run or load it"},
        {"node_modules/left-pad/index.js", "is looked for by Node.js, which would run or load it"},
        {"eslint.config.mjs", "is looked for by tools of JavaScript, which would run or load it"},
        {"tox.ini", "is looked for by tox and pytest, which would run or load it"},
        {"jupyter_server_config.py", "is looked for by Jupyter, which would run or load it"},
        {"jupyter_config.json", "is looked for by Jupyter, which would run or load it"},
        {"Dockerfile.prod", "is looked for by Docker, which would run or load it"},
        {"bare/HEAD", "is looked for by git, which would run or load it"},
        {"GIT~1/config", "is looked for by git, which would run or load it"},
        {"x.desktop", "is looked for by the desktop, which would run or load it"},
        {"x.service", "is looked for by systemd, which would run or load it"},
        {"AUTORUN.INF", "is looked for by Windows, which would run or load it"},
        {"Desktop.ini", "is looked for by Windows, which would run or load it"},
        {"photo.lnk", "is looked for by Windows, which would run or load it"},
        {"main.tf.json", "is looked for by Terraform, which would run or load it"},
        {"tox.toml", "is looked for by tox, which would run or load it"},
        {"setup.ps1", "is looked for by Windows, which would run or load it"},
        {"_plugins/x.rb", "is looked for by Jekyll, which would run or load it"},
        {"Brewfile", "is looked for by a tool, which would run or load it"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!autorun_is(rows[i].path, why, sizeof why))
            fail_msg("%s is not refused", rows[i].path);
        assert_string_equal(why, rows[i].why);
    }
}

static void test_autorun_reason_longer_than_its_buffer_is_cut(void **state) {
    char little[8] = "xxxxxxx";
    (void)state;
    assert_true(autorun_is(".git", little, 4));
    assert_string_equal(little, "is ");
}

static bool is_in_work(const char *path, json_t *allowed) {
    bool is = autorun_is_in_work(path, allowed, why, sizeof why);
    json_decref(allowed);
    return is;
}

static void test_autorun_of_allowed_names_is_false(void **state) {
    (void)state;
    assert_true(is_in_work("Makefile", NULL));
    assert_false(is_in_work("Makefile", json_pack("[s]", "Makefile")));
    assert_false(is_in_work("a/Makefile", json_pack("[s]", "Makefile")));
    assert_true(is_in_work("a/Makefile", json_pack("[s]", "b/Makefile")));
    assert_false(is_in_work("a/Makefile", json_pack("[s]", "a/Makefile")));
    assert_true(is_in_work(".github/Makefile", json_pack("[s]", "Makefile"))); /* each name counts */
    assert_false(is_in_work(".github/Makefile", json_pack("[s, s]", "Makefile", ".github")));
    assert_false(is_in_work(".github/Makefile", json_pack("[s]", "*")));
}

static void test_autorun_of_modules_in_a_working_folder_is_true(void **state) {
    (void)state;
    assert_false(autorun_is("json.py", why, sizeof why));
    assert_true(is_in_work("json.py", NULL));
    assert_string_equal(why, "is a module's, which Python imports from the folder that it is started in");
    assert_true(is_in_work("pkg/FAST.SO", NULL));
    assert_false(is_in_work("json.py.txt", NULL));
    assert_false(is_in_work("so", NULL));
    assert_false(is_in_work("json.py", json_pack("[s]", "*.py")));
    assert_true(is_in_work("conftest.py", json_pack("[s]", "utils.py")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_autorun_of_allowed_names_is_false),
        cmocka_unit_test(test_autorun_of_modules_in_a_working_folder_is_true),
        cmocka_unit_test(test_autorun_of_data_files_is_false),
        cmocka_unit_test(test_autorun_of_names_that_tools_run_is_true),
        cmocka_unit_test(test_autorun_reason_longer_than_its_buffer_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
