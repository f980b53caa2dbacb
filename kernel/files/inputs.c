/*
 * inputs.c - puts the request's files into the cell, each with a row for the
 * report; the first failure refuses the run.
 */

#include "inputs.h"

#include "kernel/base/digest.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <string.h>

/* Why a file can't be put there, by errno. */
static const struct {
    int err;
    const char *why;
} problems[] = {
    {ELOOP, "a folder in its path is a link in the notebook's folder"},
    {EISDIR, "the notebook's folder has a folder of that name"},
    {ENOTDIR, "a folder in its path is a file in the notebook's folder"},
    {EXDEV, "the interpreter's own files are there"},
    {ENOSPC, "the session's files have reached their limit (disk, files)"},
};

static const char *problem_text(int err) {
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
        if (problems[i].err == err)
            return problems[i].why;
    return strerror(err);
}

static json_t *row_of_input(const struct spec_file *file) {
    char hex[DIGEST_HEX];
    digest_bytes(file->data, file->bytes, hex);
    return json_pack("{s:s, s:I, s:s}", "path", file->path, "bytes", (json_int_t)file->bytes, "sha256", hex);
}

void inputs_add(struct inputs *inputs, json_t *row) {
    if (!inputs->rows)
        inputs->rows = json_array();
    json_array_append_new(inputs->rows, row);
}

int inputs_put(struct cell *cell, const struct spec *spec, struct inputs *inputs, struct error *ret_error) {
    for (size_t i = 0; i < spec->n_files; i++) {
        const struct spec_file *file = &spec->files[i];
        int r = cell_put_file(cell, file->path, file->data, file->bytes);
        if (r < 0)
            return error_set(ret_error, -r, "the file \"%.200s\" can't be put there: %s", file->path, problem_text(-r));
        inputs_add(inputs, row_of_input(file));
    }
    return 0;
}
