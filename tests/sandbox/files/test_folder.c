/* What is hidden of a folder: rules over paths, and the whiteouts that they become. */
#include "sandbox/files/folder.h"

#include "sandbox/files/overlay.h"

#include "tests/sandbox/as_user.h"
#include "tests/sandbox/tmpfs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const homes[] = {"/srv/ann", "/srv/homes/bob", "/root", NULL};
static const char *const kept[] = {"/srv/ann/.venv/bin", "/srv/ann/.config/deep/in.txt", "/srv/homes", "/srv/ann/data",
                                   NULL};

static void rest_is_of_whole_names_only(void **state) {
    (void)state;
    assert_string_equal(folder_rest("/srv", "/srv"), "");
    assert_string_equal(folder_rest("/srv", "/srv/a/b"), "/a/b");
    assert_null(folder_rest("/srv", "/srva"));
    assert_null(folder_rest("/srv/a", "/srv"));
    assert_string_equal(folder_rest("", "/a"), "/a");
}

static void fate_of_an_entry_follows_from_homes_and_what_is_kept(void **state) {
    static const struct {
        const char *folder, *path;
        enum folder_fate fate;
    } rows[] = {
        {"/srv/ann", "/notes.txt", FOLDER_SHOW},
        {"/srv/ann", "/.ssh", FOLDER_HIDE},
        {"/srv/ann", "/.ssh/id_rsa", FOLDER_HIDE},
        {"/srv/ann", "/project/.git", FOLDER_SHOW},
        {"/srv/ann", "/.venv", FOLDER_ENTER},
        {"/srv/ann", "/.venv/bin", FOLDER_SHOW},
        {"/srv/ann", "/.venv/bin/python", FOLDER_SHOW},
        {"/srv/ann", "/.venv/binary", FOLDER_HIDE},
        {"/srv/ann", "/.config/deep", FOLDER_ENTER},
        {"/srv/ann", "/.config/deep/other", FOLDER_HIDE},
        {"/srv", "/ann", FOLDER_ENTER},
        {"/srv", "/ann/.ssh", FOLDER_HIDE},
        {"/srv", "/homes", FOLDER_ENTER},
        {"/srv", "/homes/bob/.netrc", FOLDER_HIDE}, /* to name what is above is not to name it */
        {"/srv", "/.hidden", FOLDER_SHOW},
        {"/srv", "/other", FOLDER_SHOW},
        {"/srv/ann/project", "/.env", FOLDER_SHOW},
        {"/data", "/.anything", FOLDER_SHOW},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct folder_rules rules;
        assert_int_equal(folder_rules_init(&rules, rows[i].folder, homes, kept), 0);
        if (folder_fate(&rules, rows[i].path) != rows[i].fate)
            fail_msg("%s in %s", rows[i].path, rows[i].folder);
        folder_rules_fini(&rules);
    }
}

static void no_homes_hide_nothing(void **state) {
    struct folder_rules rules;
    (void)state;
    assert_int_equal(folder_rules_init(&rules, "/srv/ann", NULL, NULL), 0);
    assert_int_equal(folder_fate(&rules, "/.ssh"), FOLDER_SHOW);
    folder_rules_fini(&rules);
}

static bool is_whiteout(int dir_fd, const char *name) {
    struct stat st;
    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && overlay_is_whiteout(&st);
}

/* A home with something kept in a hidden folder; a layer in which a cell has put a file over another hidden one. */
static int hidden_entries_become_whiteouts_also_those_that_come_later(void *unused) {
    static const char *const ann[] = {"/ann", NULL}, *const needed[] = {"/ann/.venv/bin", NULL};
    int root = tmpfs_enter();
    struct folder_rules rules;
    struct folder_seen seen = {0};
    (void)unused;
    CHECK(mkdirat(root, "home", 0755) == 0 && mkdirat(root, "layer", 0755) == 0);
    int home = openat(root, "home", O_RDONLY | O_DIRECTORY), layer = openat(root, "layer", O_RDONLY | O_DIRECTORY);
    CHECK(mkdirat(home, ".venv", 0750) == 0 && mkdirat(home, ".venv/bin", 0755) == 0);
    put_text(home, ".netrc", "");
    put_text(home, ".mine", "");
    put_text(home, "notes", "");
    put_text(home, ".venv/secret", "");
    put_text(layer, ".mine", "");
    CHECK_EQUAL(folder_rules_init(&rules, "/ann", ann, needed), 0);
    CHECK_EQUAL(folder_hide(home, layer, &rules, &seen), 0);
    CHECK(is_whiteout(layer, ".netrc") && is_whiteout(layer, ".venv/secret"));
    CHECK(!is_whiteout(layer, ".mine") && faccessat(layer, "notes", F_OK, 0) < 0);
    CHECK(faccessat(layer, ".venv/bin", F_OK, 0) < 0);
    put_text(home, ".venv/later", "");
    put_text(home, ".later", "");
    CHECK_EQUAL(folder_hide(home, layer, &rules, &seen), 0);
    CHECK(is_whiteout(layer, ".later") && is_whiteout(layer, ".venv/later"));
    folder_seen_fini(&seen);
    folder_rules_fini(&rules);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rest_is_of_whole_names_only),
        cmocka_unit_test(fate_of_an_entry_follows_from_homes_and_what_is_kept),
        cmocka_unit_test(no_homes_hide_nothing),
    };
    static const struct part parts[] = {
        PART(hidden_entries_become_whiteouts_also_those_that_come_later),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_parts("folder, live", parts, sizeof parts / sizeof parts[0], NULL, NULL);
}
