/* What counts as a launcher's receipt; the handshake itself is e2e/test_transport.py's. */
#include "kernel/jupyter/registration.h"
#include "protocol/signer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT(text)                                                                                                     \
    { (text), sizeof(text) - 1 }

static void test_registration_receipt_unsigned_or_reflected_is_refused(void **state) {
    static const struct frame sent = TEXT("{\"kernel_id\":\"x\"}");
    static const struct {
        const char *why;
        struct frame content;
        const char *key;
        size_t skipped; /* frames that are left out in front */
        bool is_receipt;
    } rows[] = {
        {"a receipt behind an identity", TEXT("{\"status\":\"ok\"}"), "key", 0, true},
        {"a receipt", TEXT("{\"status\":\"ok\"}"), "key", 1, true},
        {"without a delimiter", TEXT("{\"status\":\"ok\"}"), "key", 2, false},
        {"signed with another key", TEXT("{\"status\":\"ok\"}"), "another", 0, false},
        {"what was sent, sent back", TEXT("{\"kernel_id\":\"x\"}"), "key", 0, false},
    };
    (void)state;
    struct signer *signer = signer_create("key", 3);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char hex[SIGNER_HEX_BYTES];
        struct signer *other = signer_create(rows[i].key, strlen(rows[i].key));
        size_t hex_bytes = signer_sign(other, &rows[i].content, 1, hex);
        const struct frame frames[] = {TEXT("identity"), TEXT("<IDS|MSG>"), {hex, hex_bytes}, rows[i].content};
        if (registration_is_receipt(signer, &sent, frames + rows[i].skipped, 4 - rows[i].skipped) != rows[i].is_receipt)
            fail_msg("%s", rows[i].why);
        signer_destroy(other);
    }
    signer_destroy(signer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registration_receipt_unsigned_or_reflected_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
