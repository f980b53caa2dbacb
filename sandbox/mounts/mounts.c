/*
 * mounts.c - builds the template: two changes of the root, with a table of mounts between them.
 *
 * First a tmpfs becomes the root, with the host's root at OLD; the table and the
 * session's options are built in it from there. Then OLD goes, and HIDDEN, a file
 * system of what no cell sees, becomes the root, with the rest below MOUNTS_ROOT.
 * In order: a mount stands before what is mounted below it, and nothing is read
 * through OLD once it is gone.
 *
 * See: pivot_root(2).
 */
#define _GNU_SOURCE
#include "mounts.h"

#include "base/cleanup.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/files/folder.h"
#include "sandbox/mounts/etc.h"
#include "sandbox/mounts/host_paths.h"
#include "sandbox/mounts/mounts_inside.h"
#include "sandbox/mounts/prefix.h"
#include "sandbox/mounts/proc.h"
#include "sandbox/mounts/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Where the old root stands while the template is built. */
#define OLD "/.old"

/*
 * What is the template's own and no cell sees stands on a file system of its
 * own: while the template is built, here; from then on it is the zygote's
 * root, with what cells see below MOUNTS_ROOT. It is the working folder all the
 * time.
 */
#define HIDDEN "/.petri"
#define EMPTY "empty"
#define PROC "proc"

enum kind {
    KIND_FOLDER, /* an empty folder of the template; mode in the row */
    KIND_SHOW,   /* the host's, read-only, with all below it; absent where the host has none */
    KIND_SYSTEM, /* the same, or a link where the host has a link (/bin -> usr/bin) */
    KIND_DEVICE, /* one device node of the host's */
    KIND_LINK,   /* a symbolic link; text is where it points */
};

/* The folders of HIDDEN. */
static const char *const hidden[] = {
    MOUNTS_LIVE,    MOUNTS_KEPT,   MOUNTS_CELLS, MOUNTS_VIEW,   MOUNTS_FOLDER, SUBMOUNTS_FILES, SUBMOUNTS_PARTS,
    MOUNTS_PRIVATE, MOUNTS_ON_TOP, EMPTY,        MOUNTS_COVERS, PROC,          MOUNTS_ROOT};

/* All of the template but what the session's options add. In order: a mount stands before what is below it. */
static const struct {
    enum kind kind;
    const char *path;
    const char *link;
    mode_t mode;
} rows[] = {
    {KIND_FOLDER, "/proc", NULL, 0555},
    {KIND_FOLDER, SYS_PROCESSORS, NULL, 0755},
    {KIND_FOLDER, "/tmp", NULL, 0755},
    {KIND_FOLDER, "/home", NULL, 0755},
    {KIND_FOLDER, MOUNTS_HOME, NULL, 0755},
    {KIND_FOLDER, "/work", NULL, 0755},
    {KIND_FOLDER, "/run", NULL, 0755},
    {KIND_FOLDER, "/var", NULL, 0755},
    {KIND_LINK, "/var/tmp", "/tmp", 0},
    {KIND_SHOW, "/usr", NULL, 0},
    {KIND_SYSTEM, "/bin", NULL, 0},
    {KIND_SYSTEM, "/sbin", NULL, 0},
    {KIND_SYSTEM, "/lib", NULL, 0},
    {KIND_SYSTEM, "/lib32", NULL, 0},
    {KIND_SYSTEM, "/lib64", NULL, 0},
    {KIND_SYSTEM, "/libx32", NULL, 0},
    {KIND_FOLDER, "/etc", NULL, 0755},
    {KIND_SHOW, "/etc/alternatives", NULL, 0},
    {KIND_SHOW, "/etc/fonts", NULL, 0},
    {KIND_SHOW, "/etc/ssl/certs", NULL, 0},
    {KIND_SHOW, "/etc/python3", NULL, 0},
    {KIND_SHOW, "/etc/python3.11", NULL, 0},
    {KIND_FOLDER, "/dev", NULL, 0755},
    {KIND_FOLDER, "/dev/shm", NULL, 0755},
    {KIND_DEVICE, "/dev/null", NULL, 0},
    {KIND_DEVICE, "/dev/zero", NULL, 0},
    {KIND_DEVICE, "/dev/full", NULL, 0},
    {KIND_DEVICE, "/dev/random", NULL, 0},
    {KIND_DEVICE, "/dev/urandom", NULL, 0},
    {KIND_LINK, "/dev/fd", "/proc/self/fd", 0},
    {KIND_LINK, "/dev/stdin", "/proc/self/fd/0", 0},
    {KIND_LINK, "/dev/stdout", "/proc/self/fd/1", 0},
    {KIND_LINK, "/dev/stderr", "/proc/self/fd/2", 0},
};

/* The places that the notebook's folder must not cover. */
static const char *const own_places[] = {"/usr", "/etc", "/dev", "/proc", "/tmp", MOUNTS_HOME, "/work", HIDDEN, NULL};

bool mounts_shows_folder_path(const struct session_options *options) {
    if (options->hide_folder_path || options->host->folder_fd < 0 || strcmp(options->folder, "/") == 0)
        return false;
    for (const char *const *path = own_places; *path; path++)
        if (folder_rest(options->folder, *path))
            return false;
    return !folder_rest("/proc", options->folder) && !folder_rest("/dev", options->folder);
}

/* Valid while the old root stands. No path of the table above is in a user's home, so nothing is hidden of them. */
static const struct host_paths system_host = {.root = OLD};

static int show_or_link(const char *path, struct error *error) {
    char old[PATH_MAX], link[PATH_MAX];
    snprintf(old, sizeof old, OLD "%s", path);
    ssize_t n = readlink(old, link, sizeof link - 1);
    if (n < 0)
        return host_paths_show(&system_host, path, path, HOST_PATHS_AS_CAN_BE, error);
    link[n] = 0;
    return symlink(link, path) ? step_failed(error, STEP_TEMPLATE_FILE, errno, "%s", path) : 0;
}

/* Read-only: writing to a device works all the same, and cells can't change the times of the host's inode. */
static int show_device(const char *path, struct error *error) {
    char old[PATH_MAX];
    snprintf(old, sizeof old, OLD "%s", path);
    int r = host_paths_make_file(path, error);
    if (r)
        return r;
    if (mount(old, path, NULL, MS_BIND, NULL))
        return step_failed(error, STEP_MOUNT_BIND, errno, "%s", path);
    r = system_mount_setattr(AT_FDCWD, path, 0, MOUNT_ATTR_RDONLY, -1);
    return r ? step_failed(error, STEP_MOUNT_ATTRIBUTES, -r, "%s", path) : 0;
}

/* A link on the way to the notebook's folder, as /var/tmp, is a folder then: what is shown has its own place. */
static int build_row(size_t i, const struct session_options *options, struct error *error) {
    if (rows[i].kind == KIND_LINK && folder_rest(rows[i].path, options->folder))
        return host_paths_make_folders(rows[i].path, 0755, error);
    switch (rows[i].kind) {
    case KIND_FOLDER:
        return host_paths_make_folders(rows[i].path, rows[i].mode, error);
    case KIND_SHOW:
        return host_paths_show(&system_host, rows[i].path, rows[i].path, HOST_PATHS_AS_CAN_BE, error);
    case KIND_SYSTEM:
        return show_or_link(rows[i].path, error);
    case KIND_DEVICE:
        return show_device(rows[i].path, error);
    case KIND_LINK:
        return symlink(rows[i].link, rows[i].path) ? step_failed(error, STEP_TEMPLATE_FILE, errno, "%s", rows[i].path)
                                                   : 0;
    }
    return 0;
}

static int mount_tmpfs(const char *path, struct error *error) {
    if (mount("petri", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m"))
        return step_failed(error, STEP_MOUNT_TMPFS, errno, "%s", path);
    return 0;
}

/* A tmpfs becomes the root; the old root stands at OLD for as long as the template is built. */
static int change_root(struct error *error) {
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return step_failed(error, STEP_MOUNT_NAMESPACE, errno, "making / private");
    int r = mount_tmpfs("/tmp", error);
    if (r)
        return r;
    if (mkdir("/tmp" OLD, 0755) || chdir("/tmp"))
        return step_failed(error, STEP_TEMPLATE_FILE, errno, OLD);
    if (syscall(SYS_pivot_root, ".", "." OLD) || chdir("/"))
        return step_failed(error, STEP_PIVOT_ROOT, errno, "%s", "");
    return 0;
}

static int build_hidden(struct error *error) {
    if (mkdir(HIDDEN, 0755))
        return step_failed(error, STEP_TEMPLATE_FILE, errno, HIDDEN);
    int r = mount_tmpfs(HIDDEN, error);
    if (r)
        return r;
    if (chdir(HIDDEN))
        return step_failed(error, STEP_TEMPLATE_FILE, errno, HIDDEN);
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (mkdir(hidden[i], 0755))
            return step_failed(error, STEP_TEMPLATE_FILE, errno, HIDDEN "/%s", hidden[i]);
    return 0;
}

/*
 * The whole of procfs: for the zygote, and because Linux mounts no other in a
 * sandbox's user namespace where none stands uncovered. It goes to HIDDEN in the end.
 */
static int mount_proc(struct error *error) {
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        return step_failed(error, STEP_MOUNT_PROC, errno, "%s", "");
    return proc_build_covers(MOUNTS_COVERS, error);
}

static int make_read_only(const char *path, struct error *error) {
    if (mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL))
        return step_failed(error, STEP_MOUNT_ATTRIBUTES, errno, "%s", path);
    return 0;
}

/* The old root goes, HIDDEN becomes the root, and what cells see of it stands below ROOT. */
static int change_to_hidden(struct error *error) {
    if (umount2(OLD, MNT_DETACH) || rmdir(OLD))
        return step_failed(error, STEP_PIVOT_ROOT, errno, "leaving the old root");
    if (mount("/proc", PROC, NULL, MS_MOVE, NULL))
        return step_failed(error, STEP_MOUNT_PROC, errno, "moving it");
    if (syscall(SYS_pivot_root, ".", MOUNTS_ROOT) || chdir("/") || rmdir(MOUNTS_ROOT HIDDEN))
        return step_failed(error, STEP_PIVOT_ROOT, errno, "%s", HIDDEN);
    int r = make_read_only(MOUNTS_ROOT, error);
    return r ? r : make_read_only("/", error);
}

/* A file system for what cells write. See VIEW_FLAGS in mounts_view.c. */
static int mount_files(const char *name, unsigned long flags, uint64_t bytes, uint64_t inodes) {
    char data[128];
    snprintf(data, sizeof data, "mode=0755,size=%" PRIu64 ",nr_inodes=%" PRIu64, bytes, inodes);
    return mount("petri", name, "tmpfs", flags | MS_NOSUID | MS_NODEV, data) ? -errno : 0;
}

bool mounts_is_file_on_top(int i) {
    char place[64];
    struct stat st;
    snprintf(place, sizeof place, MOUNTS_ON_TOP "/%d", i);
    return stat(place, &st) == 0 && S_ISREG(st.st_mode);
}

int mounts_set_room(enum mounts_files which, uint64_t bytes, uint64_t inodes) {
    return which == MOUNTS_LIVE_FILES ? mount_files(MOUNTS_LIVE, MS_REMOUNT | MS_STRICTATIME, bytes, inodes)
                                      : mount_files(MOUNTS_CELLS, MS_REMOUNT, bytes, inodes);
}

/* What is kept is a copy of what the session may have: no limit of its own could be reached. */
static int mount_session_files(const struct session_options *options, struct error *error) {
    const uint64_t no_end_bytes = UINT64_C(1) << 50, no_end_inodes = UINT64_C(1) << 40;
    int r = mount_files(MOUNTS_LIVE, MS_STRICTATIME, options->disk_bytes, options->disk_inodes);
    if (r == 0)
        r = mount_files(MOUNTS_KEPT, MS_NOATIME, no_end_bytes, no_end_inodes);
    if (r == 0)
        r = mount_files(MOUNTS_CELLS, 0, options->disk_bytes, options->disk_inodes);
    return r ? step_failed(error, STEP_MOUNT_TMPFS, -r, "the session's files") : 0;
}

/* The notebook's folder, read-only, as the lowest layer of what cells see of it. */
static int mount_folder(const struct session_options *options, struct error *error) {
    const int folder_fd = options->host->folder_fd;
    if (folder_fd < 0)
        return 0;
    int r = system_move_mount(folder_fd, MOUNTS_FOLDER);
    if (r)
        return step_failed(error, STEP_MOUNT_BIND, -r, "%s", options->folder);
    r = system_mount_setattr(AT_FDCWD, MOUNTS_FOLDER, 1, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, -1);
    return r ? step_failed(error, STEP_MOUNT_ATTRIBUTES, -r, "%s", options->folder) : 0;
}

/* The places that are a sandbox's own, and so lie on top of the template. */
static const char *const private_areas[] = {"/tmp", MOUNTS_HOME, "/dev/shm", "/work", NULL};

static bool is_in_private_area(const char *path) {
    for (const char *const *area = private_areas; *area; area++)
        if (folder_rest(*area, path))
            return true;
    return false;
}

/* Where path is shown: at its own place; or, where that is in a private area, where each sandbox takes it from. */
static int place_of(struct template *template, const char *path, char place[PATH_MAX], struct error *error) {
    if (strlen(path) >= PATH_MAX)
        return step_failed(error, STEP_MOUNT_BIND, ENAMETOOLONG, "%.60s...", path);
    memcpy(place, path, strlen(path) + 1);
    if (!is_in_private_area(path))
        return 0;
    if (template->n_on_top == MOUNTS_MAX_ON_TOP)
        return step_failed(error, STEP_MOUNT_BIND, E2BIG, "%s", path);
    snprintf(place, PATH_MAX, HIDDEN "/" MOUNTS_ON_TOP "/%d", template->n_on_top);
    memcpy(template->on_top[template->n_on_top++], path, strlen(path) + 1);
    return 0;
}

static int show_option(struct template *template, const struct host_paths *host, const char *path,
                       struct error *error) {
    char place[PATH_MAX];
    int r = place_of(template, path, place, error);
    return r ? r : host_paths_show(host, path, place, HOST_PATHS_AS_OVERLAY, error);
}

static bool is_link(const char *path) {
    char old[2 * PATH_MAX];
    struct stat st;
    snprintf(old, sizeof old, OLD "%s", path);
    return lstat(old, &st) == 0 && S_ISLNK(st.st_mode);
}

/* One part of a prefix: lib64 may be a link to lib beside it. */
static int show_part(const char *path, const char *place, struct error *error) {
    char old[2 * PATH_MAX], link[PATH_MAX];
    snprintf(old, sizeof old, OLD "%s", path);
    ssize_t n = is_link(path) ? readlink(old, link, sizeof link - 1) : -1;
    if (n <= 0 || memchr(link, '/', (size_t)n))
        return host_paths_show(&system_host, path, place, HOST_PATHS_AS_CAN_BE, error);
    link[n] = 0;
    return symlink(link, place) && errno != EEXIST && errno != EROFS
               ? step_failed(error, STEP_TEMPLATE_FILE, errno, "%s", place)
               : 0;
}

/* What an interpreter needs of its prefix, and nothing else. */
static int show_prefix(struct template *template, const char *prefix, struct error *error) {
    char place[PATH_MAX], path[PATH_MAX + 16], at[PATH_MAX + 16];
    int r = place_of(template, prefix, place, error);
    if (r == 0)
        r = host_paths_make_folders(place, 0755, error);
    for (const char *const *part = prefix_parts; r == 0 && *part; part++) {
        snprintf(path, sizeof path, "%s/%s", prefix, *part);
        snprintf(at, sizeof at, "%s/%s", place, *part);
        r = show_part(path, at, error);
    }
    return r;
}

/* A link on the way to the interpreter, in a folder that is not shown. */
static int make_link(const struct prefix_link *link, struct error *error) {
    char folder[PATH_MAX];
    if (is_in_private_area(link->path))
        return 0;
    memcpy(folder, link->path, strlen(link->path) + 1);
    *strrchr(folder, '/') = 0;
    int r = host_paths_make_folders(folder, 0755, error);
    if (r == 0 && symlink(link->target, link->path) && errno != EEXIST && errno != EROFS)
        r = step_failed(error, STEP_TEMPLATE_FILE, errno, "%s", link->path);
    return r;
}

/* The paths that are seen whatever hides them: what the interpreter needs, and what was asked for by its name. The
 * texts of prefixes are copied; all of it is kept for the life of the process. NULL on ENOMEM. */
static const char *const *list_kept(const struct session_options *options, const struct prefix_list *prefixes) {
    size_t n = 0, n_readonly = 0, n_parts = 0;
    while (options->readonly && options->readonly[n_readonly])
        n_readonly++;
    while (prefix_parts[n_parts])
        n_parts++;
    const char **kept =
        calloc(n_readonly + (size_t)prefixes->n * n_parts + (size_t)prefixes->n_links + 1, sizeof *kept);
    bool ok = kept != NULL;
    for (size_t i = 0; ok && i < n_readonly; i++)
        kept[n++] = options->readonly[i];
    for (int i = 0; ok && i < prefixes->n_links; i++)
        ok = (kept[n++] = strdup(prefixes->link[i].path)) != NULL;
    for (int i = 0; i < prefixes->n; i++)
        for (size_t k = 0; ok && k < n_parts; k++) {
            char *path;
            ok = asprintf(&path, "%s/%s", prefixes->path[i], prefix_parts[k]) >= 0;
            kept[n++] = ok ? path : NULL;
        }
    return ok ? kept : NULL;
}

static int build_options(struct template *template, const struct prefix_list *prefixes, const char *const *kept,
                         struct error *error) {
    const struct session_options *options = template->options;
    const struct host_paths host = {.root = OLD, .homes = options->homes, .kept = kept};
    int r = 0;
    for (int i = 0; r == 0 && i < prefixes->n; i++)
        r = show_prefix(template, prefixes->path[i], error);
    for (int i = 0; r == 0 && i < prefixes->n_links; i++)
        r = make_link(&prefixes->link[i], error);
    for (const char *const *path = options->readonly; r == 0 && path && *path; path++)
        r = show_option(template, &host, *path, error);
    if (r == 0)
        r = masked_paths_build(options, OLD, error);
    if (r == 0)
        r = mount_session_files(options, error);
    if (r == 0)
        r = mount_folder(options, error);
    if (r == 0 && options->host->folder_fd >= 0)
        r = submounts_build(HIDDEN "/" MOUNTS_FOLDER, &template->rules, &template->submounts, error);
    if (r == 0 && mounts_shows_folder_path(options))
        r = host_paths_make_folders(options->folder, 0755, error);
    return r;
}

int mounts_build_template(const struct session_options *options, struct template *ret_template,
                          struct error *ret_error) {
    *ret_template = (struct template){.options = options};
    auto_free struct prefix_list *prefixes = calloc(1, sizeof *prefixes);
    if (!prefixes)
        return step_failed(ret_error, STEP_MEMORY, ENOMEM, "%s", "");
    int r = prefix_collect(options->python, prefixes);
    if (r)
        return step_failed(ret_error, STEP_PYTHON, -r, "%s", options->python);
    const char *const *kept = list_kept(options, prefixes);
    if (!kept || masked_paths_find(options, prefixes, &ret_template->masked) ||
        folder_rules_init(&ret_template->rules, options->folder, options->homes, kept))
        return step_failed(ret_error, STEP_MEMORY, ENOMEM, "%s", "");
    umask(022);
    r = change_root(ret_error);
    if (r == 0)
        r = build_hidden(ret_error);
    for (size_t i = 0; r == 0 && i < sizeof rows / sizeof rows[0]; i++)
        r = build_row(i, options, ret_error);
    if (r == 0)
        r = etc_build(OLD, ret_error);
    if (r == 0)
        r = sys_build(OLD, ret_error);
    if (r == 0)
        r = mount_proc(ret_error);
    if (r == 0)
        r = build_options(ret_template, prefixes, kept, ret_error);
    return r ? r : change_to_hidden(ret_error);
}
