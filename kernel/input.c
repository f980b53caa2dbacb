#include "input.h"

#include "kernel/clock.h"
#include "kernel/identities.h"
#include "kernel/kernel.h"
#include "kernel/talk.h"
#include "protocol/text.h"

#include <string.h>
#include <zmq.h>

enum { ANSWERS_PER_TURN = 16, STALE_MAX = 1000 };

static int send_request(struct kernel *kernel, const struct run *run, const json_t *frame) {
    const json_t *password = json_object_get(frame, "password");
    const json_t *prompt = json_object_get(frame, "prompt");
    /* A prompt is shown as what is printed is, and counts as that. */
    size_t bytes = outputs_admit(&kernel->runner.outputs, json_string_length(prompt));
    json_auto_t *content =
        json_pack("{s:o, s:b}", "prompt",
                  text_to_json(json_string_value(prompt), text_whole_utf8(json_string_value(prompt), bytes)),
                  "password", json_is_true(password));
    return channels_send(&kernel->channels, CHANNEL_STDIN,
                         &(struct message_parts){.identities = run->request->message.identities,
                                                 .n_identities = run->request->message.n_identities,
                                                 .msg_type = "input_request",
                                                 .parent = run->request->message.header,
                                                 .content = content});
}

/* What was answered before anything was asked is no answer to what comes now. Bounded: anybody may send. */
static void drop_stale(struct kernel *kernel) {
    struct message message = {0};
    enum message_problem problem;
    for (int i = 0; i < STALE_MAX && channels_receive(&kernel->channels, CHANNEL_STDIN, &message, &problem) > 0; i++)
        message_fini(&message);
}

void input_ask(struct kernel *kernel, const json_t *frame) {
    struct run *run = kernel->runner.run;
    if (run->grace_us != CLOCK_NEVER)
        input_forget(kernel); /* an interrupt that met the question on its way: the code may ask another one */
    if (!run->allow_stdin || run->waits_for_input) {
        runner_broken(kernel, "it asked for input where none can come");
        return;
    }
    drop_stale(kernel);
    int r = send_request(kernel, run, frame);
    if (r < 0)
        log_write(&kernel->log, LOG_LEVEL_ERROR, "an input_request is lost: %s", zmq_strerror(-r));
    run->waits_for_input = run->asked = true;
    run->input_seq = json_integer_value(json_object_get(frame, "seq"));
    run->left_us = run->deadline_us - clock_us();
    run->deadline_us = CLOCK_NEVER;
}

void input_forget(struct kernel *kernel) {
    struct run *run = kernel->runner.run;
    if (!run->waits_for_input)
        return;
    run->waits_for_input = false;
    run->deadline_us = clock_us() + run->left_us;
}

/* Only who was asked answers, through another connection than the one of the request. See: Jupyter messaging, "Messages
 * on the stdin (ROUTER/DEALER) channel". */
static bool was_asked(const struct run *run, const struct message *message) {
    const struct message *asker = &run->request->message;
    bool same = message->n_identities == asker->n_identities && message->n_identities > 0 &&
                identities_are_one(&message->identities[0], &asker->identities[0]);
    for (size_t i = 1; same && i < message->n_identities; i++)
        same = message->identities[i].bytes == asker->identities[i].bytes &&
               memcmp(message->identities[i].data, asker->identities[i].data, asker->identities[i].bytes) == 0;
    return same;
}

static void take_answer(struct kernel *kernel, const struct message *message) {
    struct run *run = kernel->runner.run;
    json_t *value = json_object_get(message->content, "value");
    if (strcmp(message->msg_type, "input_reply") != 0 || !run || !run->waits_for_input || !was_asked(run, message))
        return;
    json_auto_t *frame = json_pack("{s:s, s:I, s:o}", "type", "input_reply", "seq", run->input_seq, "value",
                                   json_is_string(value) ? json_incref(value) : json_string(""));
    input_forget(kernel);
    int r = talk_send(&kernel->runner.link, frame, NULL, 0);
    if (r < 0)
        runner_broken(kernel, strerror(-r));
}

void input_serve(struct kernel *kernel, void *arg, short events) {
    (void)arg;
    (void)events;
    for (int i = 0; i < ANSWERS_PER_TURN; i++) {
        struct message message = {0};
        enum message_problem problem;
        int r = channels_receive(&kernel->channels, CHANNEL_STDIN, &message, &problem);
        if (r < 0)
            log_write(&kernel->log, LOG_LEVEL_ERROR, "receiving failed: %s", zmq_strerror(-r));
        if (r <= 0)
            break;
        if (problem == MESSAGE_OK)
            take_answer(kernel, &message);
        message_fini(&message);
    }
}
