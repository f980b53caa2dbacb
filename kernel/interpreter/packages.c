/*
 * packages.c - adds all requirements to the list, and then adds each path of each distribution to the trees.
 *
 * There are two passes, because most trees need no depth: in folders that the
 * interpreter imports from, the first pass adds only the first name of each path.
 * Where shown and hidden distributions share such a name, a second pass reads the
 * lists again and adds the whole paths. Paths that cells see for another reason
 * (the notebook's folder, petri's files, inputs) are added as shown. The memory
 * for the lists is bounded; over the bound this fails and no cell runs, because
 * otherwise cells would see too much.
 *
 * See: PyPA, "Recording installed projects"; PEP 376; RFC 4180.
 */

#include "packages.h"

#include "base/cleanup.h"
#include "kernel/base/filename.h"
#include "kernel/interpreter/areas.h"
#include "kernel/interpreter/unlisted.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define CACHES "__pycache__"

/*
 * The bound on the memory for lists of files. A path costs its bytes and
 * PATH_COST for its place in a tree. The lists of 500 distributions cost some 20
 * MiB.
 */
enum { LINE_BYTES = 4096, REQUIREMENTS_MAX = 10000, PATH_COST = 32, LISTS_COST = 256 << 20 };

/* What petri's worker imports. */
static const char *const needed[] = {"ipython", "comm", "matplotlib-inline"};

/* Installed distributions whose requirements are still to be read, and all names so far; all normalised. */
struct closure {
    json_t *installed;
    json_t *queue;
    json_t *seen;
};

static void want(struct closure *closure, const char *name, size_t n) {
    auto_free char *normal = distributions_normal_name(name, n);
    if (!normal || n == 0 || json_object_get(closure->seen, normal))
        return;
    json_object_set_new(closure->seen, normal, json_true());
    if (json_object_get(closure->installed, normal))
        json_array_append_new(closure->queue, json_string(normal));
}

/* Whether the distribution is an egg, one archive or folder that has everything. */
static bool is_egg(const struct distribution *one) {
    return filename_ends(one->info, ".egg");
}

/* Opens a file of a distribution's metadata; NULL where it has none of this name. */
static FILE *open_metadata(const struct distributions *found, const struct distribution *one, const char *name) {
    char path[PATH_MAX];
    const char *folder = found->folders[one->folder];
    const char *inner = is_egg(one) ? "/EGG-INFO" : "";
    int n = snprintf(path, sizeof path, "%s/%s%s/%s", folder, one->info, inner, name);
    return n < (int)sizeof path ? distributions_open(path) : NULL;
}

/* The length of the name that a requirement begins with. */
static size_t name_bytes(const char *text) {
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || (text[n] != '\0' && strchr("-_.", text[n])))
        n++;
    return n;
}

/* Reads Requires-Dist: in METADATA, up to its description. Ignores requirements of extras. */
static void follow_metadata(struct closure *closure, FILE *file) {
    static const char key[] = "Requires-Dist: ";
    char line[LINE_BYTES];
    for (int i = 0; i < REQUIREMENTS_MAX && fgets(line, sizeof line, file) && line[0] != '\n'; i++) {
        const char *value = line + strlen(key);
        const char *marker = strchr(line, ';');
        if (strncmp(line, key, strlen(key)) == 0 && !(marker && strstr(marker, "extra")))
            want(closure, value, name_bytes(value));
    }
}

/* Reads requires.txt of an .egg-info: one name on each line, up to the first section. */
static void follow_requires(struct closure *closure, FILE *file) {
    char line[LINE_BYTES];
    for (int i = 0; i < REQUIREMENTS_MAX && fgets(line, sizeof line, file) && line[0] != '['; i++)
        want(closure, line, name_bytes(line));
}

static void follow_requirements(struct closure *closure, const struct distributions *found,
                                const struct distribution *one) {
    auto_file metadata = open_metadata(found, one, "METADATA");
    auto_file requires = metadata ? NULL : open_metadata(found, one, "requires.txt");
    if (metadata)
        follow_metadata(closure, metadata);
    if (requires)
        follow_requires(closure, requires);
}

/* The names of all distributions that are shown; the caller's. */
static json_t *closure_of(const struct distributions *found, const json_t *listed) {
    struct closure closure = {.installed = json_object(), .queue = json_array(), .seen = json_object()};
    size_t i;
    json_t *name;
    for (i = 0; i < found->n; i++)
        json_object_set_new(closure.installed, found->all[i].name, json_true());
    for (i = 0; i < sizeof needed / sizeof needed[0]; i++)
        want(&closure, needed[i], strlen(needed[i]));
    json_array_foreach(listed, i, name) {
        want(&closure, json_string_value(name), json_string_length(name));
    }
    for (size_t at = 0; at < json_array_size(closure.queue); at++)
        for (i = 0; i < found->n; i++)
            if (strcmp(found->all[i].name, json_string_value(json_array_get(closure.queue, at))) == 0)
                follow_requirements(&closure, found, &found->all[i]);
    json_decref(closure.installed);
    json_decref(closure.queue);
    return closure.seen;
}

/* Adds the files of one distribution to the trees. */
struct naming {
    struct areas *areas;
    const struct distributions *found;
    const struct distribution *one;
    bool shown;
    bool deep; /* in the second pass: the paths in folders that shown and hidden distributions share */
    size_t *cost;
};

static json_t *tree_of(const struct naming *naming, const struct area *area) {
    return naming->shown ? area->shown : area->hidden;
}

/* Whether a relative path does not leave its folder. */
static bool is_inside(const char *path) {
    return path[0] != '/' && path[0] != '.' && !strstr(path, "/.");
}

/*
 * Whether the whole paths below an entry have to be added: shown and hidden
 * distributions share it. Caches, and folders that the interpreter does not
 * import from, have whole paths anyway.
 */
static bool is_shared(const struct area *area, const char *top) {
    return area->kind == AREA_SITE && strcmp(top, CACHES) != 0 && json_object_get(area->hidden, top) &&
           (json_object_get(area->shown, top) || json_object_get(area->loose, top));
}

/* Adds a path in the folder itself: its first name only, unless that is shared. */
static int name_inside(const struct naming *naming, struct area *area, const char *path) {
    char top[NAME_MAX + 1];
    size_t n = strcspn(path, "/");
    if (area->kind != AREA_SITE || n >= sizeof top)
        return 0;
    memcpy(top, path, n);
    top[n] = '\0';
    if (naming->deep ? is_shared(area, top) : strcmp(top, CACHES) == 0)
        return area_add(tree_of(naming, area), path);
    return naming->deep ? 0 : area_add(tree_of(naming, area), top);
}

static int name_path(const struct naming *naming, const char *from, const char *path) {
    const char *folder = naming->found->folders[naming->one->folder];
    if (!path[0])
        return 0;
    struct area *area = from == folder && is_inside(path) ? areas_at(naming->areas, folder) : NULL;
    if (area)
        return name_inside(naming, area, path);
    return naming->deep ? 0 : areas_name(naming->areas, from, path, naming->shown);
}

/* A whole file; the caller's. NULL on ENOMEM. */
static char *read_stream(FILE *file, size_t *ret_bytes) {
    struct stat st;
    size_t bytes = fstat(fileno(file), &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
    char *text = malloc(bytes + 1);
    if (text)
        *ret_bytes = fread(text, 1, bytes, file);
    return text;
}

/* Reads a field in quotes, which may have commas, newlines and doubled quotes in it. Returns what follows it. */
static const char *unquote(const char *at, const char *end, char path[PATH_MAX]) {
    size_t n = 0;
    for (; at < end && (*at != '"' || (++at < end && *at == '"')); at++)
        if (n < PATH_MAX - 1)
            path[n++] = *at;
    path[n] = '\0';
    return at;
}

/*
 * Reads the next path of a list of files: a line, or in RECORD the first field of
 * a row. A path that is too long is cut. Returns where the next one begins. See:
 * PEP 376; RFC 4180.
 */
static const char *next_path(const char *at, const char *end, bool is_record, char path[PATH_MAX]) {
    bool is_quoted = is_record && *at == '"';
    if (is_quoted)
        at = unquote(at + 1, end, path);
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    line_end = line_end ? line_end : end;
    if (!is_quoted) {
        const char *comma = is_record ? memchr(at, ',', (size_t)(line_end - at)) : NULL;
        size_t n = (size_t)((comma ? comma : line_end) - at);
        n -= n > 0 && at[n - 1] == '\r';
        n = n < PATH_MAX ? n : PATH_MAX - 1;
        memcpy(path, at, n);
        path[n] = '\0';
    }
    return line_end + (line_end < end);
}

typedef int path_handler(const struct naming *naming, const char *from, const char *path);

/* Gives all paths of a list of files to a handler. 0 or -errno. */
static int read_list(const struct naming *naming, FILE *file, const char *from, bool is_record, path_handler *handler) {
    char path[PATH_MAX];
    size_t bytes = 0;
    auto_free char *text = read_stream(file, &bytes);
    const char *at = text, *end = text + bytes;
    int r = text ? 0 : -ENOMEM;
    *naming->cost += bytes;
    while (r == 0 && at < end) {
        *naming->cost += PATH_COST;
        at = next_path(at, end, is_record, path);
        r = *naming->cost > LISTS_COST ? -E2BIG : handler(naming, from, path);
    }
    return r;
}

/* Adds the name of a module of a distribution that has no list of files. */
static int name_module(const struct naming *naming, const char *from, const char *name) {
    const struct area *area = areas_at(naming->areas, from);
    auto_free char *first = strndup(name, strcspn(name, "/"));
    return first ? area_add(naming->shown ? area->loose : area->hidden, first) : -ENOMEM;
}

/* Adds the modules of a distribution without a list of files: those in top_level.txt, or its own name. 0 or -errno. */
static int name_modules(const struct naming *naming, const char *folder) {
    auto_file top_level = open_metadata(naming->found, naming->one, "top_level.txt");
    if (top_level)
        return read_list(naming, top_level, folder, false, name_module);
    auto_free char *module = strdup(naming->one->name);
    for (char *at = module; at && *at; at++)
        *at = *at == '-' ? '_' : *at;
    return module ? name_module(naming, folder, module) : -ENOMEM;
}

/* Adds the .pth file of an old distribution, by which the interpreter finds it. */
static int name_paths_file(const struct naming *naming, json_t *tree) {
    char name[NAME_MAX + 16];
    const char *info = naming->one->info;
    if (filename_ends(info, ".egg") || filename_ends(info, ".egg-link"))
        return area_add(tree, "easy-install.pth");
    snprintf(name, sizeof name, "%.*s-nspkg.pth", (int)(strrchr(info, '.') - info), info);
    return area_add(tree, name);
}

static int name_without_list(const struct naming *naming, const struct area *area) {
    if (area->kind != AREA_SITE || naming->deep)
        return 0;
    int r = is_egg(naming->one) ? 0 : name_modules(naming, area->path);
    return r == 0 && naming->shown ? name_paths_file(naming, area->loose) : r;
}

static int name_distribution(const struct naming *naming) {
    const struct distribution *one = naming->one;
    const char *folder = naming->found->folders[one->folder];
    struct area *area = areas_at(naming->areas, folder);
    char info[PATH_MAX];
    if (!area)
        return 0; /* petri's own */
    if (naming->shown && area_add(area->shown, one->info))
        return -ENOMEM;
    auto_file record = open_metadata(naming->found, one, "RECORD");
    if (record)
        return read_list(naming, record, folder, true, name_path);
    auto_file files = open_metadata(naming->found, one, "installed-files.txt");
    if (!files)
        return name_without_list(naming, area);
    int n = snprintf(info, sizeof info, "%s/%s", folder, one->info);
    return naming->deep || n >= (int)sizeof info ? 0 : read_list(naming, files, info, false, name_path);
}

/* Adds the files of all distributions in found; names: those that are shown. */
static int name_all(const struct distributions *found, const json_t *names, struct naming naming) {
    int r = 0;
    naming.found = found;
    for (size_t i = 0; r == 0 && i < found->n; i++) {
        naming.one = &found->all[i];
        naming.shown = json_object_get(names, found->all[i].name) != NULL;
        r = name_distribution(&naming);
    }
    return r;
}

/* Adds distributions that the interpreter does not import, because they also have files in bin and share. */
static int name_others(struct areas *areas, struct naming naming) {
    int r = 0;
    for (size_t i = 0, n = areas->n; r == 0 && i < n; i++) {
        struct distributions found;
        if (areas->all[i].kind != AREA_OTHER)
            continue;
        r = distributions_in(areas->all[i].path, &found);
        if (r == 0) {
            r = name_all(&found, NULL, naming);
            distributions_fini(&found);
        }
    }
    return r;
}

/* Whether shown and hidden distributions share a folder, so that a second pass is needed. */
static bool has_shared(const struct areas *areas) {
    const char *name;
    json_t *value;
    for (size_t i = 0; i < areas->n; i++)
        json_object_foreach(areas->all[i].hidden, name, value) {
            if (is_shared(&areas->all[i], name))
                return true;
        }
    return false;
}

/* Shows a path in an area that cells see for another reason; other entries of the folders above it stay hidden. */
static int keep_in(struct area *area, const char *path) {
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%s", path);
    char *slash = strrchr(above, '/');
    int r = area_add(area->shown, path);
    if (r < 0 || !slash)
        return r;
    *slash = '\0';
    return area_add(area->hidden, above);
}

static int keep_area(struct areas *areas, const char *path) {
    char real[PATH_MAX];
    int r = 0;
    if (!path || !realpath(path, real))
        return 0;
    for (size_t i = 0; r == 0 && i < areas->n; i++) {
        size_t n = strlen(areas->all[i].path);
        if (strncmp(real, areas->all[i].path, n) == 0 && real[n] == '/')
            r = keep_in(&areas->all[i], real + n + 1);
    }
    return r;
}

static int keep_all(const struct packages_facts *facts, struct areas *areas) {
    int r = keep_area(areas, facts->site);
    for (const char *const *path = facts->keep; r == 0 && path && *path; path++)
        r = keep_area(areas, *path);
    for (size_t i = 0; r == 0 && i < json_array_size(facts->inputs); i++)
        r = keep_area(areas, json_string_value(json_array_get(facts->inputs, i)));
    return r;
}

/* Whether the configuration's inputs name a whole area. */
static bool is_input(const json_t *inputs, const char *folder) {
    char real[PATH_MAX];
    bool is = false;
    for (size_t i = 0; !is && i < json_array_size(inputs); i++)
        is = realpath(json_string_value(json_array_get(inputs, i)), real) && strcmp(real, folder) == 0;
    return is;
}

/* Fills the trees of all areas. */
static int name_everything(const struct packages_facts *facts, const json_t *names, struct areas *areas) {
    size_t cost = 0;
    struct naming naming = {.areas = areas, .cost = &cost};
    int r = name_all(facts->found, names, naming);
    if (r == 0)
        r = name_others(areas, naming);
    if (r == 0)
        r = keep_all(facts, areas);
    naming.deep = true;
    return r == 0 && has_shared(areas) ? name_all(facts->found, names, naming) : r;
}

static int by_folder(const void *a, const void *b) {
    return strcmp(((const struct session_mask *)a)->folder, ((const struct session_mask *)b)->folder);
}

/* Finds what is hidden in each area, sorted by path, so that a folder comes before those in it. */
static int hide_unlisted(const struct packages_facts *facts, const json_t *names, const struct areas *areas,
                         struct packages *packages) {
    int r = 0;
    packages->hide = calloc(areas->n + 1, sizeof *packages->hide);
    if (!packages->hide)
        return -ENOMEM;
    for (size_t i = 0; r >= 0 && i < areas->n; i++) {
        if (is_input(facts->inputs, areas->all[i].path))
            continue;
        r = unlisted_find(&areas->all[i], areas->interpreter, names, &packages->hide[packages->n]);
        packages->n += r > 0;
    }
    qsort(packages->hide, packages->n, sizeof *packages->hide, by_folder);
    return r < 0 ? r : 0;
}

/* Logs listed names that are not installed: most likely a typing error. */
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

int packages_hide(const struct packages_facts *facts, struct packages *ret) {
    struct packages packages = {0};
    struct areas areas = {0};
    json_auto_t *names = closure_of(facts->found, facts->listed);
    int r = names ? areas_find(facts->found, facts->site, &areas) : -ENOMEM;
    warn_of_missing(facts->found, facts->listed, facts->log);
    if (r == 0)
        r = name_everything(facts, names, &areas);
    if (r == 0)
        r = hide_unlisted(facts, names, &areas, &packages);
    areas_fini(&areas);
    if (r < 0)
        packages_fini(&packages);
    else
        *ret = packages;
    return r;
}

void packages_fini(struct packages *packages) {
    for (size_t i = 0; i < packages->n; i++)
        unlisted_fini(&packages->hide[i]);
    free(packages->hide);
    *packages = (struct packages){0};
}
