#include "config.h"

#include "kernel/cleanup.h"
#include "kernel/limits_ask.h"
#include "protocol/text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum { GRACE_MS = 2000, MAX_FILE_BYTES = 1 << 20, MAX_DEPTH = 16 };

/* What a parser of one key works on. */
struct parsing {
    enum profile profile;
    struct config *config;
    char *why;
    size_t why_bytes;
};

void config_defaults(enum profile profile, struct config *ret_config) {
    limits_defaults(profile, &ret_config->limits);
    ret_config->grace_ms = GRACE_MS;
    ret_config->history = true;
}

static int refuse(const struct parsing *parsing, const char *key, const char *what) {
    snprintf(parsing->why, parsing->why_bytes, "\"%.60s\" %s.", key, what);
    return -EINVAL;
}

static int parse_profile(const struct parsing *parsing, const char *name, const json_t *json) {
    enum profile profile;
    struct limits limits;
    char why[256];
    if (profile_from_name(name, &profile) < 0)
        return refuse(parsing, name, "is no profile; there are \"notebook\" and \"strict\"");
    limits_defaults(profile, &limits);
    const struct limits_asking asking = {profile, ASKER_SESSION, why, sizeof why};
    if (limits_ask_json(&asking, &limits, json) < 0) {
        snprintf(parsing->why, parsing->why_bytes, "\"profiles\", \"%s\": %s.", name, why);
        return -EINVAL;
    }
    if (profile == parsing->profile)
        parsing->config->limits = limits;
    return 0;
}

static int parse_profiles(const struct parsing *parsing, const char *key, const json_t *json) {
    const char *name;
    json_t *profile;
    int r = 0;
    if (!json_is_object(json))
        return refuse(parsing, key, "has to be an object of profiles");
    json_object_foreach((json_t *)json, name, profile) {
        r = parse_profile(parsing, name, profile);
        if (r < 0)
            break;
    }
    return r;
}

static int parse_grace(const struct parsing *parsing, const char *key, const json_t *json) {
    if (!json_is_string(json) || limits_parse(UNIT_MS, json_string_value(json), &parsing->config->grace_ms) < 0)
        return refuse(parsing, key, "has to be a duration such as \"500ms\" or \"2s\"");
    return 0;
}

static int parse_history(const struct parsing *parsing, const char *key, const json_t *json) {
    if (!json_is_boolean(json))
        return refuse(parsing, key, "has to be true or false");
    parsing->config->history = json_is_true(json);
    return 0;
}

static const struct {
    const char *key;
    int (*parse)(const struct parsing *parsing, const char *key, const json_t *json);
} keys[] = {
    {"history", parse_history},
    {"interrupt_grace", parse_grace},
    {"profiles", parse_profiles},
};
enum { N_KEYS = sizeof keys / sizeof keys[0] };

static int parse_key(const struct parsing *parsing, const char *key, const json_t *json) {
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i].key, key) == 0)
            return keys[i].parse(parsing, key, json);
    return refuse(parsing, key, "is not known; there are \"history\", \"interrupt_grace\" and \"profiles\"");
}

int config_parse(const char *text, size_t bytes, enum profile profile, struct config *ret_config, char *why,
                 size_t why_bytes) {
    struct config config;
    const struct parsing parsing = {profile, &config, why, why_bytes};
    json_auto_t *json = text_parse_json(text, bytes, MAX_DEPTH);
    const char *key;
    json_t *value;
    if (!json_is_object(json)) {
        snprintf(why, why_bytes, "It is not a JSON object.");
        return -EINVAL;
    }
    config_defaults(profile, &config);
    json_object_foreach(json, key, value) {
        int r = parse_key(&parsing, key, value);
        if (r < 0)
            return r;
    }
    *ret_config = config;
    return 0;
}

static int load_file(const char *path, enum profile profile, struct config *ret_config, char *why, size_t why_bytes) {
    char problem[400];
    auto_file file = fopen(path, "re");
    auto_free char *text = malloc(MAX_FILE_BYTES);
    if (!file || !text) {
        int r = -errno;
        snprintf(why, why_bytes, "The configuration %s can't be read: %s.", path, strerror(-r));
        return r;
    }
    size_t bytes = fread(text, 1, MAX_FILE_BYTES, file);
    int r = bytes < MAX_FILE_BYTES ? config_parse(text, bytes, profile, ret_config, problem, sizeof problem) : -EFBIG;
    if (r < 0)
        snprintf(why, why_bytes, "The configuration %s: %s", path, r == -EFBIG ? "It is too large." : problem);
    return r;
}

/* The user's file. 0, or -ENOENT where there is no home to look in. */
static int user_path(char *buf, size_t size) {
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int n = -1;
    if (config && config[0])
        n = snprintf(buf, size, "%s/petri/config.json", config);
    else if (home && home[0])
        n = snprintf(buf, size, "%s/.config/petri/config.json", home);
    return n >= 0 && n < (int)size ? 0 : -ENOENT;
}

int config_load(const char *path, enum profile profile, struct config *ret_config, char *why, size_t why_bytes) {
    static const char system_path[] = "/etc/petri/config.json";
    char user[PATH_MAX];
    if (path)
        return load_file(path, profile, ret_config, why, why_bytes);
    if (user_path(user, sizeof user) == 0 && access(user, F_OK) == 0)
        return load_file(user, profile, ret_config, why, why_bytes);
    if (access(system_path, F_OK) == 0)
        return load_file(system_path, profile, ret_config, why, why_bytes);
    config_defaults(profile, ret_config);
    return 0;
}
