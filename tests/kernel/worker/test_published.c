#include "kernel/worker/published.h"

#include "tests/kernel/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What goes out, as text: content, metadata. */
static void expect_sent(const struct published *message, const char *content, const char *metadata) {
    struct message_parts parts = published_parts(message);
    assert_int_equal(parts.content_text.bytes, strlen(content));
    assert_memory_equal(parts.content_text.data, content, strlen(content));
    assert_int_equal(parts.metadata_text.bytes, strlen(metadata));
    if (metadata[0])
        assert_memory_equal(parts.metadata_text.data, metadata, strlen(metadata));
}

static void test_published_message_is_measured_as_it_is_sent(void **state) {
    struct published message =
        frames_take("comm_msg", json_pack("{s:s, s:[i, f]}", "comm_id", "a\"b\n", "data", 12, 0.5),
                    json_pack("{s:s}", "version", "2"), 10);
    static const char content[] = "{\"comm_id\":\"a\\\"b\\n\",\"data\":[12,0.5]}", metadata[] = "{\"version\":\"2\"}";
    (void)state;
    expect_sent(&message, content, metadata);
    assert_int_equal(message.bytes, strlen(content) + strlen(metadata) + 10);
    assert_int_equal(message.dropped_bytes, 0);
    published_fini(&message);
}

static void test_published_unknown_keys_are_dropped_and_counted(void **state) {
    struct published message = frames_take(
        "display_data", json_pack("{s:{}, s:{}, s:{}, s:s}", "data", "metadata", "transient", "more", "xxxx"), NULL, 0);
    (void)state;
    expect_sent(&message, "{\"data\":{},\"metadata\":{},\"transient\":{}}", "");
    assert_int_equal(message.dropped_bytes, strlen("{\"more\":\"xxxx\"}"));
    published_fini(&message);
}

/* What has no metadata and no buffers in Jupyter can't carry anything in them. */
static void test_published_metadata_and_buffers_of_bare_messages_are_dropped_and_counted(void **state) {
    static const struct {
        const char *msg_type, *content;
    } rows[] = {
        {"stream", "{\"name\":\"stdout\",\"text\":\"x\"}"},
        {"error", "{\"ename\":\"E\",\"evalue\":\"\",\"traceback\":[]}"},
        {"clear_output", "{\"wait\":true}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct published message =
            frames_take(rows[i].msg_type, json_loads(rows[i].content, 0, NULL), json_pack("{s:s}", "k", "xxxx"), 100);
        expect_sent(&message, rows[i].content, "");
        assert_int_equal(message.n_buffers, 0);
        assert_int_equal(message.dropped_bytes, strlen("{\"k\":\"xxxx\"}") + 100);
        published_fini(&message);
    }
}

static void test_published_kinds_are_those_that_wire_check_accepts(void **state) {
    static const char *const kinds[] = {"stream",         "display_data", "update_display_data",
                                        "execute_result", "error",        "clear_output",
                                        "comm_open",      "comm_msg",     "comm_close"};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        assert_non_null(published_kind(kinds[i]));
    assert_null(published_kind("debug_event"));
    assert_null(published_kind("status"));
}

static void test_published_kinds_under_earlier_cells_are_streams_and_displays(void **state) {
    (void)state;
    assert_true(published_kind("stream")->is_late && published_kind("display_data")->is_late);
    assert_true(published_kind("clear_output")->is_late && published_kind("update_display_data")->is_late);
    assert_false(published_kind("execute_result")->is_late || published_kind("error")->is_late);
    assert_false(published_kind("comm_open")->is_late || published_kind("comm_msg")->is_late);
}

static void test_published_replacement_replaces_metadata_and_buffers(void **state) {
    struct published message = frames_take("display_data", json_pack("{s:{s:s}}", "data", "a/b", "large"),
                                           json_pack("{s:s}", "k", "large too"), 100);
    (void)state;
    assert_int_equal(published_replace(&message, json_pack("{s:{}}", "data")), 0);
    expect_sent(&message, "{\"data\":{}}", "");
    assert_int_equal(message.n_buffers, 0);
    assert_int_equal(message.bytes, strlen("{\"data\":{}}"));
    published_fini(&message);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_message_is_measured_as_it_is_sent),
        cmocka_unit_test(test_published_unknown_keys_are_dropped_and_counted),
        cmocka_unit_test(test_published_metadata_and_buffers_of_bare_messages_are_dropped_and_counted),
        cmocka_unit_test(test_published_kinds_are_those_that_wire_check_accepts),
        cmocka_unit_test(test_published_kinds_under_earlier_cells_are_streams_and_displays),
        cmocka_unit_test(test_published_replacement_replaces_metadata_and_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
