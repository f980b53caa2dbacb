/*
 * connection.h - the connection file a Jupyter client writes for its kernel.
 *
 * It has the ports. A registration file has instead the port to which the kernel
 * sends the ports that it has chosen.
 *
 * See: jupyter_client, "Making kernels for Jupyter", "Connection files";
 * Jupyter messaging, "Kernel startup handshake".
 */
#ifndef PETRI_CONNECTION_H
#define PETRI_CONNECTION_H

#include "base/cleanup.h"
#include "base/error.h"

#include <stddef.h>

enum channel { CHANNEL_SHELL, CHANNEL_CONTROL, CHANNEL_IOPUB, CHANNEL_STDIN, CHANNEL_HB, CHANNEL_N };

/* The key of each channel's port: "shell_port", ... See: jupyter_client, "Connection files". */
extern const char *const connection_port_keys[CHANNEL_N];

#define CONNECTION_MAX_BYTES 65536

struct connection {
    char endpoint[CHANNEL_N][256]; /* tcp://IP:PORT, tcp://IP:* or ipc://IP-PORT */
    char transport[8];             /* "tcp" or "ipc" */
    char ip[200];
    int port[CHANNEL_N];    /* 0 in a registration file: the kernel chooses */
    char registration[256]; /* the endpoint of a registration file; "" where the file has the ports */
    char kernel_id[129];    /* the kernel's name there */
    unsigned char *key;     /* owned, of secret_alloc(); key_bytes 0 means messages are not signed */
    size_t key_bytes;
    char kernel_name[128];    /* "" where the file has none */
    char curve_publickey[41]; /* Z85, 40 characters, "" where the file has none */
    char curve_secretkey[41];
};

/* From now on forked processes don't have the key. 0 or -errno. */
int connection_withhold(struct connection *connection);

/*
 * Parses the text of a connection file. Ports and key are required (a client may
 * choose an empty key, but a file without one is damaged). The defaults are
 * transport tcp, ip 127.0.0.1 and signature_scheme hmac-sha256. A file with a
 * registration_port is a registration file: it must have a kernel_id, and its
 * transport is tcp. 0, -ENOMEM, or -EINVAL, each with one plain sentence in
 * ret_error. *ret is the caller's: connection_fini(), which wipes the key.
 */
int connection_parse(const char *text, size_t bytes, struct connection *ret, struct error *ret_error) MUST_CHECK;

/*
 * Reads and parses the file at path, at most CONNECTION_MAX_BYTES. 0, -EINVAL,
 * -ENOMEM, or the -errno of open(2) or read(2); ret_error as above. May block as
 * reading a file does.
 */
int connection_read(const char *path, struct connection *ret, struct error *ret_error) MUST_CHECK;

void connection_fini(struct connection *connection);

#endif
