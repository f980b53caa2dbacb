#include "config.h"

#include "kernel/cleanup.h"
#include "kernel/config_keys.h"
#include "kernel/paths.h"
#include "protocol/text.h"

#include <errno.h>
#include <string.h>

enum {
    GRACE_MS = 2000,
    KEEP_DAYS = 90,
    RECORDS_BYTES = 1 << 30,
    MAX_FILE_BYTES = 1 << 20,
    MAX_DEPTH = 16,
};

/* What holds without a file. */
static void set_defaults(enum profile profile, struct config *ret_config) {
    *ret_config = (struct config){
        .grace_ms = GRACE_MS,
        .history = true,
        .records = {.on = true, .keep_days = KEEP_DAYS, .max_bytes = RECORDS_BYTES},
        .artifacts = "outputs",
    };
    limits_defaults(profile, &ret_config->limits);
}

void config_fini(struct config *config) {
    json_t *const texts[] = {config->environment, config->inputs,         config->packages,
                             config->redact,      config->refuse.imports, config->refuse.patterns};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        json_decref(texts[i]);
    *config = (struct config){0};
}

int config_parse(const char *text, size_t bytes, enum profile profile, struct config *ret_config, char *why,
                 size_t why_bytes) {
    struct config config;
    json_auto_t *json = text_parse_json(text, bytes, MAX_DEPTH);
    if (!json_is_object(json)) {
        snprintf(why, why_bytes, "It is not a JSON object.");
        return -EINVAL;
    }
    set_defaults(profile, &config);
    int r = config_read(json, profile, &config, why, why_bytes);
    if (r < 0)
        config_fini(&config);
    else
        *ret_config = config;
    return r;
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

int config_load(const char *path, enum profile profile, struct config *ret_config, char *why, size_t why_bytes) {
    char found[PATH_MAX];
    if (config_find(path, found))
        return load_file(found, profile, ret_config, why, why_bytes);
    set_defaults(profile, ret_config);
    return 0;
}
