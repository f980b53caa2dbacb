/* Texts of /proc are read as Linux writes them, whatever code of a cell has called its tasks and files. */
#include "sandbox/process/procfs.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define TEXT(literal) ((struct procfs_text){literal, sizeof(literal) - 1})
#define BEHIND " 1 2 3 4 -1 4194304 5 6 7 8 11 12 13 14 20 0 3 0 99 1000 2000\n"
#define WORDS "36 35 98:0 / "

static struct procfs_text text_of(const char *string) {
    return (struct procfs_text){string, strlen(string)};
}

static void test_stat_with_any_name_is_read_behind_the_name(void **state) {
    static const char *const names[] = {"python3", ") R 1", "a\nb", ") Z 1 2 3 4\n9 (x", "(((", ")))", ""};
    char text[512];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct procfs_stat stat;
        (void)snprintf(text, sizeof text, "77 (%s) S" BEHIND, names[i]);
        assert_true(procfs_parse_stat(text_of(text), &stat));
        assert_int_equal(stat.state, 'S');
        assert_int_equal(stat.faults, 5);
        assert_int_equal(stat.child_faults, 6);
        assert_int_equal(stat.user_ticks, 11);
        assert_int_equal(stat.system_ticks, 12);
        assert_int_equal(stat.children_user_ticks, 13);
        assert_int_equal(stat.children_system_ticks, 14);
        assert_int_equal(stat.threads, 3);
    }
}

static void test_stat_that_is_cut_or_out_of_range_is_not_understood(void **state) {
    const struct procfs_text whole = TEXT("77 (python3) S" BEHIND);
    struct procfs_stat stat;
    (void)state;
    for (size_t n = 0; n < whole.n; n++)
        assert_false(procfs_parse_stat((struct procfs_text){whole.at, n}, &stat));
    assert_false(procfs_parse_stat(TEXT("x (a) S" BEHIND), &stat));
    assert_false(procfs_parse_stat(TEXT("77 (a) SS" BEHIND), &stat));
    assert_false(procfs_parse_stat(TEXT("77 (a)\0S" BEHIND), &stat));
    assert_false(procfs_parse_stat(TEXT("77 (a) S 1 2 3 4 5 6 7 8 9 10 18446744073709551616 1 1 1 1 1 1\n"), &stat));
    assert_false(procfs_parse_stat(TEXT("77 (a) S 1 2 3 4 5 6 7 8 9 10 -1 1 1 1 1 1 1\n"), &stat));
    assert_false(procfs_parse_stat(TEXT("77 (a) S" BEHIND "more\n"), &stat));
}

static void test_own_stat_is_understood(void **state) {
    char text[2048];
    struct procfs_stat stat;
    (void)state;
    FILE *file = fopen("/proc/self/stat", "re");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text, file);
    (void)fclose(file);
    assert_true(procfs_parse_stat((struct procfs_text){text, n}, &stat));
    assert_int_equal(stat.state, 'R');
    assert_int_equal(stat.threads, 1);
}

static const struct {
    const char *line;
    struct procfs_mapping mapping;
    const char *name;
} mappings[] = {
    {"7f0000001000-7f0000003000 rw-s 00001000 00:01 2073702                    /dev/zero (deleted)",
     {0x7f0000001000, 0x7f0000003000, 0x1000, 2073702, 0x0001, PROT_READ | PROT_WRITE, true, {0}},
     "/dev/zero (deleted)"},
    {"55d0c0000000-55d0c0001000 r-xp 00000000 fe:1a 12   /a file\\012of two lines",
     {0x55d0c0000000, 0x55d0c0001000, 0, 12, 0xfe1a, PROT_READ | PROT_EXEC, false, {0}},
     "/a file\\012of two lines"},
    {"00400000-00401000 ---p 00000000 00:00 0 ", {0x400000, 0x401000, 0, 0, 0, PROT_NONE, false, {0}}, ""},
    {"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
     {0xffffffffff600000, 0xffffffffff601000, 0, 0, 0, PROT_EXEC, false, {0}},
     "[vsyscall]"},
};

static void test_mapping_is_read_whole(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mappings / sizeof mappings[0]; i++) {
        const struct procfs_mapping *due = &mappings[i].mapping;
        struct procfs_mapping got;
        assert_true(procfs_parse_mapping(text_of(mappings[i].line), &got));
        assert_true(got.start == due->start && got.end == due->end && got.offset == due->offset);
        assert_true(got.inode == due->inode && got.device == due->device);
        assert_true(got.protection == due->protection && got.shared == due->shared);
        assert_int_equal(got.name.n, strlen(mappings[i].name));
        assert_memory_equal(got.name.at, mappings[i].name, got.name.n);
    }
}

static void test_mapping_that_can_not_be_is_not_understood(void **state) {
    static const char *const lines[] = {
        "",
        "VmFlags: rd wr mr mw me ac",
        "00401000-00401000 rw-p 00000000 00:00 0",
        "00402000-00401000 rw-p 00000000 00:00 0",
        "00401001-00402000 rw-p 00000000 00:00 0",
        "00401000-00402001 rw-p 00000000 00:00 0",
        "00401000-00402000 rw-p 00000001 00:00 0",
        "00401000-00402000 rw-p fffffffffffff000 00:00 0",
        "10000000000000000-10000000000001000 rw-p 00000000 00:00 0",
        "00401000-00402000 rwxq 00000000 00:00 0",
        "00401000-00402000 wr-p 00000000 00:00 0",
        "00401000-00402000 rw-p 00000000 00:00 0x",
        "00401000-00402000 rw-p 00000000 00:00 -1",
        "00401000-00402000 rw-p 00000000 00:00",
        "00401000-00402000 rw-p 00000000 0000 0",
        "00401000-00402000 rw-p",
        "00401000 -00402000 rw-p 00000000 00:00 0",
        " 00401000-00402000 rw-p 00000000 00:00 0",
    };
    struct procfs_mapping mapping;
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_false(procfs_parse_mapping(text_of(lines[i]), &mapping));
    assert_false(procfs_parse_mapping(TEXT("00401000-00402000 rw-p\00000000000 00:00 0"), &mapping));
}

static void test_own_maps_are_understood(void **state) {
    static char text[1 << 20];
    struct procfs_text rest = {text, 0}, line;
    struct procfs_mapping mapping;
    uint64_t end = 0;
    int n = 0;
    (void)state;
    FILE *file = fopen("/proc/self/maps", "re");
    assert_non_null(file);
    rest.n = fread(text, 1, sizeof text, file);
    (void)fclose(file);
    for (; procfs_next_line(&rest, &line); n++) {
        assert_true(procfs_parse_mapping(line, &mapping));
        assert_true(mapping.start >= end);
        end = mapping.end;
    }
    assert_true(n > 10 && rest.n == 0);
}

static void test_deleted_file_is_told_by_the_end_of_its_name(void **state) {
    (void)state;
    assert_true(procfs_is_deleted(TEXT("/tmp/a (deleted)")));
    assert_false(procfs_is_deleted(TEXT("/tmp/a (deleted)/b")));
    assert_false(procfs_is_deleted(TEXT("(deleted)")));
}

#define STATUS "Name:\tx\\nVmPTE:\t9 kB\nUmask:\t0022\nNSpid:\t31\t2\nVmPTE:\t     116 kB\nThreads:\t3\nRssAnon:\t9 kB"

static void test_lines_are_found_by_the_name_at_their_beginning(void **state) {
    struct procfs_text text = TEXT(STATUS), value;
    uint64_t number = 1;
    pid_t id;
    (void)state;
    assert_true(procfs_find_bytes(text, "VmPTE", &number));
    assert_int_equal(number, 116 * 1024);
    assert_true(procfs_find_number(text, "Umask", 8, &number));
    assert_int_equal(number, 022);
    assert_true(procfs_find_number(text, "Threads", 10, &number));
    assert_int_equal(number, 3);
    assert_true(procfs_find_last_id(text, "NSpid", &id));
    assert_int_equal(id, 2);
    assert_true(procfs_find_inner_id(text, "NSpid", &id));
    assert_int_equal(id, 2);
    assert_false(procfs_find_number(text, "RssAnon", 10, &number)); /* has no newline: it may go on */
    assert_false(procfs_find(text, "Vm", &value));
    assert_false(procfs_find(text, "mask", &value));
    assert_false(procfs_find(text, "", &value));
}

static void test_values_that_are_no_numbers_or_too_large_are_not_there(void **state) {
    static const struct {
        const char *text;
        unsigned base;
    } rows[] = {{"a:\t\n", 10},
                {"a: x\n", 10},
                {"a: 12x\n", 10},
                {"a: -1\n", 10},
                {"a: +1\n", 10},
                {"a: 08\n", 8},
                {"a: 0x8\n", 16},
                {"a: 18446744073709551616\n", 10},
                {"a: 1", 10},
                {"a 1\n", 10},
                {" a: 1\n", 10},
                {"a: 10000000000000000\n", 16},
                {"a: 99999999999999999999999999999999\n", 10}};
    uint64_t number = 7;
    int64_t other = 7;
    pid_t id = 7;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_false(procfs_find_number(text_of(rows[i].text), "a", rows[i].base, &number));
    assert_false(procfs_find_number(TEXT("a: 1\0002\n"), "a", 10, &number));
    assert_false(procfs_find_bytes(TEXT("a: 1\n"), "a", &number));
    assert_false(procfs_find_bytes(TEXT("a: 1 kBs\n"), "a", &number));
    assert_false(procfs_find_bytes(TEXT("a: 18014398509481984 kB\n"), "a", &number));
    assert_false(procfs_find_signed(TEXT("a: 9223372036854775808\n"), "a", &other));
    assert_false(procfs_find_signed(TEXT("a: - 1\n"), "a", &other));
    assert_false(procfs_find_last_id(TEXT("a: 1 x\n"), "a", &id));
    assert_false(procfs_find_last_id(TEXT("a: 1 0\n"), "a", &id));
    assert_false(procfs_find_last_id(TEXT("a: 2147483648\n"), "a", &id));
    assert_false(procfs_find_last_id(TEXT("a:\n"), "a", &id));
    assert_false(procfs_find_inner_id(TEXT("a:\t1\n"), "a", &id));
    assert_true(number == 7 && other == 7 && id == 7);
    assert_true(procfs_find_signed(TEXT("a: -3\n"), "a", &other));
    assert_true(other == -3);
}

static void test_times_have_seconds_and_their_part(void **state) {
    int64_t s = 7, ns = 7;
    (void)state;
    assert_false(procfs_find_time(TEXT("a: (1, 1000000000)\n"), "a", &s, &ns));
    assert_false(procfs_find_time(TEXT("a: (9223372036854775808, 0)\n"), "a", &s, &ns));
    assert_false(procfs_find_time(TEXT("a: (-1, 0)\n"), "a", &s, &ns));
    assert_false(procfs_find_time(TEXT("a: (1, 0\n"), "a", &s, &ns));
    assert_false(procfs_find_time(TEXT("a: (1)\n"), "a", &s, &ns));
    assert_true(s == 7 && ns == 7);
    assert_true(procfs_find_time(TEXT("a: (1, 999999999)\n"), "a", &s, &ns));
    assert_true(s == 1 && ns == 999999999);
}

static void test_numbers_of_a_line_are_counted(void **state) {
    uint64_t number;
    (void)state;
    assert_true(procfs_get_number(TEXT("10 20 30\n"), 2, &number));
    assert_int_equal(number, 30);
    assert_false(procfs_get_number(TEXT("10 20 30\n"), 3, &number));
    assert_false(procfs_get_number(TEXT("10 x 30\n"), 2, &number));
    assert_false(procfs_get_number(TEXT("10 20 30"), 0, &number));
}

static void test_words_are_whole(void **state) {
    (void)state;
    assert_true(procfs_has_word(TEXT("rd mr mw me"), "mw"));
    assert_true(procfs_has_word(TEXT("rd mw"), "mw"));
    assert_false(procfs_has_word(TEXT("rd mwx xmw"), "mw"));
    assert_false(procfs_has_word(TEXT(""), "mw"));
}

static void test_entries_that_are_no_ids_say_nothing(void **state) {
    static const char *const names[] = {"",   ".",          "..", "x",  "1x",
                                        "-1", "2147483648", " 1", "1 ", "99999999999999999999"};
    int id = 7;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_false(procfs_parse_id(names[i], &id));
    assert_int_equal(id, 7);
    assert_true(procfs_parse_id("2147483647", &id));
    assert_int_equal(id, INT_MAX);
}

#define WATCH "tfd:        5 events:       19 data:     7f00deadbeef  pos:0 ino:1f sdev:e"

static void test_watch_of_an_epoll_is_read_or_refused(void **state) {
    struct procfs_watch watch;
    (void)state;
    assert_true(procfs_is_watch(TEXT(WATCH)) && procfs_parse_watch(TEXT(WATCH), &watch));
    assert_true(watch.fd == 5 && watch.events == 0x19 && watch.data == 0x7f00deadbeef && watch.inode == 0x1f);
    assert_false(procfs_is_watch(TEXT("pos:\t0")));
    assert_false(procfs_parse_watch(TEXT("tfd: 2147483648 events: 1 data: 1 pos:0 ino:1"), &watch));
    assert_false(procfs_parse_watch(TEXT("tfd: 1 events: 100000000 data: 1 pos:0 ino:1"), &watch));
    assert_false(procfs_parse_watch(TEXT("tfd: 1 events: 1 data: 1 pos:0"), &watch));
    assert_false(procfs_parse_watch(TEXT("tfd: -1 events: 1 data: 1 pos:0 ino:1"), &watch));
}

static void test_mount_points_lose_their_escapes(void **state) {
    char path[16];
    (void)state;
    assert_true(procfs_parse_mount_point(TEXT(WORDS "/a\\040\\134\\012 rw - ext4"), path, sizeof path));
    assert_string_equal(path, "/a \\\n");
    assert_true(procfs_parse_mount_point(TEXT(WORDS "/\\377"), path, sizeof path));
    assert_string_equal(path, "/\377");
    assert_true(procfs_parse_mount_point(TEXT(WORDS "/4567890123456 rw"), path, sizeof path));
    assert_false(procfs_parse_mount_point(TEXT(WORDS "/456789012345678 rw"), path, sizeof path));
    assert_false(procfs_parse_mount_point(TEXT(WORDS "/a\\0 rw"), path, sizeof path));
    assert_false(procfs_parse_mount_point(TEXT(WORDS "/a\\08"), path, sizeof path));
    assert_false(procfs_parse_mount_point(TEXT(WORDS "/a\\000 rw"), path, sizeof path));
    assert_false(procfs_parse_mount_point(TEXT(WORDS "/a\\400 rw"), path, sizeof path));
    assert_false(procfs_parse_mount_point(TEXT(WORDS "/a\\"), path, sizeof path));
    assert_false(procfs_parse_mount_point(TEXT(WORDS "a rw"), path, sizeof path));
    assert_false(procfs_parse_mount_point(TEXT("36 35 98:0 /"), path, sizeof path));
    assert_string_equal(path, "/4567890123456");
}

static void test_ids_in_pieces_are_those_of_the_whole(void **state) {
    static const char text[] = "12 0 345 2147483647 6 ";
    (void)state;
    for (size_t cut = 0; cut < sizeof text; cut++) {
        struct procfs_ids reader = {0};
        pid_t ids[8];
        size_t n = 0;
        assert_true(procfs_read_ids(&reader, (struct procfs_text){text, cut}, ids, 8, &n));
        assert_true(procfs_read_ids(&reader, (struct procfs_text){text + cut, sizeof text - 1 - cut}, ids, 8, &n));
        assert_int_equal(n, 4);
        assert_true(ids[0] == 12 && ids[1] == 345 && ids[2] == INT_MAX && ids[3] == 6);
    }
}

static void test_ids_that_are_too_many_or_too_large_do_no_harm(void **state) {
    struct procfs_ids reader = {0};
    pid_t ids[2];
    size_t n = 0;
    (void)state;
    assert_true(procfs_read_ids(&reader, TEXT("1 2 3 4 5"), ids, 2, &n));
    assert_true(n == 2 && ids[0] == 1 && ids[1] == 2 && reader.inside);
    reader = (struct procfs_ids){0};
    assert_false(procfs_read_ids(&reader, TEXT("2147483648 "), ids, 2, &n));
    reader = (struct procfs_ids){0};
    assert_false(procfs_read_ids(&reader, TEXT("-1 "), ids, 2, &n));
    reader = (struct procfs_ids){0};
    assert_false(procfs_read_ids(&reader, TEXT("1\0002 "), ids, 2, &n));
}

static void test_lines_without_a_newline_are_not_whole(void **state) {
    struct procfs_text text = TEXT("a\n\nb\0c\nd"), line;
    (void)state;
    assert_true(procfs_next_line(&text, &line) && line.n == 1 && line.at[0] == 'a');
    assert_true(procfs_next_line(&text, &line) && line.n == 0);
    assert_true(procfs_next_line(&text, &line) && line.n == 3);
    assert_false(procfs_next_line(&text, &line));
    assert_int_equal(text.n, 1);
}

static void test_pages_are_told_by_their_bits(void **state) {
    const uint64_t present = 1ULL << 63, swapped = 1ULL << 62, of_file = 1ULL << 61, exclusive = 1ULL << 56;
    (void)state;
    assert_true(procfs_page_is_private(present) && procfs_page_is_private(swapped));
    assert_false(procfs_page_is_private(0) || procfs_page_is_private(present | of_file) ||
                 procfs_page_is_private(of_file) || procfs_page_is_private(swapped | of_file));
    assert_true(procfs_page_is_present(present) && !procfs_page_is_present(swapped | exclusive));
    assert_true(procfs_page_is_exclusive(present | exclusive | 1));
    assert_false(procfs_page_is_exclusive(present) || procfs_page_is_exclusive(exclusive));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat_with_any_name_is_read_behind_the_name),
        cmocka_unit_test(test_stat_that_is_cut_or_out_of_range_is_not_understood),
        cmocka_unit_test(test_own_stat_is_understood),
        cmocka_unit_test(test_mapping_is_read_whole),
        cmocka_unit_test(test_mapping_that_can_not_be_is_not_understood),
        cmocka_unit_test(test_own_maps_are_understood),
        cmocka_unit_test(test_deleted_file_is_told_by_the_end_of_its_name),
        cmocka_unit_test(test_lines_are_found_by_the_name_at_their_beginning),
        cmocka_unit_test(test_values_that_are_no_numbers_or_too_large_are_not_there),
        cmocka_unit_test(test_times_have_seconds_and_their_part),
        cmocka_unit_test(test_numbers_of_a_line_are_counted),
        cmocka_unit_test(test_words_are_whole),
        cmocka_unit_test(test_entries_that_are_no_ids_say_nothing),
        cmocka_unit_test(test_watch_of_an_epoll_is_read_or_refused),
        cmocka_unit_test(test_mount_points_lose_their_escapes),
        cmocka_unit_test(test_ids_in_pieces_are_those_of_the_whole),
        cmocka_unit_test(test_ids_that_are_too_many_or_too_large_do_no_harm),
        cmocka_unit_test(test_lines_without_a_newline_are_not_whole),
        cmocka_unit_test(test_pages_are_told_by_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
