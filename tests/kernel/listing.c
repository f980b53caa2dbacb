#include "listing.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct log quiet = {.level = LOG_LEVEL_ERROR};
static struct packages packages;

int listing_setup(void **state) {
    char config[PATH_MAX + 64], program[PATH_MAX], link[PATH_MAX];
    if (tree_make(state) < 0)
        return -1;
    tree_file(BASE "/bin/python3.99", "the program");
    tree_folder(BASE_SITE);
    tree_folder(VENV "/bin");
    tree_folder(SITE);
    snprintf(config, sizeof config, "home = %s/bin\nversion = 3.99.1\n", tree_path(program, BASE));
    tree_file(VENV "/pyvenv.cfg", config);
    tree_path(program, BASE "/bin/python3.99");
    return symlink(program, tree_path(link, VENV "/bin/python"));
}

void listing_record(const char *site, const char *name, const char *record) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s-1.0.dist-info/RECORD", site, name);
    tree_file(path, record);
}

void listing_add(const char *site, const char *name, const char *const *paths) {
    char text[4096] = "", path[PATH_MAX];
    for (; *paths; paths++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s,sha256=x,0\n", *paths);
        snprintf(path, sizeof path, "%s/%s", site, *paths);
        tree_file(path, "");
    }
    listing_record(site, name, text);
}

static json_t *words(const char *text) {
    json_t *array = json_array();
    while (*(text += strspn(text, " "))) {
        json_array_append_new(array, json_stringn(text, strcspn(text, " ")));
        text += strcspn(text, " ");
    }
    return array;
}

void listing_find(const char *listed, const char *input, const char *keep) {
    char python[PATH_MAX], input_path[PATH_MAX], keep_path[PATH_MAX];
    const char *const kept[] = {keep ? tree_path(keep_path, keep) : NULL, NULL};
    struct distributions found;
    json_t *names = words(listed), *inputs = words(input ? tree_path(input_path, input) : "");
    packages_fini(&packages);
    assert_int_equal(distributions_find(tree_path(python, VENV "/bin/python"), "", &found), 0);
    const struct packages_facts facts = {
        .found = &found, .site = "", .listed = names, .keep = kept, .inputs = inputs, .log = &quiet};
    assert_int_equal(packages_hide(&facts, &packages), 0);
    distributions_fini(&found);
    json_decref(names);
    json_decref(inputs);
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static const struct session_mask *hide_of(const char *folder) {
    for (size_t i = 0; i < packages.n; i++)
        if (strcmp(packages.hide[i].folder, folder) == 0)
            return &packages.hide[i];
    return NULL;
}

void listing_expect(const char *folder, const char *expected) {
    char path[PATH_MAX], text[4096] = "";
    const struct session_mask *hide = hide_of(tree_path(path, folder));
    size_t n = 0;
    while (hide && hide->names && hide->names[n])
        n++;
    if (n > 0)
        qsort(hide->names, n, sizeof *hide->names, compare);
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", hide->names[i]);
    if (strcmp(hide && !hide->names ? "*" : text, expected) != 0)
        fail_msg("of %s is hidden \"%s\", and not \"%s\"", folder, hide && !hide->names ? "*" : text, expected);
}
