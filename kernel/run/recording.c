/*
 * recording.c - makes the body of a record; each part is redacted, and its redactions are counted.
 *
 * Pieces of a stream are joined before they are redacted, because a secret may be
 * split between two of them. A file with a secret is not stored, only its digest,
 * because the redacted text would be a different file. A record in which anything
 * was redacted has no cache key, because it is not the exact result any more.
 *
 * A thread does all this, because each byte is looked at many times, and other kernels
 * may have the database locked: nothing that it reads changes until it is done. The
 * record of a cell that has said little is made and stored at once, if nothing has to
 * be waited for: a thread takes longer to begin.
 */

#include "recording.h"

#include "base/errand.h"
#include "kernel/base/clock.h"
#include "kernel/base/digest.h"
#include "kernel/records/redact.h"
#include "kernel/run/accounts.h"
#include "kernel/run/budget.h"
#include "protocol/text.h"

#include <errno.h>
#include <string.h>

enum {
    SUMMARY_BYTES = 100,
    AT_ONCE_BYTES = 16 << 10, /* of JSON and files: others wait while secrets are looked for in so much */
    LOOK_S = 5,               /* more than the worker needs to find what a cell imports */
};

/* A record while it is made. */
struct recording {
    const struct redaction *redaction;
    size_t redacted; /* pieces taken out of the part that is being made */
    json_t *counts;  /* "redacted" */
    json_t *body;
};

/* Adds a part to the body, and its count; value is stolen. */
static void add_part(struct recording *recording, const char *name, json_t *value) {
    json_object_set_new(recording->body, name, value);
    json_object_set_new(recording->counts, name, json_integer((json_int_t)recording->redacted));
    recording->redacted = 0;
}

static json_t *redact(struct recording *recording, const json_t *json) {
    return redact_json(recording->redaction, json, &recording->redacted);
}

static json_t *redacted_code(struct recording *recording, const json_t *code) {
    auto_bytes out = {0};
    recording->redacted += redact_code(recording->redaction, json_string_value(code), json_string_length(code), &out);
    return bytes_ok(&out) ? text_to_json(out.data, out.n) : NULL;
}

/* The name of a row that is a piece of a stream, or NULL. */
static const char *stream_of(const json_t *row) {
    const char *type = json_string_value(json_object_get(row, "output_type"));
    return type && strcmp(type, "stream") == 0 ? json_string_value(json_object_get(row, "name")) : NULL;
}

/* Joins the pieces of a stream that follow each other, because a secret may be split between two of them. */
static json_t *joined_stream(const json_t *rows, size_t *at) {
    auto_bytes text = {0};
    const char *name = stream_of(json_array_get(rows, *at));
    for (; *at < json_array_size(rows); ++*at) {
        const json_t *row = json_array_get(rows, *at);
        const json_t *piece = json_object_get(row, "text");
        const char *now = stream_of(row);
        if (!now || strcmp(now, name) != 0)
            break;
        bytes_append(&text, json_string_value(piece), json_string_length(piece));
    }
    return json_pack("{s:s, s:s, s:o}", "output_type", "stream", "name", name, "text", text_to_json(text.data, text.n));
}

static json_t *redact_outputs(struct recording *recording, const json_t *rows) {
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(rows);) {
        json_t *row = json_array_get(rows, i);
        json_auto_t *whole = stream_of(row) ? joined_stream(rows, &i) : (i++, json_incref(row));
        json_array_append_new(out, redact(recording, whole));
    }
    return out;
}

/* metadata.petri without its files. */
static json_t *request_of(struct recording *recording, const struct run *run) {
    const json_t *petri = json_object_get(run->request->message.metadata, "petri");
    json_auto_t *copy = json_is_object(petri) ? json_copy((json_t *)petri) : json_object();
    json_object_del(copy, "files");
    return redact(recording, copy);
}

/* A request that has no code is a comm message: the record has the message instead. */
static json_t *message_of(struct recording *recording, const struct run *run) {
    const struct message *message = &run->request->message;
    size_t bytes = json_dumpb(message->content, NULL, 0, JSON_COMPACT);
    json_t *content = bytes <= RECORDING_MESSAGE_BYTES ? redact(recording, message->content) : NULL;
    return json_pack("{s:s, s:I, s:o*, s:I}", "msg_type", message->msg_type, "bytes", (json_int_t)bytes, "content",
                     content, "buffers", (json_int_t)message->n_buffers);
}

/* The files of a run as they are stored. texts owns their redacted copies, which are only used to find secrets. */
struct files {
    struct record_input inputs[SPEC_FILES];
    char digests[SPEC_FILES][DIGEST_HEX];
    struct bytes texts[SPEC_FILES];
    size_t n;
};

static void files_free(struct files **files) {
    for (size_t i = 0; *files && i < (*files)->n; i++)
        bytes_fini(&(*files)->texts[i]);
    free(*files);
}

static json_t *add_file(struct recording *recording, struct files *files, const struct spec_file *file, size_t *kept) {
    size_t i = files->n++;
    struct record_input *input = &files->inputs[i];
    size_t before = recording->redacted;
    bool keep = *kept + file->bytes <= RECORDING_INPUT_BYTES;
    digest_bytes(file->data, file->bytes, files->digests[i]);
    *input = (struct record_input){.path = file->path, .sha256 = files->digests[i], .bytes = file->bytes};
    if (keep)
        recording->redacted +=
            redact_text(recording->redaction, (const char *)file->data, file->bytes, &files->texts[i]);
    keep = keep && bytes_ok(&files->texts[i]) && recording->redacted == before;
    if (keep) {
        input->data = file->bytes > 0 ? file->data : (const unsigned char *)"";
        *kept += file->bytes;
    }
    return json_pack("{s:s, s:I, s:s, s:b}", "path", file->path, "bytes", (json_int_t)file->bytes, "sha256",
                     input->sha256, "kept", keep);
}

/* Of a file with a secret only the digest is stored: without the secret it would be a different file. */
static json_t *files_of(struct recording *recording, const struct run *run, struct files *files) {
    json_t *list = json_array();
    size_t kept = 0;
    for (size_t i = 0; i < run->asked.spec.n_files; i++)
        json_array_append_new(list, add_file(recording, files, &run->asked.spec.files[i], &kept));
    return list;
}

static json_t *make_body(struct accounts *accounts, const struct run *run, const json_t *report, struct files *files) {
    char folder[PATH_MAX];
    struct recording recording = {.redaction = &accounts->redaction, .counts = json_object(), .body = json_object()};
    add_part(&recording, "report", redact(&recording, report));
    add_part(&recording, "code", run->asked.code ? redacted_code(&recording, run->asked.code) : json_string(""));
    add_part(&recording, "request", request_of(&recording, run));
    add_part(&recording, "files", files_of(&recording, run, files));
    add_part(&recording, "outputs", redact_outputs(&recording, run->result.transcript.outputs));
    if (!run->asked.code)
        add_part(&recording, "message", message_of(&recording, run));
    json_object_set_new(recording.body, "outputs_complete", json_boolean(!run->result.transcript.cut));
    if (getcwd(folder, sizeof folder))
        json_object_set_new(recording.body, "folder", text_to_json(folder, strlen(folder)));
    json_object_set_new(recording.body, "execution_count", json_integer(run->asked.execution_count));
    json_object_set_new(recording.body, "follows",
                        json_integer(run->asked.spec.fresh ? 0 : (json_int_t)run->number - 1));
    json_object_set_new(recording.body, "redacted", recording.counts);
    return recording.body;
}

/* The first line of the code that is not blank, or "(comm_msg)". */
static void summarize(const json_t *body, char *buf, size_t size) {
    const json_t *message = json_object_get(body, "message");
    const char *code = json_string_value(json_object_get(body, "code"));
    if (message) {
        snprintf(buf, size, "(%s)", json_string_value(json_object_get(message, "msg_type")));
        return;
    }
    const char *line = code ? code + strspn(code, " \t\r\n") : "";
    size_t n = strcspn(line, "\r\n");
    snprintf(buf, size, "%.*s", (int)text_whole_utf8(line, n < size ? n : size - 1), line);
}

/* The bytes of all files that were copied out, from the report. */
static int64_t artifact_bytes(const json_t *report) {
    int64_t bytes = 0;
    size_t i;
    json_t *artifact;
    json_array_foreach(json_object_get(report, "artifacts"), i, artifact) {
        if (json_object_get(artifact, "copied_to"))
            bytes += json_integer_value(json_object_get(artifact, "bytes"));
    }
    return bytes;
}

static bool is_redacted(const json_t *counts) {
    const char *part;
    json_t *count;
    json_object_foreach((json_t *)counts, part, count) {
        if (json_integer_value(count) > 0)
            return true;
    }
    return false;
}

/*
 * Whether the run counts for its task. Only the worker says that it ran
 * nothing because of a refused import, so such a run counts anyway if it used
 * CPU time and took longer than finding the import does.
 */
static bool did_run(const struct run *run) {
    const struct run_result *result = &run->result;
    bool was_long = result->facts.end.usage.cpu_us > 0 && result->ended_us - run->started_us > LOOK_S * CLOCK_S;
    return (result->outcome != OUTCOME_REFUSED || was_long) && result->outcome != OUTCOME_BUDGET &&
           result->outcome != OUTCOME_SANDBOX;
}

static int64_t wall_ms_of(const struct run *run) {
    return (run->result.ended_us - run->started_us) / CLOCK_MS;
}

/* What the thread gets that makes a record and stores it. */
struct storing {
    struct accounts *accounts;
    const struct run *run;
    const json_t *report;
    const char *cache_key;
    int (*into)(struct records *, const struct record *); /* records_store() or records_store_at_once() */
    int r;                                                /* that it has returned */
};

static void store(void *arg) {
    struct storing *storing = arg;
    struct accounts *accounts = storing->accounts;
    const struct run *run = storing->run;
    const int64_t wall_ms = wall_ms_of(run);
    char summary[SUMMARY_BYTES];
    struct files *files __attribute__((cleanup(files_free))) = calloc(1, sizeof *files);
    if (!files)
        return;
    json_auto_t *body = make_body(accounts, run, storing->report, files);
    summarize(body, summary, sizeof summary);
    bool whole = !is_redacted(json_object_get(body, "redacted")); /* the cache must return the exact result */
    const struct record record = {
        .run_id = run->run_id,
        .session_id = accounts->session_id,
        .task = run->asked.spec.task,
        .outcome = outcome_row(run->result.outcome)->name,
        .started = run->started,
        .started_ms = clock_date_ms() - wall_ms,
        .wall_ms = wall_ms,
        .artifact_bytes = artifact_bytes(storing->report),
        .summary = summary,
        .cache_key = whole ? storing->cache_key : "",
        .environment_sha256 = accounts->environment_sha256,
        .environment = accounts->environment,
        .body = body,
        .inputs = files->inputs,
        .n_inputs = files->n,
        .ran = did_run(run),
    };
    if (body)
        storing->r = storing->into(&accounts->records, &record);
}

/* For json_dump_callback(): counts bytes down to 0. */
static int count_down(const char *text, size_t bytes, void *arg) {
    size_t *left = arg;
    (void)text;
    if (bytes > *left)
        return -1;
    *left -= bytes;
    return 0;
}

/* Whether what the record is made of is so little that others can wait until it is made. Patterns of the operator and
 * values of variables may take long in anything. */
static bool is_little(const struct accounts *accounts, const struct run *run, const json_t *report) {
    size_t left = patterns_n(accounts->patterns) == 0 && accounts->variables.n == 0 ? AT_ONCE_BYTES : 0;
    const json_t *const parts[] = {report, run->request->message.metadata, run->request->message.content,
                                   run->result.transcript.outputs};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i] && json_dump_callback(parts[i], count_down, &left, JSON_COMPACT) < 0)
            return false;
    for (size_t i = 0; i < run->asked.spec.n_files; i++)
        if (count_down(NULL, run->asked.spec.files[i].bytes, &left) < 0)
            return false;
    return true;
}

bool recording_store(struct accounts *accounts, const struct run *run, const json_t *report, const char *cache_key) {
    const struct record_totals used = {.runs = 1, .wall_ms = wall_ms_of(run), .artifact_bytes = artifact_bytes(report)};
    struct storing storing = {.accounts = accounts, .run = run, .report = report, .cache_key = cache_key, .r = -EAGAIN};
    const bool is_recorded = !run->asked.silent && accounts->records.db;
    if (is_recorded && is_little(accounts, run, report)) {
        storing.into = records_store_at_once;
        store(&storing);
    }
    if (is_recorded && storing.r == -EAGAIN) {
        storing.into = records_store;
        errand_do(store, &storing);
    }
    if (storing.r < 0 && did_run(run))
        budget_count(accounts, run->asked.spec.task, &used);
    return storing.r == 0;
}
