/*
 * spec_parts.c - files and expectations: arrays, whose elements are objects with tables of their own.
 *
 * The element that is being read is always the last one of its array: the parsers
 * reach it through the spec, and spec_fini() also frees it if it is incomplete.
 * Sizes are checked before base64 is decoded. No two files may have the same
 * path, and no file may be a folder of another's path, so that their order
 * doesn't matter.
 */

#include "spec_parts.h"

#include "base/cleanup.h"
#include "kernel/base/filename.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

/* Copies a path, which is the caller's. 0, SPEC_NOT_THIS or -EINVAL. */
static int read_path(const struct spec_reading *reading, const json_t *json, char **ret_path) {
    if (!json_is_string(json))
        return SPEC_NOT_THIS;
    const char *problem = filename_problem(json_string_value(json), json_string_length(json));
    if (problem)
        return spec_refuse(reading, "the path \"%.100s\" %s", json_string_value(json), problem);
    char *path = strdup(json_string_value(json));
    if (!path)
        return spec_refuse(reading, "there is no memory");
    free(*ret_path);
    *ret_path = path;
    return 0;
}

/* The file that is being read: the last one. */
static struct spec_file *last_file(const struct spec_reading *reading) {
    return &reading->spec->files[reading->spec->n_files - 1];
}

static int file_path(const struct spec_reading *reading, const json_t *json) {
    return read_path(reading, json, &last_file(reading)->path);
}

/* Allocates so many bytes for the last file. 0 or -EINVAL. */
static int make_room(const struct spec_reading *reading, size_t bytes) {
    struct spec_file *file = last_file(reading);
    if (file->data)
        return spec_refuse(reading, "a file has either \"text\" or \"data\"");
    file->data = malloc(bytes + 1);
    return file->data ? 0 : spec_refuse(reading, "there is no memory");
}

static int file_text(const struct spec_reading *reading, const json_t *json) {
    size_t bytes = json_string_length(json);
    if (!json_is_string(json) || bytes > SPEC_FILE_BYTES)
        return SPEC_NOT_THIS;
    struct spec_file *file = last_file(reading);
    int r = make_room(reading, bytes);
    if (r < 0)
        return r;
    memcpy(file->data, json_string_value(json), bytes);
    file->bytes = bytes;
    return 0;
}

static int file_data(const struct spec_reading *reading, const json_t *json) {
    size_t text_bytes = json_string_length(json), most = text_bytes / 4 * 3 + 3;
    if (!json_is_string(json) || most > (size_t)SPEC_FILE_BYTES + 6)
        return SPEC_NOT_THIS;
    struct spec_file *file = last_file(reading);
    int r = make_room(reading, most);
    if (r < 0)
        return r;
    if (sodium_base642bin(file->data, most, json_string_value(json), text_bytes, " \t\r\n", &file->bytes, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        file->bytes > SPEC_FILE_BYTES)
        return SPEC_NOT_THIS;
    return 0;
}

static const struct spec_key file_keys[] = {
    {"data", file_data, "base64 of up to 32 MiB"},
    {"path", file_path, "a text"},
    {"text", file_text, "a text of up to 32 MiB"},
};

/* Whether two paths are the same, or one is a folder of the other. */
static bool clash(const char *path, const char *other) {
    size_t n = strlen(path), m = strlen(other);
    size_t shorter = n < m ? n : m;
    const char *longer = n < m ? other : path;
    return memcmp(path, other, shorter) == 0 && (longer[shorter] == '\0' || longer[shorter] == '/');
}

static int check_file(const struct spec_reading *reading, const char *where, size_t *total) {
    const struct spec_file *file = last_file(reading);
    if (!file->path)
        return spec_refuse(reading, "%s has no \"path\"", where);
    if (!file->data)
        return spec_refuse(reading, "%s has neither \"text\" nor \"data\"", where);
    for (size_t i = 0; i + 1 < reading->spec->n_files; i++)
        if (clash(file->path, reading->spec->files[i].path))
            return spec_refuse(reading, "%s: \"%.60s\" is in the way of \"%.60s\"", where, file->path,
                               reading->spec->files[i].path);
    *total += file->bytes;
    return *total > SPEC_FILES_BYTES ? spec_refuse(reading, "the files are more than 64 MiB in all") : 0;
}

int spec_files(const struct spec_reading *reading, const json_t *json) {
    struct spec *spec = reading->spec;
    size_t i, total = 0;
    json_t *file;
    int r = 0;
    if (!json_is_array(json) || json_array_size(json) > SPEC_FILES)
        return SPEC_NOT_THIS;
    spec->files = calloc(json_array_size(json) + 1, sizeof *spec->files);
    if (!spec->files)
        return spec_refuse(reading, "there is no memory");
    json_array_foreach(json, i, file) {
        char where[32];
        snprintf(where, sizeof where, "files[%zu]", i);
        spec->n_files++;
        r = spec_read_object(reading, where, file_keys, sizeof file_keys / sizeof file_keys[0], file);
        if (r == 0)
            r = check_file(reading, where, &total);
        if (r < 0)
            break;
    }
    return r;
}

static struct spec_expected *last_expected(const struct spec_reading *reading) {
    return &reading->spec->expected[reading->spec->n_expected - 1];
}

static int expected_path(const struct spec_reading *reading, const json_t *json) {
    return read_path(reading, json, &last_expected(reading)->path);
}

static int expected_mime(const struct spec_reading *reading, const json_t *json) {
    if (!spec_is_text(json, SPEC_MIME_BYTES) || !strchr(json_string_value(json), '/'))
        return SPEC_NOT_THIS;
    last_expected(reading)->mime = strdup(json_string_value(json));
    return last_expected(reading)->mime ? 0 : spec_refuse(reading, "there is no memory");
}

static int expected_bytes(const struct spec_reading *reading, const json_t *json) {
    if (!json_is_integer(json) || json_integer_value(json) < 0)
        return SPEC_NOT_THIS;
    last_expected(reading)->max_bytes = json_integer_value(json);
    return 0;
}

static const struct spec_key expected_keys[] = {
    {"max_bytes", expected_bytes, "a whole number of bytes"},
    {"mime", expected_mime, "a MIME type such as \"image/png\""},
    {"path", expected_path, "a text"},
};

static int expect_artifacts(const struct spec_reading *reading, const json_t *json) {
    struct spec *spec = reading->spec;
    size_t i;
    json_t *expected;
    if (!json_is_array(json) || json_array_size(json) > SPEC_EXPECTED)
        return SPEC_NOT_THIS;
    spec->expected = calloc(json_array_size(json) + 1, sizeof *spec->expected);
    if (!spec->expected)
        return spec_refuse(reading, "there is no memory");
    json_array_foreach(json, i, expected) {
        char where[48];
        snprintf(where, sizeof where, "expect.artifacts[%zu]", i);
        spec->expected[spec->n_expected++].max_bytes = -1;
        int r =
            spec_read_object(reading, where, expected_keys, sizeof expected_keys / sizeof expected_keys[0], expected);
        if (r == 0 && !last_expected(reading)->path)
            r = spec_refuse(reading, "%s has no \"path\"", where);
        if (r < 0)
            return r;
    }
    return 0;
}

static int expect_schema(const struct spec_reading *reading, const json_t *json) {
    if (!json_is_object(json) && !json_is_boolean(json))
        return SPEC_NOT_THIS;
    if (json_dumpb(json, NULL, 0, JSON_COMPACT) > SPEC_SCHEMA_BYTES)
        return SPEC_NOT_THIS;
    reading->spec->result_json_schema = json_incref((json_t *)json);
    return 0;
}

static int expect_regex(const struct spec_reading *reading, const json_t *json) {
    if (!spec_is_text(json, SPEC_REGEX_BYTES))
        return SPEC_NOT_THIS;
    reading->spec->stdout_regex = json_incref((json_t *)json);
    return 0;
}

static const struct spec_key expect_keys[] = {
    {"artifacts", expect_artifacts, "a list of up to 64 artifacts"},
    {"result_json_schema", expect_schema, "a JSON Schema (an object, true or false) of up to 256 KiB"},
    {"stdout_regex", expect_regex, "a regular expression of 1 to 4096 bytes"},
};

int spec_expect(const struct spec_reading *reading, const json_t *json) {
    return spec_read_object(reading, "expect", expect_keys, sizeof expect_keys / sizeof expect_keys[0], json);
}
