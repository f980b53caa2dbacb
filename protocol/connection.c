/*
 * connection.c - reads a connection file field by field.
 *
 * The caller's struct is only filled if the whole file is valid; otherwise the
 * first wrong field gives the error message. Text fields are rows of a table with
 * their member and its size, so no text is longer than its member. The ports are
 * read before the endpoints, which are made of them. The key is read last, so
 * that no error can follow once it is allocated. Unknown keys are ignored.
 *
 * See: jupyter_client, "Making kernels for Jupyter", "Connection files".
 */

#include "connection.h"

#include "bytes.h"
#include "secret.h"
#include "text.h"
#include "utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_DEPTH = 8, CURVE_KEY_BYTES = 40 };

static int no_memory(struct error *ret_error) {
    return error_set(ret_error, ENOMEM, "There is not enough memory to read the connection file.");
}

/*
 * A key whose value is a text, and its member at offset with size bytes;
 * missing: the default, or NULL where it is required.
 */
struct text_field {
    const char *key;
    size_t offset, size;
    const char *missing;
};

#define TEXT_FIELD(name, otherwise)                                                                                    \
    {                                                                                                                  \
        .key = #name, .offset = offsetof(struct connection, name), .size = sizeof((struct connection *)0)->name,       \
        .missing = (otherwise)                                                                                         \
    }

static const struct text_field text_fields[] = {
    TEXT_FIELD(transport, "tcp"),    TEXT_FIELD(ip, "127.0.0.1"),     TEXT_FIELD(kernel_name, ""),
    TEXT_FIELD(curve_publickey, ""), TEXT_FIELD(curve_secretkey, ""), TEXT_FIELD(kernel_id, ""),
};

/* The key for "ip" in a registration file. */
static const struct text_field registration_ip = {.key = "registration_ip",
                                                  .offset = offsetof(struct connection, ip),
                                                  .size = sizeof((struct connection *)0)->ip,
                                                  .missing = "127.0.0.1"};

const char *const connection_port_keys[CHANNEL_N] = {
    [CHANNEL_SHELL] = "shell_port", [CHANNEL_CONTROL] = "control_port", [CHANNEL_IOPUB] = "iopub_port",
    [CHANNEL_STDIN] = "stdin_port", [CHANNEL_HB] = "hb_port",
};

/* A missing or null value: the default is used. */
static bool is_absent(const json_t *json) {
    return json == NULL || json_is_null(json);
}

static int read_text(const json_t *file, const struct text_field *field, struct connection *connection,
                     struct error *ret_error) {
    const json_t *json = json_object_get(file, field->key);
    char *member = (char *)connection + field->offset;
    if (is_absent(json)) {
        (void)snprintf(member, field->size, "%s", field->missing);
        return 0;
    }
    if (!json_is_string(json))
        return error_set(ret_error, EINVAL, "The connection file's \"%s\" is not a string.", field->key);
    const char *text = json_string_value(json);
    size_t bytes = json_string_length(json);
    if (memchr(text, '\0', bytes) != NULL)
        return error_set(ret_error, EINVAL, "The connection file's \"%s\" has a NUL character in it.", field->key);
    if (bytes >= field->size) {
        return error_set(ret_error, EINVAL, "The connection file's \"%s\" is longer than %zu bytes.", field->key,
                         field->size - 1);
    }
    memcpy(member, text, bytes + 1);
    return 0;
}

static int read_port(const json_t *file, const char *key, int *ret_port, struct error *ret_error) {
    const json_t *json = json_object_get(file, key);
    if (!json)
        return error_set(ret_error, EINVAL, "The connection file has no \"%s\".", key);
    if (!json_is_integer(json))
        return error_set(ret_error, EINVAL, "The connection file's \"%s\" is not an integer.", key);
    json_int_t port = json_integer_value(json);
    if (port < 1 || port > 65535) {
        return error_set(ret_error, EINVAL,
                         "The connection file's \"%s\" is %" JSON_INTEGER_FORMAT ", but a port is from 1 to 65535.",
                         key, port);
    }
    *ret_port = (int)port;
    return 0;
}

static int check_scheme(const json_t *file, struct error *ret_error) {
    static const char known[] = "hmac-sha256";
    const json_t *json = json_object_get(file, "signature_scheme");
    if (is_absent(json))
        return 0;
    if (!json_is_string(json))
        return error_set(ret_error, EINVAL, "The connection file's \"signature_scheme\" is not a string.");
    if (json_string_length(json) != sizeof known - 1 || strcmp(json_string_value(json), known) != 0) {
        return error_set(ret_error, EINVAL,
                         "The connection file's \"signature_scheme\" is \"%.40s\", but only \"%s\" is known.",
                         json_string_value(json), known);
    }
    return 0;
}

static int read_key(const json_t *file, struct connection *connection, struct error *ret_error) {
    const json_t *json = json_object_get(file, "key");
    if (!json) {
        return error_set(ret_error, EINVAL,
                         "The connection file has no \"key\" (an empty one means that messages are not signed).");
    }
    if (!json_is_string(json))
        return error_set(ret_error, EINVAL, "The connection file's \"key\" is not a string.");
    size_t bytes = json_string_length(json);
    connection->key = secret_alloc(bytes + 1);
    if (!connection->key)
        return no_memory(ret_error);
    memcpy(connection->key, json_string_value(json), bytes + 1);
    connection->key_bytes = bytes;
    return 0;
}

static int check_curve(const struct connection *connection, struct error *ret_error) {
    size_t public_bytes = strlen(connection->curve_publickey);
    size_t secret_bytes = strlen(connection->curve_secretkey);
    if ((public_bytes == 0) != (secret_bytes == 0)) {
        return error_set(ret_error, EINVAL,
                         "The connection file has only one of \"curve_publickey\" and \"curve_secretkey\".");
    }
    if (public_bytes > 0 && (public_bytes != CURVE_KEY_BYTES || secret_bytes != CURVE_KEY_BYTES)) {
        return error_set(
            ret_error, EINVAL,
            "The connection file's \"curve_publickey\" and \"curve_secretkey\" must have %d characters each.",
            CURVE_KEY_BYTES);
    }
    return 0;
}

/* port 0: the kernel chooses. */
static void write_tcp_endpoint(const struct connection *connection, int port, char *buf, size_t size) {
    bool bare_v6 = strchr(connection->ip, ':') != NULL && connection->ip[0] != '[';
    char number[16] = "*";
    if (port > 0)
        (void)snprintf(number, sizeof number, "%d", port);
    (void)snprintf(buf, size, bare_v6 ? "tcp://[%s]:%s" : "tcp://%s:%s", connection->ip, number);
}

static int make_tcp_endpoint(struct connection *connection, enum channel channel, struct error *ret_error) {
    (void)ret_error;
    write_tcp_endpoint(connection, connection->port[channel], connection->endpoint[channel],
                       sizeof connection->endpoint[channel]);
    return 0;
}

static int make_ipc_endpoint(struct connection *connection, enum channel channel, struct error *ret_error) {
    char *endpoint = connection->endpoint[channel];
    int bytes = snprintf(endpoint, sizeof connection->endpoint[channel], "ipc://%s-%d", connection->ip,
                         connection->port[channel]);
    size_t path_bytes = (size_t)bytes - strlen("ipc://");
    size_t room = sizeof((struct sockaddr_un *)0)->sun_path;
    if (path_bytes >= room) {
        return error_set(
            ret_error, EINVAL,
            "The connection file's \"ip\" makes socket paths of %zu bytes, but a path may have %zu at most.",
            path_bytes, room - 1);
    }
    return 0;
}

/* See: jupyter_client, ConnectionFileMixin, "transport". */
static const struct {
    const char *name;
    int (*make_endpoint)(struct connection *connection, enum channel channel, struct error *ret_error);
} transports[] = {
    {"tcp", make_tcp_endpoint},
    {"ipc", make_ipc_endpoint},
};

static int make_endpoints(struct connection *connection, struct error *ret_error) {
    if (connection->ip[0] == '\0')
        return error_set(ret_error, EINVAL, "The connection file's \"ip\" is empty.");
    for (size_t i = 0; i < sizeof transports / sizeof transports[0]; i++) {
        if (strcmp(connection->transport, transports[i].name) != 0)
            continue;
        int r = 0;
        for (int channel = 0; channel < CHANNEL_N && r == 0; channel++)
            r = transports[i].make_endpoint(connection, (enum channel)channel, ret_error);
        return r;
    }
    return error_set(ret_error, EINVAL,
                     "The connection file's \"transport\" is \"%s\", but only \"tcp\" and \"ipc\" are known.",
                     connection->transport);
}

static int read_ports(const json_t *file, struct connection *connection, struct error *ret_error) {
    int r = 0;
    for (int channel = 0; channel < CHANNEL_N && r == 0; channel++)
        r = read_port(file, connection_port_keys[channel], &connection->port[channel], ret_error);
    return r;
}

static int read_registration(const json_t *file, struct connection *connection, struct error *ret_error) {
    int port = 0;
    int r = read_port(file, "registration_port", &port, ret_error);
    if (r == 0)
        r = read_text(file, &registration_ip, connection, ret_error);
    if (r < 0)
        return r;
    if (connection->kernel_id[0] == '\0')
        return error_set(ret_error, EINVAL, "The registration file has no \"kernel_id\".");
    if (strcmp(connection->transport, "tcp") != 0) {
        /* With ipc the kernel would have to choose socket paths, and could replace sockets of other programs. */
        return error_set(ret_error, EINVAL,
                         "The registration file's \"transport\" is \"%s\", but only \"tcp\" can be registered.",
                         connection->transport);
    }
    write_tcp_endpoint(connection, port, connection->registration, sizeof connection->registration);
    return 0;
}

static int read_fields(const json_t *file, struct connection *connection, struct error *ret_error) {
    int r = 0;
    for (size_t i = 0; i < sizeof text_fields / sizeof text_fields[0] && r == 0; i++)
        r = read_text(file, &text_fields[i], connection, ret_error);
    if (r == 0) {
        r = is_absent(json_object_get(file, "registration_port")) ? read_ports(file, connection, ret_error)
                                                                  : read_registration(file, connection, ret_error);
    }
    if (r == 0)
        r = check_scheme(file, ret_error);
    if (r == 0)
        r = check_curve(connection, ret_error);
    if (r == 0)
        r = make_endpoints(connection, ret_error);
    return r < 0 ? r : read_key(file, connection, ret_error);
}

int connection_parse(const char *text, size_t bytes, struct connection *ret, struct error *ret_error) {
    if (utf8_valid((const unsigned char *)text, bytes) != bytes) {
        /* Replacing bytes that are not UTF-8 would change the key, and no signature would be right. */
        return error_set(ret_error, EINVAL, "The connection file is not UTF-8.");
    }
    json_auto_t *file = NULL;
    int r = text_parse(text, bytes, MAX_DEPTH, &file);
    if (r == -ENOMEM)
        return no_memory(ret_error);
    if (r < 0 || !json_is_object(file))
        return error_set(ret_error, EINVAL, "The connection file is not a JSON object.");
    struct connection connection = {0};
    r = read_fields(file, &connection, ret_error);
    if (r < 0) {
        connection_fini(&connection);
        return r;
    }
    *ret = connection;
    return 0;
}

/* Reads at most n bytes of the file at path. */
static ssize_t read_file(const char *path, char *data, size_t n) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    size_t have = 0;
    ssize_t r = 1;
    while (r > 0 && have < n) {
        r = read(fd, data + have, n - have);
        if (r < 0 && errno == EINTR)
            r = 1;
        else if (r > 0)
            have += (size_t)r;
    }
    r = r < 0 ? -errno : (ssize_t)have;
    (void)close(fd);
    return r;
}

int connection_read(const char *path, struct connection *ret, struct error *ret_error) {
    char text[CONNECTION_MAX_BYTES + 1];
    ssize_t n = read_file(path, text, sizeof text);
    if (n < 0)
        return error_set(ret_error, (int)-n, "The connection file %s can't be read: %s.", path, strerror((int)-n));
    int r = (size_t)n > CONNECTION_MAX_BYTES
                ? error_set(ret_error, EINVAL, "The connection file %s is larger than %d bytes.", path,
                            CONNECTION_MAX_BYTES)
                : connection_parse(text, (size_t)n, ret, ret_error);
    sodium_memzero(text, sizeof text);
    return r;
}

int connection_withhold(struct connection *connection) {
    return secret_withhold(connection->key, connection->key_bytes + 1);
}

void connection_fini(struct connection *connection) {
    secret_free(connection->key, connection->key_bytes + 1);
    sodium_memzero(connection, sizeof *connection);
}
