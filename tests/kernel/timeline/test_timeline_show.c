/* The table of a timeline as text, as HTML and as JSON, and what going to a node does in words. */
#include "kernel/timeline/timeline_show.h"
#include "kernel/timeline/timeline_tree.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NOW INT64_C(1700000000000)

enum { MINUTE = 60 * 1000, BRANCHES = 40 };

static int an_image; /* which all nodes share */

static void drop(void *arg, struct kept_image *image) {
    (void)arg;
    assert_ptr_equal(image, &an_image);
}

static int begin(void **state) {
    static struct timeline timeline;
    const struct timeline_state nothing = {0};
    timeline_init(&timeline, drop, NULL);
    assert_int_equal(timeline_begin(&timeline, (struct kept_image *)&an_image, &nothing), 0);
    *state = &timeline;
    return 0;
}

static int end(void **state) {
    timeline_fini(*state);
    return 0;
}

/* Adds a cell with a run id of its own; the other fields are as given. */
static struct timeline_node *add_cell(struct timeline *timeline, struct timeline_cell cell) {
    const struct timeline_state nothing = {0};
    char id[TIMELINE_ID_BYTES];
    snprintf(id, sizeof id, "run-%" PRIu64, timeline->next_order);
    cell.run_id = id;
    cell.started = "then";
    cell.code_bytes = cell.code ? strlen(cell.code) : 0;
    assert_int_equal(timeline_add(timeline, &cell, (struct kept_image *)&an_image, &nothing), 0);
    return timeline->current;
}

static struct timeline_node *add(struct timeline *timeline, int count) {
    return add_cell(timeline, (struct timeline_cell){.execution_count = count});
}

static const char *text_of(const json_t *data, const char *type) {
    assert_non_null(data);
    return json_string_value(json_object_get(data, type));
}

/* The tree as text: with nothing else known, and the columns' titles left out. */
static void check_tree(const struct timeline *timeline, const char *expected) {
    json_auto_t *data = timeline_show(timeline, NOW);
    const char *text = strchr(text_of(data, "text/plain"), '\n');
    assert_non_null(text);
    assert_string_equal(text + 1, expected);
}

static size_t count(const char *text, const char *part) {
    size_t n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static void test_show_has_a_column_for_all_that_is_known(void **state) {
    struct timeline *timeline = *state;
    add_cell(timeline, (struct timeline_cell){.execution_count = 1,
                                              .code = "import größe",
                                              .started_ms = NOW - 125 * MINUTE,
                                              .wall_ms = 1234,
                                              .bytes_changed = 1258291,
                                              .files_changed = 2});
    add_cell(timeline, (struct timeline_cell){.execution_count = 2,
                                              .code = "x = 1\ny = 2",
                                              .started_ms = NOW - 3 * MINUTE,
                                              .wall_ms = 35,
                                              .bytes_changed = 500,
                                              .files_changed = 1});
    assert_int_equal(timeline_name(timeline, timeline->current, "clean"), 0);
    assert_int_equal(timeline_name(timeline, timeline->current, "best"), 0);
    assert_non_null(timeline_drop_oldest(timeline));
    json_auto_t *data = timeline_show(timeline, NOW);
    assert_string_equal(text_of(data, "text/plain"),
                        "cell   now   first line    when       took   memory      files    names\n"
                        "first  gone\n"
                        "[1]          import größe  2 h ago    1.2 s  +1.2 MiB    2 files\n"
                        "[2]    *     x = 1         3 min ago  35 ms  +500 bytes  1 file   best, clean\n");
}

static void test_show_rounds_times_and_sizes(void **state) {
    static const struct {
        int64_t ago_ms, wall_ms;
        uint64_t bytes;
        const char *when, *took, *memory;
    } rows[] = {
        {-5 * MINUTE, 0, 1, "  just now ", "  0 ms ", "  +1 byte\n"},
        {0, 999, 1023, "  just now ", "  999 ms ", "  +1023 bytes\n"},
        {59999, 1000, 1024, "  just now ", "  1.0 s ", "  +1.0 KiB\n"},
        {MINUTE, 59999, 10240, "  1 min ago ", "  59.9 s ", "  +10 KiB\n"},
        {60 * MINUTE, MINUTE, 356515840, "  1 h ago ", "  1 min 0 s ", "  +340 MiB\n"},
        {47 * 60 * MINUTE, 3599999, UINT64_C(5) << 30, "  47 h ago ", "  59 min 59 s ", "  +5.0 GiB\n"},
        {48 * 60 * MINUTE, 3660000, UINT64_MAX, "  2 days ago ", "  1 h 1 min ", "  +16777216 TiB\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(begin(state), 0);
        add_cell(*state, (struct timeline_cell){.execution_count = 1,
                                                .code = "x",
                                                .started_ms = NOW - rows[i].ago_ms,
                                                .wall_ms = rows[i].wall_ms,
                                                .bytes_changed = rows[i].bytes});
        json_auto_t *data = timeline_show(*state, NOW);
        const char *text = text_of(data, "text/plain");
        assert_non_null(strstr(text, rows[i].when));
        assert_non_null(strstr(text, rows[i].took));
        assert_non_null(strstr(text, rows[i].memory));
        assert_int_equal(end(state), 0);
    }
}

static void test_show_of_an_empty_timeline_has_titles(void **state) {
    struct timeline empty;
    (void)state;
    timeline_init(&empty, drop, NULL);
    check_tree(&empty, "");
    json_auto_t *json = timeline_json(&empty);
    assert_int_equal(json_array_size(json), 0);
    timeline_fini(&empty);
}

static void test_show_continues_straight_to_the_current_cell(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1), *four;
    add(timeline, 2);
    add(timeline, 3);
    timeline_go(timeline, one);
    add(timeline, 2);
    four = add(timeline, 4);
    timeline_go(timeline, one);
    add(timeline, 0);
    timeline_go(timeline, first);
    timeline_go(timeline, four);
    check_tree(timeline, "first\n"
                         "[1]\n"
                         "├─ [2]                                                     run-2\n"
                         "│  [3]\n"
                         "├─ ·                                                       run-6\n"
                         "[2]                                                        run-4\n"
                         "[4]     *\n");
}

/* By which it can be meant; as few characters of it as are needed, and none of a state that is gone. */
static void test_show_of_a_number_that_others_have_has_the_id(void **state) {
    struct timeline *timeline = *state;
    const struct timeline_state nothing = {0};
    static const char *const ids[] = {"abcdef01-0001", "abcdef01-0002", "12345678-0003"};
    for (size_t i = 0; i < 3; i++) {
        const struct timeline_cell cell = {.run_id = ids[i], .execution_count = 7, .started = ""};
        assert_int_equal(
            timeline_branch(timeline, "first", &cell, i == 1 ? NULL : (struct kept_image *)&an_image, &nothing), 0);
    }
    json_auto_t *data = timeline_show(timeline, NOW);
    const char *plain = text_of(data, "text/plain"), *html = text_of(data, "text/html");
    assert_non_null(strstr(plain, "  abcdef01-0001\n"));
    assert_non_null(strstr(plain, "  12345678-\n"));
    assert_null(strstr(plain, "abcdef01-0002"));
    assert_non_null(strstr(html, "<th><code>id</code></th>"));
    assert_non_null(strstr(html, "<td><code>12345678-</code></td></tr>"));
}

static void test_show_with_nothing_straight_ends_the_last_branch(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *one, *two;
    one = add(timeline, 1);
    two = add(timeline, 2);
    add(timeline, 3);
    timeline_go(timeline, two);
    add(timeline, 4);
    timeline_go(timeline, one);
    add(timeline, 5);
    add(timeline, 6);
    timeline_go(timeline, one);
    check_tree(timeline, "first\n"
                         "[1]        *\n"
                         "├─ [2]\n"
                         "│  ├─ [3]\n"
                         "│  └─ [4]\n"
                         "└─ [5]\n"
                         "   [6]\n");
}

static void test_show_of_a_forgotten_parent_is_marked(void **state) {
    struct timeline *timeline = *state;
    timeline->node[0]->image = NULL;
    while (timeline->node[0]->order == 0)
        add(timeline, (int)timeline->n);
    json_auto_t *data = timeline_show(timeline, NOW);
    assert_non_null(strstr(text_of(data, "text/plain"), "\n… [1]"));
    assert_null(strstr(text_of(data, "text/plain"), "\n… [2]"));
}

static void test_show_of_branches_in_branches_has_an_end(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *node = first;
    for (int i = 1; i <= BRANCHES; i++) {
        timeline_go(timeline, node);
        add(timeline, 100 + i);
        timeline_go(timeline, node);
        node = add(timeline, i);
    }
    timeline_go(timeline, first);
    json_auto_t *data = timeline_show(timeline, NOW);
    const char *text = text_of(data, "text/plain");
    assert_int_equal(count(text, "\n"), 2 + 2 * BRANCHES);
    assert_int_equal(count(text, "├─ [1"), TIMELINE_TREE_LEVELS);
    assert_int_equal(count(text, "└─ ["), TIMELINE_TREE_LEVELS);
    assert_int_equal(count(text, "… ["), 2 * (BRANCHES - TIMELINE_TREE_LEVELS));
}

static void test_show_as_html_escapes_and_lines_up(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current;
    add_cell(timeline, (struct timeline_cell){.execution_count = 1, .code = "a<b>&\"c\"\x1b[0m"});
    timeline_go(timeline, first);
    add(timeline, 2);
    assert_int_equal(timeline_name(timeline, timeline->current, "<i>\x1b"), 0);
    json_auto_t *data = timeline_show(timeline, NOW);
    const char *html = text_of(data, "text/html"), *plain = text_of(data, "text/plain");
    assert_non_null(strstr(html, "<code>a&lt;b&gt;&amp;&quot;c&quot;?[0m</code>"));
    assert_non_null(strstr(html, "<code>├─\u00a0[1]</code>"));
    assert_non_null(strstr(html, "<td><b><code>[2]\u00a0\u00a0\u00a0</code></b></td><td><b>*</b></td><td>"));
    assert_non_null(strstr(html, "<b>&lt;i&gt;?</b>"));
    assert_null(strstr(html, "style"));
    assert_int_equal(count(html, "<tr>"), 4);
    assert_int_equal(count(html, "</tr>"), 4);
    assert_null(strchr(plain, '\x1b'));
    assert_null(strchr(html, '\x1b'));
}

static void test_show_of_many_names_ends_them(void **state) {
    struct timeline *timeline = *state;
    char name[IMAGE_NAME_BYTES + 1], *end_of_line;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%0*d-name", IMAGE_NAME_BYTES - 5, i);
        assert_int_equal(timeline_name(timeline, timeline->current, name), 0);
    }
    json_auto_t *data = timeline_show(timeline, NOW);
    const char *plain = text_of(data, "text/plain");
    assert_int_equal(count(plain, "-name"), 3);
    end_of_line = strrchr(plain, '\n');
    assert_non_null(end_of_line);
    assert_memory_equal(end_of_line - strlen(", …"), ", …", strlen(", …"));
}

static void test_show_of_the_most_nodes_is_made(void **state) {
    static const char line[] =
        "a_line_of_code_that_is_long_enough_to_be_cut = 1 <2> &amp; \"\" 1234567890 1234567890 1234567890 "
        "1234567890 1234567890 1234567890";
    struct timeline *timeline = *state;
    struct timeline_node *node = timeline->current;
    while (timeline->n < TIMELINE_NODES_MAX) {
        if (timeline->n % 2)
            timeline_go(timeline, node);
        node = timeline->current;
        add_cell(timeline, (struct timeline_cell){.execution_count = 1, .code = line, .started_ms = NOW});
    }
    json_auto_t *data = timeline_show(timeline, NOW);
    assert_int_equal(count(text_of(data, "text/plain"), "\n"), TIMELINE_NODES_MAX + 1);
    assert_int_equal(count(text_of(data, "text/html"), "<tr>"), TIMELINE_NODES_MAX + 1);
}

static void test_json_has_an_object_for_each_node(void **state) {
    struct timeline *timeline = *state;
    add_cell(timeline, (struct timeline_cell){.execution_count = 1,
                                              .code = "x = 1",
                                              .started_ms = 5,
                                              .wall_ms = 6,
                                              .bytes_changed = UINT64_MAX,
                                              .files_changed = 3});
    assert_int_equal(timeline_name(timeline, timeline->current, "clean"), 0);
    assert_non_null(timeline_drop_oldest(timeline));
    json_auto_t *json = timeline_json(timeline);
    json_auto_t *expected =
        json_pack("[{s:s, s:n, s:s, s:n, s:s, s:[], s:i, s:i, s:i, s:s, s:b}, "
                  "{s:s, s:s, s:s, s:i, s:s, s:[s], s:I, s:i, s:i, s:s, s:b}]",
                  "image", "first", "parent", "run_id", "first", "execution_count", "code_first_line", "", "names",
                  "bytes_changed", 0, "files_changed", 0, "wall_ms", 0, "started", "", "kept", 0, /* and the cell: */
                  "image", "run-1", "parent", "first", "run_id", "run-1", "execution_count", 1, "code_first_line",
                  "x = 1", "names", "clean", "bytes_changed", (json_int_t)INT64_MAX, "files_changed", 3, "wall_ms", 6,
                  "started", "then", "kept", 1);
    assert_non_null(expected);
    assert_true(json_equal(json, expected));
    assert_int_equal(timeline_name(timeline, timeline->current, "later"), 0);
    assert_true(json_equal(json, expected)); /* the names are a copy */
}

static void check_way(const struct timeline *timeline, const struct timeline_node *node, const char *expected) {
    char buf[TIMELINE_WAY_BYTES];
    assert_string_equal(timeline_tell_way(timeline, node, buf, sizeof buf), expected);
}

static void test_tell_way_back_has_what_is_undone(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *six = add(timeline, 6), *seven, *eight;
    seven = add_cell(timeline, (struct timeline_cell){.execution_count = 7, .bytes_changed = 1 << 20});
    eight = add_cell(timeline,
                     (struct timeline_cell){.execution_count = 8, .bytes_changed = 339 << 20, .files_changed = 1});
    check_way(timeline, six, "back before [7]: 2 cells, 1 file, 340 MiB of memory");
    check_way(timeline, first, "back at the beginning: 3 cells, 1 file, 340 MiB of memory");
    check_way(timeline, eight, "nothing changes: this is the state after [8]");
    timeline_go(timeline, seven);
    check_way(timeline, six, "back before [7]: 1 cell, 1.0 MiB of memory");
    check_way(timeline, eight, "on to [8]: 1 cell");
    timeline_go(timeline, six);
    check_way(timeline, first, "back at the beginning: 1 cell");
    check_way(timeline, eight, "on to [8]: 2 cells");
}

static void test_tell_way_to_another_branch_says_so(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *one = add(timeline, 1), *old, *silent;
    add(timeline, 2);
    old = add(timeline, 3);
    silent = add(timeline, 0);
    timeline_go(timeline, one);
    add_cell(timeline, (struct timeline_cell){.execution_count = 2, .bytes_changed = 1 << 20});
    check_way(timeline, old, "at [3], on another branch: 1 cell undone, 2 cells again");
    check_way(timeline, silent, "on another branch: 1 cell undone, 3 cells again");
}

static void test_tell_way_without_numbers_leaves_them_out(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *a = add(timeline, 0), *b = add(timeline, 0);
    struct timeline_node *five = add(timeline, 5);
    check_way(timeline, a, "back before [5]: 2 cells"); /* the first that has a number */
    timeline_go(timeline, b);
    check_way(timeline, a, "back: 1 cell");
    check_way(timeline, b, "nothing changes: this is the present state");
    timeline_go(timeline, a);
    check_way(timeline, b, "on: 1 cell");
    timeline_go(timeline, first);
    check_way(timeline, first, "nothing changes: this is the present state");
    check_way(timeline, five, "on to [5]: 3 cells");
}

static void test_tell_way_back_names_what_is_undone_by_its_first_line(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one;
    one = add_cell(timeline, (struct timeline_cell){.execution_count = 1, .code = "import this\nthat"});
    add_cell(timeline, (struct timeline_cell){.execution_count = 2, .code = "x = \"a\x1b[31m\""});
    check_way(timeline, one, "back before [2]: 1 cell (\"x = \"a?[31m\"\")");
    add_cell(timeline, (struct timeline_cell){.code = "not counted"});
    add_cell(timeline, (struct timeline_cell){.execution_count = 3, .code = "y = 1", .files_changed = 1});
    check_way(timeline, one, "back before [2]: 3 cells (from \"x = \"a?[31m\"\" on), 1 file");
    check_way(timeline, first, "back at the beginning: 4 cells (from \"import this\" on), 1 file");
    timeline_go(timeline, first);
    add_cell(timeline, (struct timeline_cell){.code = "a_line_of_code_that_is_longer_than_what_is_said = 1"});
    check_way(timeline, first, "back at the beginning: 1 cell (\"a_line_of_code_that_is_longer_than_w…\")");
}

static void test_tell_way_at_its_longest_fits(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current;
    char buf[TIMELINE_WAY_BYTES];
    for (int i = 0; i < 3; i++)
        add_cell(timeline, (struct timeline_cell){.execution_count = INT32_MAX,
                                                  .bytes_changed = UINT64_MAX / 4,
                                                  .files_changed = 1U << 30,
                                                  .code = "a line of code that is longer than what is said of it"});
    assert_string_equal(timeline_tell_way(timeline, timeline->node[1], buf, sizeof buf),
                        "back before [2147483647]: 2 cells (from \"a line of code that is longer than w…\" on), "
                        "2147483648 files, 8388608 TiB of memory");
    assert_string_equal(timeline_tell_way(timeline, first, buf, 12), "back at the");
}

#define WITH_TIMELINE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_TIMELINE(test_show_has_a_column_for_all_that_is_known),
        cmocka_unit_test(test_show_rounds_times_and_sizes),
        cmocka_unit_test(test_show_of_an_empty_timeline_has_titles),
        WITH_TIMELINE(test_show_continues_straight_to_the_current_cell),
        WITH_TIMELINE(test_show_of_a_number_that_others_have_has_the_id),
        WITH_TIMELINE(test_show_with_nothing_straight_ends_the_last_branch),
        WITH_TIMELINE(test_show_of_a_forgotten_parent_is_marked),
        WITH_TIMELINE(test_show_of_branches_in_branches_has_an_end),
        WITH_TIMELINE(test_show_as_html_escapes_and_lines_up),
        WITH_TIMELINE(test_show_of_many_names_ends_them),
        WITH_TIMELINE(test_show_of_the_most_nodes_is_made),
        WITH_TIMELINE(test_json_has_an_object_for_each_node),
        WITH_TIMELINE(test_tell_way_back_has_what_is_undone),
        WITH_TIMELINE(test_tell_way_to_another_branch_says_so),
        WITH_TIMELINE(test_tell_way_without_numbers_leaves_them_out),
        WITH_TIMELINE(test_tell_way_back_names_what_is_undone_by_its_first_line),
        WITH_TIMELINE(test_tell_way_at_its_longest_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
