/*
 * install.c - `petri install`: writes kernelspecs and the extension of JupyterLab, which may read them at the same
 * time.
 *
 * kernel.json is written last, because a folder is a kernelspec once it has that
 * file.
 */

#include "install.h"

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/labextension.h"
#include "cli/options.h"
#include "cli/replace_file.h"
#include "kernel/base/paths.h"
#include "kernel/base/terminal.h"
#include "kernel/interpreter/python.h"
#include "kernel/policy/config.h"
#include "protocol/message.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

const struct kernelspec kernelspecs[KERNELSPEC_N] = {
    {"petri", "Python 3 (petri)", "notebook", ".", NULL, false},
    {"petri-strict", "Python 3 (petri, strict)", "strict", "strict", NULL, false},
    {"petri-writable", "Python 3 (petri, writable)", "notebook", "writable", NULL, true},
};

/* What lies beside kernel.json for Jupyter to show, and whether each kernelspec has its own, in its folder of logos. */
static const struct {
    const char *name;
    bool own;
} shown[] = {{"logo-32x32.png", true}, {"logo-64x64.png", true}, {"logo-svg.svg", true}, {"help.html", false}};

/* The encryption that a launcher may ask for in the connection file. See: Jupyter, "Transport security for kernels". */
static json_t *encryption(void) {
    return zmq_has("curve") ? json_pack("[s]", "curve") : json_array();
}

json_t *kernelspec_json(const struct kernelspec *spec, const char *program, const char *python) {
    return json_pack("{s:[s, s, s, s, s, s*, s*, s*, s*, s*], s:s, s:s, s:s, s:s, s:{s:b, s:o}}", "argv", program,
                     "kernel", "{connection_file}", "--profile", spec->profile, python ? "--python" : NULL, python,
                     spec->writable ? "--writable" : NULL, spec->config ? "--config" : NULL, spec->config,
                     "display_name", spec->display_name, "language", "python", "interrupt_mode", "message",
                     "kernel_protocol_version", MESSAGE_PROTOCOL_VERSION ".0", "metadata", "debugger", 0,
                     "supported_encryption", encryption());
}

int kernelspec_write(const struct kernelspec *spec, const char *kernels, const char *files, const json_t *json) {
    char folder[PATH_MAX], own[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s/%s", kernels, spec->name) >= (int)sizeof folder ||
        snprintf(own, sizeof own, "%s/%s", files, spec->logos) >= (int)sizeof own)
        return -ENAMETOOLONG;
    auto_fd fd = replace_file_folder(folder);
    int r = fd < 0 ? fd : 0;
    for (size_t i = 0; r == 0 && i < sizeof shown / sizeof shown[0]; i++)
        r = replace_file(fd, shown[i].name, shown[i].own ? own : files);
    return r < 0 ? r : replace_file_json(fd, "kernel.json", json);
}

int kernelspec_remove(const char *kernels, const char *name) {
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s/%s", kernels, name) >= (int)sizeof folder)
        return -ENAMETOOLONG;
    auto_fd fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    int r = replace_file_remove(fd, "kernel.json");
    for (size_t i = 0; r == 0 && i < sizeof shown / sizeof shown[0]; i++)
        r = replace_file_remove(fd, shown[i].name);
    return r < 0 ? r : rmdir(folder) < 0 ? -errno : 1;
}

/* Where Jupyter looks for what is a user's own. See: jupyter_core, "Jupyter's common directories and file locations".
 */
static int user_data(char *buf, size_t size) {
    const char *jupyter = getenv("JUPYTER_DATA_DIR");
    if (!jupyter || !jupyter[0])
        return paths_of_user("XDG_DATA_HOME", ".local/share", "jupyter", buf, size);
    return snprintf(buf, size, "%s", jupyter) < (int)size ? 0 : -ENAMETOOLONG;
}

int install_choose_data(const struct arguments *arguments, const char *sys_prefix, char *buf, size_t size) {
    const char *prefix = arguments->values[OPTION_PREFIX];
    if (!prefix && arguments->values[OPTION_SYS_PREFIX])
        prefix = sys_prefix;
    if (!prefix)
        return user_data(buf, size);
    return snprintf(buf, size, "%s/share/jupyter", prefix) < (int)size ? 0 : -ENAMETOOLONG;
}

static void tell_packages(const struct python *python, const struct paths *paths) {
    if (!python->missing[0])
        return;
    if (paths->site[0])
        terminal_print("petri: %s has no %s; petri's own copy in %s will be used\n", python->executable,
                       python->missing, paths->site);
    else
        terminal_print(
            "petri: %s has no %s, and without them no cell can run; install them: %s -m pip install ipython comm "
            "matplotlib-inline\n",
            python->executable, python->missing, python->executable);
}

/* Kernels that others see in their launchers and can't start. */
static void tell_closed(const struct python *python, const char *kernels) {
    char closed[PATH_MAX];
    if (paths_closed_to_others(kernels, closed) || !paths_closed_to_others(python->executable, closed))
        return;
    terminal_print(
        "petri: other users see these kernels and can't start them: %s is closed to them, and %s lies there. "
        "Name an interpreter that all may run (--python /usr/bin/python3), or open that folder (chmod o+x)\n",
        closed, python->executable);
}

static int fail_install(const char *what, int r) {
    terminal_complain("%s%s%s", what, r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
    return EXIT_FAILURE;
}

/* Where the kernels go, and what they name. */
struct place {
    char data[PATH_MAX - sizeof "/kernels"]; /* Jupyter's folder */
    char kernels[PATH_MAX];                  /* in it */
    const char *files;                       /* the logos and the page of all */
    const char *labextension;                /* "" where there is none */
    const char *program;
    const char *python; /* NULL: what the program finds */
    const char *config; /* the path of the kernels' configuration; NULL: what they find */
};

/* Sets the folders. 0 or -errno. */
static int choose_place(const struct arguments *arguments, const struct python *python, struct place *place) {
    int r = install_choose_data(arguments, python ? python->prefix : "", place->data, sizeof place->data);
    snprintf(place->kernels, sizeof place->kernels, "%s/kernels", place->data);
    return r;
}

static int register_kernel(const struct kernelspec *row, const struct place *place) {
    struct kernelspec spec = *row;
    spec.config = place->config;
    json_auto_t *json = kernelspec_json(&spec, place->program, place->python);
    int r = json ? kernelspec_write(&spec, place->kernels, place->files, json) : -ENOMEM;
    if (r == 0)
        terminal_print("petri: %s is registered in %s/%s\n", spec.display_name, place->kernels, spec.name);
    return r;
}

/* The kernel of a profile of the configuration's. 0 or -errno. */
static int register_profile(const char *profile, enum profile_kind kind, const struct place *place) {
    char name[PROFILE_NAME_BYTES + 16], display_name[PROFILE_NAME_BYTES + 32];
    snprintf(name, sizeof name, "petri-%s", profile);
    snprintf(display_name, sizeof display_name, "Python 3 (petri, %s)", profile);
    return register_kernel(&(struct kernelspec){.name = name,
                                                .display_name = display_name,
                                                .profile = profile,
                                                .logos = kind == PROFILE_STRICT ? "strict" : "."},
                           place);
}

/*
 * Reads the configuration that the kernels will have, if it matters: where --config
 * names one, whose real path goes to ret_path, or a profile of it is asked for. 0, or
 * -errno after a sentence on standard error.
 */
static int check_config(const struct arguments *arguments, char ret_path[PATH_MAX], enum profile_kind *ret_kind) {
    const char *profile = arguments->values[OPTION_PROFILE], *path = arguments->values[OPTION_CONFIG];
    struct config config;
    struct error error = {0};
    ret_path[0] = '\0';
    *ret_kind = PROFILE_NOTEBOOK;
    if (!path && !profile)
        return 0;
    int r = config_load(path, profile, &config, &error);
    if (r == 0 && path && !realpath(path, ret_path))
        r = error_set(&error, errno, "%s: %s", path, strerror(errno));
    if (r < 0) {
        terminal_complain("%s", error.text);
        return r;
    }
    *ret_kind = config.profile.kind;
    config_fini(&config);
    return 0;
}

/* Whether a profile of the configuration's is asked for: those of the table have their kernels anyway. */
static bool names_own_profile(const struct arguments *arguments) {
    enum profile_kind kind;
    const char *profile = arguments->values[OPTION_PROFILE];
    return profile && profile_from_name(profile, &kind) < 0;
}

/* What shows the timeline in JupyterLab, for the same people as the kernels. */
static int add_labextension(const struct place *place) {
    if (!place->labextension[0])
        return 0;
    int r = labextension_write(place->data, place->labextension);
    if (r == 0)
        terminal_print("petri: its timeline for JupyterLab is in %s/labextensions/" LABEXTENSION_NAME "\n",
                       place->data);
    return r;
}

static int register_all(const struct arguments *arguments, enum profile_kind kind, const struct place *place) {
    int r = add_labextension(place);
    for (size_t i = 0; r == 0 && i < KERNELSPEC_N; i++)
        r = register_kernel(&kernelspecs[i], place);
    return r == 0 && names_own_profile(arguments) ? register_profile(arguments->values[OPTION_PROFILE], kind, place)
                                                  : r;
}

/* The kernels of a package: what is given is written as it is, as the files will be elsewhere. */
static int install_for_package(const struct arguments *arguments, enum profile_kind kind, struct place *place) {
    if (!arguments->values[OPTION_PREFIX] || !arguments->values[OPTION_PROGRAM][0]) {
        terminal_complain("--program is for who makes a package, and needs a path, and --prefix");
        return EXIT_USAGE;
    }
    int r = choose_place(arguments, NULL, place);
    place->program = arguments->values[OPTION_PROGRAM];
    place->python = arguments->values[OPTION_PYTHON];
    if (r == 0)
        r = register_all(arguments, kind, place);
    return r < 0 ? fail_install(place->data, r) : EXIT_SUCCESS;
}

static int install_here(const struct arguments *arguments, const struct paths *paths, enum profile_kind kind,
                        struct place *place) {
    struct python python;
    struct error error;
    if (python_ask(python_name(arguments->values[OPTION_PYTHON]), &python, &error) < 0)
        return fail_install(error.text, 0);
    int r = choose_place(arguments, &python, place);
    if (r < 0)
        return fail_install(r == -ENOENT ? "there is no HOME; use --prefix" : "the folder", r);
    place->program = paths->program;
    place->python = python.executable;
    r = register_all(arguments, kind, place);
    if (r < 0)
        return fail_install(place->data, r);
    /* A wheel's program sets this: to what pip has installed, and will remove, nothing is added. */
    const bool of_wheel = getenv("PETRI_PYTHON") != NULL;
    if (!of_wheel && python_compile(python.executable, paths->worker) < 0)
        terminal_print("petri: %s can't be written, so each start compiles the worker anew\n", paths->worker);
    tell_packages(&python, paths);
    tell_closed(&python, place->kernels);
    return EXIT_SUCCESS;
}

int command_install(const struct arguments *arguments) {
    struct paths paths;
    enum profile_kind kind;
    char config[PATH_MAX];
    if (check_config(arguments, config, &kind) < 0)
        return EXIT_USAGE;
    int r = paths_find(&paths);
    if (r < 0)
        return fail_install("petri's own files are not where its program is", r);
    struct place place = {
        .files = paths.kernelspec, .labextension = paths.labextension, .config = config[0] ? config : NULL};
    return arguments->values[OPTION_PROGRAM] ? install_for_package(arguments, kind, &place)
                                             : install_here(arguments, &paths, kind, &place);
}
