#include "fixture.h"

#include "protocol/secret.h"
#include "protocol/signer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_PARTS = 4 };

static void unhex_parts(const json_t *row, struct frame parts[N_PARTS]) {
    const json_t *list = json_object_get(row, "parts");
    assert_int_equal(json_array_size(list), N_PARTS);
    for (size_t i = 0; i < N_PARTS; i++)
        parts[i].data = fixture_unhex(json_array_get(list, i), &parts[i].bytes);
}

static void check_row(const json_t *row) {
    size_t key_bytes;
    void *key = fixture_bytes(row, "key", &key_bytes);
    const char *expected = json_string_value(json_object_get(row, "signature"));
    struct frame parts[N_PARTS];
    unhex_parts(row, parts);
    struct signer *signer = signer_create(key, key_bytes);
    assert_non_null(signer);

    char hex[SIGNER_HEX_BYTES];
    assert_int_equal(signer_sign(signer, parts, N_PARTS, hex), SIGNER_HEX_BYTES);
    assert_memory_equal(hex, expected, SIGNER_HEX_BYTES);
    assert_true(signer_verify(signer, parts, N_PARTS, &(struct frame){expected, SIGNER_HEX_BYTES}));
    hex[63] = hex[63] == '0' ? '1' : '0';
    assert_false(signer_verify(signer, parts, N_PARTS, &(struct frame){hex, SIGNER_HEX_BYTES}));

    signer_destroy(signer);
    for (size_t i = 0; i < N_PARTS; i++)
        free((void *)(uintptr_t)parts[i].data);
    free(key);
}

static void test_sign_gives_what_python_gives(void **state) {
    (void)state;
    json_auto_t *rows = fixture_load("signatures.json");
    for (size_t i = 0; i < json_array_size(rows); i++)
        check_row(json_array_get(rows, i));
}

static void test_verify_signature_of_wrong_length_is_refused(void **state) {
    (void)state;
    struct signer *signer = signer_create("k", 1);
    struct frame part = FRAME("{}");
    char hex[SIGNER_HEX_BYTES + 1] = {0};
    assert_int_equal(signer_sign(signer, &part, 1, hex), SIGNER_HEX_BYTES);
    assert_true(signer_verify(signer, &part, 1, &(struct frame){hex, SIGNER_HEX_BYTES}));
    assert_false(signer_verify(signer, &part, 1, &(struct frame){hex, SIGNER_HEX_BYTES - 1}));
    assert_false(signer_verify(signer, &part, 1, &(struct frame){hex, SIGNER_HEX_BYTES + 1}));
    assert_false(signer_verify(signer, &part, 1, &(struct frame){NULL, 0}));
    signer_destroy(signer);
}

static void test_empty_key_gives_empty_signature_and_accepts_any(void **state) {
    (void)state;
    struct signer *signer = signer_create("", 0);
    struct frame part = FRAME("{}");
    struct frame signature = FRAME("whatever");
    char hex[SIGNER_HEX_BYTES];
    assert_int_equal(signer_sign(signer, &part, 1, hex), 0);
    assert_true(signer_verify(signer, &part, 1, &signature));
    assert_false(signer_seen(signer, &signature));
    assert_false(signer_seen(signer, &signature));
    signer_destroy(signer);
}

/* A signature of its own for each number. */
static bool seen(struct signer *signer, unsigned number) {
    char hex[SIGNER_HEX_BYTES + 1];
    (void)snprintf(hex, sizeof hex, "%08x%056x", number * 2654435761u, number);
    return signer_seen(signer, &(struct frame){hex, SIGNER_HEX_BYTES});
}

static void test_seen_remembers_the_documented_number_of_signatures(void **state) {
    (void)state;
    struct signer *signer = signer_create("k", 1);
    for (unsigned i = 0; i < SIGNER_REMEMBERED; i++)
        assert_false(seen(signer, i));
    for (unsigned i = 0; i < SIGNER_REMEMBERED; i++)
        assert_true(seen(signer, i));
    signer_destroy(signer);
}

static void test_seen_full_forgets_the_oldest_tenth_only(void **state) {
    (void)state;
    struct signer *signer = signer_create("k", 1);
    unsigned culled = SIGNER_REMEMBERED / 10;
    for (unsigned i = 0; i <= SIGNER_REMEMBERED; i++)
        assert_false(seen(signer, i));
    for (unsigned i = culled; i <= SIGNER_REMEMBERED; i++)
        assert_true(seen(signer, i));
    assert_false(seen(signer, 0));
    assert_false(seen(signer, culled - 1));
    signer_destroy(signer);
}

/* Round the ring several times: the newest nine tenths are known at every moment. */
static void test_seen_after_many_signatures_remembers_the_newest(void **state) {
    (void)state;
    struct signer *signer = signer_create("k", 1);
    unsigned kept = SIGNER_REMEMBERED - SIGNER_REMEMBERED / 10;
    for (unsigned i = 0; i < 5 * SIGNER_REMEMBERED; i++) {
        assert_false(seen(signer, i));
        if (i >= kept && i % 97 == 0)
            assert_true(seen(signer, i - kept + 1));
    }
    signer_destroy(signer);
}

/* A process that is forked has no such page: to read it is a fault. */
static void test_secret_withheld_is_not_in_a_forked_process(void **state) {
    (void)state;
    char *secret = secret_alloc(5000);
    assert_non_null(secret);
    memset(secret, 'k', 5000);
    assert_int_equal(secret_withhold(secret, 5000), 0);
    int said[2], status;
    assert_int_equal(pipe(said), 0);
    pid_t pid = fork();
    if (pid == 0) /* by a system call, which says EFAULT */
        _exit(write(said[1], secret + 4999, 1) == 1 || errno != EFAULT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(write(said[1], secret + 4999, 1), 1);
    close(said[0]);
    close(said[1]);
    secret_free(secret, 5000);
    secret_free(NULL, 5000);
}

/* As UUIDs are, and told apart from those that anybody could make; by another signer with the key, too. */
static void test_session_id_is_recognized_only_with_the_same_key(void **state) {
    (void)state;
    struct signer *maker = signer_create("key", 3), *later = signer_create("key", 3);
    struct signer *other = signer_create("another", 7), *nobody = signer_create("", 0);
    char id[37], again[37];
    for (int i = 0; i < 100; i++) {
        signer_new_session(maker, id);
        signer_new_session(maker, again);
        assert_string_not_equal(id, again);
        assert_int_equal(strlen(id), 36);
        assert_true(id[8] == '-' && id[13] == '-' && id[14] == '4' && id[18] == '-' && id[23] == '-');
        assert_int_equal(strspn(id, "0123456789abcdef-"), 36);
        assert_true(signer_is_session(maker, id) && signer_is_session(later, id));
        assert_false(signer_is_session(other, id) || signer_is_session(nobody, id));
        id[35] = id[35] == '0' ? '1' : '0';
        assert_false(signer_is_session(maker, id));
        message_new_id(id);
        assert_false(signer_is_session(maker, id));
    }
    signer_new_session(nobody, id);
    assert_int_equal(strlen(id), 36);
    assert_false(signer_is_session(nobody, id) || signer_is_session(maker, "") || signer_is_session(maker, "x"));
    signer_destroy(maker);
    signer_destroy(later);
    signer_destroy(other);
    signer_destroy(nobody);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sign_gives_what_python_gives),
        cmocka_unit_test(test_verify_signature_of_wrong_length_is_refused),
        cmocka_unit_test(test_secret_withheld_is_not_in_a_forked_process),
        cmocka_unit_test(test_empty_key_gives_empty_signature_and_accepts_any),
        cmocka_unit_test(test_seen_remembers_the_documented_number_of_signatures),
        cmocka_unit_test(test_seen_full_forgets_the_oldest_tenth_only),
        cmocka_unit_test(test_session_id_is_recognized_only_with_the_same_key),
        cmocka_unit_test(test_seen_after_many_signatures_remembers_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
