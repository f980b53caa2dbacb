#include "kernel/base/clock.h"
#include "kernel/worker/outputs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct fixture {
    struct outputs outputs;
    int ends[2]; /* write ends of stdout and stderr */
    int reads[2];
    char heard[256]; /* "stdout:text|" for each piece, long ones by their length */
} f;

static void hear(void *arg, const char *name, const char *data, size_t bytes) {
    char *heard = arg;
    size_t n = strlen(heard);
    if (bytes > 32)
        snprintf(heard + n, sizeof f.heard - n, "%s:%zu|", name, bytes);
    else
        snprintf(heard + n, sizeof f.heard - n, "%s:%.*s|", name, (int)bytes, data);
}

static int setup(void **state) {
    (void)state;
    memset(&f, 0, sizeof f);
    for (int i = 0; i < 2; i++) {
        int fds[2];
        assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        f.reads[i] = fds[0];
        f.ends[i] = fds[1];
    }
    assert_int_equal(outputs_init(&f.outputs, f.reads[0], f.reads[1]), 0);
    outputs_begin(&f.outputs, UINT64_MAX, hear, f.heard);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    outputs_fini(&f.outputs);
    for (int i = 0; i < 2; i++) {
        close(f.reads[i]);
        if (f.ends[i] >= 0)
            close(f.ends[i]);
    }
    return 0;
}

static void put(int output, const char *text) {
    assert_int_equal(write(f.ends[output], text, strlen(text)), (ssize_t)strlen(text));
}

static void test_outputs_collects_until_the_deadline(void **state) {
    (void)state;
    assert_true(outputs_deadline(&f.outputs) == CLOCK_NEVER);
    put(OUTPUT_STDOUT, "a");
    outputs_read(&f.outputs, OUTPUT_STDOUT);
    put(OUTPUT_STDOUT, "b");
    outputs_read(&f.outputs, OUTPUT_STDOUT);
    int64_t deadline_us = outputs_deadline(&f.outputs);
    outputs_tick(&f.outputs, deadline_us - 1);
    assert_string_equal(f.heard, "");
    outputs_tick(&f.outputs, deadline_us);
    assert_string_equal(f.heard, "stdout:ab|");
    assert_true(outputs_deadline(&f.outputs) == CLOCK_NEVER);
}

static void test_outputs_begin_discards_what_was_written_before(void **state) {
    (void)state;
    put(OUTPUT_STDOUT, "before");
    put(OUTPUT_STDERR, "before");
    outputs_begin(&f.outputs, UINT64_MAX, hear, f.heard);
    put(OUTPUT_STDOUT, "after");
    outputs_drain(&f.outputs);
    assert_string_equal(f.heard, "stdout:after|");
    assert_int_equal(f.outputs.streams[OUTPUT_STDOUT].total_bytes, 5);
}

static void test_outputs_drain_gives_stdout_and_then_stderr(void **state) {
    (void)state;
    put(OUTPUT_STDERR, "e");
    put(OUTPUT_STDOUT, "o");
    outputs_drain(&f.outputs);
    assert_string_equal(f.heard, "stdout:o|stderr:e|");
}

static void test_outputs_tick_keeps_a_character_whole(void **state) {
    (void)state;
    put(OUTPUT_STDOUT, "x\xe2\x82");
    outputs_read(&f.outputs, OUTPUT_STDOUT);
    outputs_tick(&f.outputs, outputs_deadline(&f.outputs));
    assert_string_equal(f.heard, "stdout:x|");
    put(OUTPUT_STDOUT, "\xac");
    outputs_read(&f.outputs, OUTPUT_STDOUT);
    outputs_tick(&f.outputs, outputs_deadline(&f.outputs));
    assert_string_equal(f.heard, "stdout:x|stdout:\xe2\x82\xac|");
}

static void test_outputs_with_half_a_character_wait_for_the_delay(void **state) {
    (void)state;
    put(OUTPUT_STDOUT, "\xe2");
    outputs_read(&f.outputs, OUTPUT_STDOUT);
    f.outputs.streams[OUTPUT_STDOUT].since_us = 0; /* it has waited for long */
    int64_t before_us = clock_us();
    outputs_tick(&f.outputs, before_us);
    assert_string_equal(f.heard, "");
    assert_true(outputs_deadline(&f.outputs) >= before_us + OUTPUTS_DELAY_MS * CLOCK_MS);
    outputs_flush(&f.outputs);
    assert_string_equal(f.heard, "stdout:\xe2|");
}

static void test_outputs_with_a_full_chunk_flush_at_once(void **state) {
    static char block[4096];
    size_t written = 0;
    (void)state;
    memset(block, 'x', sizeof block);
    while (written < OUTPUTS_CHUNK) {
        assert_int_equal(write(f.ends[0], block, sizeof block), sizeof block);
        written += sizeof block;
        outputs_read(&f.outputs, OUTPUT_STDOUT);
    }
    assert_string_equal(f.heard, "stdout:524288|");
    assert_int_equal(f.outputs.streams[OUTPUT_STDOUT].total_bytes, OUTPUTS_CHUNK);
}

static void test_outputs_end_once_all_writers_have_closed(void **state) {
    (void)state;
    put(OUTPUT_STDOUT, "last");
    close(f.ends[0]);
    f.ends[0] = -1;
    outputs_read(&f.outputs, OUTPUT_STDOUT);
    assert_false(f.outputs.streams[OUTPUT_STDOUT].ended);
    outputs_read(&f.outputs, OUTPUT_STDOUT);
    assert_true(f.outputs.streams[OUTPUT_STDOUT].ended);
    outputs_flush(&f.outputs);
    assert_string_equal(f.heard, "stdout:last|");
    outputs_begin(&f.outputs, UINT64_MAX, hear, f.heard);
    assert_false(f.outputs.streams[OUTPUT_STDOUT].ended);
}

#define DROPPED "stderr:97|" /* the line that says so, by its length */

static void test_outputs_over_the_limit_are_counted_and_noted_once(void **state) {
    (void)state;
    outputs_begin(&f.outputs, 6, hear, f.heard);
    put(OUTPUT_STDERR, "ab");
    outputs_drain(&f.outputs);
    put(OUTPUT_STDOUT, "cdefgh");
    outputs_drain(&f.outputs);
    put(OUTPUT_STDOUT, "ijk");
    put(OUTPUT_STDERR, "l");
    outputs_drain(&f.outputs);
    assert_string_equal(f.heard, "stderr:ab|stdout:cdef|" DROPPED);
    assert_int_equal(f.outputs.dropped_bytes, 6);
    assert_int_equal(f.outputs.streams[OUTPUT_STDOUT].total_bytes, 9);
    outputs_begin(&f.outputs, 6, hear, f.heard);
    assert_int_equal(f.outputs.dropped_bytes, 0);
}

static void test_outputs_at_the_limit_drop_nothing(void **state) {
    (void)state;
    outputs_begin(&f.outputs, 4, hear, f.heard);
    put(OUTPUT_STDOUT, "abcd");
    outputs_drain(&f.outputs);
    assert_string_equal(f.heard, "stdout:abcd|");
    assert_int_equal(f.outputs.dropped_bytes, 0);
}

static void test_outputs_cut_by_the_limit_end_on_a_whole_character(void **state) {
    (void)state;
    outputs_begin(&f.outputs, 3, hear, f.heard);
    put(OUTPUT_STDOUT, "ab\xe2\x82\xac");
    outputs_drain(&f.outputs);
    assert_string_equal(f.heard, "stdout:ab|" DROPPED);
}

static void test_outputs_that_come_as_messages_count_too(void **state) {
    (void)state;
    outputs_begin(&f.outputs, 5, hear, f.heard);
    assert_int_equal(outputs_admit(&f.outputs, 3), 3);
    put(OUTPUT_STDOUT, "ab");
    outputs_drain(&f.outputs);
    assert_int_equal(outputs_admit(&f.outputs, 3), 0);
    assert_int_equal(outputs_admit(&f.outputs, 1), 0);
    assert_string_equal(f.heard, "stdout:ab|" DROPPED);
    assert_int_equal(f.outputs.dropped_bytes, 4);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_outputs_collects_until_the_deadline),
        TEST(test_outputs_begin_discards_what_was_written_before),
        TEST(test_outputs_drain_gives_stdout_and_then_stderr),
        TEST(test_outputs_tick_keeps_a_character_whole),
        TEST(test_outputs_with_half_a_character_wait_for_the_delay),
        TEST(test_outputs_with_a_full_chunk_flush_at_once),
        TEST(test_outputs_end_once_all_writers_have_closed),
        TEST(test_outputs_over_the_limit_are_counted_and_noted_once),
        TEST(test_outputs_at_the_limit_drop_nothing),
        TEST(test_outputs_cut_by_the_limit_end_on_a_whole_character),
        TEST(test_outputs_that_come_as_messages_count_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
