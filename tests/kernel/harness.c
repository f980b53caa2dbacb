#include "harness.h"

#include "frames.h"

#include "kernel/base/clock.h"
#include "kernel/loop.h"
#include "kernel/run/warm.h"
#include "protocol/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

/* Not a measure of anything: after this a test counts as stuck. */
enum { STUCK_MS = 30000 };

static const unsigned char key[] = "a key of the tests";

static void make_connection(struct harness *h) {
    struct connection *connection = &h->kernel.jupyter.connection;
    strcpy(h->folder, "/tmp/petri-test-XXXXXX");
    assert_non_null(mkdtemp(h->folder));
    for (int i = 0; i < CHANNEL_N; i++) {
        snprintf(connection->endpoint[i], sizeof connection->endpoint[i], "ipc://%s/%d", h->folder, i);
        connection->port[i] = 1000 + i;
    }
    connection->key = secret_alloc(sizeof key + 1);
    assert_non_null(connection->key);
    memcpy(connection->key, key, sizeof key);
    connection->key_bytes = sizeof key;
}

static void make_runner(struct kernel *kernel) {
    struct runner *runner = &kernel->runner;
    *runner = (struct runner){.log = &kernel->log,
                              .jupyter = &kernel->jupyter,
                              .info = &kernel->info,
                              .comms = &kernel->comms,
                              .history = &kernel->history,
                              .export = &kernel->export,
                              .writeback = &kernel->writeback,
                              .accounts = &kernel->accounts,
                              .config = &kernel->config,
                              .grace_us = 30 * CLOCK_S};
    profile_of_kind(PROFILE_NOTEBOOK, &kernel->config.profile);
    runner->profile = kernel->accounts.profile = &kernel->config.profile;
    limits_defaults(PROFILE_NOTEBOOK, &runner->limits);
    runner->limits.values[LIMIT_TIMEOUT] = 120 * CLOCK_S / CLOCK_MS; /* on each machine the same, and not the most */
    runner->limits.values[LIMIT_MEMORY] = INT64_C(2) << 30;
    assert_int_equal(runner_init(runner), 0);
}

static void make_kernel(struct harness *h) {
    struct kernel *kernel = &h->kernel;
    struct jupyter *jupyter = &kernel->jupyter;
    struct error error = {0};
    *kernel = (struct kernel){.signal_fd = -1, .usage = {.pid = getpid()}};
    log_init(&kernel->log, "error");
    make_connection(h);
    jupyter->log = &kernel->log;
    kernel->accounts =
        (struct accounts){.log = &kernel->log, .config = &kernel->config, .session_id = jupyter->channels.session_id};
    make_runner(kernel);
    introspections_init(&kernel->introspections);
    backpressure_init(&jupyter->backpressure, &jupyter->channels, &kernel->log);
    export_init(&kernel->export, -1, "", "");
    kernel->accounts.redaction.variables = &kernel->accounts.variables;
    history_init(&kernel->history, "", &kernel->accounts.redaction, &kernel->log);
    preload_init(&kernel->preload);
    compact_init(&kernel->compact);
    kernel->preload.over = true;  /* the worker that a test plays is asked only what the test asks */
    kernel->deferred.done = true; /* a test that wants records opens them */
    assert_int_equal(comms_init(&kernel->comms), 0);
    if (listeners_open(&jupyter->connection, 0, &jupyter->listeners, &error) < 0 ||
        channels_open(&jupyter->channels, &jupyter->connection, &jupyter->listeners, &error) < 0 ||
        heartbeat_start(&jupyter->heartbeat, jupyter->channels.context, &jupyter->connection, &jupyter->listeners,
                        &error) < 0)
        fail_msg("%s", error.text);
    h->session = fake_session_create();
    warm_begin(&kernel->runner, h->session);
}

void *harness_connect(struct harness *h, enum channel channel, const char *name) {
    static const int types[CHANNEL_N] = {[CHANNEL_SHELL] = ZMQ_DEALER,
                                         [CHANNEL_CONTROL] = ZMQ_DEALER,
                                         [CHANNEL_IOPUB] = ZMQ_SUB,
                                         [CHANNEL_STDIN] = ZMQ_DEALER,
                                         [CHANNEL_HB] = ZMQ_REQ};
    int timeout_ms = STUCK_MS;
    int linger_ms = 0;
    void *socket = zmq_socket(h->context, types[channel]);
    assert_non_null(socket);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    if (name && types[channel] == ZMQ_DEALER)
        zmq_setsockopt(socket, ZMQ_IDENTITY, name, strlen(name));
    if (types[channel] == ZMQ_SUB)
        zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
    assert_int_equal(zmq_connect(socket, h->kernel.jupyter.connection.endpoint[channel]), 0);
    return socket;
}

static void connect_client(struct harness *h) {
    h->context = zmq_ctx_new();
    h->signer = signer_create(key, sizeof key);
    assert_non_null(h->signer);
    for (int i = 0; i < CHANNEL_N; i++)
        h->sockets[i] = harness_connect(h, i, "client");
}

static void *run(void *arg) {
    struct kernel *kernel = arg;
    return (void *)(intptr_t)loop_run(kernel);
}

/* Plays a worker that has not been told anything yet. */
static void take_worker(struct harness *h, struct harness_worker *worker, int fd) {
    wire_reader_destroy(worker->reader);
    worker->reader = wire_reader_create(1 << 22);
    assert_non_null(worker->reader);
    worker->fd = fd;
    h->played = worker;
}

void harness_start(struct harness *h, harness_change *change) {
    struct message welcome;
    *h = (struct harness){0};
    make_kernel(h);
    if (change)
        change(&h->kernel);
    take_worker(h, &h->own, fake_worker_fd(h->session));
    connect_client(h);
    assert_int_equal(pthread_create(&h->thread, NULL, run, &h->kernel), 0);
    harness_receive(h, CHANNEL_IOPUB, &welcome);
    assert_string_equal(welcome.msg_type, "iopub_welcome");
    message_fini(&welcome);
}

void harness_hello(struct harness *h) {
    harness_say(h,
                json_pack("{s:s, s:{s:s, s:s, s:s, s:s}, s:s}", "type", "hello", "language_info", "name", "python",
                          "version", "3.99", "mimetype", "text/x-python", "file_extension", ".py", "banner", "Hello!"));
}

void harness_start_warm(struct harness *h, harness_change *change) {
    harness_start(h, change);
    harness_hello(h);
    harness_say(h, json_pack("{s:s}", "type", "ready"));
}

static void stop_kernel(struct harness *h) {
    struct kernel *kernel = &h->kernel;
    struct jupyter *jupyter = &kernel->jupyter;
    introspections_fini(&kernel->introspections);
    preload_cancel(&kernel->preload);
    runner_fini(&kernel->runner);
    info_fini(&kernel->info);
    comms_fini(&kernel->comms);
    history_fini(&kernel->history);
    export_fini(&kernel->export);
    json_decref(kernel->accounts.unrecorded);
    zmq_ctx_shutdown(jupyter->channels.context);
    heartbeat_join(&jupyter->heartbeat);
    channels_close(&jupyter->channels);
    listeners_close(&jupyter->listeners, &jupyter->connection);
    connection_fini(&jupyter->connection);
}

void harness_stop(struct harness *h) {
    char id[37];
    void *status;
    harness_send(h, CHANNEL_CONTROL, "shutdown_request", json_object(), id);
    assert_int_equal(pthread_join(h->thread, &status), 0);
    assert_null(status);
    stop_kernel(h);
    fake_session_free(h->session);
    for (int i = 0; i < CHANNEL_N; i++)
        zmq_close(h->sockets[i]);
    zmq_ctx_term(h->context);
    signer_destroy(h->signer);
    harness_leave(&h->own);
    assert_int_equal(rmdir(h->folder), 0);
}

void harness_send(struct harness *h, enum channel channel, const char *msg_type, json_t *content, char ret_id[37]) {
    harness_send_with(h, channel, msg_type, content, json_object(), ret_id);
}

void harness_send_with(struct harness *h, enum channel channel, const char *msg_type, json_t *content, json_t *metadata,
                       char ret_id[37]) {
    struct message_out out;
    const struct message_parts parts = {.msg_type = msg_type,
                                        .session = h->client ? h->client : "client-session",
                                        .username = "tester",
                                        .parent = h->parent,
                                        .metadata = metadata,
                                        .content = content};
    assert_non_null(content);
    assert_int_equal(message_encode(h->signer, &parts, &out), 0);
    /* The header is the third frame from the end of the four parts, behind the delimiter and the signature. */
    json_t *header = json_loadb(out.frames[2].data, out.frames[2].bytes, 0, NULL);
    assert_non_null(header);
    snprintf(ret_id, 37, "%s", json_string_value(json_object_get(header, "msg_id")));
    json_decref(header);
    for (size_t i = 0; i < out.n_frames; i++)
        assert_int_equal(zmq_send(h->sockets[channel], out.frames[i].data, out.frames[i].bytes,
                                  i + 1 < out.n_frames ? ZMQ_SNDMORE : 0),
                         (int)out.frames[i].bytes);
    message_out_fini(&out);
    json_decref(content);
    json_decref(metadata);
}

void harness_execute(struct harness *h, const char *code, char ret_id[37]) {
    harness_send(h, CHANNEL_SHELL, "execute_request", json_pack("{s:s}", "code", code), ret_id);
}

void harness_receive(struct harness *h, enum channel channel, struct message *ret_message) {
    zmq_msg_t parts[16];
    struct frame frames[16];
    size_t n = 0;
    for (int more = 1; more; n++) {
        assert_in_range(n, 0, 15);
        zmq_msg_init(&parts[n]);
        if (zmq_msg_recv(&parts[n], h->sockets[channel], 0) < 0)
            fail_msg("nothing came on channel %d: %s", (int)channel, zmq_strerror(zmq_errno()));
        frames[n] = (struct frame){zmq_msg_data(&parts[n]), zmq_msg_size(&parts[n])};
        more = zmq_msg_more(&parts[n]);
    }
    assert_int_equal(message_decode(h->signer, &message_default_caps, frames, n, ret_message), MESSAGE_OK);
    for (size_t i = 0; i < n; i++)
        zmq_msg_close(&parts[i]);
    assert_string_equal(json_string_value(json_object_get(ret_message->header, "session")),
                        h->kernel.jupyter.channels.session_id);
}

static const char *parent_id(const struct message *message) {
    const char *id = json_string_value(json_object_get(message->parent, "msg_id"));
    return id ? id : "";
}

/* A message in a word. */
static char *word_of(const struct message *message) {
    char *word = NULL;
    const json_t *content = message->content;
    const char *state = json_string_value(json_object_get(content, "execution_state"));
    int n;
    if (strcmp(message->msg_type, "stream") == 0)
        n = asprintf(&word, "stream:%s:%s", json_string_value(json_object_get(content, "name")),
                     json_string_value(json_object_get(content, "text")));
    else if (strcmp(message->msg_type, "error") == 0)
        n = asprintf(&word, "error:%s", json_string_value(json_object_get(content, "ename")));
    else
        n = asprintf(&word, "%s", state ? state : message->msg_type);
    assert_true(n > 0);
    return word;
}

static char *join(char *all, char *word) {
    char *joined;
    assert_true(asprintf(&joined, "%s%s%s", all ? all : "", all ? " " : "", word) >= 0);
    free(all);
    free(word);
    return joined;
}

/* Adds a word to what was heard of a request. Whether it is over. */
static bool add_word(char **heard, char *word) {
    bool idle = strcmp(word, "idle") == 0;
    /* What other requests have said to be over meanwhile is followed by another busy. */
    if (*heard && strcmp(word, "busy") == 0)
        free(word);
    else
        *heard = join(*heard, word);
    return idle;
}

void harness_heard_all(struct harness *h, const char *const ids[], size_t n, char *ret_heard[]) {
    for (size_t i = 0; i < n; i++)
        ret_heard[i] = NULL;
    for (size_t idle = 0; idle < n;) {
        struct message message;
        harness_receive(h, CHANNEL_IOPUB, &message);
        for (size_t i = 0; i < n; i++)
            if (strcmp(parent_id(&message), ids[i]) == 0)
                idle += add_word(&ret_heard[i], word_of(&message));
        message_fini(&message);
    }
}

char *harness_heard(struct harness *h, const char *id) {
    char *heard;
    harness_heard_all(h, &id, 1, &heard);
    return heard;
}

json_t *harness_reply(struct harness *h, enum channel channel, const char *msg_type, const char *id) {
    struct message message;
    harness_receive(h, channel, &message);
    assert_string_equal(message.msg_type, msg_type);
    assert_string_equal(parent_id(&message), id);
    json_t *content = json_incref(message.content);
    message_fini(&message);
    return content;
}

void harness_wait_published(struct harness *h, const char *msg_type, const char *id, struct message *ret_message) {
    for (;;) {
        harness_receive(h, CHANNEL_IOPUB, ret_message);
        if (strcmp(ret_message->msg_type, msg_type) == 0 && strcmp(parent_id(ret_message), id) == 0)
            return;
        message_fini(ret_message);
    }
}

json_t *harness_told(struct harness *h) {
    struct wire_frame frame;
    int r;
    while ((r = wire_reader_next(h->played->reader, &frame)) == 0)
        assert_true(wire_reader_fill(h->played->reader, h->played->fd) > 0);
    assert_int_equal(r, 1);
    json_t *json = json_incref(frame.json);
    wire_frame_fini(&frame);
    return json;
}

json_t *harness_next_cell(struct harness *h) {
    take_worker(h, &h->own, fake_next_cell(h->session));
    return harness_told(h);
}

json_t *harness_next_beside(struct harness *h, struct harness_worker *worker) {
    *worker = (struct harness_worker){.cell = fake_next_beside(h->session)};
    take_worker(h, worker, fake_worker_of(worker->cell));
    return harness_told(h);
}

void harness_leave(struct harness_worker *worker) {
    wire_reader_destroy(worker->reader);
    worker->reader = NULL;
}

void harness_play(struct harness *h, struct harness_worker *worker) {
    h->played = worker ? worker : &h->own;
}

void harness_say(struct harness *h, json_t *json) {
    frames_say(h->played->fd, json);
}

void harness_done(struct harness *h, const char *status) {
    json_t *reply =
        strcmp(status, "ok") == 0
            ? json_pack("{s:s, s:{}, s:[]}", "status", "ok", "user_expressions", "payload")
            : json_pack("{s:s, s:s, s:s, s:[]}", "status", "error", "ename", status, "evalue", "said so", "traceback");
    harness_say(h, json_pack("{s:s, s:o}", "type", "done", "reply", reply));
}
