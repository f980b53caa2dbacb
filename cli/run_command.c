/*
 * run_command.c - `petri run`: one cell without Jupyter, reported as JSON or, with --text, as a person reads it.
 *
 * The options become metadata.petri, which the kernel checks as that of any
 * client. Files are read as a whole and sent in base64, so their size is checked
 * before.
 */

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_text.h"
#include "kernel/base/paths.h"
#include "kernel/base/terminal.h"
#include "protocol/bytes.h"
#include "protocol/text.h"
#include "protocol/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum { EXIT_SANDBOX = 4, MAX_BYTES = 64 << 20, READ_BYTES = 64 << 10 };

/* Reads all of path, "-" being standard input. 0, or -errno after a sentence on standard error. */
static int read_all(const char *path, struct bytes *bytes) {
    char chunk[READ_BYTES];
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 0;
    while (fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0 && bytes->n <= MAX_BYTES)
        bytes_append(bytes, chunk, (size_t)n);
    int r = n < 0 ? -errno : !bytes_ok(bytes) ? -ENOMEM : bytes->n > MAX_BYTES ? -EFBIG : 0;
    if (fd >= 0 && !is_stdin)
        close(fd);
    if (r < 0)
        terminal_complain("%s: %s", path, strerror(-r));
    return r;
}

/* A file's content as a JSON string. NULL after a sentence on standard error. */
static json_t *read_source(const char *path) {
    auto_bytes bytes = {0};
    if (read_all(path, &bytes) < 0)
        return NULL;
    if (utf8_valid((const unsigned char *)bytes.data, bytes.n) != bytes.n) {
        terminal_complain("%s is not UTF-8", path);
        return NULL;
    }
    return text_to_json(bytes.data, bytes.n);
}

/* FILE or FILE:NAME. The part that is a path goes to buf; returns the name. */
static const char *split_file(const char *text, char buf[PATH_MAX]) {
    struct stat st;
    const char *colon = strrchr(text, ':');
    const char *slash = strrchr(text, '/');
    snprintf(buf, PATH_MAX, "%s", text);
    if (colon && colon[1] && stat(text, &st) < 0) {
        snprintf(buf, PATH_MAX, "%.*s", (int)(colon - text), text);
        return colon + 1;
    }
    return slash ? slash + 1 : text;
}

/* One row of metadata.petri.files. NULL after a sentence on standard error. */
static json_t *read_file(const char *text) {
    char path[PATH_MAX];
    const char *name = split_file(text, path);
    auto_bytes bytes = {0};
    if (read_all(path, &bytes) < 0)
        return NULL;
    size_t size = sodium_base64_encoded_len(bytes.n, sodium_base64_VARIANT_ORIGINAL);
    auto_free char *base64 = malloc(size);
    if (!base64)
        return NULL;
    sodium_bin2base64(base64, size, (const unsigned char *)(bytes.data ? bytes.data : ""), bytes.n,
                      sodium_base64_VARIANT_ORIGINAL);
    json_auto_t *shown = text_to_json(name, strlen(name));
    return json_pack("{s:O, s:s}", "path", shown, "data", base64);
}

static int add_files(json_t *petri, const struct arguments *arguments) {
    json_t *files = json_array();
    for (size_t i = 0; i < arguments->n_files; i++) {
        json_t *file = read_file(arguments->files[i]);
        if (!file)
            return json_decref(files), -EINVAL;
        json_array_append_new(files, file);
    }
    return json_object_set_new(petri, "files", files);
}

/* The request's metadata.petri. NULL after a sentence on standard error. */
static json_t *make_petri(const struct arguments *arguments) {
    const char *const *values = arguments->values;
    json_t *petri =
        json_pack("{s:{s:s*, s:s*}}", "limits", "timeout", values[OPTION_TIMEOUT], "memory", values[OPTION_MEMORY]);
    int r = petri && arguments->n_files > 0 ? add_files(petri, arguments) : 0;
    if (petri && r == 0 && values[OPTION_STDIN]) {
        json_t *text = read_source(values[OPTION_STDIN]);
        r = text ? json_object_set_new(petri, "stdin", text) : -EINVAL;
    }
    if (r == 0)
        return petri;
    json_decref(petri);
    return NULL;
}

static int run(const struct client_options *options, const json_t *code, const json_t *petri, bool text) {
    struct client *client = NULL;
    json_auto_t *report = NULL;
    struct error error;
    int r = client_start(options, &client, &error);
    if (r == 0)
        r = client_run(client, code, petri, &report, &error);
    client_stop(client);
    if (r == 0)
        return (text ? run_text_put(report) : terminal_put_json(report)) == 0 ? client_exit_status(report)
                                                                              : EXIT_FAILURE;
    terminal_complain("%s", error.text);
    return r == -EUSERS || r == -EMSGSIZE ? EXIT_USAGE : r == -EINTR ? 130 : EXIT_SANDBOX;
}

/* Makes the folder for artifacts; its path goes to buf. 0, or -errno after a sentence on standard error. */
static int make_artifacts(const char *folder, char buf[PATH_MAX]) {
    int r = paths_make_folders(folder, 0777);
    if (r == 0 && !realpath(folder, buf))
        r = -errno;
    if (r < 0)
        terminal_complain("the folder for artifacts, %s, can't be made: %s", folder, strerror(-r));
    return r;
}

int command_run(const struct arguments *arguments) {
    const char *const *values = arguments->values;
    char artifacts[PATH_MAX] = "";
    struct client_options options = {.profile = values[OPTION_PROFILE],
                                     .config = values[OPTION_CONFIG],
                                     .python = values[OPTION_PYTHON],
                                     .artifacts = artifacts};
    if (values[OPTION_ARTIFACTS] && make_artifacts(values[OPTION_ARTIFACTS], artifacts) < 0)
        return EXIT_USAGE;
    if (values[OPTION_STDIN] && strcmp(values[OPTION_STDIN], "-") == 0 && strcmp(arguments->operands[0], "-") == 0) {
        terminal_complain("standard input can be the code or its input, not both");
        return EXIT_USAGE;
    }
    json_auto_t *code = read_source(arguments->operands[0]);
    json_auto_t *petri = code ? make_petri(arguments) : NULL;
    return petri ? run(&options, code, petri, values[OPTION_TEXT] != NULL) : EXIT_USAGE;
}
