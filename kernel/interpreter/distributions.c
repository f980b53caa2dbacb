/*
 * distributions.c - finds the folders that the module site would add to sys.path, from names of files and pyvenv.cfg.
 *
 * The minor version comes from the program's name, else from the library's
 * folder, else from pyvenv.cfg. A folder is listed once, by its real path, in the
 * order of imports. Metadata files may have been written by any user, so they are
 * checked when they are opened, and bounded in size.
 *
 * See: the module site; PEP 405; Debian Python Policy, "dist-packages".
 */

#include "distributions.h"

#include "base/cleanup.h"
#include "kernel/base/host_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <string.h>

enum { DISTRIBUTIONS_MAX = 20000, CONFIG_BYTES = 4096, METADATA_BYTES = 64 << 20 };

/* Where an interpreter of version %s below a prefix imports from; "t" is of one without a global lock. See: the module
 * site; Debian's dist-packages. */
static const char *const places[] = {
    "lib/python%s/site-packages",       "lib64/python%s/site-packages",     "lib/python%st/site-packages",
    "lib64/python%st/site-packages",    "lib/python3/dist-packages",        "lib/python%s/dist-packages",
    "local/lib/python%s/dist-packages", "local/lib/python%s/site-packages",
};

char *distributions_normal_name(const char *name, size_t n) {
    char *normal = malloc(n + 1);
    size_t used = 0;
    for (size_t i = 0; normal && i < n; i++) {
        bool between = strchr("-_.", name[i]) != NULL;
        if (!between)
            normal[used++] = (char)tolower((unsigned char)name[i]);
        else if (used > 0 && normal[used - 1] != '-')
            normal[used++] = '-';
    }
    if (normal)
        normal[used] = '\0';
    return normal;
}

void distributions_fini(struct distributions *distributions) {
    for (size_t i = 0; i < distributions->n; i++) {
        free(distributions->all[i].name);
        free(distributions->all[i].version);
        free(distributions->all[i].info);
    }
    free(distributions->all);
    for (size_t i = 0; i < distributions->n_folders; i++)
        free(distributions->folders[i]);
    *distributions = (struct distributions){0};
}

FILE *distributions_open(const char *path) {
    static const struct host_file wanted = {.flags = O_RDONLY, .owner = HOST_ANY_OWNER, .max_bytes = METADATA_BYTES};
    auto_fd fd = host_file_open(AT_FDCWD, path, &wanted, NULL);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    fd = file ? -1 : fd;
    return file;
}

bool distributions_venv_value(const char *prefix, const char *key, char *buf, size_t size) {
    char path[PATH_MAX + 16];
    char line[CONFIG_BYTES];
    snprintf(path, sizeof path, "%s/pyvenv.cfg", prefix);
    auto_file file = distributions_open(path);
    while (file && fgets(line, sizeof line, file)) {
        size_t n = strlen(key);
        if (strncmp(line, key, n) != 0)
            continue;
        const char *value = line + n + strspn(line + n, " \t");
        if (*value != '=')
            continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(buf, size, "%.*s", (int)strcspn(value, "\r\n"), value);
        return true;
    }
    return false;
}

/* Takes "3.11" from "3.11.2" or from the end of "python3.11". Returns whether text begins with a version. */
static bool minor_of(const char *text, char *buf, size_t size) {
    size_t n = strspn(text, "0123456789");
    if (n == 0 || text[n] != '.' || !isdigit((unsigned char)text[n + 1]))
        return false;
    n += 1 + strspn(text + n + 1, "0123456789");
    snprintf(buf, size, "%.*s", (int)n, text);
    return true;
}

/* The version in the name of the library's folder, lib/python3.N. */
static bool minor_of_library(const char *prefix, char *buf, size_t size) {
    char pattern[PATH_MAX + 32];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/lib/python3.*/os.py", prefix);
    bool one = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
    if (one)
        one = minor_of(strstr(found.gl_pathv[0] + strlen(prefix), "/python") + strlen("/python"), buf, size);
    globfree(&found);
    return one;
}

/* The version with its patch number, if a header or pyvenv.cfg has it. */
static void find_patch(const char *prefix, const char *base, const char *minor, char *buf, size_t size) {
    char path[PATH_MAX + 64];
    char line[256];
    char version[16];
    snprintf(buf, size, "%s", minor);
    if (distributions_venv_value(prefix, "version", buf, size) ||
        distributions_venv_value(prefix, "version_info", buf, size))
        return;
    snprintf(path, sizeof path, "%s/include/python%s/patchlevel.h", base, minor);
    auto_file file = distributions_open(path);
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "#define PY_VERSION \"%15[^\"]", version) == 1)
            snprintf(buf, size, "%s", version);
}

/* Adds an existing folder by its real path, unless it is listed. 0 or -ENOMEM. */
static int add_real_folder(struct distributions *found, const char *path) {
    char real[PATH_MAX];
    if (!realpath(path, real))
        return 0;
    for (size_t i = 0; i < found->n_folders; i++)
        if (strcmp(found->folders[i], real) == 0)
            return 0;
    if (found->n_folders == DISTRIBUTIONS_FOLDERS)
        return 0;
    found->folders[found->n_folders] = strdup(real);
    return found->folders[found->n_folders] ? (found->n_folders++, 0) : -ENOMEM;
}

static int add_folders(struct distributions *found, const char *prefix, const char *minor) {
    char path[PATH_MAX + 64];
    char place[64];
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof places / sizeof places[0]; i++) {
        const char *version = strstr(places[i], "%s");
        snprintf(place, sizeof place, "%.*s%s%s", version ? (int)(version - places[i]) : (int)strlen(places[i]),
                 places[i], version ? minor : "", version ? version + 2 : "");
        snprintf(path, sizeof path, "%s/%s", prefix, place);
        r = add_real_folder(found, path);
    }
    return r;
}

/* The folder two above an executable. */
static void prefix_of(const char *executable, char ret_prefix[PATH_MAX]) {
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", executable);
    snprintf(ret_prefix, PATH_MAX, "%s", dirname(dirname(copy)));
}

/* All that the interpreter imports from, and its version. */
static int find_folders(struct distributions *found, const char *python, const char *site) {
    char prefix[PATH_MAX], base[PATH_MAX], minor[16] = "", value[PATH_MAX];
    if (!realpath(python, found->interpreter))
        return -errno;
    snprintf(found->named, sizeof found->named, "%s", python);
    prefix_of(python, prefix);
    prefix_of(found->interpreter, base);
    const char *name = strrchr(found->interpreter, '/') + 1;
    bool is_venv = distributions_venv_value(prefix, "home", value, sizeof value);
    bool known = strncmp(name, "python", 6) == 0 && minor_of(name + 6, minor, sizeof minor);
    if (!known && !minor_of_library(base, minor, sizeof minor) && is_venv &&
        distributions_venv_value(prefix, "version", value, sizeof value))
        minor_of(value, minor, sizeof minor);
    find_patch(prefix, base, minor, found->version, sizeof found->version);
    int r = add_folders(found, prefix, minor);
    bool sees_base =
        !is_venv || (distributions_venv_value(prefix, "include-system-site-packages", value, sizeof value) &&
                     strcasecmp(value, "true") == 0);
    if (r == 0 && sees_base)
        r = add_folders(found, base, minor);
    if (r == 0 && site[0])
        r = add_real_folder(found, site);
    return r;
}

/* NAME-VERSION.dist-info, NAME-VERSION-py3.11.egg-info, NAME.egg-link. Returns whether it is one of them. */
static bool split(const char *entry, size_t *ret_name, size_t *ret_version, size_t *ret_version_bytes) {
    static const char *const ends[] = {".dist-info", ".egg-info", ".egg", ".egg-link"};
    size_t n = strlen(entry);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t end = strlen(ends[i]);
        if (n <= end || strcmp(entry + n - end, ends[i]) != 0)
            continue;
        const char *dash = memchr(entry, '-', n - end);
        size_t name = dash ? (size_t)(dash - entry) : n - end;
        size_t version = dash ? name + 1 : n - end;
        const char *tag = dash ? memmem(entry + version, n - end - version, "-py", 3) : NULL;
        *ret_name = name;
        *ret_version = version;
        *ret_version_bytes = (tag ? (size_t)(tag - entry) : n - end) - version;
        return name > 0;
    }
    return false;
}

static int add_distribution(struct distributions *found, size_t folder, const char *entry) {
    size_t name, version, version_bytes;
    if (!split(entry, &name, &version, &version_bytes) || found->n == DISTRIBUTIONS_MAX)
        return 0;
    struct distribution *all = reallocarray(found->all, found->n + 1, sizeof *all);
    if (!all)
        return -ENOMEM;
    found->all = all;
    struct distribution *new = &all[found->n++];
    *new = (struct distribution){.name = distributions_normal_name(entry, name),
                                 .version = strndup(entry + version, version_bytes),
                                 .info = strdup(entry),
                                 .folder = folder};
    return new->name &&new->version &&new->info ? 0 : -ENOMEM;
}

static int read_folder(struct distributions *found, size_t folder) {
    struct dirent **entries = NULL;
    int n = scandir(found->folders[folder], &entries, NULL, alphasort);
    int r = 0;
    for (int i = 0; i < n; i++) {
        if (r == 0)
            r = add_distribution(found, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return r;
}

int distributions_find(const char *python, const char *site, struct distributions *ret) {
    struct distributions found = {0};
    int r = find_folders(&found, python, site);
    for (size_t i = 0; r == 0 && i < found.n_folders; i++)
        r = read_folder(&found, i);
    if (r < 0)
        distributions_fini(&found);
    else
        *ret = found;
    return r;
}

int distributions_in(const char *folder, struct distributions *ret) {
    struct distributions found = {0};
    int r = add_real_folder(&found, folder);
    if (r == 0 && found.n_folders > 0)
        r = read_folder(&found, 0);
    if (r < 0)
        distributions_fini(&found);
    else
        *ret = found;
    return r;
}
