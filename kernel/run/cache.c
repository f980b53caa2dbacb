/*
 * cache.c - a digest of everything that a run depends on, as one JSON value.
 *
 * Files are identified by their metadata; to read them would take as long as the
 * cache saves. The walk doesn't follow symbolic links. Where there are more files
 * or folders than its bounds allow, the run has no key and is not cached. The key
 * is made before the run, and stored only if the run's result can be returned
 * again as a whole.
 *
 * See: fts(3).
 */

#include "cache.h"

#include "base/errand.h"
#include "kernel/base/clock.h"
#include "kernel/base/digest.h"
#include "kernel/run/accounts.h"
#include "kernel/run/refuse.h"
#include "protocol/text.h"

#include <fts.h>
#include <string.h>
#include <sys/stat.h>

static int64_t ttl_ms(const struct accounts *accounts, const struct run *run) {
    const int64_t configured = accounts->config->cache.ttl_ms;
    int64_t ttl = run->asked.spec.cache_ms != 0 ? run->asked.spec.cache_ms : configured;
    if (ttl > configured && config_locks(accounts->config, "cache"))
        ttl = configured;
    return ttl > 0 ? ttl : 0;
}

/* The metadata of a file that changes when its content does. Its name may not be UTF-8. */
static json_t *entry_of(const FTSENT *entry) {
    const struct stat *st = entry->fts_statp;
    json_t *path = text_to_json(entry->fts_path, strlen(entry->fts_path));
    return json_pack("[o, i, I, I, I, I]", path, (int)st->st_mode, (json_int_t)st->st_ino, (json_int_t)st->st_size,
                     (json_int_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
                     (json_int_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec);
}

/* Adds every file below a folder. Returns false where a part of it can't be read, or it is over the bounds. */
static bool add_folder(json_t *files, const char *path) {
    char *const paths[] = {(char *)path, NULL};
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    bool good = walk != NULL;
    FTSENT *entry;
    while (good && (entry = fts_read(walk))) {
        bool unseen = entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS;
        good = !unseen && entry->fts_level <= CACHE_FOLDER_DEPTH && json_array_size(files) < CACHE_FOLDER_FILES;
        if (good && entry->fts_info != FTS_DP)
            json_array_append_new(files, entry_of(entry));
    }
    if (walk)
        fts_close(walk);
    return good;
}

/* The host's files that cells can read, except those of their environment; NULL where add_folder() fails. */
static json_t *readable_files(const struct accounts *accounts) {
    json_t *files = json_array();
    size_t i;
    json_t *input;
    bool good = add_folder(files, ".");
    json_array_foreach(accounts->config->inputs, i, input) {
        good = good && add_folder(files, json_string_value(input));
    }
    if (good)
        return files;
    json_decref(files);
    return NULL;
}

/* metadata.petri without the keys that don't change a result, and with digests in the place of files. */
static json_t *request_of(const struct run *run) {
    const json_t *petri = json_object_get(run->request->message.metadata, "petri");
    json_t *request = json_is_object(petri) ? json_copy((json_t *)petri) : json_object();
    json_t *files = json_array();
    json_object_del(request, "task");
    json_object_del(request, "cache");
    json_object_del(request, "limits");
    for (size_t i = 0; i < run->asked.spec.n_files; i++) {
        char hex[DIGEST_HEX];
        digest_bytes(run->asked.spec.files[i].data, run->asked.spec.files[i].bytes, hex);
        json_array_append_new(files, json_pack("[s, s]", run->asked.spec.files[i].path, hex));
    }
    json_object_set_new(request, "files", files);
    return request;
}

/* The resolved limits, without those of tasks: these don't change a result. */
static json_t *limits_of(const struct run *run) {
    struct limits limits = run->asked.limits;
    json_t *values = json_array();
    limits_resolve(&limits);
    for (int i = 0; i < LIMIT_N; i++)
        if (!limit_rows[i].tightens)
            json_array_append_new(values, json_integer(limits.values[i]));
    return values;
}

static void make_key(const struct accounts *accounts, struct run *run) {
    json_t *files = readable_files(accounts);
    if (!files)
        return;
    json_auto_t *parts = json_pack("{s:O, s:o, s:o, s:o, s:s, s:s, s:b, s:O*}", "code", run->asked.code, "request",
                                   request_of(run), "limits", limits_of(run), "files", files, "environment",
                                   accounts->environment_sha256, "profile", accounts->profile->name, "allow_stdin",
                                   run->asked.allow_stdin, "refuse", refuse_modules(accounts->config));
    if (!parts || digest_json(parts, run->result.cache_key) < 0)
        run->result.cache_key[0] = '\0';
}

static bool is_plain(const struct run *run) {
    const json_t *expressions = json_object_get(run->request->message.content, "user_expressions");
    return run->asked.spec.fresh && !run->asked.silent && json_object_size(expressions) == 0;
}

/* What the thread gets that looks for a result, which may be as long as outputs may. */
struct looking {
    struct records *records;
    const char *key;
    int64_t since_ms;
    json_t *found;
};

static void look(void *arg) {
    struct looking *looking = arg;
    looking->found = records_find_cached(looking->records, looking->key, looking->since_ms);
}

void cache_look(struct accounts *accounts, struct run *run) {
    int64_t ttl = ttl_ms(accounts, run);
    if (json_object_size(accounts->config->variables) > 0)
        return; /* a result may be another with other values, of which no digest is stored either */
    if (ttl == 0 || !is_plain(run) || !accounts->records.db || !accounts->environment)
        return;
    make_key(accounts, run);
    if (!run->result.cache_key[0])
        return;
    struct looking looking = {&accounts->records, run->result.cache_key, clock_date_ms() - ttl, NULL};
    errand_do(look, &looking);
    run->result.cached = looking.found;
}

const char *cache_key(const struct run *run, const json_t *report) {
    bool whole = run->result.outcome == OUTCOME_OK && !run->now.has_asked && !run->result.transcript.cut &&
                 run->result.dropped_bytes == 0 && run->now.displays.dropped_bytes == 0 &&
                 json_array_size(json_object_get(report, "artifacts")) == 0;
    return whole ? run->result.cache_key : "";
}
