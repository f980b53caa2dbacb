/*
 * artifacts.c - one file after the other is read in chunks, and hashed and copied in the same pass.
 *
 * The caps are applied to the list sorted by path and to the sizes in stat(2),
 * before anything is read, so which files are left out depends only on the cell.
 * A copy gets its name only when all of the file has been read and it has not
 * changed meanwhile. Of files that are too large the beginning is read, for the
 * MIME type; files that are withheld for their name are read as a whole, for the
 * digest.
 *
 * The export folder is opened with the first file to copy, and locked until all
 * are copied.
 */

#include "artifacts.h"

#include "base/array.h"
#include "kernel/base/clock.h"
#include "kernel/base/host_file.h"
#include "kernel/files/artifact_kind.h"
#include "kernel/files/autorun.h"
#include "kernel/files/mime.h"
#include "protocol/bytes.h"
#include "protocol/text.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK_BYTES = 256 << 10, LOCK_MS = 5000, RETRY_MS = 10 };

/* A file of the list. */
struct artifact {
    char *path; /* owned */
    enum cell_change change;
    unsigned mode, links;
    uint64_t bytes;
    char refused[192]; /* why it is not copied; "" if it is */
    bool too_large;    /* refused for its size: only its beginning is read */
    bool withheld;     /* refused for its name: it is read, but not copied */
    bool given;        /* the request brought it and the cell has not changed it: no artifact */
    bool on_host;      /* cell_file's */
    json_t *row;       /* owned */
};

/* The file that is being read. */
struct reading {
    int fd;     /* -1 for none */
    bool begun; /* the file is open, and its copy too if it gets one */
    uint64_t bytes;
    struct stat before;
    crypto_hash_sha256_state hash;
    char sha256[2 * crypto_hash_sha256_BYTES + 1]; /* once all of it is read; "" before */
    struct export_file copy;
    struct bytes content; /* if the report gets it */
};

struct artifacts {
    struct cell *cell;
    const struct spec *spec;
    const struct limits *limits;
    struct export *export;
    int64_t kept_since_us;
    struct artifact *artifact;
    size_t n, omitted;
    size_t at; /* the current file */
    size_t inline_bytes;
    struct reading reading;
    int64_t lock_until_us; /* how long to wait for another kernel; 0 before the first try */
    int64_t due_us;        /* when to go on */
    bool tried;            /* the export folder has been opened, or can't be */
    bool opened;           /* it is open, and for this cell */
    char no_export[192];   /* why nothing is copied; "" if files are copied */
    unsigned char *chunk;  /* owned */
    json_t *rows;          /* owned */
    json_t *on_disk;       /* owned */
};

__attribute__((format(printf, 2, 3))) static void refuse(struct artifact *artifact, const char *format, ...) {
    va_list args;
    if (artifact->refused[0])
        return;
    va_start(args, format);
    vsnprintf(artifact->refused, sizeof artifact->refused, format, args);
    va_end(args);
}

static void check_kind(struct artifact *artifact) {
    char why[sizeof artifact->refused];
    if (artifact_is_refused(artifact->path, artifact->mode, artifact->links, why, sizeof why))
        refuse(artifact, "%s", why);
}

/* Caps apply to st_size, also for a file with holes. */
static void check_size(struct artifact *artifact, const struct limits *limits, uint64_t *total) {
    char text[32];
    int64_t one = limits->values[LIMIT_ARTIFACT], all = limits->values[LIMIT_ARTIFACTS];
    if (artifact->refused[0])
        return;
    artifact->too_large = artifact->bytes > (uint64_t)one || artifact->bytes > (uint64_t)all - *total;
    if (artifact->bytes > (uint64_t)one)
        refuse(artifact, "it is larger than the limit of %s (artifact)",
               limits_text(UNIT_BYTES, one, text, sizeof text));
    if (artifact->bytes > (uint64_t)all - *total)
        refuse(artifact, "the cell's files are more than the limit of %s (artifacts)",
               limits_text(UNIT_BYTES, all, text, sizeof text));
    if (!artifact->too_large)
        *total += artifact->bytes;
}

/* The path of the copy in the export folder. */
static const char *export_path(const struct export *export, const char *path) {
    size_t n = export ? strlen(export->name) : 0;
    return n > 0 && strncmp(path, export->name, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

/*
 * A file that programs of the host would run by themselves is in the report,
 * with its content if that was asked for, but is not copied.
 */
static void check_autorun(struct artifact *artifact, const struct export *export) {
    char why[128];
    if (artifact->refused[0] || artifact->change == CELL_DELETED)
        return;
    artifact->withheld = autorun_is(export_path(export, artifact->path), why, sizeof why);
    if (artifact->withheld)
        refuse(artifact, "a name in its path %s", why);
}

static int note(void *arg, const struct cell_file *file) {
    struct artifacts *artifacts = arg;
    if (file->same)
        return 0;
    if (artifacts->n == ARTIFACTS_ROWS)
        return ++artifacts->omitted == ARTIFACTS_COUNTED;
    if (array_grow(&artifacts->artifact, artifacts->n, sizeof artifacts->artifact[0]) < 0)
        return -ENOMEM;
    char *path = strdup(file->path);
    if (!path)
        return -ENOMEM;
    artifacts->artifact[artifacts->n++] = (struct artifact){.path = path,
                                                            .change = file->change,
                                                            .mode = file->mode,
                                                            .links = file->links,
                                                            .bytes = file->bytes,
                                                            .on_host = file->on_host};
    return 0;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct artifact *)a)->path, ((const struct artifact *)b)->path);
}

static json_t *row_of_artifact(const struct artifact *artifact) {
    json_t *row = json_pack("{s:o, s:s}", "path", text_to_json(artifact->path, strlen(artifact->path)), "action",
                            artifact_action(artifact->change));
    if (artifact->change != CELL_DELETED && S_ISREG(artifact->mode))
        json_object_set_new(row, "bytes", json_integer((json_int_t)artifact->bytes));
    return row;
}

/*
 * Checks each file before any is read, in the order of their paths, so that
 * the caps always leave out the same files.
 */
static void check_all(struct artifacts *artifacts) {
    uint64_t total = 0;
    qsort(artifacts->artifact, artifacts->n, sizeof artifacts->artifact[0], by_path);
    for (size_t i = 0; i < artifacts->n; i++) {
        struct artifact *artifact = &artifacts->artifact[i];
        artifact->row = row_of_artifact(artifact);
        if (artifact->change == CELL_DELETED)
            continue;
        check_kind(artifact);
        check_size(artifact, artifacts->limits, &total);
    }
}

int artifacts_begin(const struct artifacts_options *options, struct artifacts **ret) {
    struct artifacts *artifacts = calloc(1, sizeof *artifacts);
    if (!artifacts)
        return -ENOMEM;
    artifacts->cell = options->cell;
    artifacts->spec = options->spec;
    artifacts->limits = options->limits;
    artifacts->export = options->export;
    artifacts->kept_since_us = options->kept_since_us;
    artifacts->reading.fd = artifacts->reading.copy.fd = -1;
    int r = cell_list_changes(options->cell, CELL_FILES, note, artifacts);
    if (r < 0 || artifacts->n == 0) {
        artifacts_destroy(artifacts);
        artifacts = NULL;
    } else {
        check_all(artifacts);
    }
    if (r >= 0)
        *ret = artifacts;
    return r < 0 ? r : 0;
}

static void end_reading(struct artifacts *artifacts) {
    struct reading *reading = &artifacts->reading;
    if (reading->fd >= 0)
        close(reading->fd);
    if (artifacts->export)
        export_drop(artifacts->export, &reading->copy);
    bytes_fini(&reading->content);
    *reading = (struct reading){.fd = -1, .copy.fd = -1};
}

/* Another run's is left open. */
static void close_export(struct artifacts *artifacts) {
    if (artifacts->opened)
        export_close(artifacts->export);
    artifacts->opened = false;
}

void artifacts_destroy(struct artifacts *artifacts) {
    if (!artifacts)
        return;
    end_reading(artifacts);
    close_export(artifacts);
    for (size_t i = 0; i < artifacts->n; i++) {
        free(artifacts->artifact[i].path);
        json_decref(artifacts->artifact[i].row);
    }
    free(artifacts->artifact);
    free(artifacts->chunk);
    json_decref(artifacts->rows);
    json_decref(artifacts->on_disk);
    free(artifacts);
}

/* Opens the export folder. False while another kernel has it locked, up to a bound, or another run has it open. */
static bool open_export(struct artifacts *artifacts) {
    struct export *export = artifacts->export;
    int64_t now_us = clock_us();
    if (artifacts->tried)
        return true;
    int r = export->off ? 0 : export_open(export);
    artifacts->opened = r == 0 && !export->off;
    if (artifacts->lock_until_us == 0 || (r == -EAGAIN && export->dir_fd >= 0))
        artifacts->lock_until_us = now_us + LOCK_MS * CLOCK_MS;
    if (r == -EAGAIN && now_us < artifacts->lock_until_us) {
        artifacts->due_us = now_us + RETRY_MS * CLOCK_MS;
        return false;
    }
    if (artifacts->opened)
        export->compare_bytes = artifacts->limits->values[LIMIT_ARTIFACTS];
    if (export->off)
        snprintf(artifacts->no_export, sizeof artifacts->no_export, "copying is off");
    else if (r < 0)
        snprintf(artifacts->no_export, sizeof artifacts->no_export, "%.100s can't be written: %s",
                 export->name[0] ? export->name : export->parent,
                 r == -EAGAIN ? "another kernel is copying" : strerror(-r));
    artifacts->tried = true;
    return true;
}

static const char *open_problem(int err) {
    return err == ELOOP    ? "it is a link"
           : err == EMLINK ? "it has more than one name (hard links)"
           : err == EINVAL ? "it is no plain file"
                           : strerror(err);
}

/* Whether an open file holds these bytes. */
static bool holds_bytes(int fd, const unsigned char *data, size_t bytes, unsigned char *chunk) {
    size_t at = 0;
    ssize_t n;
    while ((n = pread(fd, chunk, CHUNK_BYTES, (off_t)at)) > 0) {
        if ((size_t)n > bytes - at || memcmp(chunk, data + at, (size_t)n) != 0)
            return false;
        at += (size_t)n;
    }
    return n == 0 && at == bytes;
}

/* A file that the request brought is no artifact if the cell has not changed it. */
static bool was_given(const struct artifacts *artifacts, const struct artifact *artifact) {
    const struct spec *spec = artifacts->spec;
    for (size_t i = 0; i < spec->n_files; i++)
        if (strcmp(spec->files[i].path, artifact->path) == 0)
            return holds_bytes(artifacts->reading.fd, spec->files[i].data, spec->files[i].bytes, artifacts->chunk);
    return false;
}

static void start_copy(struct artifacts *artifacts, struct artifact *artifact) {
    struct reading *reading = &artifacts->reading;
    if (artifact->refused[0] || !artifacts->export)
        return;
    if (artifacts->no_export[0]) {
        refuse(artifact, "%s", artifacts->no_export);
        return;
    }
    int r = export_begin(artifacts->export, &reading->copy);
    if (r < 0)
        refuse(artifact, "its copy can't be made: %s", strerror(-r));
}

/* Opens the current file, unless it is not read. */
static void start_reading(struct artifacts *artifacts, struct artifact *artifact) {
    struct reading *reading = &artifacts->reading;
    check_autorun(artifact, artifacts->export);
    bool readable = !artifact->refused[0] || artifact->too_large || artifact->withheld;
    if (artifact->change == CELL_DELETED || !readable)
        return;
    if (!artifacts->chunk && !(artifacts->chunk = malloc(CHUNK_BYTES))) {
        refuse(artifact, "there is no memory");
        return;
    }
    reading->fd = cell_open_change(artifacts->cell, artifact->path);
    if (reading->fd < 0) {
        refuse(artifact, "%s", open_problem(-reading->fd));
        reading->fd = -1;
        return;
    }
    artifact->given = was_given(artifacts, artifact);
    if (fstat(reading->fd, &reading->before) < 0 || (uint64_t)reading->before.st_size != artifact->bytes)
        refuse(artifact, "it changed while it was copied");
    crypto_hash_sha256_init(&reading->hash);
}

/* Begins with the current file. False where it has to wait for the export folder. */
static bool begin_turn(struct artifacts *artifacts, struct artifact *artifact) {
    struct reading *reading = &artifacts->reading;
    if (reading->fd < 0)
        start_reading(artifacts, artifact);
    if (reading->fd < 0 || artifact->given || reading->begun)
        return true;
    if (!artifact->refused[0] && artifacts->export && !open_export(artifacts))
        return false;
    reading->begun = true;
    start_copy(artifacts, artifact);
    return true;
}

/*
 * Should not happen, because nothing of the cell runs any more; but if it did,
 * a partial file would be taken for a whole one.
 */
static bool has_changed(const struct reading *reading) {
    struct stat now;
    return fstat(reading->fd, &now) < 0 || now.st_size != reading->before.st_size ||
           now.st_nlink != reading->before.st_nlink || (uint64_t)now.st_size != reading->bytes ||
           memcmp(&now.st_mtim, &reading->before.st_mtim, sizeof now.st_mtim) != 0 ||
           memcmp(&now.st_ctim, &reading->before.st_ctim, sizeof now.st_ctim) != 0;
}

/* True once the copy has its name, or can't get one. */
static bool place_copy(struct artifacts *artifacts, struct artifact *artifact, int64_t until_us) {
    struct export *export = artifacts->export;
    const struct export_place place = {.path = export_path(export, artifact->path),
                                       .sha256 = artifacts->reading.sha256,
                                       .until_us = until_us,
                                       .kept_since_us = artifacts->kept_since_us};
    char path[PATH_MAX], shown[2 * PATH_MAX];
    int r = export_place(export, &artifacts->reading.copy, &place, path);
    if (r == -EINPROGRESS)
        return false;
    if (r < 0) {
        refuse(artifact, "its copy can't be given its name: %s", strerror(-r));
        return true;
    }
    snprintf(shown, sizeof shown, "%s/%s", export->name[0] ? export->name : export->parent, path);
    json_object_set_new(artifact->row, "copied_to", text_to_json(shown, strlen(shown)));
    return true;
}

static bool wants_content(const struct artifacts *artifacts, const struct artifact *artifact) {
    return artifact->bytes <= (uint64_t)artifacts->spec->inline_bytes && artifacts->spec->inline_bytes > 0 &&
           artifact->bytes + artifacts->inline_bytes <= ARTIFACTS_INLINE_BYTES;
}

static void add_content(struct artifacts *artifacts, struct artifact *artifact) {
    const struct bytes *content = &artifacts->reading.content;
    size_t size = sodium_base64_encoded_len(content->n, sodium_base64_VARIANT_ORIGINAL);
    auto_free char *base64 = malloc(size);
    if (!base64 || !bytes_ok(content))
        return;
    sodium_bin2base64(base64, size, (const unsigned char *)(content->data ? content->data : ""), content->n,
                      sodium_base64_VARIANT_ORIGINAL);
    json_object_set_new(artifact->row, "data", json_string(base64));
    artifacts->inline_bytes += content->n;
}

/* All of the file is read. */
static void finish_reading(struct artifacts *artifacts, struct artifact *artifact) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    struct reading *reading = &artifacts->reading;
    crypto_hash_sha256_final(&reading->hash, hash);
    sodium_bin2hex(reading->sha256, sizeof reading->sha256, hash, sizeof hash);
    json_object_set_new(artifact->row, "sha256", json_string(reading->sha256));
}

static void take_chunk(struct artifacts *artifacts, struct artifact *artifact, size_t bytes) {
    struct reading *reading = &artifacts->reading;
    if (reading->bytes == 0)
        json_object_set_new(artifact->row, "mime",
                            json_string(mime_of(artifacts->chunk, bytes < MIME_HEAD_BYTES ? bytes : MIME_HEAD_BYTES,
                                                bytes == artifact->bytes && bytes <= MIME_HEAD_BYTES, artifact->path)));
    reading->bytes += bytes;
    crypto_hash_sha256_update(&reading->hash, artifacts->chunk, bytes);
    if (wants_content(artifacts, artifact))
        bytes_append(&reading->content, artifacts->chunk, bytes);
    int r = reading->copy.fd >= 0 ? host_write(reading->copy.fd, artifacts->chunk, bytes) : 0;
    if (r < 0) {
        refuse(artifact, "its copy can't be written: %s", strerror(-r));
        export_drop(artifacts->export, &reading->copy);
    }
}

/* Reads a chunk of the file. False where that was the last one, or the rest is not needed. */
static bool read_chunk(struct artifacts *artifacts, struct artifact *artifact) {
    ssize_t n = read(artifacts->reading.fd, artifacts->chunk, CHUNK_BYTES);
    if (n < 0) {
        refuse(artifact, "it can't be read: %s", strerror(errno));
        return false;
    }
    if (n > 0 || artifacts->reading.bytes == 0)
        take_chunk(artifacts, artifact, (size_t)n);
    if (n > 0)
        return !artifact->too_large;
    if (has_changed(&artifacts->reading))
        refuse(artifact, "it changed while it was copied");
    else
        finish_reading(artifacts, artifact);
    return false;
}

/* Reads on in a file. True once it is done. */
static bool read_some(struct artifacts *artifacts, struct artifact *artifact, int64_t until_us) {
    const struct reading *reading = &artifacts->reading;
    if (!reading->sha256[0] && read_chunk(artifacts, artifact))
        return false;
    if (!reading->sha256[0])
        return true;
    if (reading->copy.fd >= 0 && !place_copy(artifacts, artifact, until_us))
        return false;
    if (wants_content(artifacts, artifact))
        add_content(artifacts, artifact);
    return true;
}

static void finish_artifact(struct artifacts *artifacts) {
    close_export(artifacts);
    artifacts->rows = json_array();
    artifacts->on_disk = json_object();
    for (size_t i = 0; i < artifacts->n; i++) {
        const struct artifact *artifact = &artifacts->artifact[i];
        if (artifact->given)
            continue;
        if (artifact->refused[0])
            json_object_set_new(artifact->row, "refused", text_format("%s", artifact->refused));
        json_array_append(artifacts->rows, artifact->row);
        if (artifact->on_host)
            json_object_set_new(artifacts->on_disk, json_string_value(json_object_get(artifact->row, "path")),
                                json_true());
    }
}

bool artifacts_step(struct artifacts *artifacts, int64_t until_us) {
    while (!artifacts->rows) {
        if (artifacts->at == artifacts->n) {
            finish_artifact(artifacts);
            break;
        }
        struct artifact *artifact = &artifacts->artifact[artifacts->at];
        if (!begin_turn(artifacts, artifact))
            return false;
        if (artifacts->reading.fd < 0 || artifact->given || read_some(artifacts, artifact, until_us)) {
            end_reading(artifacts);
            artifacts->at++;
        }
        if (clock_us() >= until_us)
            break;
    }
    artifacts->due_us = 0;
    return artifacts->rows != NULL;
}

int64_t artifacts_due_us(const struct artifacts *artifacts) {
    return artifacts->due_us;
}

void artifacts_cancel(struct artifacts *artifacts, const char *why) {
    end_reading(artifacts);
    for (; artifacts->at < artifacts->n; artifacts->at++)
        if (artifacts->artifact[artifacts->at].change != CELL_DELETED)
            refuse(&artifacts->artifact[artifacts->at], "%s", why);
}

json_t *artifacts_rows(const struct artifacts *artifacts) {
    return artifacts->rows;
}

const json_t *artifacts_on_disk(const struct artifacts *artifacts) {
    return artifacts->on_disk;
}

size_t artifacts_omitted(const struct artifacts *artifacts) {
    return artifacts->omitted;
}
