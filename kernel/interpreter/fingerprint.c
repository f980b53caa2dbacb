/*
 * fingerprint.c - digests of the interpreter's files, and lists in a fixed form.
 *
 * Of a distribution that is installed twice, the one in the first folder counts,
 * as for an import. Variables with the paths of petri's files are left out,
 * because they change no result.
 */

#include "fingerprint.h"

#include "base/cleanup.h"
#include "kernel/base/digest.h"
#include "kernel/base/host_file.h"
#include "kernel/records/records.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sodium.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

enum {
    PROGRAM_BYTES = 256 << 20,
    SETTLED_S = 2, /* longer than a file system's clock stands still */
};

static int hash_fd(int fd, char ret_hex[DIGEST_HEX]) {
    enum { PIECE = 1 << 18 };
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    auto_free unsigned char *piece = malloc(PIECE);
    ssize_t n;
    if (!piece)
        return -ENOMEM;
    crypto_hash_sha256_init(&state);
    while ((n = read(fd, piece, PIECE)) > 0)
        crypto_hash_sha256_update(&state, piece, (unsigned long long)n);
    if (n < 0)
        return -errno;
    crypto_hash_sha256_final(&state, hash);
    digest_to_hex(hash, ret_hex);
    return 0;
}

/* Remembers the digest, unless the file has just been changed: the next change could come at the same time. */
static void remember(struct records *records, int fd, const char *file, const char *hex) {
    char now[DIGEST_FILE];
    struct stat st;
    if (fstat(fd, &st) < 0 || time(NULL) - st.st_ctim.tv_sec < SETTLED_S)
        return;
    digest_file(&st, now);
    if (strcmp(file, now) == 0)
        records_store_digest(records, file, hex);
}

/* Hashes a program or library. Its owner may have replaced it, so a FIFO must not block the kernel. */
static int hash_file(const char *path, struct records *records, char ret_hex[DIGEST_HEX]) {
    static const struct host_file wanted = {.flags = O_RDONLY, .owner = HOST_ANY_OWNER, .max_bytes = PROGRAM_BYTES};
    char file[DIGEST_FILE];
    struct stat st;
    auto_fd fd = host_file_open(AT_FDCWD, path, &wanted, NULL);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    digest_file(&st, file);
    if (records_find_digest(records, file, ret_hex))
        return 0;
    int r = hash_fd(fd, ret_hex);
    if (r == 0)
        remember(records, fd, file, ret_hex);
    return r;
}

/* Where the interpreter is in a shared library, the program alone does not identify it. */
static void add_library(json_t *json, const struct distributions *found, struct records *records) {
    char copy[PATH_MAX], path[PATH_MAX + 64], hex[DIGEST_HEX];
    char minor[32];
    snprintf(copy, sizeof copy, "%s", found->interpreter);
    snprintf(minor, sizeof minor, "%s", found->version);
    char *patch = strchr(minor, '.');
    patch = patch ? strchr(patch + 1, '.') : NULL;
    if (patch)
        *patch = '\0';
    snprintf(path, sizeof path, "%s/lib/libpython%s.so.1.0", dirname(dirname(copy)), minor);
    if (hash_file(path, records, hex) == 0)
        json_object_set_new(json, "library_sha256", json_string(hex));
}

static json_t *interpreter(const struct distributions *found, struct records *records) {
    char hex[DIGEST_HEX];
    if (hash_file(found->interpreter, records, hex) < 0)
        return NULL;
    json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "named", found->named, "path", found->interpreter, "version",
                             found->version, "sha256", hex);
    if (json)
        add_library(json, found, records);
    return json;
}

/* Where a name is installed more than once, the first one is imported. */
static json_t *versions(const struct distributions *found) {
    json_t *json = json_object();
    for (size_t i = 0; i < found->n; i++)
        if (!json_object_get(json, found->all[i].name))
            json_object_set_new(json, found->all[i].name, json_string(found->all[i].version));
    return json;
}

static json_t *linux_build(void) {
    struct utsname name;
    uname(&name);
    return json_pack("{s:s, s:s, s:s}", "release", name.release, "version", name.version, "machine", name.machine);
}

/* Without the variables that have paths of petri's files. */
static json_t *settings_of(char *const *settings) {
    json_t *json = json_object();
    for (size_t i = 0; settings && settings[i]; i++) {
        const char *equals = strchr(settings[i], '=');
        auto_free char *name = strndup(settings[i], (size_t)(equals - settings[i]));
        if (name && strncmp(name, "PETRI_", 6) != 0)
            json_object_set_new(json, name, json_string(equals + 1));
    }
    return json;
}

json_t *fingerprint_make(const struct distributions *found, char *const *settings, struct records *records) {
    char hex[DIGEST_HEX];
    auto_free char *policy = sandbox_policy();
    if (!policy)
        return NULL;
    digest_bytes(policy, strlen(policy), hex);
    return json_pack("{s:o, s:o, s:o, s:s, s:s, s:o}", "interpreter", interpreter(found, records), "distributions",
                     versions(found), "linux", linux_build(), "petri", PETRI_VERSION, "policy_sha256", hex, "settings",
                     settings_of(settings));
}
