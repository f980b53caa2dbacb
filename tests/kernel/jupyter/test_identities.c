/* Which routing ids connections get, and where messages go. A connection here is a socket of the test's own. */
#include "kernel/jupyter/gate.h"
#include "kernel/jupyter/identities.h"

#include "kernel/jupyter/cookie.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { MANY = 3000 };

struct peer {
    int fd;
    size_t bytes;
    unsigned char given[IDENTITIES_MAX_BYTES];
};

static int start(void **state) {
    (void)state;
    identities_clear();
    return 0;
}

/* False where there is no routing id for it. */
static bool try_to_connect(enum channel channel, const char *name, struct peer *ret_peer) {
    struct peer peer = {.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), .bytes = strlen(name)};
    assert_true(peer.fd >= 0);
    struct identity *identity = identities_begin(peer.fd, cookie_of(peer.fd), channel, peer.bytes);
    if (!identity) {
        close(peer.fd);
        return false;
    }
    memcpy(peer.given, name, peer.bytes);
    size_t half = peer.bytes / 2;
    identities_take(identity, 0, peer.given, half);
    identities_take(identity, half, peer.given + half, peer.bytes - half);
    *ret_peer = peer;
    return true;
}

static struct peer come(enum channel channel, const char *name) {
    struct peer peer;
    assert_true(try_to_connect(channel, name, &peer));
    assert_null(memchr(peer.given, 0, peer.bytes));
    return peer;
}

static struct frame way_of(const struct peer *peer) {
    return (struct frame){peer->given, peer->bytes};
}

static struct peer come_and_sign(enum channel channel, const char *name) {
    struct peer peer = come(channel, name);
    const struct frame way = way_of(&peer);
    identities_prove(&way);
    return peer;
}

static bool is_way(const struct identity_way *way, const struct peer *peer) {
    return way->bytes == peer->bytes && memcmp(way->data, peer->given, peer->bytes) == 0;
}

static size_t find(enum channel channel, const struct peer *sender, struct identity_way ways[IDENTITIES_WAYS]) {
    const struct frame way = way_of(sender);
    return identities_find(channel, &way, ways);
}

static void expect_reply_goes_to(const struct peer *sender, const struct peer *expected) {
    struct identity_way ways[IDENTITIES_WAYS];
    assert_int_equal(find(CHANNEL_SHELL, sender, ways), 1);
    assert_true(is_way(&ways[0], expected));
}

static void expect_reply_goes_to_both(const struct peer *sender, const struct peer *later) {
    struct identity_way ways[IDENTITIES_WAYS];
    assert_int_equal(find(CHANNEL_SHELL, sender, ways), 2);
    assert_true(is_way(&ways[0], sender));
    assert_true(is_way(&ways[1], later));
}

static void test_identities_reply_goes_to_the_connection_that_asked(void **state) {
    (void)state;
    struct peer before = come(CHANNEL_SHELL, "name"), owner = come_and_sign(CHANNEL_SHELL, "name");
    struct peer after = come(CHANNEL_SHELL, "name"), other = come_and_sign(CHANNEL_CONTROL, "name");
    expect_reply_goes_to(&owner, &owner);
    close(before.fd);
    close(owner.fd);
    close(after.fd);
    close(other.fd);
}

/* Whose connection is lost is back, and signs, before the kernel hears that the old one has gone. */
static void test_identities_reply_goes_also_to_the_latest_proved_connection(void **state) {
    (void)state;
    struct peer owner = come_and_sign(CHANNEL_SHELL, "name"), second = come_and_sign(CHANNEL_SHELL, "name");
    struct peer stranger = come(CHANNEL_SHELL, "name");
    expect_reply_goes_to_both(&owner, &second);
    struct peer third = come_and_sign(CHANNEL_SHELL, "name");
    expect_reply_goes_to_both(&owner, &third);
    expect_reply_goes_to_both(&second, &third);
    expect_reply_goes_to(&third, &third);
    close(owner.fd);
    close(second.fd);
    close(stranger.fd);
    close(third.fd);
}

static void test_identities_reply_for_a_closed_connection_goes_to_the_latest_proved(void **state) {
    (void)state;
    struct peer owner = come_and_sign(CHANNEL_SHELL, "name"), other = come_and_sign(CHANNEL_SHELL, "eman");
    struct peer stranger = come(CHANNEL_SHELL, "name"), control = come_and_sign(CHANNEL_CONTROL, "name");
    close(owner.fd);
    expect_reply_goes_to(&owner, &owner); /* to nobody */
    struct peer second = come_and_sign(CHANNEL_SHELL, "name"), third = come_and_sign(CHANNEL_SHELL, "name");
    expect_reply_goes_to(&owner, &third);
    close(third.fd);
    expect_reply_goes_to(&owner, &second);
    close(stranger.fd);
    close(second.fd);
    close(other.fd);
    close(control.fd);
}

static void test_identities_on_another_channel_are_proved_ones_first_then_by_arrival(void **state) {
    struct identity_way ways[IDENTITIES_WAYS];
    struct peer peers[IDENTITIES_WAYS + 2];
    (void)state;
    struct peer owner = come_and_sign(CHANNEL_SHELL, "name"), other = come(CHANNEL_STDIN, "else");
    assert_int_equal(find(CHANNEL_STDIN, &owner, ways), 1);
    assert_true(is_way(&ways[0], &owner)); /* nobody is there */
    for (size_t i = 0; i < IDENTITIES_WAYS + 2; i++)
        peers[i] = come(CHANNEL_STDIN, "name");
    close(peers[1].fd);
    const struct frame last = way_of(&peers[IDENTITIES_WAYS + 1]);
    identities_prove(&last);
    assert_int_equal(find(CHANNEL_STDIN, &owner, ways), IDENTITIES_WAYS);
    assert_true(is_way(&ways[0], &peers[IDENTITIES_WAYS + 1]));
    assert_true(is_way(&ways[1], &peers[0]));
    for (size_t i = 2; i < IDENTITIES_WAYS; i++)
        assert_true(is_way(&ways[i], &peers[i]));
    for (size_t i = 0; i < IDENTITIES_WAYS + 2; i++)
        if (i != 1)
            close(peers[i].fd);
    close(owner.fd);
    close(other.fd);
}

static void test_identities_with_the_same_name_are_one(void **state) {
    (void)state;
    struct peer a = come(CHANNEL_SHELL, "name"), b = come(CHANNEL_STDIN, "name"), c = come(CHANNEL_STDIN, "eman");
    const struct frame as[] = {way_of(&a), way_of(&b), way_of(&c), {"none of ours", 12}, {"nor this one", 12}};
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            assert_int_equal(identities_are_one(&as[i], &as[j]), i == j || (i < 2 && j < 2));
    close(a.fd);
    close(b.fd);
    close(c.fd);
}

/* A name that has not come whole is none. */
static void test_identities_received_in_part_match_none(void **state) {
    struct identity_way ways[IDENTITIES_WAYS];
    unsigned char part[] = "na";
    (void)state;
    struct peer owner = come_and_sign(CHANNEL_SHELL, "name");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct identity *half = identities_begin(fd, cookie_of(fd), CHANNEL_STDIN, 4);
    assert_non_null(half);
    identities_take(half, 0, part, 2);
    assert_int_equal(find(CHANNEL_STDIN, &owner, ways), 1);
    assert_true(is_way(&ways[0], &owner));
    close(fd);
    close(owner.fd);
}

static void test_identities_of_many_short_connections_do_not_replace_open_ones(void **state) {
    (void)state;
    struct peer there = come_and_sign(CHANNEL_SHELL, "there"), gone = come_and_sign(CHANNEL_SHELL, "gone");
    close(gone.fd);
    for (int i = 0; i < MANY; i++)
        close(come(CHANNEL_SHELL, "stranger").fd);
    struct peer back = come_and_sign(CHANNEL_SHELL, "gone");
    expect_reply_goes_to(&there, &there);
    expect_reply_goes_to(&gone, &back);
    close(there.fd);
    close(back.fd);
}

/* One byte has 255 values; who has one keeps it, and who is gone leaves it. */
static void test_identities_of_one_byte_are_unique_to_a_connection(void **state) {
    struct peer peers[255], more;
    (void)state;
    for (size_t i = 0; i < 255; i++)
        peers[i] = come(CHANNEL_SHELL, "x");
    for (size_t i = 0; i < 255; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(peers[i].given[0] != peers[j].given[0]);
    assert_false(try_to_connect(CHANNEL_SHELL, "y", &more));
    close(peers[100].fd);
    more = come(CHANNEL_SHELL, "y");
    assert_int_equal(more.given[0], peers[100].given[0]);
    close(more.fd);
    for (size_t i = 0; i < 255; i++)
        if (i != 100)
            close(peers[i].fd);
}

#define CASE(test) cmocka_unit_test_setup(test, start)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_identities_reply_goes_to_the_connection_that_asked),
        CASE(test_identities_reply_goes_also_to_the_latest_proved_connection),
        CASE(test_identities_reply_for_a_closed_connection_goes_to_the_latest_proved),
        CASE(test_identities_on_another_channel_are_proved_ones_first_then_by_arrival),
        CASE(test_identities_with_the_same_name_are_one),
        CASE(test_identities_received_in_part_match_none),
        CASE(test_identities_of_many_short_connections_do_not_replace_open_ones),
        CASE(test_identities_of_one_byte_are_unique_to_a_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
