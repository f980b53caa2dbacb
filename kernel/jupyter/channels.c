/*
 * channels.c - opens the sockets, and receives and sends messages without blocking.
 *
 * Published frames are passed to libzmq without copying: the thread that releases
 * the last frame of a parcel frees the parcel, and subtracts its bytes. So a
 * parcel must not be used once its last frame has been passed on, and for a frame
 * that can't be sent frame_left() is called here.
 *
 * Sockets have no high-water mark, because at one libzmq drops messages silently;
 * backpressure.h has the bound instead. iopub opens first, so that a client that
 * can send a request can already subscribe; listeners.c has the same order.
 *
 * See: zmq_msg_init_data(3), zmq_setsockopt(3).
 */

#include "channels.h"

#include "kernel/jupyter/endpoint.h"
#include "kernel/jupyter/gate.h"
#include "kernel/jupyter/identities.h"
#include "kernel/jupyter/subscribers.h"
#include "protocol/signer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

enum {
    LINGER_MS = 1000, /* for sending the last messages when the kernel ends, as in ipykernel */
};

/*
 * The kernel's socket of each channel, in the order in which they open; iopub is
 * the first: see above. The heartbeat has a thread of its own: heartbeat.h.
 */
static const struct {
    enum channel channel;
    int type;
} channel_rows[] = {
    {CHANNEL_IOPUB, ZMQ_XPUB},
    {CHANNEL_STDIN, ZMQ_ROUTER},
    {CHANNEL_CONTROL, ZMQ_ROUTER},
    {CHANNEL_SHELL, ZMQ_ROUTER},
};
enum { N_CHANNEL_ROWS = sizeof channel_rows / sizeof channel_rows[0] };

struct socket_option {
    int name;
    int value;
};

static const struct socket_option every_socket[] = {
    {ZMQ_LINGER, LINGER_MS},
    {ZMQ_SNDHWM, 0}, /* at a high-water mark libzmq drops messages silently, also the idle status */
    {ZMQ_IPV6, 1},
};
/*
 * With CURVE, where clients are authenticated: a client that reconnects with its
 * identity replaces the old connection, which libzmq may still have. Without it
 * the kernel gives libzmq other routing ids: identities.h.
 */
static const struct socket_option encrypted_routers[] = {
    {ZMQ_ROUTER_HANDOVER, 1},
};
/* An error, instead of silently dropping a question whose client has not connected yet: input.c sends it again. */
static const struct socket_option stdin_sockets[] = {
    {ZMQ_ROUTER_MANDATORY, 1},
};
static const struct socket_option xpub_sockets[] = {
    {ZMQ_XPUB_VERBOSE, 1}, /* also report a second subscription to the same topic: it gets an iopub_welcome too */
};

static int set_options(void *socket, const struct socket_option *options, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (zmq_setsockopt(socket, options[i].name, &options[i].value, sizeof options[i].value) < 0)
            return -errno;
    return 0;
}
#define SET_OPTIONS(socket, options) set_options((socket), (options), sizeof(options) / sizeof((options)[0]))

/* libzmq ends a connection that sends a larger frame, before any signature is checked. */
static int cap_frames(void *socket) {
    const int64_t max_bytes = (int64_t)message_default_caps.max_bytes;
    return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &max_bytes, sizeof max_bytes) < 0 ? -errno : 0;
}

static int set_channel_options(void *socket, enum channel channel, bool encrypted) {
    if (channel == CHANNEL_IOPUB)
        return SET_OPTIONS(socket, xpub_sockets);
    int r = channel == CHANNEL_STDIN ? SET_OPTIONS(socket, stdin_sockets) : 0;
    return r == 0 && encrypted ? SET_OPTIONS(socket, encrypted_routers) : r;
}

static int make_socket(struct channels *channels, size_t row, bool encrypted) {
    enum channel channel = channel_rows[row].channel;
    void *socket = zmq_socket(channels->context, channel_rows[row].type);
    if (!socket)
        return -errno;
    channels->sockets[channel] = socket;
    int r = SET_OPTIONS(socket, every_socket);
    if (r == 0)
        r = cap_frames(socket);
    return r < 0 ? r : set_channel_options(socket, channel, encrypted);
}

static int open_socket(struct channels *channels, size_t row, const struct connection *connection,
                       struct listeners *listeners, struct error *ret_error) {
    enum channel channel = channel_rows[row].channel;
    int r = make_socket(channels, row, connection->curve_secretkey[0] != '\0');
    if (r < 0)
        return error_set(ret_error, -r, "a socket can't be made: %s", zmq_strerror(-r));
    return endpoint_bind(channels->sockets[channel], connection, channel, listeners, ret_error);
}

int channels_open(struct channels *channels, const struct connection *connection, struct listeners *listeners,
                  struct error *ret_error) {
    *channels = (struct channels){.username = "kernel", .serves = true};
    channels->signer = signer_create(connection->key, connection->key_bytes);
    channels->any_signature = signer_create("", 0);
    channels->context = zmq_ctx_new();
    if (!channels->signer || !channels->any_signature || !channels->context) {
        channels_close(channels);
        return error_set(ret_error, ENOMEM, "there is no memory for the sockets");
    }
    signer_new_session(channels->signer, channels->session_id);
    for (size_t row = 0; row < N_CHANNEL_ROWS; row++) {
        int r = open_socket(channels, row, connection, listeners, ret_error);
        if (r < 0) {
            channels_close(channels);
            return r;
        }
    }
    return 0;
}

void channels_close(struct channels *channels) {
    for (size_t i = 0; i < CHANNEL_N; i++)
        if (channels->sockets[i])
            zmq_close(channels->sockets[i]);
    if (channels->context)
        zmq_ctx_term(channels->context);
    gate_close();
    signer_destroy(channels->signer);
    signer_destroy(channels->any_signature);
    *channels = (struct channels){0};
}

/* The frames of one multipart message. */
struct received {
    size_t n;
    size_t room;
    zmq_msg_t *parts;
};

static void received_fini(struct received *received) {
    for (size_t i = 0; i < received->n; i++)
        zmq_msg_close(&received->parts[i]);
    free(received->parts);
}

static int grow(struct received *received) {
    if (received->n < received->room)
        return 0;
    size_t room = received->room ? 2 * received->room : 8;
    zmq_msg_t *parts = calloc(room, sizeof *parts);
    if (!parts)
        return -ENOMEM;
    /* Only libzmq may move a zmq_msg_t, because its address may matter. */
    for (size_t i = 0; i < received->n; i++) {
        zmq_msg_init(&parts[i]);
        zmq_msg_move(&parts[i], &received->parts[i]);
        zmq_msg_close(&received->parts[i]);
    }
    free(received->parts);
    received->parts = parts;
    received->room = room;
    return 0;
}

/* Reads and discards the rest of a message with too many frames. */
static int skip_rest(void *socket) {
    zmq_msg_t part;
    int more = 1;
    zmq_msg_init(&part);
    while (more && zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) >= 0)
        more = zmq_msg_more(&part);
    zmq_msg_close(&part);
    return 0;
}

/* 1: a whole message; 0: none has arrived; -E2BIG: it had too many frames and was discarded. */
static int receive_parts(void *socket, size_t max_frames, struct received *received) {
    for (int more = 1; more;) {
        if (received->n == max_frames)
            return skip_rest(socket), -E2BIG;
        if (grow(received) < 0)
            return -ENOMEM;
        zmq_msg_t *part = &received->parts[received->n];
        zmq_msg_init(part);
        if (zmq_msg_recv(part, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(part);
            return errno == EAGAIN ? 0 : -errno;
        }
        received->n++;
        more = zmq_msg_more(part);
    }
    return 1;
}

/* For a signed message whose parts are not all JSON objects: decodes its identities and its header alone. */
static void decode_header(struct signer *any_signature, struct frame *frames, size_t n, struct message *ret_message) {
    static const struct frame empty = {"{}", 2};
    enum { N_PARTS = 3, HEADER_AT = 2 }; /* parent, metadata, content; after delimiter, signature and header */
    size_t i = 0;
    while (i < n && (frames[i].bytes != 9 || memcmp(frames[i].data, "<IDS|MSG>", 9) != 0))
        i++;
    for (size_t part = 1; part <= N_PARTS; part++)
        frames[i + HEADER_AT + part] = empty;
    struct message message;
    if (message_decode(any_signature, &message_default_caps, frames, i + HEADER_AT + N_PARTS + 1, &message) ==
        MESSAGE_OK)
        *ret_message = message;
}

/*
 * Whether a kernel with this key has signed it. Every subscriber of iopub gets
 * such messages, also comm_msg, and could send one back as a request, with other
 * buffers, because buffers are not signed.
 */
static bool is_own(const struct channels *channels, const struct message *message) {
    const char *session = json_string_value(json_object_get(message->header, "session"));
    return session && signer_is_session(channels->signer, session);
}

static enum message_problem decode(struct channels *channels, struct received *received, struct message *ret_message) {
    auto_free struct frame *frames = calloc(received->n, sizeof *frames);
    if (!frames)
        return MESSAGE_NO_MEMORY;
    for (size_t i = 0; i < received->n; i++)
        frames[i] = (struct frame){zmq_msg_data(&received->parts[i]), zmq_msg_size(&received->parts[i])};
    enum message_problem problem =
        message_decode(channels->signer, &message_default_caps, frames, received->n, ret_message);
    if (problem == MESSAGE_BAD_JSON)
        decode_header(channels->any_signature, frames, received->n, ret_message);
    if (problem == MESSAGE_OK && channels->serves && is_own(channels, ret_message)) {
        message_fini(ret_message);
        problem = MESSAGE_REFLECTED;
    }
    bool signed_header = problem == MESSAGE_OK || (problem == MESSAGE_BAD_JSON && ret_message->header);
    if (channels->serves && signed_header && ret_message->n_identities > 0)
        identities_prove(&ret_message->identities[0]);
    return problem;
}

int channels_receive(struct channels *channels, enum channel channel, struct message *ret_message,
                     enum message_problem *ret_problem) {
    struct received received __attribute__((cleanup(received_fini))) = {0};
    int r = receive_parts(channels->sockets[channel], message_default_caps.max_frames, &received);
    if (r == -E2BIG) {
        *ret_problem = MESSAGE_TOO_MANY_FRAMES;
        return 1;
    }
    if (r == 1)
        *ret_problem = decode(channels, &received, ret_message);
    return r;
}

static bool has_arrived(void *socket) {
    int events = 0;
    size_t bytes = sizeof events;
    return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &bytes) == 0 && (events & ZMQ_POLLIN);
}

bool channels_are_asked(const struct channels *channels) {
    return has_arrived(channels->sockets[CHANNEL_SHELL]) || has_arrived(channels->sockets[CHANNEL_CONTROL]);
}

size_t channels_unsent_bytes(const struct channels *channels) {
    return atomic_load(&channels->unsent_bytes);
}

/* A published message, until libzmq has sent its last frame to the last subscriber. */
struct parcel {
    struct message_out out;
    size_t bytes;
    atomic_size_t frames_left;
    atomic_size_t *unsent_bytes;
};

/* Called by libzmq, on its own thread, once for each frame. */
static void frame_left(void *data, void *hint) {
    struct parcel *parcel = hint;
    (void)data;
    if (atomic_fetch_sub(&parcel->frames_left, 1) > 1)
        return;
    atomic_fetch_sub(parcel->unsent_bytes, parcel->bytes);
    message_out_fini(&parcel->out);
    free(parcel);
}

/* What libzmq keeps of so many frames while they wait: a zmq_msg_t of each for each subscriber. */
static size_t queue_bytes(size_t n_frames) {
    const size_t n = subscribers_known();
    return n_frames * sizeof(zmq_msg_t) * (n ? n : 1);
}

/* Makes a parcel of out, which is stolen. NULL on ENOMEM. */
static struct parcel *pack(struct message_out *out, atomic_size_t *unsent_bytes) {
    struct parcel *parcel = malloc(sizeof *parcel);
    if (!parcel) {
        message_out_fini(out);
        return NULL;
    }
    *parcel = (struct parcel){.out = *out, .bytes = queue_bytes(out->n_frames), .unsent_bytes = unsent_bytes};
    for (size_t i = 0; i < out->n_frames; i++)
        parcel->bytes += out->frames[i].bytes;
    atomic_store(&parcel->frames_left, out->n_frames);
    atomic_fetch_add(unsent_bytes, parcel->bytes);
    return parcel;
}

/* Passes one frame to libzmq. 0, or -errno and frame_left() has been called for it. */
static int lend_frame(struct parcel *parcel, const struct frame *frame, void *socket, int flags) {
    zmq_msg_t part;
    if (zmq_msg_init_data(&part, (void *)(uintptr_t)frame->data, frame->bytes, frame_left, parcel) < 0) {
        frame_left(NULL, parcel);
        return -ENOMEM;
    }
    if (zmq_msg_send(&part, socket, flags) >= 0)
        return 0;
    int r = -errno;
    zmq_msg_close(&part);
    return r;
}

/* Publishes encoded frames without copying them; steals them. */
static int publish_frames(struct channels *channels, struct message_out *out) {
    struct parcel *parcel = pack(out, &channels->unsent_bytes);
    int r = 0;
    if (!parcel)
        return -ENOMEM;
    /* After the last frame the parcel may be freed, so nothing of it is read then. */
    for (size_t i = 0, n = parcel->out.n_frames; i < n; i++) {
        int flags = ZMQ_DONTWAIT | (i + 1 < n ? ZMQ_SNDMORE : 0);
        if (r == 0)
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): frame i is not released yet, so the parcel exists */
            r = lend_frame(parcel, &parcel->out.frames[i], channels->sockets[CHANNEL_IOPUB], flags);
        else
            frame_left(NULL, parcel); // NOLINT(clang-analyzer-unix.Malloc): as above
    }
    return r;
}

static int send_frames(void *socket, const struct message_out *out) {
    int r = 0;
    for (size_t i = 0; i < out->n_frames && r == 0; i++) {
        int flags = ZMQ_DONTWAIT | (i + 1 < out->n_frames ? ZMQ_SNDMORE : 0);
        if (zmq_send(socket, out->frames[i].data, out->frames[i].bytes, flags) < 0)
            r = -errno;
    }
    return r;
}

/* Sends encoded frames to the client of the first frame's identity, on each of its connections; steals them. */
static int send_to_client(struct channels *channels, enum channel channel, struct message_out *out) {
    struct identity_way ways[IDENTITIES_WAYS];
    size_t n = channels->serves ? identities_find(channel, &out->frames[0], ways) : 0, n_shut = 0;
    int r = n == 0 ? send_frames(channels->sockets[channel], out) : 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        out->frames[0] = (struct frame){ways[i].data, ways[i].bytes};
        r = send_frames(channels->sockets[channel], out);
        if (r == -EHOSTUNREACH && ++n_shut < n)
            r = 0;
    }
    message_out_fini(out);
    return r;
}

static void sign_as_kernel(const struct channels *channels, struct message_parts *parts) {
    parts->session = channels->session_id;
    parts->username = channels->username;
}

int channels_send(struct channels *channels, enum channel channel, struct message_parts *parts) {
    struct message_out out;
    if (!parts->content)
        return -ENOMEM;
    sign_as_kernel(channels, parts);
    int r = message_encode(channels->signer, parts, &out);
    if (r < 0)
        return r;
    return channel == CHANNEL_IOPUB ? publish_frames(channels, &out) : send_to_client(channels, channel, &out);
}

int channels_send_stream(struct channels *channels, struct message_parts *parts, const char *name, const void *data,
                         size_t bytes) {
    struct message_out out;
    sign_as_kernel(channels, parts);
    int r = message_encode_stream(channels->signer, parts, name, data, bytes, &out);
    return r < 0 ? r : publish_frames(channels, &out);
}
