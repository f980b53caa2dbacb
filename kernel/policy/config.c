/*
 * config.c - finds one file, reads it, and accepts either all of it or nothing.
 *
 * Files are not merged: the first that exists is the whole configuration. The
 * keys are read into a new struct that has the defaults. A file that was not
 * named with --config is opened through the descriptor of its folder, after the
 * folder's owner was checked.
 */

#include "config.h"

#include "kernel/base/host_file.h"
#include "kernel/base/paths.h"
#include "kernel/policy/config_keys.h"
#include "protocol/text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>

enum {
    GRACE_MS = 2000,
    KEEP_DAYS = 90,
    RECORDS_BYTES = 1 << 30,
    MAX_FILE_BYTES = (1 << 20) - 1,
    MAX_DEPTH = 16,
};

/* The configuration without a file. */
static void set_defaults(struct config *ret_config) {
    *ret_config = (struct config){
        .grace_ms = GRACE_MS,
        .history = true,
        .records = {.on = true, .keep_days = KEEP_DAYS, .max_bytes = RECORDS_BYTES},
        .artifacts = "outputs",
    };
    profile_of_kind(PROFILE_NOTEBOOK, &ret_config->profile);
    limits_defaults(PROFILE_NOTEBOOK, &ret_config->limits);
}

void config_closed(struct config *ret_config) {
    set_defaults(ret_config);
    ret_config->history = ret_config->records.on = false;
    ret_config->artifacts[0] = '\0';
}

void config_fini(struct config *config) {
    json_t *const texts[] = {config->environment,    config->inputs,          config->packages,      config->redact,
                             config->refuse.imports, config->refuse.patterns, config->writable.allow};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        json_decref(texts[i]);
    *config = (struct config){0};
}

/* Says where the text is no JSON; line gets that line. */
static int refuse_json(const char *text, size_t bytes, unsigned *ret_line, struct error *ret_error) {
    json_error_t where;
    json_auto_t *json = json_loadb(text, bytes, JSON_ALLOW_NUL | JSON_DECODE_ANY, &where);
    *ret_line = 1;
    if (json || where.line < 1 || where.column < 1)
        return error_set(ret_error, EINVAL, "It is not a JSON object.");
    *ret_line = (unsigned)where.line;
    return error_set(ret_error, EINVAL, "It is not a JSON object: line %d, column %d: %.200s.", where.line,
                     where.column, where.text);
}

/* Who is told of what is wrong in a file, and its text. */
struct telling {
    config_problem *tell; /* NULL for nobody */
    void *arg;
    const char *text;
    size_t bytes;
};

static void tell_wrong(void *arg, const struct config_place *place, const char *sentence) {
    const struct telling *telling = arg;
    telling->tell(telling->arg, config_line(telling->text, telling->bytes, place), sentence);
}

static int parse(struct telling *telling, const char *profile, struct config *ret_config, struct error *ret_error) {
    const char *text = telling->text;
    const struct config_wrongs wrongs = {telling->tell ? tell_wrong : NULL, telling};
    struct config config;
    struct error error;
    unsigned line;
    json_auto_t *json = text_parse_json(text, telling->bytes, MAX_DEPTH);
    if (!json_is_object(json)) {
        int r = refuse_json(text, telling->bytes, &line, &error);
        if (telling->tell)
            telling->tell(telling->arg, line, error.text);
        *ret_error = error;
        return r;
    }
    set_defaults(&config);
    int r = config_read(json, profile ? profile : profile_name(PROFILE_NOTEBOOK), &wrongs, &config, ret_error);
    if (r < 0)
        config_fini(&config);
    else
        *ret_config = config;
    return r;
}

int config_parse(const char *text, size_t bytes, const char *profile, struct config *ret_config,
                 struct error *ret_error) {
    return parse(&(struct telling){.text = text, .bytes = bytes}, profile, ret_config, ret_error);
}

/*
 * Opens a file that was not named with --config. HOME and XDG_CONFIG_HOME may be
 * those of another user, as with a sudo(8) that keeps the environment, and
 * another user must not decide what cells see and what is stored.
 */
static int open_found(const char *path, const struct host_file *wanted, struct error *ret_error) {
    char folder[PATH_MAX], name[PATH_MAX];
    struct stat st;
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(name, sizeof name, "%s", path);
    auto_fd fd = open(dirname(folder), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set_errno(ret_error, errno);
    if (host_is_trusted(st.st_uid))
        return host_file_open(fd, basename(name), wanted, ret_error);
    return error_set(ret_error, EPERM, "its folder belongs to another user (uid %u)", (unsigned)st.st_uid);
}

static int open_file(const char *path, bool named, struct error *ret_error) {
    struct error cause;
    const struct host_file wanted = {
        .flags = O_RDONLY, .owner = named ? HOST_ANY_OWNER : HOST_TRUSTED, .max_bytes = MAX_FILE_BYTES};
    int fd = named ? host_file_open(AT_FDCWD, path, &wanted, &cause) : open_found(path, &wanted, &cause);
    if (fd == -EPERM)
        error_set(ret_error, -fd,
                  "The configuration %s is not used: %s. Name it with --config to use it all the same, or start petri "
                  "with a HOME and an XDG_CONFIG_HOME of your own (sudo -H).",
                  path, cause.text);
    else if (fd < 0)
        error_set(ret_error, -fd, "The configuration %s can't be read: %s.", path, cause.text);
    return fd;
}

/* Reads the whole file. A file that grows meanwhile is treated as too large. The number of bytes, or -errno. */
static ssize_t read_config(int fd, char *text) {
    size_t have = 0;
    ssize_t n = 1;
    while (n > 0 && have <= MAX_FILE_BYTES) {
        n = read(fd, text + have, MAX_FILE_BYTES + 1 - have);
        have += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -errno : have > MAX_FILE_BYTES ? -EFBIG : (ssize_t)have;
}

static int load_file(const char *path, bool named, struct telling *telling, const char *profile,
                     struct config *ret_config, struct error *ret_error) {
    struct error cause;
    auto_fd fd = open_file(path, named, ret_error);
    if (fd < 0)
        return fd;
    auto_free char *text = malloc(MAX_FILE_BYTES + 1);
    ssize_t n = text ? read_config(fd, text) : -ENOMEM;
    if (n < 0)
        return error_set(ret_error, (int)-n, "The configuration %s can't be read: %s.", path, strerror((int)-n));
    telling->text = text;
    telling->bytes = (size_t)n;
    int r = parse(telling, profile, ret_config, &cause);
    if (r < 0)
        error_set(ret_error, -r, "The configuration %s: %s", path, cause.text);
    return r;
}

int config_find(const char *path, char ret_path[PATH_MAX]) {
    static const char system_path[] = "/etc/petri/config.json";
    char user[PATH_MAX];
    if (path)
        snprintf(ret_path, PATH_MAX, "%s", path);
    else if (paths_of_user("XDG_CONFIG_HOME", ".config", "petri/config.json", user, sizeof user) == 0 &&
             access(user, F_OK) == 0)
        memcpy(ret_path, user, sizeof user);
    else if (access(system_path, F_OK) == 0)
        memcpy(ret_path, system_path, sizeof system_path);
    else
        return 0;
    return 1;
}

int config_load(const char *path, const char *profile, struct config *ret_config, struct error *ret_error) {
    char found[PATH_MAX];
    if (config_find(path, found))
        return load_file(found, path != NULL, &(struct telling){0}, profile, ret_config, ret_error);
    return config_parse("{}", 2, profile, ret_config, ret_error);
}

int config_check(const char *path, config_problem *tell, void *arg, struct error *ret_error) {
    char found[PATH_MAX];
    struct config config;
    if (!config_find(path, found))
        return 0;
    int r = load_file(found, path != NULL, &(struct telling){.tell = tell, .arg = arg}, NULL, &config, ret_error);
    if (r == 0)
        config_fini(&config);
    return r;
}
