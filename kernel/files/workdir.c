/*
 * workdir.c - decides by the folder's path and owner how cells see it, once, when the kernel starts.
 *
 * Homes are those in /etc/passwd, HOME, and those of the owners of all folders
 * above the working folder; they are compared by their real paths. Such a list
 * can't be complete where users come from a directory service, so a folder
 * directly below /home that contains the working folder counts as a home too. If
 * there is no memory for the list, or it is too long, the folder isn't opened.
 */

#include "workdir.h"

#include "kernel/base/filename.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_PERSON = 1000, NOBODY = 65534, MAX_HOMES = 10000, MAX_GROUPS = 1024 };

/* System folders and /home: a kernel that is started in one must not show it to cells. */
static const char *const not_shown[] = {
    "/",      "/bin", "/boot", "/dev", "/etc",  "/home", "/lib", "/lib32",
    "/lib64", "/opt", "/proc", "/run", "/sbin", "/sys",  "/usr", "/var",
};

/* Not shown, nor anything in them. */
static const char *const never_shown[] = {"/dev", "/proc", "/sys"};

/* Folders below these belong to the system if a system user owns them. */
static const char *const of_system[] = {
    "/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/run", "/sbin", "/usr", "/var",
};

static bool is_one_of(const char *path, const char *const *list, size_t n, bool with_below) {
    for (size_t i = 0; i < n; i++) {
        const char *rest = filename_below(list[i], path);
        if (rest && (with_below || rest[0] == '\0'))
            return true;
    }
    return false;
}

#define LENGTH(list) (sizeof(list) / sizeof(list)[0])

/*
 * Where kernels have the files by which petri ps knows of them (kernel/roster/place.h), and
 * what is above: in the writable mode a cell could change these.
 */
static bool has_roster(const char *path) {
    const char *rest = filename_below("/run/user", path);
    if (!rest)
        return strncmp(path, "/run/petri-", strlen("/run/petri-")) == 0;
    const char *inner = rest[0] ? strchr(rest + 1, '/') : NULL;
    return !inner || filename_below("/petri", inner);
}

/* Homes by their real paths. */
struct homes {
    size_t n;
    char **path; /* NULL-ended */
};

static int add_home(struct homes *homes, const char *path) {
    auto_free char *real = path[0] == '/' ? realpath(path, NULL) : NULL;
    if (!real || is_one_of(real, not_shown, LENGTH(not_shown), false))
        return 0;
    for (size_t i = 0; i < homes->n; i++)
        if (strcmp(homes->path[i], real) == 0)
            return 0;
    char **grown = homes->n < MAX_HOMES ? reallocarray(homes->path, homes->n + 2, sizeof *grown) : NULL;
    if (!grown)
        return homes->n < MAX_HOMES ? -ENOMEM : -E2BIG;
    homes->path = grown;
    grown[homes->n++] = steal_pointer(real);
    grown[homes->n] = NULL;
    return 0;
}

/* The homes in /etc/passwd. A directory service may have too many users, or not list them. */
static int add_listed_homes(struct homes *homes) {
    auto_file file = fopen("/etc/passwd", "re");
    struct passwd *user;
    int r = 0;
    while (file && r == 0 && (user = fgetpwent(file)))
        r = add_home(homes, user->pw_dir);
    return r;
}

/* Adds the home of a folder's owner, and the folder itself if it is directly below /home. */
static int add_home_on_the_way(struct homes *homes, const char *path) {
    const char *below = filename_below("/home", path);
    struct stat st;
    const struct passwd *owner = stat(path, &st) == 0 ? getpwuid(st.st_uid) : NULL;
    int r = owner ? add_home(homes, owner->pw_dir) : 0;
    if (r == 0 && below && below[0] && !strchr(below + 1, '/'))
        r = add_home(homes, path);
    return r;
}

static int find_homes(const char *path, struct homes *homes) {
    char way[PATH_MAX];
    const char *own = getenv("HOME");
    int r = add_listed_homes(homes);
    if (r == 0 && own)
        r = add_home(homes, own);
    snprintf(way, sizeof way, "%s", path);
    for (char *slash; r == 0 && (slash = strrchr(way, '/')); *slash = '\0')
        r = way[0] && way[1] ? add_home_on_the_way(homes, way) : 0;
    return r;
}

/* Whether a folder is a hidden entry of a home, or in one. */
static bool is_in_hidden(const char *path, const struct homes *homes) {
    bool hidden = false;
    for (size_t i = 0; i < homes->n; i++) {
        const char *rest = filename_below(homes->path[i], path);
        hidden |= rest && rest[0] == '/' && rest[1] == '.';
    }
    return hidden;
}

/* Whether `inputs` names a hidden folder, or a folder above it that is hidden as well. */
static bool is_named(const char *path, const struct homes *homes, const json_t *inputs) {
    bool named = false;
    size_t i;
    json_t *input;
    json_array_foreach(inputs, i, input) {
        const char *above = json_string_value(input);
        named |= filename_below(above, path) && is_in_hidden(above, homes);
    }
    return named;
}

/* Whether a user is in a group. */
static bool is_group_of(gid_t group, const struct passwd *user) {
    gid_t groups[MAX_GROUPS];
    int n = MAX_GROUPS;
    if (!user || getgrouplist(user->pw_name, user->pw_gid, groups, &n) < 0)
        return user && user->pw_gid == group;
    for (int i = 0; i < n; i++)
        if (groups[i] == group)
            return true;
    return false;
}

static void choose_mapping(struct workdir *workdir, const struct stat *st) {
    bool of_person = st->st_uid >= FIRST_PERSON && st->st_uid != NOBODY;
    bool everybodys = (st->st_mode & S_IWOTH) || is_one_of(workdir->path, of_system, LENGTH(of_system), true);
    workdir->map_owner = of_person || !everybodys;
    workdir->map_group = workdir->map_owner && geteuid() == 0 && is_group_of(st->st_gid, getpwuid(st->st_uid));
}

static int look(struct workdir *workdir, const json_t *inputs) {
    struct homes homes = {0};
    const char *path = workdir->path;
    int r = find_homes(path, &homes);
    workdir->homes = homes.path;
    workdir->hidden = r == 0 && is_in_hidden(path, &homes) && !is_named(path, &homes, inputs);
    workdir->shown = !workdir->hidden && !is_one_of(path, not_shown, LENGTH(not_shown), false) &&
                     !is_one_of(path, never_shown, LENGTH(never_shown), true) && !has_roster(path);
    return r;
}

int workdir_open(struct workdir *ret_workdir, const json_t *inputs, struct error *ret_error) {
    struct workdir workdir = {.fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct stat st;
    int r = workdir.fd < 0 || fstat(workdir.fd, &st) < 0 || !getcwd(workdir.path, sizeof workdir.path) ? -errno : 0;
    if (r == 0 && workdir.path[0] != '/')
        r = -ENOENT; /* "(unreachable)/..." See: getcwd(3) */
    if (r == 0)
        r = look(&workdir, inputs);
    if (r < 0) {
        workdir_close(&workdir);
        return error_set(
            ret_error, -r,
            "the notebook's folder can't be used: %s. Restart the kernel in one that is there and may be read",
            strerror(-r));
    }
    choose_mapping(&workdir, &st);
    *ret_workdir = workdir;
    return 0;
}

void workdir_close(struct workdir *workdir) {
    for (size_t i = 0; workdir->homes && workdir->homes[i]; i++)
        free(workdir->homes[i]);
    free(workdir->homes);
    if (workdir->fd >= 0)
        close(workdir->fd);
    *workdir = (struct workdir){.fd = -1};
}

struct sandbox_folder workdir_folder(const struct workdir *workdir) {
    return (struct sandbox_folder){
        .fd = workdir->shown ? workdir->fd : -1, .map_owner = workdir->map_owner, .map_group = workdir->map_group};
}

const char *workdir_note(const struct workdir *workdir, const struct session_view *view, char *buf, size_t size) {
    buf[0] = '\0';
    if (workdir->hidden)
        snprintf(buf, size,
                 "petri: %.200s is hidden in a home, so cells don't see it and begin with an empty folder; the "
                 "configuration's \"inputs\" can name it.\n",
                 workdir->path);
    else if (view->in_parts)
        snprintf(buf, size,
                 "petri: something is mounted in this folder, so cells see the files beside it as they were when the "
                 "kernel started; %u of them can only be read (over 4 MiB), %u entries are not shown.\n",
                 view->only_read, view->omitted);
    return buf;
}
