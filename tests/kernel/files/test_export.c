#include "kernel/base/clock.h"
#include "kernel/files/export.h"
#include "tests/kernel/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct export export;
static int64_t kept_since_us; /* of the copies that follow */

/* By a descriptor of the tree. */
static void init(struct export *to, const char *name) {
    int fd = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    export_init(to, fd, tree, name);
    close(fd);
}

static int start(void **state) {
    if (tree_make(state) < 0 || chdir(tree) < 0)
        return -1;
    init(&export, "outputs");
    return 0;
}

static int stop(void **state) {
    kept_since_us = 0;
    export_fini(&export);
    return chdir("/") < 0 ? -1 : tree_remove(state);
}

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect_text(const char *path, const char *expected) {
    char text[64] = "";
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    (void)fclose(file);
    assert_string_equal(text, expected);
}

/* Copies text to path; the path that it got goes to ret_path. */
static int copy_to(struct export *to, const char *path, const char *text, char ret_path[PATH_MAX]) {
    struct export_file file;
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    assert_int_equal(export_open(to), 0);
    assert_int_equal(export_begin(to, &file), 0);
    assert_int_equal(write(file.fd, text, strlen(text)), strlen(text));
    /* Each slice is over at once. */
    const struct export_place place = {.path = path, .sha256 = hex, .kept_since_us = kept_since_us};
    int r;
    to->compare_bytes = 1 << 20;
    for (int slices = 0; (r = export_place(to, &file, &place, ret_path)) == -EINPROGRESS; slices++)
        assert_true(slices < 1000);
    export_close(to);
    return r;
}

static void expect_copied(const char *path, const char *text, const char *expected) {
    char got[PATH_MAX], whole[PATH_MAX + 16];
    assert_int_equal(copy_to(&export, path, text, got), 0);
    assert_string_equal(got, expected);
    snprintf(whole, sizeof whole, "outputs/%s", expected);
    expect_text(whole, text);
}

static char told[256]; /* what the session was told of, in order, and what was there by then */

/* In the place of the sandbox's: "PATH=TEXT " of a file, "PATH " of nothing. */
int __wrap_session_keep_output(struct session *session, const char *path);
int __wrap_session_keep_output(struct session *session, const char *path) {
    char text[64] = "";
    assert_ptr_equal(session, export.session);
    FILE *file = fopen(path, "re");
    const size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    snprintf(told + strlen(told), sizeof told - strlen(told), "%s%s%.*s ", path, file ? "=" : "", (int)n, text);
    if (file)
        assert_int_equal(fclose(file), 0);
    return strstr(path, "refused") ? -EDQUOT : 0;
}

static void expect_told(const char *path, const char *text, const char *copied_to, const char *expected) {
    told[0] = 0;
    expect_copied(path, text, copied_to);
    assert_string_equal(told, expected);
}

static void test_export_tells_the_session_before_anything_appears_or_is_replaced(void **state) {
    char got[PATH_MAX];
    int any;
    (void)state;
    export.session = (struct session *)&any;
    expect_told("a/b/c.txt", "one", "a/b/c.txt", "outputs/a outputs/a/b outputs/a/b/c.txt ");
    expect_told("a/b/c.txt", "one", "a/b/c.txt", "");
    expect_told("a/b/c.txt", "two", "a/b/c.txt", "outputs/a/b/c.txt=one ");
    put("outputs/mine.txt", "mine");
    expect_told("mine.txt", "one", "mine (2).txt", "outputs/mine (2).txt ");
    assert_int_equal(copy_to(&export, "refused.txt", "one", got), -EDQUOT);
    assert_int_equal(copy_to(&export, "refused/c.txt", "one", got), -EDQUOT);
    assert_int_equal(access("outputs/refused.txt", F_OK), -1);
    assert_int_equal(access("outputs/refused", F_OK), -1);
    assert_int_equal(access("outputs/.petri-copy-1", F_OK), -1);
    export.session = NULL;
    expect_told("other.txt", "one", "other.txt", "");
}

static void test_export_replaces_files_that_petri_wrote(void **state) {
    struct export other;
    char got[PATH_MAX];
    (void)state;
    expect_copied("plot.png", "one", "plot.png");
    expect_copied("sub/deep/plot.png", "two", "sub/deep/plot.png");
    expect_copied("plot.png", "three", "plot.png");
    init(&other, "outputs"); /* another kernel, later */
    assert_int_equal(copy_to(&other, "plot.png", "four", got), 0);
    assert_string_equal(got, "plot.png");
    export_fini(&other);
    expect_copied("plot.png", "five", "plot.png");
}

static void test_export_does_not_rewrite_an_unchanged_file(void **state) {
    struct stat before, after, log_before, log_after;
    (void)state;
    expect_copied("same.png", "one", "same.png");
    assert_int_equal(stat("outputs/same.png", &before), 0);
    assert_int_equal(stat("outputs/.petri-sha256", &log_before), 0);
    expect_copied("same.png", "one", "same.png");
    assert_int_equal(stat("outputs/same.png", &after), 0);
    assert_int_equal(stat("outputs/.petri-sha256", &log_after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(log_after.st_size, log_before.st_size);
    expect_copied("same.png", "two", "same.png");
}

static void test_export_does_not_overwrite_other_files(void **state) {
    (void)state;
    assert_int_equal(mkdir("outputs", 0755), 0);
    put("outputs/plot.png", "mine");
    expect_copied("plot.png", "one", "plot (2).png");
    expect_copied("plot.png", "two", "plot (2).png");
    put("outputs/plot (2).png", "edited");
    expect_copied("plot.png", "three", "plot (3).png");
    expect_text("outputs/plot.png", "mine");
    expect_text("outputs/plot (2).png", "edited");
    assert_int_equal(symlink("/etc/passwd", "outputs/Makefile"), 0);
    expect_copied("Makefile", "four", "Makefile (2)");
    assert_int_equal(mkdir("outputs/.hidden", 0755), 0);
    expect_copied(".hidden", "five", ".hidden (2)");
    expect_copied("b.tar.gz", "six", "b.tar.gz");
    assert_int_equal(link("outputs/b.tar.gz", "outputs/linked"), 0);
    expect_copied("b.tar.gz", "seven", "b.tar (2).gz");
}

static void test_export_beside_others_replaces_only_copies_from_before_it_was_asked_for(void **state) {
    (void)state;
    expect_copied("plot.png", "old", "plot.png");
    kept_since_us = clock_us() + 1;
    expect_copied("plot.png", "one", "plot.png");
    expect_copied("other.png", "one", "other.png");
    kept_since_us = 1;
    expect_copied("plot.png", "two", "plot (2).png");
    expect_copied("plot.png", "three", "plot (3).png");
    expect_copied("plot.png", "two", "plot (2).png");
    expect_text("outputs/plot.png", "one");
    kept_since_us = clock_us() + 1;
    expect_copied("plot.png", "four", "plot.png");
    kept_since_us = 1;
    assert_int_equal(unlink("outputs/plot.png"), 0);
    expect_copied("plot.png", "five", "plot.png");
    kept_since_us = 0;
    expect_copied("plot.png", "six", "plot.png");
}

static void test_export_does_not_follow_links(void **state) {
    char got[PATH_MAX];
    (void)state;
    assert_int_equal(mkdir("outputs", 0755), 0);
    assert_int_equal(mkdir("elsewhere", 0755), 0);
    assert_int_equal(symlink("../elsewhere", "outputs/sub"), 0);
    assert_int_equal(copy_to(&export, "sub/a", "x", got), -ELOOP);
    put("outputs/file", "x");
    assert_int_equal(copy_to(&export, "file/a", "x", got), -ENOTDIR);
    assert_int_equal(rename("outputs", "moved"), 0);
    assert_int_equal(symlink("elsewhere", "outputs"), 0);
    assert_int_equal(export_open(&export), -ELOOP);
    assert_int_equal(rmdir("elsewhere"), 0); /* it is empty */
}

static void test_export_locked_by_another_kernel_is_refused(void **state) {
    struct export other;
    (void)state;
    export_init_at(&other, tree);
    assert_int_equal(export_open(&other), 0);
    export_fini(&other);
    init(&other, "outputs");
    assert_int_equal(export_open(&export), 0);
    assert_int_equal(export_open(&other), -EAGAIN);
    export_close(&export);
    assert_int_equal(export_open(&other), 0);
    export_fini(&other);
}

static void test_export_that_is_open_is_not_opened_twice(void **state) {
    struct export other;
    (void)state;
    init(&other, "outputs");
    assert_int_equal(export_open(&export), 0);
    assert_int_equal(export_open(&export), -EAGAIN);
    assert_int_equal(export_open(&other), -EAGAIN); /* the lock is held as before */
    export_close(&export);
    assert_int_equal(export_open(&other), 0);
    export_fini(&other);
}

static void test_export_removes_partial_files_of_a_killed_kernel(void **state) {
    struct export_file file;
    char path[128];
    (void)state;
    assert_int_equal(export_open(&export), 0);
    assert_int_equal(export_begin(&export, &file), 0);
    snprintf(path, sizeof path, "outputs/%s", file.name);
    assert_int_equal(access(path, F_OK), 0);
    close(file.fd);
    export_close(&export);
    assert_int_equal(export_open(&export), 0);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_export_with_a_damaged_log_overwrites_nothing(void **state) {
    (void)state;
    expect_copied("a", "one", "a");
    put("outputs/.petri-sha256",
        "nonsense\n\n  \nabc  a\n7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff4");
    export_fini(&export);
    init(&export, "outputs");
    expect_copied("a", "two", "a (2)");
    expect_copied("a", "three", "a (2)");
}

/* As so many cells leave it: with one name more in each. */
static void copy_long_names(unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        char name[200];
        snprintf(name, sizeof name, "%0150u.txt", i);
        expect_copied(name, "text", name);
    }
}

static off_t log_bytes(void) {
    struct stat st;
    assert_int_equal(lstat("outputs/.petri-sha256", &st), 0);
    assert_true(S_ISREG(st.st_mode));
    return st.st_size;
}

static void start_anew(off_t max_bytes) {
    export_fini(&export);
    init(&export, "outputs");
    export_log_init(&export.log, max_bytes);
}

static void test_export_with_more_files_than_its_log_holds_forgets_the_oldest(void **state) {
    char name[200];
    (void)state;
    start_anew(8192);
    copy_long_names(100);
    assert_in_range(log_bytes(), 1, 8192);
    start_anew(8192); /* another kernel, later */
    snprintf(name, sizeof name, "%0150u.txt", 99);
    expect_copied(name, "other", name);
    snprintf(name, sizeof name, "%0150u.txt", 0);
    char oldest[220];
    snprintf(oldest, sizeof oldest, "%0150u (2).txt", 0);
    expect_copied(name, "other", oldest); /* nobody knows any more whose it is */
}

static void test_export_keeps_no_more_of_where_it_has_copied_than_its_log(void **state) {
    (void)state;
    start_anew(8192);
    for (int i = 0; i < 100; i++)
        expect_copied("again", i % 2 ? "one" : "other", "again");
    assert_int_equal(export.placed_bytes, strlen("again"));
    copy_long_names(100);
    const char *path;
    json_t *when;
    off_t bytes = 0;
    json_object_foreach(export.placed, path, when) {
        bytes += (off_t)strlen(path);
    }
    assert_in_range(bytes, 1, 8192);
    assert_int_equal(bytes, export.placed_bytes);
}

static void test_export_log_of_deleted_or_rewritten_files_stays_small(void **state) {
    (void)state;
    start_anew(8192);
    expect_copied("kept", "first", "kept");
    for (int i = 0; i < 300; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        expect_copied("again", text, "again");
        expect_copied("gone", text, "gone");
        assert_int_equal(unlink("outputs/gone"), 0);
        assert_in_range(log_bytes(), 1, 4096);
    }
    expect_copied("kept", "last", "kept");
}

/* What an earlier version refused to read for good. */
static void test_export_with_a_log_over_its_size_rewrites_a_small_log(void **state) {
    (void)state;
    expect_copied("a", "one", "a");
    assert_int_equal(truncate("outputs/.petri-sha256", (off_t)1 << 40), 0);
    start_anew(EXPORT_LOG_BYTES_MAX);
    expect_copied("a", "two", "a (2)");
    assert_in_range(log_bytes(), 1, 200);
    expect_copied("a", "three", "a (2)");
}

static void plant_link(const char *path) {
    assert_int_equal(symlink("../target", path), 0);
}

static void plant_second_name(const char *path) {
    assert_int_equal(link("target", path), 0);
}

static void plant_fifo(const char *path) {
    assert_int_equal(mkfifo(path, 0666), 0);
}

static void plant_anothers(const char *path) {
    put(path, "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed  a\n");
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(path, 12345, 12345), 0);
}

static void test_export_with_an_untrusted_log_makes_a_new_one(void **state) {
    void (*const plant[])(const char *path) = {plant_link, plant_second_name, plant_fifo, plant_anothers};
    (void)state;
    put("target", "kept");
    for (size_t i = 0; i < sizeof plant / sizeof plant[0]; i++) {
        start_anew(EXPORT_LOG_BYTES_MAX);
        assert_int_equal(mkdir("outputs", 0755), 0);
        put("outputs/a", "one");
        plant[i]("outputs/.petri-sha256");
        expect_copied("a", "two", "a (2)");
        expect_copied("a", "three", "a (2)");
        expect_text("target", "kept");
        assert_int_equal(log_bytes(), 2 * (64 + 2 + strlen("a (2)") + 1));
        assert_int_equal(unlink("outputs/a"), 0);
        assert_int_equal(unlink("outputs/a (2)"), 0);
        assert_int_equal(unlink("outputs/.petri-sha256"), 0);
        assert_int_equal(rmdir("outputs"), 0);
    }
}

static void test_export_does_not_read_an_existing_file_over_its_bound(void **state) {
    (void)state;
    expect_copied("a", "one", "a");
    assert_int_equal(truncate("outputs/a", (off_t)1 << 40), 0);
    expect_copied("a", "two", "a (2)");
}

/* A megabyte of a character goes to a name; how often that took another slice. */
static int copy_large(char character) {
    enum { BYTES = 1 << 20 };
    struct export_file file;
    unsigned char hash[crypto_hash_sha256_BYTES], *data = malloc(BYTES);
    char hex[2 * sizeof hash + 1], got[PATH_MAX];
    assert_non_null(data);
    memset(data, character, BYTES);
    crypto_hash_sha256(hash, data, BYTES);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    assert_int_equal(export_open(&export), 0);
    assert_int_equal(export_begin(&export, &file), 0);
    assert_int_equal(write(file.fd, data, BYTES), BYTES);
    free(data);
    const struct export_place place = {.path = "large", .sha256 = hex};
    export.compare_bytes = BYTES;
    int slices = 0, r;
    while ((r = export_place(&export, &file, &place, got)) == -EINPROGRESS)
        slices++;
    assert_int_equal(r, 0);
    assert_string_equal(got, "large");
    export_close(&export);
    return slices;
}

static void test_export_reads_an_existing_file_in_slices(void **state) {
    (void)state;
    assert_int_equal(copy_large('a'), 0);
    assert_true(copy_large('b') > 4);
    assert_true(copy_large('b') > 4);
}

static void test_export_without_a_folder_is_off(void **state) {
    struct export none;
    (void)state;
    init(&none, "");
    assert_true(none.off);
    assert_int_equal(export_open(&none), -ENOENT);
    export_init_at(&none, "");
    assert_true(none.off);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_export_tells_the_session_before_anything_appears_or_is_replaced),
        CASE(test_export_replaces_files_that_petri_wrote),
        CASE(test_export_does_not_rewrite_an_unchanged_file),
        CASE(test_export_does_not_overwrite_other_files),
        CASE(test_export_beside_others_replaces_only_copies_from_before_it_was_asked_for),
        CASE(test_export_does_not_follow_links),
        CASE(test_export_locked_by_another_kernel_is_refused),
        CASE(test_export_that_is_open_is_not_opened_twice),
        CASE(test_export_removes_partial_files_of_a_killed_kernel),
        CASE(test_export_with_a_damaged_log_overwrites_nothing),
        CASE(test_export_with_more_files_than_its_log_holds_forgets_the_oldest),
        CASE(test_export_keeps_no_more_of_where_it_has_copied_than_its_log),
        CASE(test_export_log_of_deleted_or_rewritten_files_stays_small),
        CASE(test_export_with_a_log_over_its_size_rewrites_a_small_log),
        CASE(test_export_with_an_untrusted_log_makes_a_new_one),
        CASE(test_export_does_not_read_an_existing_file_over_its_bound),
        CASE(test_export_reads_an_existing_file_in_slices),
        CASE(test_export_without_a_folder_is_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
