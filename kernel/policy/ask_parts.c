#include "ask_parts.h"

#include "kernel/base/cleanup.h"
#include "kernel/base/filename.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

/* A path that is to be owned, or ASK_NOT_THIS or -EINVAL. */
static int read_path(const struct ask_reading *reading, const json_t *json, char **ret_path) {
    if (!json_is_string(json))
        return ASK_NOT_THIS;
    const char *problem = filename_problem(json_string_value(json), json_string_length(json));
    if (problem)
        return ask_refuse(reading, "the path \"%.100s\" %s", json_string_value(json), problem);
    char *path = strdup(json_string_value(json));
    if (!path)
        return ask_refuse(reading, "there is no memory");
    free(*ret_path);
    *ret_path = path;
    return 0;
}

/* The file that is being read: the last one. */
static struct ask_file *last_file(const struct ask_reading *reading) {
    return &reading->ask->files[reading->ask->n_files - 1];
}

static int file_path(const struct ask_reading *reading, const json_t *json) {
    return read_path(reading, json, &last_file(reading)->path);
}

/* Up to so many bytes are to be the last file's. 0 or -EINVAL. */
static int make_room(const struct ask_reading *reading, size_t bytes) {
    struct ask_file *file = last_file(reading);
    if (file->data)
        return ask_refuse(reading, "a file has either \"text\" or \"data\"");
    file->data = malloc(bytes + 1);
    return file->data ? 0 : ask_refuse(reading, "there is no memory");
}

static int file_text(const struct ask_reading *reading, const json_t *json) {
    size_t bytes = json_string_length(json);
    if (!json_is_string(json) || bytes > ASK_FILE_BYTES)
        return ASK_NOT_THIS;
    struct ask_file *file = last_file(reading);
    int r = make_room(reading, bytes);
    if (r < 0)
        return r;
    memcpy(file->data, json_string_value(json), bytes);
    file->bytes = bytes;
    return 0;
}

static int file_data(const struct ask_reading *reading, const json_t *json) {
    size_t text_bytes = json_string_length(json), most = text_bytes / 4 * 3 + 3;
    if (!json_is_string(json) || most > (size_t)ASK_FILE_BYTES + 6)
        return ASK_NOT_THIS;
    struct ask_file *file = last_file(reading);
    int r = make_room(reading, most);
    if (r < 0)
        return r;
    if (sodium_base642bin(file->data, most, json_string_value(json), text_bytes, " \t\r\n", &file->bytes, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        file->bytes > ASK_FILE_BYTES)
        return ASK_NOT_THIS;
    return 0;
}

static const struct ask_key file_keys[] = {
    {"data", file_data, "base64 of up to 32 MiB"},
    {"path", file_path, "a text"},
    {"text", file_text, "a text of up to 32 MiB"},
};

/* One is in the way of another where it is the same, or a folder of the other's. */
static bool clash(const char *path, const char *other) {
    size_t n = strlen(path), m = strlen(other);
    size_t shorter = n < m ? n : m;
    const char *longer = n < m ? other : path;
    return memcmp(path, other, shorter) == 0 && (longer[shorter] == '\0' || longer[shorter] == '/');
}

static int check_file(const struct ask_reading *reading, const char *where, size_t *total) {
    const struct ask_file *file = last_file(reading);
    if (!file->path)
        return ask_refuse(reading, "%s has no \"path\"", where);
    if (!file->data)
        return ask_refuse(reading, "%s has neither \"text\" nor \"data\"", where);
    for (size_t i = 0; i + 1 < reading->ask->n_files; i++)
        if (clash(file->path, reading->ask->files[i].path))
            return ask_refuse(reading, "%s: \"%.60s\" is in the way of \"%.60s\"", where, file->path,
                              reading->ask->files[i].path);
    *total += file->bytes;
    return *total > ASK_FILES_BYTES ? ask_refuse(reading, "the files are more than 64 MiB in all") : 0;
}

int ask_files(const struct ask_reading *reading, const json_t *json) {
    struct ask *ask = reading->ask;
    size_t i, total = 0;
    json_t *file;
    int r = 0;
    if (!json_is_array(json) || json_array_size(json) > ASK_FILES)
        return ASK_NOT_THIS;
    ask->files = calloc(json_array_size(json) + 1, sizeof *ask->files);
    if (!ask->files)
        return ask_refuse(reading, "there is no memory");
    json_array_foreach(json, i, file) {
        char where[32];
        snprintf(where, sizeof where, "files[%zu]", i);
        ask->n_files++;
        r = ask_read_object(reading, where, file_keys, sizeof file_keys / sizeof file_keys[0], file);
        if (r == 0)
            r = check_file(reading, where, &total);
        if (r < 0)
            break;
    }
    return r;
}

static struct ask_expected *last_expected(const struct ask_reading *reading) {
    return &reading->ask->expected[reading->ask->n_expected - 1];
}

static int expected_path(const struct ask_reading *reading, const json_t *json) {
    return read_path(reading, json, &last_expected(reading)->path);
}

static int expected_mime(const struct ask_reading *reading, const json_t *json) {
    if (!ask_is_text(json, ASK_MIME_BYTES) || !strchr(json_string_value(json), '/'))
        return ASK_NOT_THIS;
    last_expected(reading)->mime = strdup(json_string_value(json));
    return last_expected(reading)->mime ? 0 : ask_refuse(reading, "there is no memory");
}

static int expected_bytes(const struct ask_reading *reading, const json_t *json) {
    if (!json_is_integer(json) || json_integer_value(json) < 0)
        return ASK_NOT_THIS;
    last_expected(reading)->max_bytes = json_integer_value(json);
    return 0;
}

static const struct ask_key expected_keys[] = {
    {"max_bytes", expected_bytes, "a whole number of bytes"},
    {"mime", expected_mime, "a MIME type such as \"image/png\""},
    {"path", expected_path, "a text"},
};

static int expect_artifacts(const struct ask_reading *reading, const json_t *json) {
    struct ask *ask = reading->ask;
    size_t i;
    json_t *expected;
    if (!json_is_array(json) || json_array_size(json) > ASK_EXPECTED)
        return ASK_NOT_THIS;
    ask->expected = calloc(json_array_size(json) + 1, sizeof *ask->expected);
    if (!ask->expected)
        return ask_refuse(reading, "there is no memory");
    json_array_foreach(json, i, expected) {
        char where[48];
        snprintf(where, sizeof where, "expect.artifacts[%zu]", i);
        ask->expected[ask->n_expected++].max_bytes = -1;
        int r =
            ask_read_object(reading, where, expected_keys, sizeof expected_keys / sizeof expected_keys[0], expected);
        if (r == 0 && !last_expected(reading)->path)
            r = ask_refuse(reading, "%s has no \"path\"", where);
        if (r < 0)
            return r;
    }
    return 0;
}

static int expect_schema(const struct ask_reading *reading, const json_t *json) {
    if (!json_is_object(json) && !json_is_boolean(json))
        return ASK_NOT_THIS;
    if (json_dumpb(json, NULL, 0, JSON_COMPACT) > ASK_SCHEMA_BYTES)
        return ASK_NOT_THIS;
    reading->ask->result_json_schema = json_incref((json_t *)json);
    return 0;
}

static int expect_regex(const struct ask_reading *reading, const json_t *json) {
    if (!ask_is_text(json, ASK_REGEX_BYTES))
        return ASK_NOT_THIS;
    reading->ask->stdout_regex = json_incref((json_t *)json);
    return 0;
}

static const struct ask_key expect_keys[] = {
    {"artifacts", expect_artifacts, "a list of up to 64 artifacts"},
    {"result_json_schema", expect_schema, "a JSON Schema (an object, true or false) of up to 256 KiB"},
    {"stdout_regex", expect_regex, "a regular expression of 1 to 4096 bytes"},
};

int ask_expect(const struct ask_reading *reading, const json_t *json) {
    return ask_read_object(reading, "expect", expect_keys, sizeof expect_keys / sizeof expect_keys[0], json);
}
