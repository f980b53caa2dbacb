/*
 * fuzz_connection.c - the connection file.
 *
 * A file is refused with a sentence, or every endpoint has the form that
 * listeners_open() takes. The sentence keeps to its room however small that is.
 */
#include "fuzz.h"

#include "protocol/connection.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void check_endpoint(const struct connection *connection, int channel) {
    char port[16];
    const char *endpoint = connection->endpoint[channel];
    size_t bytes = strnlen(endpoint, sizeof connection->endpoint[channel]);
    bool chosen_later = connection->registration[0] != 0;
    int port_bytes = snprintf(port, sizeof port, chosen_later ? "*" : "%d", connection->port[channel]);
    INVARIANT(connection->port[channel] >= !chosen_later && connection->port[channel] <= (chosen_later ? 0 : 65535));
    INVARIANT(bytes < sizeof connection->endpoint[channel] && bytes > strlen("tcp://") + (size_t)port_bytes);
    INVARIANT(strncmp(endpoint, connection->transport, 3) == 0 && strncmp(endpoint + 3, "://", 3) == 0);
    INVARIANT(strcmp(endpoint + bytes - port_bytes, port) == 0);
    INVARIANT(strstr(endpoint, connection->ip) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct connection connection;
    struct error error;
    memset(&error, 1, sizeof error);
    int r = connection_parse((const char *)data, size, &connection, &error);
    if (r < 0) {
        INVARIANT(r == -EINVAL && error.err == EINVAL);
        INVARIANT(strnlen(error.text, sizeof error.text) < sizeof error.text && error.text[0] == 'T');
        return 0;
    }
    for (int channel = 0; channel < CHANNEL_N; channel++)
        check_endpoint(&connection, channel);
    INVARIANT(connection.key != NULL && connection.key_bytes <= size);
    INVARIANT(strnlen(connection.registration, sizeof connection.registration) < sizeof connection.registration);
    INVARIANT(strnlen(connection.kernel_id, sizeof connection.kernel_id) < sizeof connection.kernel_id);
    INVARIANT(connection.registration[0] == 0 || connection.kernel_id[0] != 0);
    size_t public_bytes = strnlen(connection.curve_publickey, sizeof connection.curve_publickey);
    size_t secret_bytes = strnlen(connection.curve_secretkey, sizeof connection.curve_secretkey);
    INVARIANT((public_bytes == 0 || public_bytes == 40) && (secret_bytes == 0 || secret_bytes == 40));
    connection_fini(&connection);
    return 0;
}
