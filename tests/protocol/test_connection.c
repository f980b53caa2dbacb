#include "fixture.h"

#include "protocol/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_read_tcp_file_is_golden(void **state) {
    (void)state;
    struct connection connection;
    struct error error = {0};
    assert_int_equal(connection_read("fixtures/connection/tcp.json", &connection, &error), 0);
    assert_string_equal(error.text, "");
    assert_string_equal(connection.endpoint[CHANNEL_SHELL], "tcp://127.0.0.1:50001");
    assert_string_equal(connection.endpoint[CHANNEL_IOPUB], "tcp://127.0.0.1:50002");
    assert_string_equal(connection.endpoint[CHANNEL_STDIN], "tcp://127.0.0.1:50003");
    assert_string_equal(connection.endpoint[CHANNEL_CONTROL], "tcp://127.0.0.1:50004");
    assert_string_equal(connection.endpoint[CHANNEL_HB], "tcp://127.0.0.1:50005");
    assert_string_equal(connection.transport, "tcp");
    assert_string_equal(connection.ip, "127.0.0.1");
    assert_int_equal(connection.port[CHANNEL_HB], 50005);
    assert_int_equal(connection.key_bytes, 36);
    assert_memory_equal(connection.key, "a0436f6c-1916-498b-8eb9-e81ab9368e84", 36);
    assert_string_equal(connection.kernel_name, "petri");
    assert_string_equal(connection.curve_publickey, "");
    assert_string_equal(connection.curve_secretkey, "");
    connection_fini(&connection);
    assert_null(connection.key);
}

static void test_read_ipc_file_is_golden(void **state) {
    (void)state;
    struct connection connection;
    struct error error = {0};
    assert_int_equal(connection_read("fixtures/connection/ipc.json", &connection, &error), 0);
    assert_string_equal(connection.endpoint[CHANNEL_SHELL], "ipc:///run/user/1000/jupyter/kernel-1-ipc-1");
    assert_string_equal(connection.endpoint[CHANNEL_HB], "ipc:///run/user/1000/jupyter/kernel-1-ipc-5");
    assert_int_equal(connection.key_bytes, 0);
    assert_string_equal(connection.kernel_name, "petri-strict");
    assert_string_equal(connection.curve_publickey, "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID");
    assert_string_equal(connection.curve_secretkey, "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs");
    connection_fini(&connection);
}

/* A good file's members; a row sets one of them, or takes it away. */
static json_t *good_file(void) {
    json_t *file = json_pack("{s:i,s:i,s:i,s:i,s:i,s:s,s:s,s:s,s:s}", "shell_port", 1, "iopub_port", 2, "stdin_port", 3,
                             "control_port", 4, "hb_port", 5, "ip", "127.0.0.1", "key", "k", "transport", "tcp",
                             "signature_scheme", "hmac-sha256");
    assert_non_null(file);
    return file;
}

static int parse_changed(const char *key, const char *value, struct connection *ret, struct error *ret_error) {
    json_auto_t *file = good_file();
    if (value == NULL) {
        assert_int_equal(json_object_del(file, key), 0);
    } else {
        json_t *json = json_loads(value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(json);
        assert_int_equal(json_object_set_new(file, key, json), 0);
    }
    char *text = json_dumps(file, 0);
    int r = connection_parse(text, strlen(text), ret, ret_error);
    free(text);
    return r;
}

#define X10 "xxxxxxxxxx"
#define X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10

static void test_parse_bad_member_is_refused_with_its_reason(void **state) {
    static const struct {
        const char *key, *value; /* NULL: not there */
        const char *why;
    } rows[] = {
        {"shell_port", NULL, "The connection file has no \"shell_port\"."},
        {"hb_port", NULL, "The connection file has no \"hb_port\"."},
        {"key", NULL, "The connection file has no \"key\" (an empty one means that messages are not signed)."},
        {"shell_port", "\"1\"", "The connection file's \"shell_port\" is not an integer."},
        {"shell_port", "1.0", "The connection file's \"shell_port\" is not an integer."},
        {"shell_port", "null", "The connection file's \"shell_port\" is not an integer."},
        {"iopub_port", "0", "The connection file's \"iopub_port\" is 0, but a port is from 1 to 65535."},
        {"stdin_port", "65536", "The connection file's \"stdin_port\" is 65536, but a port is from 1 to 65535."},
        {"control_port", "-1", "The connection file's \"control_port\" is -1, but a port is from 1 to 65535."},
        {"control_port", "4294967297",
         "The connection file's \"control_port\" is 4294967297, but a port is from 1 to 65535."},
        {"transport", "\"udp\"",
         "The connection file's \"transport\" is \"udp\", but only \"tcp\" and \"ipc\" are known."},
        {"transport", "\"\"", "The connection file's \"transport\" is \"\", but only \"tcp\" and \"ipc\" are known."},
        {"transport", "6", "The connection file's \"transport\" is not a string."},
        {"transport", "\"websocket\"", "The connection file's \"transport\" is longer than 7 bytes."},
        {"ip", "\"\"", "The connection file's \"ip\" is empty."},
        {"ip", "[]", "The connection file's \"ip\" is not a string."},
        {"ip", "\"1\\u00002\"", "The connection file's \"ip\" has a NUL character in it."},
        {"ip", "\"" X100 X100 "\"", "The connection file's \"ip\" is longer than 199 bytes."},
        {"kernel_name", "\"" X100 X100 "\"", "The connection file's \"kernel_name\" is longer than 127 bytes."},
        {"key", "1", "The connection file's \"key\" is not a string."},
        {"key", "null", "The connection file's \"key\" is not a string."},
        {"signature_scheme", "\"hmac-md5\"",
         "The connection file's \"signature_scheme\" is \"hmac-md5\", but only \"hmac-sha256\" is known."},
        {"signature_scheme", "256", "The connection file's \"signature_scheme\" is not a string."},
        {"curve_publickey", "\"x\"",
         "The connection file has only one of \"curve_publickey\" and \"curve_secretkey\"."},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct connection connection = {.key_bytes = 77};
        struct error error = {0};
        assert_int_equal(parse_changed(rows[i].key, rows[i].value, &connection, &error), -EINVAL);
        assert_string_equal(error.text, rows[i].why);
        assert_int_equal(connection.key_bytes, 77);
    }
}

static void test_parse_ip_makes_endpoint(void **state) {
    static const struct {
        const char *ip, *endpoint;
    } rows[] = {
        {"\"0.0.0.0\"", "tcp://0.0.0.0:1"}, {"\"*\"", "tcp://*:1"},      {"\"::1\"", "tcp://[::1]:1"},
        {"\"[::1]\"", "tcp://[::1]:1"},     {NULL, "tcp://127.0.0.1:1"}, {"null", "tcp://127.0.0.1:1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct connection connection;
        struct error error = {0};
        assert_int_equal(parse_changed("ip", rows[i].ip, &connection, &error), 0);
        assert_string_equal(connection.endpoint[CHANNEL_SHELL], rows[i].endpoint);
        connection_fini(&connection);
    }
}

static void test_parse_missing_transport_and_scheme_take_their_defaults(void **state) {
    static const char *const keys[] = {"transport", "signature_scheme"};
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct connection connection;
        struct error error = {0};
        assert_int_equal(parse_changed(keys[i], NULL, &connection, &error), 0);
        assert_string_equal(connection.transport, "tcp");
        connection_fini(&connection);
    }
}

/* NUL and bytes beyond ASCII belong to a key like others. */
static void test_parse_key_with_nul_and_non_ascii_keeps_its_bytes(void **state) {
    (void)state;
    struct connection connection;
    struct error error = {0};
    assert_int_equal(parse_changed("key", "\"a\\u0000\xC3\xA9\"", &connection, &error), 0);
    assert_int_equal(connection.key_bytes, 4);
    assert_memory_equal(connection.key, "a\0\xC3\xA9", 4);
    connection_fini(&connection);
}

static int parse_text(const char *text, struct error *ret_error) {
    struct connection connection;
    int r = connection_parse(text, strlen(text), &connection, ret_error);
    if (r == 0)
        connection_fini(&connection);
    return r;
}

#define PORTS "\"shell_port\":1,\"iopub_port\":2,\"stdin_port\":3,\"control_port\":4,\"hb_port\":5,\"key\":\"\""

static void test_parse_ipc_path_too_long_for_a_socket_is_refused(void **state) {
    (void)state;
    struct error error = {0};
    assert_int_equal(parse_text("{" PORTS ",\"transport\":\"ipc\",\"ip\":\"" X100 "12345\"}", &error), 0);
    assert_int_equal(parse_text("{" PORTS ",\"transport\":\"ipc\",\"ip\":\"" X100 "123456\"}", &error), -EINVAL);
    assert_string_equal(
        error.text, "The connection file's \"ip\" makes socket paths of 108 bytes, but a path may have 107 at most.");
}

static void test_parse_curve_keys_of_wrong_length_refused(void **state) {
    (void)state;
    struct error error = {0};
    assert_int_equal(parse_text("{" PORTS ",\"curve_publickey\":\"x\",\"curve_secretkey\":\"y\"}", &error), -EINVAL);
    assert_string_equal(
        error.text, "The connection file's \"curve_publickey\" and \"curve_secretkey\" must have 40 characters each.");
}

#define REGISTRATION "\"key\":\"k\",\"registration_port\":51587"

static void test_parse_registration_file_leaves_ports_to_be_chosen(void **state) {
    (void)state;
    static const char text[] = "{" REGISTRATION ",\"kernel_id\":\"one\",\"registration_ip\":\"::1\"}";
    struct connection connection;
    struct error error = {0};
    assert_int_equal(connection_parse(text, strlen(text), &connection, &error), 0);
    assert_string_equal(connection.registration, "tcp://[::1]:51587");
    assert_string_equal(connection.kernel_id, "one");
    assert_string_equal(connection.endpoint[CHANNEL_SHELL], "tcp://[::1]:*");
    assert_string_equal(connection.endpoint[CHANNEL_HB], "tcp://[::1]:*");
    assert_int_equal(connection.port[CHANNEL_SHELL], 0);
    connection_fini(&connection);
}

static void test_parse_bad_registration_file_is_refused_with_its_reason(void **state) {
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"{" REGISTRATION "}", "The registration file has no \"kernel_id\"."},
        {"{" REGISTRATION ",\"kernel_id\":\"\"}", "The registration file has no \"kernel_id\"."},
        {"{" REGISTRATION ",\"kernel_id\":\"one\",\"transport\":\"ipc\"}",
         "The registration file's \"transport\" is \"ipc\", but only \"tcp\" can be registered."},
        {"{\"key\":\"\",\"kernel_id\":\"one\",\"registration_port\":0}",
         "The connection file's \"registration_port\" is 0, but a port is from 1 to 65535."},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error error = {0};
        assert_int_equal(parse_text(rows[i].text, &error), -EINVAL);
        assert_string_equal(error.text, rows[i].why);
    }
}

static void test_parse_text_that_is_not_a_json_object_is_refused(void **state) {
    static const char *const texts[] = {"", "{", "[]", "null", "{}x", "{\"a\":[[[[[[[[[]]]]]]]]]}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct error error = {0};
        assert_int_equal(parse_text(texts[i], &error), -EINVAL);
        assert_string_equal(error.text, "The connection file is not a JSON object.");
    }
}

static void test_parse_text_that_is_not_utf8_refused(void **state) {
    (void)state;
    struct error error = {0};
    assert_int_equal(parse_text("{" PORTS ",\"kernel_name\":\"\xFF\"}", &error), -EINVAL);
    assert_string_equal(error.text, "The connection file is not UTF-8.");
}

static void test_read_missing_file_says_so(void **state) {
    (void)state;
    struct connection connection;
    struct error error = {0};
    assert_int_equal(connection_read("fixtures/connection/none.json", &connection, &error), -ENOENT);
    assert_string_equal(error.text,
                        "The connection file fixtures/connection/none.json can't be read: No such file or directory.");
    assert_int_equal(connection_read("fixtures", &connection, &error), -EISDIR);
}

/* A file of n bytes: a good one with white space behind. */
static int read_padded(size_t n, struct error *ret_error) {
    char path[] = "/tmp/petri-connection-XXXXXX";
    static const char text[] = "{" PORTS "}";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    assert_int_equal(fprintf(file, "%-*s", (int)n, text), (int)n);
    assert_int_equal(fclose(file), 0);
    struct connection connection;
    int r = connection_read(path, &connection, ret_error);
    if (r == 0)
        connection_fini(&connection);
    assert_int_equal(unlink(path), 0);
    return r;
}

static void test_read_file_over_the_cap_refused(void **state) {
    (void)state;
    struct error error = {0};
    assert_int_equal(read_padded(CONNECTION_MAX_BYTES, &error), 0);
    assert_int_equal(read_padded(CONNECTION_MAX_BYTES + 1, &error), -EINVAL);
    assert_non_null(strstr(error.text, "is larger than 65536 bytes."));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_tcp_file_is_golden),
        cmocka_unit_test(test_read_ipc_file_is_golden),
        cmocka_unit_test(test_parse_bad_member_is_refused_with_its_reason),
        cmocka_unit_test(test_parse_ip_makes_endpoint),
        cmocka_unit_test(test_parse_missing_transport_and_scheme_take_their_defaults),
        cmocka_unit_test(test_parse_key_with_nul_and_non_ascii_keeps_its_bytes),
        cmocka_unit_test(test_parse_ipc_path_too_long_for_a_socket_is_refused),
        cmocka_unit_test(test_parse_curve_keys_of_wrong_length_refused),
        cmocka_unit_test(test_parse_registration_file_leaves_ports_to_be_chosen),
        cmocka_unit_test(test_parse_bad_registration_file_is_refused_with_its_reason),
        cmocka_unit_test(test_parse_text_that_is_not_a_json_object_is_refused),
        cmocka_unit_test(test_parse_text_that_is_not_utf8_refused),
        cmocka_unit_test(test_read_missing_file_says_so),
        cmocka_unit_test(test_read_file_over_the_cap_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
