/*
 * container.c - two tables: the runtimes, and the traces by which they are told.
 *
 * Several traces may be there at once, for a container's files may be those of another
 * container's image, and Kubernetes runs what other runtimes make: so what says the
 * most comes first.
 */

#include "container.h"

#include "base/cleanup.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum runtime { PODMAN, DOCKER, KUBERNETES, NSPAWN, LXC, OTHER, RUNTIME_N };

/* The options stand in docs/containers.md, too, word for word. */
static const struct container runtimes[] = {
    [PODMAN] = {"podman", "--security-opt 'unmask=/proc/*' --security-opt seccomp=seccomp.json"},
    [DOCKER] = {"Docker", "--security-opt systempaths=unconfined --security-opt seccomp=seccomp.json "
                          "--security-opt apparmor=unconfined"},
    [KUBERNETES] = {"Kubernetes", "hostUsers: false, procMount: Unmasked, seccompProfile: {type: Localhost, "
                                  "localhostProfile: petri/seccomp.json}, appArmorProfile: {type: Unconfined}"},
    [NSPAWN] = {"systemd-nspawn", NULL},
    [LXC] = {"LXC", "security.nesting=true"},
    [OTHER] = {"a container", NULL},
};
_Static_assert(sizeof runtimes / sizeof runtimes[0] == RUNTIME_N, "one row a runtime");

/* What the variable "container" or the file of the same meaning says. */
static const struct {
    const char *word;
    enum runtime runtime;
} words[] = {
    {"podman", PODMAN}, {"docker", DOCKER},   {"kubernetes", KUBERNETES},
    {"lxc", LXC},       {"lxc-libvirt", LXC}, {"systemd-nspawn", NSPAWN},
};

/* Files that a runtime makes; the last of them may come from an image. */
static const struct {
    const char *path;
    enum runtime runtime;
} files[] = {
    {"/run/.containerenv", PODMAN},
    {"/var/run/secrets/kubernetes.io", KUBERNETES},
    {"/dev/.lxc", LXC},
    {"/.dockerenv", DOCKER},
};

static const struct container *find_word(const char *word) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i].word) == 0)
            return &runtimes[words[i].runtime];
    return NULL;
}

static bool exists(const char *root, const char *path) {
    char whole[PATH_MAX];
    return snprintf(whole, sizeof whole, "%s%s", root, path) < (int)sizeof whole && access(whole, F_OK) == 0;
}

/* The word that systemd has noted where it is pid 1 of a container. False where there is none. */
static bool read_noted(const char *root, char *word, int size) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/run/systemd/container", root) >= (int)sizeof path)
        return false;
    auto_file file = fopen(path, "re");
    if (!file || !fgets(word, size, file))
        return false;
    word[strcspn(word, "\n")] = '\0';
    return true;
}

const struct container *container_find(const char *root) {
    char noted[64];
    const char *variable = getenv("container");
    if (variable && !*variable)
        variable = NULL;
    const bool has_noted = read_noted(root, noted, sizeof noted);
    const struct container *found = getenv("KUBERNETES_SERVICE_HOST") ? &runtimes[KUBERNETES] : NULL;
    if (!found && variable)
        found = find_word(variable);
    if (!found && has_noted)
        found = find_word(noted);
    for (size_t i = 0; !found && i < sizeof files / sizeof files[0]; i++)
        if (exists(root, files[i].path))
            found = &runtimes[files[i].runtime];
    return found || !(variable || has_noted) ? found : &runtimes[OTHER];
}
