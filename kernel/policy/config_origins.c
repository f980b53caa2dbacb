/*
 * config_origins.c - goes over both files at once, down to the values that are no objects.
 *
 * A value of the user's own file stands instead of what the operator's has below
 * the same key, as it does when the files are read (config_keys.c).
 */

#include "config_origins.h"

#include "kernel/policy/config_keys.h"
#include "protocol/text.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 16, KEY_BYTES = 256 };

struct walk {
    const struct config_files *files;
    config_tell_origin *tell;
    void *arg;
    const json_t *locked; /* of the operator's file, or NULL */
};

static bool is_in(const json_t *locked, const char *name) {
    return config_is_key(name) && config_locks(&(struct config){.locked = (json_t *)locked}, name);
}

/* What is said of a value that the operator's file has, the user's, or both. */
static const char *standing_of(const struct walk *walk, const char *key, const json_t *policy, const json_t *own) {
    char name[KEY_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(key, "."), key);
    if (is_in(walk->locked, name))
        return "locked";
    if (strcmp(key, "locked") == 0)
        return own ? "without effect: only " CONFIG_POLICY_PATH " can lock keys" : "";
    if (own)
        return policy ? "instead of " CONFIG_POLICY_PATH : "";
    bool is_ceiling = strncmp(key, "profiles.", 9) == 0 && strstr(key, ".ceilings.");
    return is_ceiling || strncmp(key, "kernels.", 8) == 0 ? "the most that another file can set" : "";
}

static void go(const struct walk *walk, const char *key, const json_t *policy, const json_t *own);

static void go_members(const struct walk *walk, const char *key, const json_t *policy, const json_t *own) {
    char inner[KEY_BYTES];
    const char *name;
    json_t *value;
    json_auto_t *both = json_object();
    json_object_update(both, (json_t *)policy);
    json_object_update_missing(both, (json_t *)own);
    json_object_foreach(both, name, value) {
        snprintf(inner, sizeof inner, "%s%s%s", key, key[0] ? "." : "", name);
        go(walk, inner, json_object_get(policy, name), json_object_get(own, name));
    }
}

static void go(const struct walk *walk, const char *key, const json_t *policy, const json_t *own) {
    if (own ? json_is_object(own) : json_is_object(policy)) {
        go_members(walk, key, json_is_object(policy) ? policy : NULL, own);
        return;
    }
    const struct config_origin origin = {key, own ? walk->files->own.path : walk->files->policy.path,
                                         standing_of(walk, key, policy, own)};
    walk->tell(walk->arg, &origin);
}

/* Keys that are locked and in no file. */
static void tell_locked_defaults(const struct walk *walk, const json_t *policy) {
    for (size_t i = 0; i < config_root.n_members; i++) {
        const char *name = config_root.members[i].name;
        if (is_in(walk->locked, name) && !json_object_get(policy, name))
            walk->tell(walk->arg, &(struct config_origin){name, NULL, "locked"});
    }
}

static json_t *parse(const struct config_file *file) {
    return file->text ? text_parse_json(file->text, file->bytes, MAX_DEPTH) : json_object();
}

void config_origins(const struct config_files *files, config_tell_origin *tell, void *arg) {
    json_auto_t *policy = parse(&files->policy);
    json_auto_t *own = parse(&files->own);
    const struct walk walk = {files, tell, arg, json_object_get(policy, "locked")};
    go_members(&walk, "", policy, own);
    tell_locked_defaults(&walk, policy);
}
