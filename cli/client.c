/*
 * client.c - starts this program as a kernel, and waits for one request at a time.
 *
 * The kernel is a child in its own process group, so that Ctrl-C does not signal
 * it too, but reaches it as an interrupt_request from here. SIGINT and SIGTERM
 * are blocked before the fork and read from a signalfd; the child gets the old
 * mask back. An interrupt that comes before the cell is busy is sent once it is,
 * because before it would interrupt nothing; a second one ends everything.
 *
 * A run is over once both the reply and the idle status have arrived: they come
 * on two sockets, in either order.
 */

#include "client.h"

#include "cli/commands.h"
#include "kernel/base/clock.h"
#include "kernel/jupyter/channels.h"
#include "kernel/policy/config.h"
#include "protocol/bytes.h"
#include "protocol/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <zmq.h>

enum { START_MS = 60000, STOP_MS = 5000, KEY_BYTES = 32 };

struct client {
    struct channels channels; /* the client's sockets */
    struct connection connection;
    char folder[64]; /* of the connection file and the sockets */
    pid_t pid;
    int pid_fd;
    int signal_fd; /* for SIGINT and SIGTERM, which are blocked */
    sigset_t before;
    int interrupts;
    bool counts;           /* whether cells take a number */
    bool interrupt_wanted; /* an interrupt waits until the cell is busy */
};

/* The messages of a cell so far. */
struct cell_outputs {
    char id[37]; /* of the request */
    struct bytes text[2];
    json_t *displays;
    json_t *notes; /* what the kernel says of the run's files */
    json_t *result;
    json_t *report;
    bool busy, idle;
};

static int fail_client(struct error *ret_error, int err, const char *what) {
    return error_set(ret_error, err, "%s: %s", what, strerror(err));
}

static int make_folder(struct client *client) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && strlen(runtime) < 32) {
        snprintf(client->folder, sizeof client->folder, "%s/petri-XXXXXX", runtime);
        if (mkdtemp(client->folder))
            return 0;
    }
    snprintf(client->folder, sizeof client->folder, "/tmp/petri-XXXXXX");
    if (mkdtemp(client->folder))
        return 0;
    client->folder[0] = '\0';
    return -errno;
}

/* Writes the connection file; its path goes to ret_path. */
static int write_connection(const struct client *client, char *ret_path, size_t size) {
    unsigned char key[KEY_BYTES];
    char hex[2 * sizeof key + 1];
    randombytes_buf(key, sizeof key);
    sodium_bin2hex(hex, sizeof hex, key, sizeof key);
    snprintf(ret_path, size, "%s/connection.json", client->folder);
    char ip[sizeof client->folder + 4];
    snprintf(ip, sizeof ip, "%s/k", client->folder);
    json_auto_t *json = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:s}", "transport", "ipc", "ip", ip,
                                  "shell_port", 1, "control_port", 2, "iopub_port", 3, "stdin_port", 4, "hb_port", 5,
                                  "key", hex, "signature_scheme", "hmac-sha256");
    auto_fd fd = open(ret_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    return json && json_dumpfd(json, fd, 0) == 0 ? 0 : -EIO;
}

static int connect_socket(struct client *client, enum channel channel, int type) {
    const int none = 0;
    void *socket = client->channels.sockets[channel] = zmq_socket(client->channels.context, type);
    if (!socket || zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none) < 0 ||
        zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none) < 0 ||
        (type == ZMQ_SUB && zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0) < 0) ||
        zmq_connect(socket, client->connection.endpoint[channel]) < 0)
        return -errno;
    return 0;
}

static int connect_sockets(struct client *client) {
    struct channels *channels = &client->channels;
    channels->context = zmq_ctx_new();
    channels->signer = signer_create(client->connection.key, client->connection.key_bytes);
    channels->any_signature = signer_create("", 0);
    message_new_id(channels->session_id);
    snprintf(channels->username, sizeof channels->username, "petri");
    if (!channels->context || !channels->signer || !channels->any_signature)
        return -ENOMEM;
    int r = connect_socket(client, CHANNEL_IOPUB, ZMQ_SUB);
    if (r == 0)
        r = connect_socket(client, CHANNEL_SHELL, ZMQ_DEALER);
    return r == 0 ? connect_socket(client, CHANNEL_CONTROL, ZMQ_DEALER) : r;
}

/* Runs the kernel in the child: in a process group of its own, and killed when this process ends. */
static void run_kernel(const struct client *client, const struct client_options *options, const char *file) {
    const char *argv[16] = {"petri", "kernel", file};
    const char *const given[][2] = {{"--profile", options->profile},
                                    {"--config", options->config},
                                    {"--python", options->python},
                                    {"--artifacts", options->artifacts}};
    char parent[16];
    size_t n = 3;
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (!given[i][1])
            continue;
        argv[n++] = given[i][0];
        argv[n++] = given[i][1];
    }
    snprintf(parent, sizeof parent, "%d", getppid());
    setenv("JPY_PARENT_PID", parent, 1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        _exit(EXIT_FAILURE);
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &client->before, NULL);
    execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
    _exit(EXIT_FAILURE);
}

/* A kernel would start with these all the same, and run nothing. */
static int check_options(const struct client_options *options, struct error *ret_error) {
    struct config config;
    int r = config_load(options->config, options->profile, &config, ret_error);
    if (r < 0)
        return -EUSERS;
    config_fini(&config);
    return 0;
}

static int start_kernel(struct client *client, const struct client_options *options, const char *file) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &client->before);
    client->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (client->signal_fd < 0)
        return -errno;
    client->pid = fork();
    if (client->pid == 0)
        run_kernel(client, options, file);
    if (client->pid < 0)
        return -errno;
    client->pid_fd = (int)syscall(SYS_pidfd_open, client->pid, 0);
    return client->pid_fd < 0 ? -errno : 0;
}

/* The kernel has ended: returns -EUSERS for EXIT_USAGE, else -EPIPE. */
static int reap(struct client *client, struct error *ret_error) {
    int status = 0;
    while (waitpid(client->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    client->pid = -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_USAGE)
        return error_set(ret_error, EUSERS, "the kernel did not start");
    return error_set(ret_error, EPIPE, "the kernel ended unexpectedly");
}

/* A signal interrupts the cell; a second one ends everything. */
static int take_signal(struct client *client) {
    struct signalfd_siginfo info;
    if (read(client->signal_fd, &info, sizeof info) != sizeof info)
        return 0;
    if (info.ssi_signo == SIGTERM || client->interrupts++ > 0)
        return -EINTR;
    client->interrupt_wanted = true;
    return 0;
}

/* Waits for messages on shell or iopub. 1, 0 at the deadline, or -errno with ret_error. */
static int await(struct client *client, int64_t deadline_us, struct error *ret_error) {
    zmq_pollitem_t items[] = {
        {.socket = client->channels.sockets[CHANNEL_SHELL], .events = ZMQ_POLLIN},
        {.socket = client->channels.sockets[CHANNEL_IOPUB], .events = ZMQ_POLLIN},
        {.fd = client->signal_fd, .events = ZMQ_POLLIN},
        {.fd = client->pid_fd, .events = ZMQ_POLLIN},
    };
    int64_t left_us = deadline_us - clock_us();
    long timeout_ms = deadline_us == CLOCK_NEVER ? -1 : left_us > 0 ? (long)(left_us / CLOCK_MS) + 1 : 0;
    int n = zmq_poll(items, 4, timeout_ms);
    if (n == 0)
        return 0;
    if (n < 0)
        return errno == EINTR ? 1 : fail_client(ret_error, errno, "waiting for the kernel");
    if (items[2].revents) {
        int r = take_signal(client);
        if (r == -EINTR)
            error_set(ret_error, EINTR, "a signal ended the cell and petri");
        return r < 0 ? r : 1;
    }
    if (items[3].revents && !items[0].revents && !items[1].revents)
        return reap(client, ret_error);
    return 1;
}

/* Receives the next valid message. 1, 0 where none has arrived, or -errno. */
static int receive(struct client *client, enum channel channel, struct message *ret_message) {
    enum message_problem problem = MESSAGE_OK;
    struct message message = {0};
    int r = channels_receive(&client->channels, channel, &message, &problem);
    if (r <= 0 || problem == MESSAGE_OK) {
        *ret_message = message;
        return r;
    }
    message_fini(&message);
    return -EBADMSG;
}

/* Messages that are published before iopub_welcome are lost, so waits for it. */
static int await_welcome(struct client *client, struct error *ret_error) {
    int64_t deadline_us = clock_us() + START_MS * CLOCK_MS;
    for (;;) {
        struct message message = {0};
        int r = receive(client, CHANNEL_IOPUB, &message);
        bool welcome = r > 0 && strcmp(message.msg_type, "iopub_welcome") == 0;
        message_fini(&message);
        if (welcome)
            return 0;
        if (r == 0)
            r = await(client, deadline_us, ret_error);
        if (r < 0)
            return r;
        if (clock_us() >= deadline_us)
            return fail_client(ret_error, ETIMEDOUT, "starting the kernel");
    }
}

int client_start(const struct client_options *options, struct client **ret, struct error *ret_error) {
    char file[96];
    int r = check_options(options, ret_error);
    if (r < 0)
        return r;
    struct client *client = calloc(1, sizeof *client);
    if (!client)
        return fail_client(ret_error, ENOMEM, "starting");
    client->pid = client->pid_fd = client->signal_fd = -1;
    if (sodium_init() < 0)
        return free(client), fail_client(ret_error, ENOSYS, "libsodium");
    r = make_folder(client);
    if (r == 0)
        r = write_connection(client, file, sizeof file);
    if (r < 0)
        fail_client(ret_error, -r, "a folder for the connection");
    if (r == 0)
        r = connection_read(file, &client->connection, ret_error);
    if (r == 0 && (r = start_kernel(client, options, file)) < 0)
        fail_client(ret_error, -r, "starting the kernel");
    if (r == 0 && (r = connect_sockets(client)) < 0)
        fail_client(ret_error, -r, "connecting to the kernel");
    if (r == 0)
        r = await_welcome(client, ret_error);
    if (r < 0)
        client_stop(client);
    else
        *ret = client;
    return r;
}

static bool is_for(const struct message *message, const char *id) {
    const char *parent = json_string_value(json_object_get(message->parent, "msg_id"));
    return parent && strcmp(parent, id) == 0;
}

static void take_stream(struct cell_outputs *outputs, const json_t *content) {
    const char *name = json_string_value(json_object_get(content, "name"));
    const json_t *text = json_object_get(content, "text");
    if (name && json_is_string(text))
        bytes_append(&outputs->text[strcmp(name, "stderr") == 0], json_string_value(text), json_string_length(text));
}

static void take_status(struct cell_outputs *outputs, const json_t *content) {
    const char *state = json_string_value(json_object_get(content, "execution_state"));
    outputs->idle = state && strcmp(state, "idle") == 0;
    outputs->busy |= state && strcmp(state, "busy") == 0;
}

static void take_result(struct cell_outputs *outputs, const json_t *content) {
    json_decref(outputs->result);
    outputs->result = json_incref(json_object_get(json_object_get(content, "data"), "text/plain"));
}

static void take_display(struct cell_outputs *outputs, const json_t *content) {
    json_t *petri = json_object_get(json_object_get(content, "transient"), "petri"); /* of the kernel's own */
    if (json_is_string(petri) && strcmp(json_string_value(petri), "note") == 0) {
        json_array_append(outputs->notes, json_object_get(json_object_get(content, "data"), "text/plain"));
        return;
    }
    json_array_append_new(outputs->displays,
                          json_pack("{s:O?, s:O?, s:O*}", "data", json_object_get(content, "data"), "metadata",
                                    json_object_get(content, "metadata"), "petri", petri));
}

static const struct {
    const char *msg_type;
    void (*take)(struct cell_outputs *outputs, const json_t *content);
} handlers[] = {
    {"display_data", take_display},
    {"execute_result", take_result},
    {"status", take_status},
    {"stream", take_stream},
};

static void take_message(struct cell_outputs *outputs, const struct message *message) {
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (strcmp(handlers[i].msg_type, message->msg_type) == 0)
            handlers[i].take(outputs, message->content);
}

static void take_client_reply(struct cell_outputs *outputs, const struct message *message) {
    json_t *report = json_object_get(message->metadata, "petri");
    if (json_is_object(report) && !outputs->report)
        outputs->report = json_incref(report);
}

/* Takes what has arrived on one channel. 0 or -errno. */
static int take_messages(struct client *client, enum channel channel, struct cell_outputs *outputs) {
    for (;;) {
        struct message message = {0};
        int r = receive(client, channel, &message);
        if (r > 0 && is_for(&message, outputs->id) && channel == CHANNEL_SHELL)
            take_client_reply(outputs, &message);
        else if (r > 0 && is_for(&message, outputs->id))
            take_message(outputs, &message);
        message_fini(&message);
        if (r <= 0)
            return r;
    }
}

static int interrupt(struct client *client) {
    json_auto_t *content = json_object();
    client->interrupt_wanted = false;
    return channels_send(&client->channels, CHANNEL_CONTROL,
                         &(struct message_parts){.msg_type = "interrupt_request", .content = content});
}

/* Waits until both the reply and the idle status have arrived. */
static int await_end(struct client *client, struct cell_outputs *outputs, struct error *ret_error) {
    for (;;) {
        int r = take_messages(client, CHANNEL_IOPUB, outputs);
        if (r == 0)
            r = take_messages(client, CHANNEL_SHELL, outputs);
        if (r < 0)
            return fail_client(ret_error, -r, "listening to the kernel");
        if (outputs->report && outputs->idle)
            return 0;
        if (client->interrupt_wanted && outputs->busy && (r = interrupt(client)) < 0)
            return fail_client(ret_error, -r, "interrupting the cell");
        r = await(client, CLOCK_NEVER, ret_error);
        if (r < 0)
            return r;
    }
}

void client_count(struct client *client, bool counts) {
    client->counts = counts;
}

/* Sends the request; its id goes to ret_id. */
static int ask(struct client *client, const json_t *code, const json_t *petri, char ret_id[37]) {
    struct message_out out;
    json_auto_t *metadata = petri ? json_pack("{s:O}", "petri", petri) : NULL;
    json_auto_t *content =
        json_pack("{s:O, s:b, s:b, s:b}", "code", code, "silent", 0, "store_history", client->counts, "allow_stdin", 0);
    struct message_parts parts = {.msg_type = "execute_request",
                                  .session = client->channels.session_id,
                                  .username = client->channels.username,
                                  .metadata = metadata,
                                  .content = content};
    int r = content ? message_encode(client->channels.signer, &parts, &out) : -ENOMEM;
    if (r < 0)
        return r;
    size_t bytes = 0;
    for (size_t i = 0; i < out.n_frames; i++)
        bytes += out.frames[i].bytes;
    if (bytes > message_default_caps.max_bytes) { /* the kernel would end the connection, and not answer */
        message_out_fini(&out);
        return -EMSGSIZE;
    }
    /* The header is the third frame: delimiter, signature, header. */
    json_auto_t *header = text_parse_json(out.frames[2].data, out.frames[2].bytes, 4);
    snprintf(ret_id, 37, "%s", json_string_value(json_object_get(header, "msg_id")));
    for (size_t i = 0; i < out.n_frames && r == 0; i++)
        if (zmq_send(client->channels.sockets[CHANNEL_SHELL], out.frames[i].data, out.frames[i].bytes,
                     i + 1 < out.n_frames ? ZMQ_SNDMORE : 0) < 0)
            r = -errno;
    message_out_fini(&out);
    return r;
}

/* The report with the cell's outputs. */
static json_t *complete(struct cell_outputs *outputs) {
    json_t *report = json_copy(outputs->report);
    json_auto_t *more =
        json_pack("{s:o, s:o, s:O?, s:O, s:O}", "stdout", text_to_json(outputs->text[0].data, outputs->text[0].n),
                  "stderr", text_to_json(outputs->text[1].data, outputs->text[1].n), "result", outputs->result,
                  "displays", outputs->displays, "notes", outputs->notes);
    if (!more)
        return json_decref(report), NULL;
    json_object_update(report, more);
    return report;
}

int client_run(struct client *client, const json_t *code, const json_t *petri, json_t **ret_report,
               struct error *ret_error) {
    struct cell_outputs outputs = {.displays = json_array(), .notes = json_array()};
    client->interrupts = client->interrupt_wanted; /* interrupted while the kernel started */
    int r = ask(client, code, petri, outputs.id);
    if (r < 0)
        fail_client(ret_error, -r, "asking the kernel");
    else
        r = await_end(client, &outputs, ret_error);
    json_t *report = r == 0 ? complete(&outputs) : NULL;
    if (r == 0 && !report)
        r = fail_client(ret_error, ENOMEM, "the report");
    if (r == 0)
        *ret_report = report;
    bytes_fini(&outputs.text[0]);
    bytes_fini(&outputs.text[1]);
    json_decref(outputs.displays);
    json_decref(outputs.notes);
    json_decref(outputs.result);
    json_decref(outputs.report);
    return r;
}

static void end_kernel(struct client *client) {
    struct pollfd ended = {.fd = client->pid_fd, .events = POLLIN};
    if (client->pid <= 0)
        return;
    kill(client->pid, SIGTERM);
    if (poll(&ended, 1, STOP_MS) != 1)
        kill(client->pid, SIGKILL);
    while (waitpid(client->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static void remove_folder(const struct client *client) {
    static const char *const names[] = {"connection.json", "k-1", "k-2", "k-3", "k-4", "k-5"};
    char path[sizeof client->folder + 32];
    for (size_t i = 0; client->folder[0] && i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", client->folder, names[i]);
        unlink(path);
    }
    if (client->folder[0])
        rmdir(client->folder);
}

void client_stop(struct client *client) {
    if (!client)
        return;
    end_kernel(client);
    channels_close(&client->channels);
    connection_fini(&client->connection);
    remove_folder(client);
    if (client->signal_fd >= 0) {
        close(client->signal_fd);
        sigprocmask(SIG_SETMASK, &client->before, NULL);
    }
    if (client->pid_fd >= 0)
        close(client->pid_fd);
    free(client);
}

static const struct {
    const char *outcome;
    int status;
} statuses[] = {{"ok", 0}, {"error", 1}, {"refused", EXIT_USAGE}, {"sandbox", 4}};

int client_exit_status(const json_t *report) {
    const char *outcome = json_string_value(json_object_get(report, "outcome"));
    for (size_t i = 0; outcome && i < sizeof statuses / sizeof statuses[0]; i++)
        if (strcmp(statuses[i].outcome, outcome) == 0)
            return statuses[i].status;
    bool raised =
        outcome && strcmp(outcome, "interrupted") == 0 && json_is_false(json_object_get(report, "rolled_back"));
    return raised ? 1 : 3;
}
