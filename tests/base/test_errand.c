/* Work for a thread, awaited, looked for, left behind at either moment, and waited for while others are served. */
#include "base/errand.h"

#include "base/slices.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

struct work {
    int until_fd, done_fd; /* eventfds */
    int answer;
};

static void answer_once_told(void *arg) {
    struct work *work = arg;
    eventfd_t told;
    (void)eventfd_read(work->until_fd, &told);
    work->answer = 42;
    (void)eventfd_write(work->done_fd, 1);
}

static struct work *make_work(void) {
    struct work *work = calloc(1, sizeof *work);
    assert_non_null(work);
    work->until_fd = eventfd(0, EFD_CLOEXEC);
    work->done_fd = eventfd(0, EFD_CLOEXEC);
    return work;
}

static void tell(int fd) {
    assert_int_equal(eventfd_write(fd, 1), 0);
}

static void test_result_is_there_once_the_work_is_done(void **state) {
    struct work *work = make_work();
    const int until_fd = work->until_fd, done_fd = work->done_fd;
    struct errand *errand = errand_begin(answer_once_told, work);
    (void)state;
    assert_non_null(errand);
    assert_null(errand_result(errand));
    tell(until_fd);
    errand_await(errand);
    const struct work *result = errand_result(errand);
    assert_ptr_equal(result, work);
    assert_int_equal(result->answer, 42);
    errand_leave(errand);
    close(until_fd);
    close(done_fd);
}

/* Its thread goes on with what is then its own; a sanitizer tells whether it is freed once. */
static void test_work_that_is_left_ends_by_itself(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct work *work = make_work();
        const int until_fd = work->until_fd, done_fd = work->done_fd;
        eventfd_t done;
        struct errand *errand = errand_begin(answer_once_told, work);
        assert_non_null(errand);
        if (i % 2)
            tell(until_fd);
        errand_leave(errand);
        if (i % 2 == 0)
            tell(until_fd);
        assert_int_equal(eventfd_read(done_fd, &done), 0);
        close(until_fd);
        close(done_fd);
    }
    errand_leave(NULL);
}

static void tell_once(void *arg, int wait_ms) {
    const struct work *work = arg;
    (void)wait_ms;
    tell(work->until_fd);
}

/* The work ends only if others have a turn. */
static void test_others_have_their_turns_while_one_waits_for_work(void **state) {
    struct work *work = make_work();
    (void)state;
    slices_serve(tell_once, work);
    errand_do(answer_once_told, work);
    slices_serve(NULL, NULL);
    assert_int_equal(work->answer, 42);
    work->answer = 0;
    tell(work->until_fd);
    errand_do(answer_once_told, work); /* there is nobody to be served */
    assert_int_equal(work->answer, 42);
    close(work->until_fd);
    close(work->done_fd);
    free(work);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_result_is_there_once_the_work_is_done),
                                       cmocka_unit_test(test_work_that_is_left_ends_by_itself),
                                       cmocka_unit_test(test_others_have_their_turns_while_one_waits_for_work)};
    return cmocka_run_group_tests_name("errand", tests, NULL, NULL);
}
