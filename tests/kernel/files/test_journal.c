#include "kernel/files/journal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_journal_is_read_as_it_was_written(void **state) {
    struct journal journal = {0}, read;
    struct journal_change *change;
    const struct stat before = {.st_ino = 7, .st_size = 3, .st_mtim = {1, 2}, .st_mode = S_IFREG | 0644};
    const struct stat staged = {.st_ino = UINT64_MAX, .st_size = 5, .st_mode = S_IFREG | 0600};
    char *text;
    size_t bytes;
    (void)state;
    assert_int_equal(journal_add(&journal, JOURNAL_MAKE_FOLDER, "data", &change), 0);
    strcpy(change->stage, "file-11");
    change->staged = journal_version_of(&staged);
    assert_int_equal(journal_add(&journal, JOURNAL_PUT, "data/\xc3\xa4 b.csv", &change), 0);
    strcpy(change->stage, "file-12");
    change->staged = journal_version_of(&staged);
    change->before = journal_version_of(&before);
    assert_int_equal(journal_write(&journal, &text, &bytes), 0);
    assert_int_equal(journal_read(text, bytes, &read), 0);
    assert_int_equal(read.n, 2);
    assert_int_equal(read.change[0].kind, JOURNAL_MAKE_FOLDER);
    assert_false(read.change[0].before.there);
    assert_string_equal(read.change[1].path, "data/\xc3\xa4 b.csv");
    assert_string_equal(read.change[1].stage, "file-12");
    assert_true(journal_is(&read.change[1].staged, &staged)); /* numbers of inodes have 64 bits */
    assert_true(journal_is(&read.change[1].before, &before));
    free(text);
    journal_fini(&journal);
    journal_fini(&read);
}

static void test_journal_is_compares_every_field(void **state) {
    const struct stat st = {.st_ino = 7, .st_size = 3, .st_mtim = {1, 2}, .st_mode = S_IFREG | 0644};
    const struct journal_version before = journal_version_of(&st), none = journal_version_of(NULL);
    struct stat other = st;
    (void)state;
    assert_true(journal_is(&before, &st));
    assert_false(journal_is(&none, &st));
    other.st_ino++;
    assert_false(journal_is(&before, &other));
    other = st;
    other.st_size++;
    assert_false(journal_is(&before, &other));
    other = st;
    other.st_mtim.tv_nsec++;
    assert_false(journal_is(&before, &other));
    other = st;
    other.st_mode = S_IFLNK | 0644;
    assert_false(journal_is(&before, &other));
}

#define ROW(kind, path, stage, staged, before)                                                                         \
    "{\"version\": 2, \"changes\": [[\"" kind "\", \"" path "\", \"" stage "\", " staged ", " before "]]}"

#define VERSION "[1, 2, 3, 4]"

/* What somebody has put there who may write to the folder: nothing of it is done. */
static void test_journal_that_petri_did_not_write_is_refused(void **state) {
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{\"version\": 1, \"changes\": []}",
        "{\"version\": 2}",
        "{\"version\": 2, \"changes\": [], \"more\": 1}",
        "{\"version\": 2, \"changes\": [[]]}",
        ROW("put", "../a", "file-1", VERSION, "null"),
        ROW("put", "/etc/passwd", "file-1", VERSION, "null"),
        ROW("put", "a/../../b", "file-1", VERSION, "null"),
        ROW("put", "a\\u0000b", "file-1", VERSION, "null"),
        ROW("put", ".petri/journal", "file-1", VERSION, "null"),
        ROW("put", "a", "../file-1", VERSION, "null"),
        ROW("put", "a", "file-", VERSION, "null"),
        ROW("put", "a", "file-1x", VERSION, "null"),
        ROW("put", "a", "file-1111111111111111111111", VERSION, "null"),
        ROW("put", "a", "", VERSION, "null"),
        ROW("put", "a", "file-1", "1", "null"),
        ROW("put", "a", "file-1", "null", "null"),
        ROW("remove", "a", "file-1", VERSION, VERSION),
        ROW("put", "a", "file-1", "[1, 2, 3, \"4\"]", "null"),
        ROW("put", "a", "file-1", VERSION, "[1, 2, 3]"),
        ROW("put", "a", "file-1", VERSION, "[1, 2, 3, -4]"),
        ROW("make_folder", "a", "", VERSION, "null"),
        ROW("remove_folder", "a", "file-1", VERSION, "null"),
        ROW("run", "a", "file-1", VERSION, "null"),
    };
    struct journal journal;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(journal_read(texts[i], strlen(texts[i]), &journal), -EBADMSG);
    static const char good[] = ROW("put", "a", "file-1", VERSION, "null");
    assert_int_equal(journal_read(good, strlen(good), &journal), 0);
    journal_fini(&journal);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_journal_is_read_as_it_was_written),
        cmocka_unit_test(test_journal_is_compares_every_field),
        cmocka_unit_test(test_journal_that_petri_did_not_write_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
