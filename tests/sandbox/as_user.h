/*
 * as_user.h - running a part of a test in a process of its own, as an ordinary user where that is asked for.
 */
#ifndef PETRI_TESTS_AS_USER_H
#define PETRI_TESTS_AS_USER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Becomes a user that no machine has by chance, with no other group. Only for a
 * process made for it, and only as root; each gets a user of its own, so that
 * what Linux counts for each user is not shared with other tests. 0 or -errno.
 */
int become_ordinary_user(void);

/*
 * Runs part(argument) in a fork, as the ordinary user where asked for, which is
 * only root's to ask; its wait status. What part returns is its exit status. In
 * part, CHECK() and not cmocka's assertions: these would go on with the next
 * test in the fork.
 */
int fork_and_wait(int (*part)(void *argument), void *argument, bool ordinary_user);

/* The same; fails the cmocka test where part doesn't return 0. */
void run_in_fork(int (*part)(void *argument), void *argument, bool ordinary_user);

/* A test that is such a part, without an argument. */
struct part {
    const char *name;
    int (*run)(void *argument);
};
#define PART(function)                                                                                                 \
    { #function, function }

/* Runs each of n parts in forks, as the user there is and as the ordinary one. What main() returns; the group's setup
 * and teardown may be NULL. */
int run_parts(const char *group, const struct part *parts, size_t n, int (*setup)(void **state),
              int (*teardown)(void **state));

/* Ends the process with a sentence on stderr where the condition doesn't hold. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            check_failed(__FILE__, __LINE__, #condition);                                                              \
    } while (0)

/* The same for two integers, which it prints. */
#define CHECK_EQUAL(a, b) check_equal(__FILE__, __LINE__, #a " == " #b, (long long)(a), (long long)(b))

/* The same for two strings. */
#define CHECK_TEXT(a, b) check_text(__FILE__, __LINE__, #a, (a), (b))

void check_failed(const char *file, int line, const char *condition) __attribute__((noreturn));
void check_equal(const char *file, int line, const char *condition, long long a, long long b);
void check_text(const char *file, int line, const char *what, const char *a, const char *b);

#endif
