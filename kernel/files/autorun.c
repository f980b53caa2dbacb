/*
 * autorun.c - the table of names that programs look for; checks each name in a path.
 *
 * Folders have a table of their own. The tables can't be complete, so there are
 * also general rules (a leading dot or dash, a name such as Makefile). The tables
 * only have names that a program looks for by itself: to run a file by naming it
 * is the user's decision.
 */

#include "autorun.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * Patterns of fnmatch(3) for the name of a file, and who runs or loads what is
 * called so, from the folder that it is started in or that a person opens.
 * Programs that have to be given the name are not listed.
 */
struct row {
    const char *pattern;
    const char *program;
};

static const struct row refused[] = {
    /* building and testing */
    {"BSDmakefile", "make"},
    {"GNUmakefile", "make"},
    {"Makefile", "make"},
    {"BUILD", "Bazel"},
    {"BUILD.bazel", "Bazel"},
    {"MODULE.bazel", "Bazel"},
    {"WORKSPACE", "Bazel"},
    {"WORKSPACE.bazel", "Bazel"},
    {"CMakeLists.txt", "CMake"},
    {"CMakePresets.json", "CMake"},
    {"CMakeUserPresets.json", "CMake"},
    {"build.ninja", "Ninja"},
    {"meson.build", "Meson"},
    {"BUCK", "Buck"},
    {"pants.toml", "Pants"},
    {"Jamroot", "B2"},
    {"Jamfile*", "B2"},
    {"Kbuild", "make"},
    {"xmake.lua", "Xmake"},
    {"conanfile.*", "Conan"},
    {"SConscript", "SCons"},
    {"SConstruct", "SCons"},
    {"Justfile", "just"},
    {"Snakefile", "Snakemake"},
    {"nextflow.config", "Nextflow"},
    {"dvc.yaml", "DVC"},
    {"_quarto.y*ml", "Quarto"},
    {"mkdocs.y*ml", "MkDocs"},
    {"_targets.R", "R"},
    {"Taskfile*.y*ml", "Task"},
    {"latexmkrc", "latexmk"},
    {"pom.xml", "Maven"},
    {"build.xml", "Ant"},
    {"*.gradle", "Gradle"},
    {"*.gradle.kts", "Gradle"},
    {"build.mill", "Mill"},
    {"build.sc", "Mill"},
    {"gradle.properties", "Gradle"},
    /* languages and their packages */
    {"__init__.py", "Python"},
    {"__main__.py", "Python"},
    {"sitecustomize.py", "Python"},
    {"usercustomize.py", "Python"},
    {"*.pth", "Python"},
    {"*._pth", "Python"},
    {"*.egg-link", "Python"},
    {"*.egg", "Python"},
    {"*.egg-info", "Python"},
    {"pyvenv.cfg", "Python"},
    {"conftest.py", "pytest"},
    {"pytest.ini", "pytest"},
    {"pytest.toml", "pytest"},
    {"tox.ini", "tox and pytest"},
    {"tox.toml", "tox"},
    {"hatch.toml", "Hatch"},
    {"pdm.toml", "PDM"},
    {"gunicorn.conf.py", "Gunicorn"},
    {"celeryconfig.py", "Celery"},
    {"locustfile.py", "Locust"},
    {"noxfile.py", "Nox"},
    {"setup.py", "pip"},
    {"setup.cfg", "pip and pytest"},
    {"pyproject.toml", "pip and pytest"},
    {"Pipfile", "Pipenv"},
    {"pixi.toml", "Pixi"},
    {"uv.toml", "uv"},
    {"poetry.toml", "Poetry"},
    {"dodo.py", "doit"},
    {"fabfile.py", "Fabric"},
    {"tasks.py", "Invoke"},
    {"mypy.ini", "mypy"},
    {"ipython_config.*", "IPython"},
    {"ipython_kernel_config.*", "IPython"},
    {"jupyter*_config.*", "Jupyter"},
    {"package.json", "npm"},
    {"binding.gyp", "npm"},
    {"deno.json*", "Deno"},
    {"bunfig.toml", "Bun"},
    {"*.config.[cm]js", "tools of JavaScript"},
    {"*.config.[cm]ts", "tools of JavaScript"},
    {"*.config.js", "tools of JavaScript"},
    {"*.config.ts", "tools of JavaScript"},
    {"*.conf.[jt]s", "tools of JavaScript"},
    {"*pnpmfile.*js", "pnpm"},
    {"Gruntfile.*", "Grunt"},
    {"gulpfile.*", "gulp"},
    {"composer.json", "Composer"},
    {"phpunit*.xml*", "PHPUnit"},
    {"Makefile.PL", "Perl"},
    {"Build.PL", "Perl"},
    {"Cargo.toml", "Cargo"},
    {"build.rs", "Cargo"},
    {"rust-toolchain", "rustup"},
    {"rust-toolchain.toml", "rustup"},
    {"Gemfile", "Bundler"},
    {"Rakefile*", "Rake"},
    {"gems.rb", "Bundler"},
    {"config.ru", "Rack"},
    {"Guardfile", "Guard"},
    {"Project.toml", "Julia"},
    {"Manifest.toml", "Julia"},
    {"mix.exs", "Mix"},
    {"stack.yaml", "Stack"},
    {"cabal.project", "Cabal"},
    {"startup.m", "MATLAB"},
    {"Package.swift", "Swift"},
    {"*.sbt", "sbt"},
    {"*.nimble", "Nimble"},
    {"dub.json", "DUB"},
    {"dub.sdl", "DUB"},
    {"*.csproj", ".NET"},
    {"*.fsproj", ".NET"},
    {"*.vbproj", ".NET"},
    {"*.sln", ".NET"},
    {"Directory.Build.*", ".NET"},
    {"Directory.Packages.props", ".NET"},
    {"nuget.config", ".NET"},
    {"build.zig", "Zig"},
    {"config.nims", "Nim"},
    {"deps.edn", "Clojure"},
    {"dune", "Dune"},
    {"dune-project", "Dune"},
    {"nim.cfg", "Nim"},
    {"project.clj", "Leiningen"},
    {"rebar.config", "Rebar"},
    {"wscript", "Waf"},
    /* machines and containers */
    {"Dockerfile*", "Docker"},
    {"Containerfile*", "Podman"},
    {"compose.y*ml", "Docker"},
    {"compose.override.y*ml", "Docker"},
    {"docker-compose*.y*ml", "Docker"},
    {"docker-bake.*", "Docker"},
    {"podman-compose*.y*ml", "Podman"},
    {"skaffold.yaml", "Skaffold"},
    {"cdk.json", "AWS CDK"},
    {"Pulumi.y*ml", "Pulumi"},
    {"serverless.y*ml", "Serverless"},
    {"devcontainer.json", "editors"},
    {"Vagrantfile", "Vagrant"},
    {"Jenkinsfile", "Jenkins"},
    {"Procfile", "Foreman"},
    {"Tiltfile", "Tilt"},
    {"Earthfile", "Earthly"},
    {"ansible.cfg", "Ansible"},
    {"*.tf", "Terraform"},
    {"*.tf.json", "Terraform"},
    {"*.tofu", "OpenTofu"},
    {"*.tofu.json", "OpenTofu"},
    {"terragrunt.hcl", "Terragrunt"},
    {"default.nix", "Nix"},
    {"flake.nix", "Nix"},
    {"shell.nix", "Nix"},
    {"devenv.*", "devenv"},
    {"mise.toml", "mise"},
    {"mise.local.toml", "mise"},
    {"lefthook*.y*ml", "Lefthook"},
    {"lefthook*.toml", "Lefthook"},
    {"lefthook*.json", "Lefthook"},
    {"devbox.json", "Devbox"},
    /* git: a folder with a HEAD in it is a repository, and its settings name programs */
    {"HEAD", "git"},
    /* desktops, services and editors */
    {"*.code-workspace", "Visual Studio Code"},
    {"*.desktop", "the desktop"},
    {"autorun", "the desktop"},
    {"autorun.sh", "the desktop"},
    {"*.service", "systemd"},
    {"*.socket", "systemd"},
    {"*.timer", "systemd"},
    {"autorun.inf", "Windows"},
    {"desktop.ini", "Windows"},
    {"*.bat", "Windows"},
    {"*.cmd", "Windows"},
    {"*.com", "Windows"},
    {"*.dll", "Windows"},
    {"*.hta", "Windows"},
    {"*.jar", "Java"},
    {"*.jse", "Windows"},
    {"*.ps1", "Windows"},
    {"*.vb[es]", "Windows"},
    {"*.wsf", "Windows"},
    {"*.command", "macOS"},
    {"*.exe", "Windows"},
    {"*.library-ms", "Windows"},
    {"*.lnk", "Windows"},
    {"*.pif", "Windows"},
    {"*.scf", "Windows"},
    {"*.scr", "Windows"},
    {"*.url", "Windows"},
};

/* Folders that are looked for. */
static const struct row refused_folders[] = {
    {"*.dist-info", "Python"},
    {"*.egg", "Python"},
    {"*.egg-info", "Python"},
    {"git~[0-9]", "git"}, /* .git, as some file systems abbreviate it */
    {"jupyter*_config.d", "Jupyter"},
    {"node_modules", "Node.js"},
    {"site-packages", "Python"},
    {"_plugins", "Jekyll"},
    {"renv", "R"},
};

#define FIND(rows, name) find_row((rows), sizeof(rows) / sizeof(rows)[0], (name))

static const struct row *find_row(const struct row *rows, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (fnmatch(rows[i].pattern, name, FNM_CASEFOLD) == 0)
            return &rows[i];
    return NULL;
}

static bool say_why(char *ret_why, size_t size, const char *why, const char *program, const char *end) {
    (void)snprintf(ret_why, size, "%s%s%s", why, program, end);
    return true;
}

/* A build file without an extension, as Makefile, Rakefile, Vagrantfile, also of programs that are not in the table. */
static bool is_recipe(const char *name) {
    return fnmatch("[A-Z]*file", name, 0) == 0 && !strchr(name, '.');
}

/* Checks one name of a path; last: it is the file's, else a folder's. */
static bool judge_name(const char *name, bool last, char *ret_why, size_t size) {
    if (name[0] == '.')
        return say_why(ret_why, size, "is hidden, as settings of tools are", "", "");
    if (name[0] == '-')
        return say_why(ret_why, size, "begins with a dash, as options of commands do", "", "");
    const struct row *row = last ? FIND(refused, name) : FIND(refused_folders, name);
    if (!row && !(last && is_recipe(name)))
        return false;
    return say_why(ret_why, size, "is looked for by ", row ? row->program : "a tool", ", which would run or load it");
}

/* Whether the name at the end of the first n bytes of a path is allowed. */
static bool is_name_allowed(const json_t *allowed, const char *name, const char *path, size_t n) {
    char whole[PATH_MAX];
    size_t i;
    const json_t *pattern;
    snprintf(whole, sizeof whole, "%.*s", (int)n, path);
    json_array_foreach((json_t *)allowed, i, pattern) {
        const char *text = json_string_value(pattern);
        if (strcmp(text, "*") == 0 || fnmatch(text, strchr(text, '/') ? whole : name, FNM_PERIOD | FNM_PATHNAME) == 0)
            return true;
    }
    return false;
}

bool autorun_is_but(const char *path, const json_t *allowed, char *ret_why, size_t size) {
    char name[NAME_MAX + 1];
    for (const char *at = path;; at++) {
        size_t n = strcspn(at, "/");
        bool last = at[n] == '\0';
        (void)snprintf(name, sizeof name, "%.*s", (int)n, at);
        if (judge_name(name, last, ret_why, size) && !is_name_allowed(allowed, name, path, (size_t)(at - path) + n))
            return true;
        if (last)
            return false;
        at += n;
    }
}

bool autorun_is_in_work(const char *path, const json_t *allowed, char *ret_why, size_t size) {
    static const char *const modules[] = {"*.py", "*.pyc", "*.pyd", "*.pyo", "*.pyw", "*.so"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (autorun_is_but(path, allowed, ret_why, size))
        return true;
    for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++)
        if (fnmatch(modules[i], name, FNM_CASEFOLD) == 0 && !is_name_allowed(allowed, name, path, strlen(path))) {
            snprintf(ret_why, size, "is a module's, which Python imports from the folder that it is started in");
            return true;
        }
    return false;
}

bool autorun_is(const char *path, char *ret_why, size_t size) {
    return autorun_is_but(path, NULL, ret_why, size);
}
