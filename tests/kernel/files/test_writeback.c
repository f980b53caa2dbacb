/* The session's own versions of files: which state has which, what is to be written, and what is known of the host's.
 */
#include "kernel/files/writeback.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct writeback writeback;

static int start(void **state) {
    (void)state;
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd < 0 ? -1 : writeback_turn_on(&writeback, fd, NULL);
    close(fd);
    writeback.began_ns = 1000;
    return r;
}

static int stop(void **state) {
    (void)state;
    writeback_fini(&writeback);
    return 0;
}

static struct stat changed_at(int64_t ns) {
    return (struct stat){.st_ino = 7, .st_size = 3, .st_mtim.tv_nsec = ns, .st_ctim.tv_nsec = ns};
}

static bool may_replace(const char *path, int64_t changed_ns) {
    const struct stat st = changed_at(changed_ns);
    return writeback_may_replace(&writeback, path, &st, 0);
}

static bool is_due(const char *path, enum cell_change expected) {
    struct cell_file file;
    return writeback_is_due(&writeback, path, &file) && file.change == expected;
}

/* A state in which "file" is to be written, and the session is no more in that state. */
static json_t *leave_state(enum cell_change change) {
    writeback_note_own(&writeback, "file", change, true, 1);
    return writeback_state(&writeback);
}

static void test_change_is_due_in_the_states_that_have_it(void **state) {
    (void)state;
    assert_null(writeback_state(&writeback));
    json_auto_t *with = leave_state(CELL_DELETED);
    assert_non_null(with);
    writeback_go(&writeback, NULL);
    assert_false(is_due("file", CELL_DELETED));
    assert_null(writeback_state(&writeback));
    writeback_go(&writeback, with);
    assert_true(is_due("file", CELL_DELETED));
}

static void test_file_of_the_host_is_known_as_long_as_the_state_has_seen_it(void **state) {
    (void)state;
    json_auto_t *with = leave_state(CELL_CHANGED);
    writeback_forget(&writeback, "file");
    writeback.began_ns = 2000;
    assert_true(may_replace("file", 1500)); /* the present state has seen it */
    writeback_go(&writeback, with);
    assert_false(may_replace("file", 1500));
    assert_true(may_replace("file", 1000));
}

static void test_change_that_is_made_is_not_due_where_the_session_goes_and_the_host_s_file_is_known(void **state) {
    const struct stat written = changed_at(1500);
    (void)state;
    json_auto_t *with = leave_state(CELL_CHANGED);
    writeback_note_made(&writeback, "file", &written);
    writeback_forget(&writeback, "file");
    writeback_go(&writeback, with);
    assert_false(is_due("file", CELL_CHANGED));
    assert_true(writeback_is_settled(&writeback, "file"));
    assert_true(may_replace("file", 1500));
    assert_false(may_replace("file", 1501));
}

static void test_file_that_petri_has_written_in_another_state_may_be_replaced(void **state) {
    const struct stat written = changed_at(1500);
    (void)state;
    json_auto_t *with = leave_state(CELL_CHANGED);
    writeback_go(&writeback, NULL);
    writeback_note_host(&writeback, "file", &written);
    writeback_go(&writeback, with);
    assert_true(is_due("file", CELL_CHANGED));
    assert_true(may_replace("file", 1500));
    assert_false(may_replace("file", 1501));
}

/* A folder whose names petri changes after others have: since when the state that is gone back to may remove it. */
static void test_folder_is_as_new_as_what_other_programs_have_changed_in_it(void **state) {
    const struct stat before = changed_at(900), one = changed_at(1500), two = changed_at(1600);
    const struct stat others = changed_at(1700), three = changed_at(1800);
    (void)state;
    json_auto_t *with = leave_state(CELL_DELETED);
    writeback_note_folder(&writeback, "file", &before, &one);
    writeback_note_folder(&writeback, "file", &one, &two);
    writeback.began_ns = 5000;
    writeback_go(&writeback, with);
    assert_true(may_replace("file", 1600));
    assert_false(may_replace("file", 1601));
    writeback_note_folder(&writeback, "file", &others, &three);
    assert_false(may_replace("file", 1800));
    writeback_note_folder(&writeback, "file", NULL, &three);
    assert_true(may_replace("file", 1800));
}

static bool was_moved(const struct stat *folder, const char *file, int64_t changed_ns) {
    const struct stat st = changed_at(changed_ns);
    return writeback_was_moved(&writeback, "folder", folder, file, &st, 0);
}

/* The folder is moved there at 1500; its file is older than the state. */
static void test_folder_that_was_moved_to_the_way_of_a_file_is_known_since_the_state_has_seen_that(void **state) {
    const struct stat written = changed_at(2100);
    struct stat folder = changed_at(900), later = changed_at(2000);
    folder.st_ctim.tv_nsec = 1500;
    (void)state;
    json_auto_t *with = leave_state(CELL_CHANGED);
    writeback.began_ns = 5000;
    assert_true(was_moved(&folder, "file", 800));
    assert_false(was_moved(&folder, "other", 800)); /* the cell has seen it there */
    writeback_go(&writeback, NULL);
    assert_false(was_moved(&folder, "file", 800));
    writeback_go(&writeback, with);
    assert_false(was_moved(&later, "file", 800));
    writeback_note_folder(&writeback, "folder", &folder, &later); /* a change of ours doesn't hide that */
    assert_true(was_moved(&later, "file", 800));
    writeback_note_host(&writeback, "file", &written);
    assert_false(was_moved(&later, "file", 2100));
    assert_true(was_moved(&later, "file", 800));
    writeback_note_folder(&writeback, "folder", NULL, &folder);
    assert_false(was_moved(&folder, "file", 800));
}

static void test_removal_that_is_made_leaves_what_the_host_has(void **state) {
    (void)state;
    json_auto_t *with = leave_state(CELL_DELETED);
    writeback_note_made(&writeback, "file", NULL);
    writeback_forget(&writeback, "file");
    writeback_go(&writeback, with);
    assert_false(is_due("file", CELL_DELETED));
    assert_true(writeback_is_settled(&writeback, "file"));
    assert_false(may_replace("file", 1500));
}

/* What is to be written is not, what an own version is the later one of, neither. */
static void test_state_lists_what_is_the_host_s_by_now_and_is_told_once_that_is_given_up(void **state) {
    const struct stat written = changed_at(1500);
    const char *const given_up[] = {"made", "removed"};
    const bool all[] = {true, true}, none[] = {false, false};
    const char **paths = NULL;
    (void)state;
    static const char *const due[] = {"due", "made", "overtaken", "removed"};
    for (size_t i = 0; i < 4; i++)
        writeback_note_own(&writeback, due[i], CELL_CHANGED, true, 1);
    json_auto_t *with = writeback_state(&writeback);
    assert_int_equal(writeback_list_settled(with, &paths), 0);
    free(paths);
    writeback_note_made(&writeback, "made", &written);
    writeback_note_made(&writeback, "removed", NULL);
    writeback_note_overtaken(&writeback, "overtaken", &written);
    assert_int_equal(writeback_list_settled(with, &paths), 2);
    assert_true(strcmp(paths[0], "due") != 0 && strcmp(paths[0], "overtaken") != 0);
    assert_true(strcmp(paths[1], "due") != 0 && strcmp(paths[1], "overtaken") != 0);
    free(paths);
    json_auto_t *same = writeback_without(with, given_up, none, 2),
                *without = writeback_without(with, given_up, all, 2);
    assert_true(json_equal(same, with));
    assert_int_equal(json_object_size(without), 2);
    assert_null(json_object_get(without, "made"));
    assert_int_equal(writeback_list_settled(NULL, &paths), 0);
    assert_null(writeback_without(NULL, given_up, none, 2));
}

/* Or the session would lose what only that state has. */
static void test_version_that_was_overtaken_stays_the_session_s_and_is_not_due(void **state) {
    const struct stat written = changed_at(1500);
    (void)state;
    json_auto_t *with = leave_state(CELL_CHANGED);
    writeback_note_overtaken(&writeback, "file", &written);
    writeback_forget(&writeback, "file");
    writeback_go(&writeback, with);
    assert_false(is_due("file", CELL_CHANGED));
    assert_false(writeback_is_settled(&writeback, "file"));
    assert_true(may_replace("file", 1500));
    assert_false(may_replace("file", 1501));
}

static void test_file_that_was_written_again_since_is_known_as_it_was_written_last(void **state) {
    const struct stat written = changed_at(1500), again = changed_at(1600);
    (void)state;
    json_auto_t *with = leave_state(CELL_CHANGED);
    writeback_note_made(&writeback, "file", &written);
    writeback_note_host(&writeback, "file", &again);
    writeback_go(&writeback, with);
    assert_true(may_replace("file", 1600));
    assert_true(may_replace("file", 1500));
    assert_false(may_replace("file", 1601));
}

/* A file that is open: another line of states has closed it, and another program has changed it since. */
static void test_state_knows_the_host_s_file_of_what_it_has_open(void **state) {
    const struct stat written = changed_at(1500);
    (void)state;
    writeback_note_written(&writeback, "file", &written);
    json_auto_t *with = writeback_state(&writeback);
    writeback_forget(&writeback, "file");
    writeback.began_ns = 2000;
    assert_true(may_replace("file", 1600));
    writeback_go(&writeback, with);
    assert_true(may_replace("file", 1500));
    assert_false(may_replace("file", 1600));
    writeback_go(&writeback, NULL); /* which has no version of its own, and sees the host's */
    assert_true(may_replace("file", 1600));
}

static void test_due_version_over_one_that_was_written_knows_that_one(void **state) {
    const struct stat written = changed_at(1500);
    (void)state;
    writeback_note_written(&writeback, "file", &written);
    json_auto_t *with = leave_state(CELL_CHANGED);
    writeback_forget(&writeback, "file");
    writeback.began_ns = 2000;
    writeback_go(&writeback, with);
    assert_true(is_due("file", CELL_CHANGED));
    assert_true(may_replace("file", 1500));
    assert_false(may_replace("file", 1600));
}

static void test_states_in_which_nothing_differs_share_what_they_have(void **state) {
    const struct stat written = changed_at(1500);
    (void)state;
    writeback_note_own(&writeback, "due", CELL_CREATED, true, 1);
    writeback_note_own(&writeback, "own", CELL_CREATED, false, 1);
    json_auto_t *one = writeback_state(&writeback), *two = writeback_state(&writeback);
    assert_ptr_equal(one, two);
    writeback_note_written(&writeback, "due", &written);
    json_auto_t *three = writeback_state(&writeback);
    assert_ptr_not_equal(three, two);
    assert_ptr_equal(json_object_get(three, "own"), json_object_get(two, "own"));
}

static void test_change_that_comes_after_it_is_another_one(void **state) {
    (void)state;
    json_auto_t *with = leave_state(CELL_CHANGED);
    writeback_note_changed(&writeback, "file");
    json_auto_t *after = leave_state(CELL_CHANGED);
    writeback_note_made(&writeback, "file", NULL);
    writeback_go(&writeback, with);
    assert_true(is_due("file", CELL_CHANGED));
    writeback_go(&writeback, after);
    assert_false(is_due("file", CELL_CHANGED));
}

/* Its object would say that the one that was left is made. */
static void test_change_that_was_left_is_not_made_by_what_is_written_there_next(void **state) {
    const struct stat written = changed_at(1500);
    (void)state;
    json_auto_t *with = leave_state(CELL_CHANGED);
    writeback_go(&writeback, NULL);
    writeback_note_made(&writeback, "file", &written);
    writeback_go(&writeback, with);
    assert_true(is_due("file", CELL_CHANGED));
}

static const char kept[] = "\xff.kept"; /* no UTF-8 */

static void test_what_a_change_waits_for_is_known_in_the_states_that_have_both(void **state) {
    char buf[WRITEBACK_PATH_BYTES];
    uint64_t bytes;
    (void)state;
    writeback_note_own(&writeback, kept, CELL_CREATED, false, 7);
    writeback_note_unsaved(&writeback, kept, 12);
    writeback_note_own(&writeback, "file", CELL_DELETED, true, 7);
    writeback_note_waits(&writeback, "file", kept);
    json_auto_t *with = writeback_state(&writeback);
    writeback_go(&writeback, NULL);
    assert_false(writeback_is_unsaved(&writeback, kept, &bytes));
    assert_null(writeback_awaited(&writeback, "file", buf));
    writeback_go(&writeback, with);
    assert_true(is_due("file", CELL_DELETED));
    assert_string_equal(writeback_awaited(&writeback, "file", buf), kept);
    assert_int_equal(writeback_cell_of(&writeback, "file"), 7);
    assert_true(writeback_is_unsaved(&writeback, kept, &bytes));
    assert_int_equal(bytes, 12);
    writeback_note_own(&writeback, kept, CELL_CREATED, false, 8); /* it is saved under another name, say */
    assert_null(writeback_awaited(&writeback, "file", buf));
}

static void test_nothing_is_due_where_the_mode_is_off(void **state) {
    struct writeback off;
    (void)state;
    json_auto_t *with = leave_state(CELL_CHANGED);
    writeback_init(&off);
    writeback_go(&off, with);
    assert_null(writeback_state(&off));
    assert_null(writeback_state_of(&off, NULL, 0, with));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_change_is_due_in_the_states_that_have_it),
        CASE(test_file_of_the_host_is_known_as_long_as_the_state_has_seen_it),
        CASE(test_change_that_is_made_is_not_due_where_the_session_goes_and_the_host_s_file_is_known),
        CASE(test_file_that_petri_has_written_in_another_state_may_be_replaced),
        CASE(test_folder_is_as_new_as_what_other_programs_have_changed_in_it),
        CASE(test_folder_that_was_moved_to_the_way_of_a_file_is_known_since_the_state_has_seen_that),
        CASE(test_removal_that_is_made_leaves_what_the_host_has),
        CASE(test_state_lists_what_is_the_host_s_by_now_and_is_told_once_that_is_given_up),
        CASE(test_version_that_was_overtaken_stays_the_session_s_and_is_not_due),
        CASE(test_file_that_was_written_again_since_is_known_as_it_was_written_last),
        CASE(test_state_knows_the_host_s_file_of_what_it_has_open),
        CASE(test_due_version_over_one_that_was_written_knows_that_one),
        CASE(test_states_in_which_nothing_differs_share_what_they_have),
        CASE(test_change_that_comes_after_it_is_another_one),
        CASE(test_change_that_was_left_is_not_made_by_what_is_written_there_next),
        CASE(test_what_a_change_waits_for_is_known_in_the_states_that_have_both),
        CASE(test_nothing_is_due_where_the_mode_is_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
