/*
 * connection.h - the connection file a Jupyter client writes for its kernel.
 *
 * See: jupyter_client, "Making kernels for Jupyter", "Connection files".
 */
#ifndef PETRI_CONNECTION_H
#define PETRI_CONNECTION_H

#include <stddef.h>

enum channel { CHANNEL_SHELL, CHANNEL_CONTROL, CHANNEL_IOPUB, CHANNEL_STDIN, CHANNEL_HB, CHANNEL_N };

struct connection {
    char endpoint[CHANNEL_N][256];   /* what zmq_bind() takes: tcp://IP:PORT, or ipc://IP-PORT */
    char transport[8];               /* "tcp" or "ipc" */
    char ip[200];
    int port[CHANNEL_N];
    unsigned char *key;              /* malloc'ed; key_bytes 0 means messages are not signed */
    size_t key_bytes;
    char kernel_name[128];           /* "" where the file has none */
    char curve_publickey[41];        /* Z85, "" where the file has none */
    char curve_secretkey[41];
};

/*
 * Parses the text of a connection file. 0, or -EINVAL with one plain sentence
 * in why (at most why_bytes with the NUL). connection_fini() wipes the key.
 */
int connection_parse(const char *text, size_t bytes, struct connection *ret, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));

/* Reads and parses the file at path, at most 64 KiB of it. 0, -EINVAL, or the -errno of open(2) or read(2); why as above. */
int connection_read(const char *path, struct connection *ret, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));

void connection_fini(struct connection *connection);

#endif
