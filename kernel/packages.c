#include "packages.h"

#include "kernel/cleanup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>

enum { LINE_BYTES = 4096, ENTRIES_MAX = 50000 };

/* What petri's worker imports. */
static const char *const needed[] = {"ipython", "comm", "matplotlib-inline"};

/* Names still to be followed, and all that were; both by their normal form. */
struct closure {
    json_t *queue;
    json_t *seen;
};

static void want(struct closure *closure, const char *name, size_t n) {
    auto_free char *normal = distributions_normal_name(name, n);
    if (!normal || n == 0 || json_object_get(closure->seen, normal))
        return;
    json_object_set_new(closure->seen, normal, json_true());
    json_array_append_new(closure->queue, json_string(normal));
}

/* Opens a file of a distribution's metadata; NULL where it has none of this name. */
static FILE *open_metadata(const struct distributions *found, const struct distribution *one, const char *name) {
    char path[PATH_MAX];
    const char *folder = found->folders[one->folder];
    int n = snprintf(path, sizeof path, "%s/%s/%s", folder, one->info, name);
    return n < (int)sizeof path ? fopen(path, "re") : NULL;
}

/* The name that a requirement begins with. */
static size_t name_bytes(const char *text) {
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || (text[n] != '\0' && strchr("-_.", text[n])))
        n++;
    return n;
}

/* Requires-Dist: of METADATA, up to its description. Requirements of extras are left out: nobody has asked for them. */
static void follow_metadata(struct closure *closure, FILE *file) {
    static const char key[] = "Requires-Dist: ";
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, file) && line[0] != '\n') {
        const char *value = line + strlen(key);
        const char *marker = strchr(line, ';');
        if (strncmp(line, key, strlen(key)) == 0 && !(marker && strstr(marker, "extra")))
            want(closure, value, name_bytes(value));
    }
}

/* requires.txt of an .egg-info: a name a line, up to the first section. */
static void follow_requires(struct closure *closure, FILE *file) {
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, file) && line[0] != '[')
        want(closure, line, name_bytes(line));
}

static void follow(struct closure *closure, const struct distributions *found, const struct distribution *one) {
    auto_file metadata = open_metadata(found, one, "METADATA");
    auto_file requires = metadata ? NULL : open_metadata(found, one, "requires.txt");
    if (metadata)
        follow_metadata(closure, metadata);
    if (requires)
        follow_requires(closure, requires);
}

/* Everything that is to be seen, by name; the caller's. */
static json_t *closure_of(const struct distributions *found, const json_t *listed) {
    struct closure closure = {.queue = json_array(), .seen = json_object()};
    size_t i;
    json_t *name;
    for (i = 0; i < sizeof needed / sizeof needed[0]; i++)
        want(&closure, needed[i], strlen(needed[i]));
    json_array_foreach(listed, i, name) {
        want(&closure, json_string_value(name), json_string_length(name));
    }
    for (size_t at = 0; at < json_array_size(closure.queue); at++)
        for (i = 0; i < found->n; i++)
            if (strcmp(found->all[i].name, json_string_value(json_array_get(closure.queue, at))) == 0)
                follow(&closure, found, &found->all[i]);
    json_decref(closure.queue);
    return closure.seen;
}

static void show(json_t *shown, const char *entry, size_t n) {
    auto_free char *name = strndup(entry, n);
    if (name && n > 0 && strcmp(name, "..") != 0 && strcmp(name, ".") != 0)
        json_object_set_new(shown, name, json_true());
}

/* The first parts of the paths in RECORD, or the names in top_level.txt. Returns whether there were any. */
static bool show_listed(json_t *shown, FILE *file, const char *ends) {
    char line[LINE_BYTES];
    bool any = false;
    while (fgets(line, sizeof line, file)) {
        const char *entry = line + (line[0] == '"');
        size_t n = strcspn(entry, ends);
        show(shown, entry, n);
        any = any || n > 0;
    }
    return any;
}

/* A module of one file, or an extension, is listed without its ending. */
static void show_top_level(json_t *shown, FILE *file) {
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, file)) {
        char name[LINE_BYTES + 4];
        size_t n = strcspn(line, "\r\n");
        show(shown, line, n);
        snprintf(name, sizeof name, "%.*s.py", (int)n, line);
        show(shown, name, n + 3);
    }
}

/* The entries of its folder that a distribution owns. */
static void show_distribution(const struct distributions *found, const struct distribution *one, json_t *shown) {
    auto_file record = open_metadata(found, one, "RECORD");
    auto_file top_level = record ? NULL : open_metadata(found, one, "top_level.txt");
    show(shown, one->info, strlen(one->info));
    if (record && show_listed(shown, record, "/,\r\n"))
        return;
    if (top_level) {
        show_top_level(shown, top_level);
        return;
    }
    auto_free char *module = strdup(one->name);
    for (char *at = module; at && *at; at++)
        *at = *at == '-' ? '_' : *at;
    if (module)
        show(shown, module, strlen(module));
}

static int add_name(struct session_hide *hide, size_t *n, const char *name) {
    char **names = reallocarray(hide->names, *n + 2, sizeof *names);
    if (!names)
        return -ENOMEM;
    hide->names = names;
    names[*n + 1] = NULL;
    names[*n] = strdup(name);
    return names[*n] ? (++*n, 0) : -ENOMEM;
}

/* A module that is listed without its ending may be one file: name.cpython-311-x86_64-linux-gnu.so. */
static bool is_shown(const json_t *shown, const char *entry) {
    auto_free char *stem = strndup(entry, strcspn(entry, "."));
    return json_object_get(shown, entry) || (stem && stem[0] && json_object_get(shown, stem));
}

/* All entries of a folder but those that are shown. */
static int hide_entries(const char *folder, const json_t *shown, struct session_hide *hide) {
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t n = 0;
    int r = dir ? 0 : -errno;
    while (r == 0 && n < ENTRIES_MAX && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !is_shown(shown, entry->d_name))
            r = add_name(hide, &n, entry->d_name);
    if (dir)
        closedir(dir);
    return r == 0 && n == ENTRIES_MAX ? -E2BIG : r;
}

static int hide_in_folder(const struct distributions *found, size_t folder, const json_t *names,
                          struct packages *packages) {
    struct session_hide *hide = &packages->hide[packages->n++];
    json_auto_t *shown = json_object();
    for (size_t i = 0; i < found->n; i++)
        if (found->all[i].folder == folder && json_object_get(names, found->all[i].name))
            show_distribution(found, &found->all[i], shown);
    hide->folder = strdup(found->folders[folder]);
    return hide->folder ? hide_entries(hide->folder, shown, hide) : -ENOMEM;
}

/* A name that nothing has is most likely a slip. */
static void warn_of_missing(const struct distributions *found, const json_t *listed, const struct log *log) {
    size_t i;
    json_t *name;
    json_array_foreach(listed, i, name) {
        auto_free char *normal = distributions_normal_name(json_string_value(name), json_string_length(name));
        size_t at = 0;
        while (normal && at < found->n && strcmp(found->all[at].name, normal) != 0)
            at++;
        if (at == found->n)
            log_write(log, LOG_LEVEL_WARNING, "the configuration lists the package %s, which is not installed", normal);
    }
}

int packages_hide(const struct distributions *found, const char *site, const json_t *listed, const struct log *log,
                  struct packages *ret) {
    struct packages packages = {0};
    char real[PATH_MAX];
    json_auto_t *names = closure_of(found, listed);
    int r = names ? 0 : -ENOMEM;
    bool has_site = site[0] && realpath(site, real);
    warn_of_missing(found, listed, log);
    for (size_t i = 0; r == 0 && i < found->n_folders; i++)
        if (!has_site || strcmp(found->folders[i], real) != 0)
            r = hide_in_folder(found, i, names, &packages);
    if (r < 0)
        packages_fini(&packages);
    else
        *ret = packages;
    return r;
}

void packages_fini(struct packages *packages) {
    for (size_t i = 0; i < packages->n; i++) {
        for (size_t k = 0; packages->hide[i].names && packages->hide[i].names[k]; k++)
            free(packages->hide[i].names[k]);
        free(packages->hide[i].names);
        free(packages->hide[i].folder);
    }
    *packages = (struct packages){0};
}
