/*
 * inputs_read.c - hashes files as they were before the cell, and remembers the digests.
 *
 * Digests are remembered by device, inode, size and both times: a file with the
 * same values counts as unchanged. When there are too many digests, all are
 * dropped. A file that can't be opened or hashed makes the list incomplete; a
 * file that did not exist before the cell does not.
 */

#include "inputs_read.h"

#include "kernel/base/clock.h"
#include "kernel/base/digest.h"
#include "kernel/files/inputs.h"
#include "protocol/text.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK_BYTES = 256 << 10 };

struct inputs_read {
    struct cell *cell;
    const struct spec *spec;
    struct inputs *inputs;
    json_t *known;
    char **paths; /* owned */
    size_t n, at;
    int fd; /* of the current file, or -1 */
    struct stat st;
    crypto_hash_sha256_state hash;
    uint64_t hashed_bytes;
    unsigned char *chunk; /* owned */
};

int inputs_read_begin(const struct inputs_read_options *options, struct inputs_read **ret) {
    char **paths;
    size_t n;
    int r = cell_take_opened(options->cell, &paths, &n);
    if (r < 0)
        return r;
    options->inputs->complete = r == 1;
    struct inputs_read *reading = n > 0 ? calloc(1, sizeof *reading) : NULL;
    unsigned char *chunk = reading ? malloc(CHUNK_BYTES) : NULL;
    if (!chunk) {
        free(paths);
        free(reading);
        if (n == 0)
            *ret = NULL;
        return n == 0 ? 0 : -ENOMEM;
    }
    *reading = (struct inputs_read){.cell = options->cell,
                                    .spec = options->spec,
                                    .inputs = options->inputs,
                                    .known = options->known,
                                    .paths = paths,
                                    .n = n,
                                    .fd = -1,
                                    .chunk = chunk};
    *ret = reading;
    return 0;
}

static void close_file(struct inputs_read *reading) {
    if (reading->fd >= 0)
        close(reading->fd);
    reading->fd = -1;
}

void inputs_read_destroy(struct inputs_read *reading) {
    if (!reading)
        return;
    close_file(reading);
    free(reading->paths);
    free(reading->chunk);
    free(reading);
}

/* sha256: NULL where the file is too large to be hashed, or can't be read. */
static void add_row(struct inputs_read *reading, const char *sha256) {
    const char *path = reading->paths[reading->at];
    inputs_add(reading->inputs, json_pack("{s:o, s:I, s:s?}", "path", text_to_json(path, strlen(path)), "bytes",
                                          (json_int_t)reading->st.st_size, "sha256", sha256));
    if (!sha256)
        reading->inputs->complete = false;
}

static bool was_brought(const struct spec *spec, const char *path) {
    for (size_t i = 0; i < spec->n_files; i++)
        if (strcmp(spec->files[i].path, path) == 0)
            return true;
    return false;
}

/* Opens the current file. One that is not hashed gets its row here, if it gets one. */
static void open_input(struct inputs_read *reading) {
    char key[DIGEST_FILE];
    const char *path = reading->paths[reading->at];
    if (was_brought(reading->spec, path))
        return;
    reading->fd = cell_open_before(reading->cell, path);
    if (reading->fd < 0) {
        reading->inputs->complete &= reading->fd == -ENOENT || reading->fd == -EINVAL;
        return;
    }
    if (fstat(reading->fd, &reading->st) < 0) {
        reading->inputs->complete = false;
        close_file(reading);
        return;
    }
    digest_file(&reading->st, key);
    const char *known = json_string_value(json_object_get(reading->known, key));
    bool too_large = reading->st.st_size > INPUTS_READ_FILE_BYTES ||
                     (uint64_t)reading->st.st_size > INPUTS_READ_BYTES - reading->hashed_bytes;
    if (!known && !too_large) {
        crypto_hash_sha256_init(&reading->hash);
        return;
    }
    add_row(reading, known);
    close_file(reading);
}

static void end_input(struct inputs_read *reading) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    char key[DIGEST_FILE], hex[DIGEST_HEX];
    crypto_hash_sha256_final(&reading->hash, hash);
    digest_to_hex(hash, hex);
    digest_file(&reading->st, key);
    if (json_object_size(reading->known) >= INPUTS_READ_KNOWN)
        json_object_clear(reading->known);
    json_object_set_new(reading->known, key, json_string(hex));
    add_row(reading, hex);
}

/* Whether the host has not changed the file since it was opened. */
static bool is_unchanged(const struct inputs_read *reading) {
    char then[DIGEST_FILE], now[DIGEST_FILE];
    struct stat st;
    if (fstat(reading->fd, &st) < 0)
        return false;
    digest_file(&reading->st, then);
    digest_file(&st, now);
    return strcmp(then, now) == 0;
}

/* Reads on. True once the file is done. INPUTS_READ_BYTES bounds a file that the host writes to meanwhile. */
static bool hash_some(struct inputs_read *reading) {
    ssize_t n = read(reading->fd, reading->chunk, CHUNK_BYTES);
    uint64_t left = INPUTS_READ_BYTES - reading->hashed_bytes;
    if (n > 0 && (uint64_t)n <= left) {
        crypto_hash_sha256_update(&reading->hash, reading->chunk, (unsigned long long)n);
        reading->hashed_bytes += (uint64_t)n;
        return false;
    }
    if (n == 0 && is_unchanged(reading))
        end_input(reading);
    else
        add_row(reading, NULL);
    return true;
}

bool inputs_read_step(struct inputs_read *reading, int64_t until_us) {
    while (reading->at < reading->n) {
        if (reading->fd < 0)
            open_input(reading);
        if (reading->fd < 0 || hash_some(reading)) {
            close_file(reading);
            reading->at++;
        }
        if (clock_us() >= until_us)
            break;
    }
    return reading->at == reading->n;
}
