#define _GNU_SOURCE
#include "mounts.h"

#include "cleanup.h"
#include "error.h"
#include "etc.h"
#include "folder.h"
#include "layers.h"
#include "overlay.h"
#include "prefix.h"
#include "proc.h"
#include "show.h"
#include "sys.h"
#include "system.h"

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
 * own: while the template is built, here; from then on it is the nursery's
 * root, with what cells see below ROOT. It is the working folder all the time,
 * and what stands there is named from it: so in the options of an overlay,
 * which a cell can read.
 */
#define HIDDEN "/.petri"
#define SESSION "session"
#define FOLDER "folder"
#define PRIVATE "private"
#define ON_TOP "on-top"
#define EMPTY "empty"
#define COVERS "covers"
#define PROC "proc"
#define ROOT "root"

enum kind {
    KIND_FOLDER, /* an empty folder of the template; mode in the row */
    KIND_SHOW,   /* the host's, read-only, with all below it; absent where the host has none */
    KIND_SYSTEM, /* the same, or a link where the host has a link (/bin -> usr/bin) */
    KIND_DEVICE, /* one device node of the host's */
    KIND_LINK,   /* a symbolic link; text is where it points */
};

/* The folders of HIDDEN. */
static const char *const hidden[] = {SESSION, FOLDER, PRIVATE, ON_TOP, EMPTY, COVERS, PROC, ROOT};

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
static const char *const kept[] = {"/usr", "/etc", "/dev", "/proc", "/tmp", MOUNTS_HOME, "/work", HIDDEN, NULL};

bool mounts_shows_folder_path(const struct session_options *options) {
    if (options->hide_folder_path || !folder_is_shown(options->folder))
        return false;
    for (const char *const *path = kept; *path; path++)
        if (folder_rest(options->folder, *path))
            return false;
    return !folder_rest("/proc", options->folder) && !folder_rest("/dev", options->folder);
}

static int show_or_link(const char *path, struct sandbox_error *error) {
    char old[PATH_MAX], link[PATH_MAX];
    snprintf(old, sizeof old, OLD "%s", path);
    ssize_t n = readlink(old, link, sizeof link - 1);
    if (n < 0)
        return show_path(OLD, path, path, SHOW_AS_CAN_BE, error);
    link[n] = 0;
    return symlink(link, path) ? error_set(error, STEP_TEMPLATE_FILE, errno, "%s", path) : 0;
}

static int show_device(const char *path, struct sandbox_error *error) {
    char old[PATH_MAX];
    snprintf(old, sizeof old, OLD "%s", path);
    int r = show_make_file(path, error);
    if (r == 0 && mount(old, path, NULL, MS_BIND, NULL))
        return error_set(error, STEP_MOUNT_BIND, errno, "%s", path);
    return r;
}

static int build_row(size_t i, struct sandbox_error *error) {
    switch (rows[i].kind) {
    case KIND_FOLDER:
        return show_make_folders(rows[i].path, rows[i].mode, error);
    case KIND_SHOW:
        return show_path(OLD, rows[i].path, rows[i].path, SHOW_AS_CAN_BE, error);
    case KIND_SYSTEM:
        return show_or_link(rows[i].path, error);
    case KIND_DEVICE:
        return show_device(rows[i].path, error);
    case KIND_LINK:
        return symlink(rows[i].link, rows[i].path) ? error_set(error, STEP_TEMPLATE_FILE, errno, "%s", rows[i].path)
                                                   : 0;
    }
    return 0;
}

static int mount_tmpfs(const char *path, struct sandbox_error *error) {
    if (mount("petri", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m"))
        return error_set(error, STEP_MOUNT_TMPFS, errno, "%s", path);
    return 0;
}

/* A tmpfs becomes the root; the old root stands at OLD for as long as the template is built. */
static int change_root(struct sandbox_error *error) {
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return error_set(error, STEP_MOUNT_NAMESPACE, errno, "making / private");
    int r = mount_tmpfs("/tmp", error);
    if (r)
        return r;
    if (mkdir("/tmp" OLD, 0755) || chdir("/tmp"))
        return error_set(error, STEP_TEMPLATE_FILE, errno, OLD);
    if (syscall(SYS_pivot_root, ".", "." OLD) || chdir("/"))
        return error_set(error, STEP_PIVOT_ROOT, errno, "%s", "");
    return 0;
}

static int build_hidden(struct sandbox_error *error) {
    if (mkdir(HIDDEN, 0755))
        return error_set(error, STEP_TEMPLATE_FILE, errno, HIDDEN);
    int r = mount_tmpfs(HIDDEN, error);
    if (r)
        return r;
    if (chdir(HIDDEN))
        return error_set(error, STEP_TEMPLATE_FILE, errno, HIDDEN);
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (mkdir(hidden[i], 0755))
            return error_set(error, STEP_TEMPLATE_FILE, errno, HIDDEN "/%s", hidden[i]);
    return 0;
}

/*
 * The whole of procfs: for the nursery, and because Linux mounts no other in a
 * sandbox's user namespace where none stands uncovered. It goes to HIDDEN in the end.
 */
static int mount_proc(struct sandbox_error *error) {
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        return error_set(error, STEP_MOUNT_PROC, errno, "%s", "");
    return proc_build_covers(COVERS, error);
}

static int make_read_only(const char *path, struct sandbox_error *error) {
    if (mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL))
        return error_set(error, STEP_MOUNT_ATTRIBUTES, errno, "%s", path);
    return 0;
}

/* The old root goes, HIDDEN becomes the root, and what cells see of it stands below ROOT. */
static int change_to_hidden(struct sandbox_error *error) {
    if (umount2(OLD, MNT_DETACH) || rmdir(OLD))
        return error_set(error, STEP_PIVOT_ROOT, errno, "leaving the old root");
    if (mount("/proc", PROC, NULL, MS_MOVE, NULL))
        return error_set(error, STEP_MOUNT_PROC, errno, "moving it");
    if (syscall(SYS_pivot_root, ".", ROOT) || chdir("/") || rmdir(ROOT HIDDEN))
        return error_set(error, STEP_PIVOT_ROOT, errno, "%s", HIDDEN);
    int r = make_read_only(ROOT, error);
    return r ? r : make_read_only("/", error);
}

static int mount_session(unsigned long flags, uint64_t bytes, uint64_t inodes) {
    char data[128];
    snprintf(data, sizeof data, "mode=0755,size=%" PRIu64 ",nr_inodes=%" PRIu64, bytes, inodes);
    return mount("petri", SESSION, "tmpfs", flags | MS_NOSUID | MS_NODEV, data) ? -errno : 0;
}

int mounts_set_room(uint64_t bytes, uint64_t inodes) {
    return mount_session(MS_REMOUNT, bytes, inodes);
}

static int mount_session_files(const struct session_options *options, struct sandbox_error *error) {
    int r = mount_session(0, options->disk_bytes, options->disk_inodes);
    return r ? error_set(error, STEP_MOUNT_TMPFS, -r, "the session's files") : 0;
}

/* The notebook's folder, read-only, as the lowest layer of what cells see of it. */
static int mount_folder(const struct session_options *options, struct sandbox_error *error) {
    int r;
    if (!folder_is_shown(options->folder))
        return 0;
    if (options->ground->folder_fd < 0)
        return show_path(OLD, options->folder, FOLDER, SHOW_AS_HOSTS, error);
    r = system_move_mount(options->ground->folder_fd, FOLDER);
    if (r)
        return error_set(error, STEP_MOUNT_BIND, -r, "%s", options->folder);
    r = system_mount_setattr(AT_FDCWD, FOLDER, 1, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, -1);
    return r ? error_set(error, STEP_MOUNT_ATTRIBUTES, -r, "%s", options->folder) : 0;
}

/* The places that are a sandbox's own, and so lie on top of the template. */
static const char *const private_areas[] = {"/tmp", MOUNTS_HOME, "/dev/shm", "/work", NULL};

static bool is_in_private_area(const char *path) {
    for (const char *const *area = private_areas; *area; area++)
        if (folder_rest(*area, path))
            return true;
    return false;
}

/* Shows path at its own place; or, where that is in a private area, where each sandbox takes it from. */
static int show_option(struct template *template, const char *path, enum show_as as, struct sandbox_error *error) {
    char place[64];
    if (folder_keep(&template->kept, template->options->folder, path))
        return error_set(error, STEP_MEMORY, ENOMEM, "%s", "");
    if (!is_in_private_area(path))
        return show_path(OLD, path, path, as, error);
    if (template->n_on_top == MOUNTS_MAX_ON_TOP || strlen(path) >= PATH_MAX)
        return error_set(error, STEP_MOUNT_BIND, E2BIG, "%s", path);
    snprintf(place, sizeof place, HIDDEN "/" ON_TOP "/%d", template->n_on_top);
    memcpy(template->on_top[template->n_on_top++], path, strlen(path) + 1);
    return show_path(OLD, path, place, as, error);
}

/* A link on the way to the interpreter, in a folder that is not shown. */
static int make_link(const struct prefix_link *link, struct sandbox_error *error) {
    char folder[PATH_MAX];
    if (is_in_private_area(link->path))
        return 0;
    memcpy(folder, link->path, strlen(link->path) + 1);
    *strrchr(folder, '/') = 0;
    int r = show_make_folders(folder, 0755, error);
    if (r == 0 && symlink(link->target, link->path) && errno != EEXIST && errno != EROFS)
        r = error_set(error, STEP_TEMPLATE_FILE, errno, "%s", link->path);
    return r;
}

static int build_options(struct template *template, const struct prefix_list *prefixes, struct sandbox_error *error) {
    const struct session_options *options = template->options;
    int r = 0;
    for (int i = 0; r == 0 && i < prefixes->n; i++)
        r = show_option(template, prefixes->path[i], SHOW_AS_CAN_BE, error);
    for (int i = 0; r == 0 && i < prefixes->n_links; i++)
        r = make_link(&prefixes->link[i], error);
    for (const char *const *path = options->readonly; r == 0 && path && *path; path++)
        r = show_option(template, *path, SHOW_AS_OVERLAY, error);
    if (r == 0)
        r = hide_build(options, OLD, error);
    if (r == 0)
        r = mount_session_files(options, error);
    if (r == 0)
        r = mount_folder(options, error);
    if (r == 0 && mounts_shows_folder_path(options))
        r = show_make_folders(options->folder, 0755, error);
    return r;
}

int mounts_build_template(const struct session_options *options, struct template *ret_template,
                          struct sandbox_error *ret_error) {
    *ret_template = (struct template){.options = options};
    auto_free struct prefix_list *prefixes = calloc(1, sizeof *prefixes);
    if (!prefixes)
        return error_set(ret_error, STEP_MEMORY, ENOMEM, "%s", "");
    int r = prefix_collect(options->python, prefixes);
    if (r)
        return error_set(ret_error, STEP_PYTHON, -r, "%s", options->python);
    if (hide_find(options, prefixes, &ret_template->hidden))
        return error_set(ret_error, STEP_MEMORY, ENOMEM, "%s", "");
    umask(022);
    r = change_root(ret_error);
    if (r == 0)
        r = build_hidden(ret_error);
    for (size_t i = 0; r == 0 && i < sizeof rows / sizeof rows[0]; i++)
        r = build_row(i, ret_error);
    if (r == 0)
        r = etc_build(OLD, ret_error);
    if (r == 0)
        r = sys_build(OLD, ret_error);
    if (r == 0)
        r = mount_proc(ret_error);
    if (r == 0)
        r = build_options(ret_template, prefixes, ret_error);
    return r ? r : change_to_hidden(ret_error);
}

/* with: 0, or MS_REC for all that is mounted below. */
static int bind(const char *source, const char *target, unsigned long with, struct sandbox_error *error) {
    if (mount(source, target, NULL, MS_BIND | with, NULL))
        return error_set(error, STEP_MOUNT_BIND, errno, "%s", target);
    return 0;
}

/* What a layer has, and where it is shown. */
struct shown_area {
    const char *name, *lowest, *target;
};

static const struct shown_area private_area = {"private", NULL, PRIVATE};
static const struct shown_area folder_area = {"folder", FOLDER ":" SESSION "/committed/mountpoints", "/work"};

/*
 * Shows one area ("folder", "private") of a layer over the committed one and over what stands below the session's
 * layers, lowest. A layer that is a copy of what is committed has only that below it, if anything.
 */
static int mount_layer(const struct template *template, const struct shown_area *area, uint64_t layer,
                       struct sandbox_error *error) {
    char data[512], name[LAYER_NAME_SIZE], own[96], committed[64] = "";
    layer_name(layer, name);
    snprintf(own, sizeof own, SESSION "/%s/%s", name, area->name);
    if (template->copied_layers && !area->lowest)
        return bind(own, area->target, 0, error);
    if (!template->copied_layers)
        snprintf(committed, sizeof committed, SESSION "/%s/%s%s", layer_base(layer), area->name,
                 area->lowest ? ":" : "");
    snprintf(data, sizeof data, "userxattr,lowerdir=%s%s,upperdir=%s,workdir=%s.work", committed,
             area->lowest ? area->lowest : "", own, own);
    if (mount("petri", area->target, "overlay", MS_NOSUID | MS_NODEV, data))
        return error_set(error, STEP_MOUNT_OVERLAY, errno, "%s", area->name);
    return 0;
}

/* What is shown on top of a private area: bound onto a mount point that the layers have. */
static int bind_on_top(const struct template *template, struct sandbox_error *error) {
    int r = 0;
    for (int i = 0; r == 0 && i < template->n_on_top; i++) {
        char place[64];
        snprintf(place, sizeof place, ON_TOP "/%d", i);
        if (access(place, F_OK) == 0)
            r = bind(place, template->on_top[i], MS_REC, error);
    }
    return r;
}

/*
 * A root of the sandbox's own: one that came with the template can't be the
 * root of its namespace (Linux locks its mounts together). Until the sandbox is
 * complete we have it as our root and HIDDEN as our working folder, so absolute
 * names, and links on the way, are the sandbox's.
 */
int mounts_begin_sandbox(struct sandbox_error *ret_error) {
    if (mount(ROOT, ROOT, NULL, MS_BIND | MS_REC, NULL))
        return error_set(ret_error, STEP_MOUNT_BIND, errno, "the sandbox's root");
    if (chroot(ROOT))
        return error_set(ret_error, STEP_PIVOT_ROOT, errno, "the sandbox's root");
    return proc_mount(COVERS, "/proc", ret_error);
}

/* The sandbox's root becomes its namespace's, which loses all that is not below it. */
static int leave_hidden(struct sandbox_error *error) {
    if (chroot(".") || chdir(ROOT) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
        return error_set(error, STEP_PIVOT_ROOT, errno, "leaving the template");
    return 0;
}

int mounts_build_sandbox(const struct template *template, uint64_t layer, struct sandbox_error *ret_error) {
    int r = mount_layer(template, &private_area, layer, ret_error);
    if (r == 0)
        r = bind(PRIVATE "/tmp", "/tmp", 0, ret_error);
    if (r == 0)
        r = bind(PRIVATE "/home", MOUNTS_HOME, 0, ret_error);
    if (r == 0)
        r = bind(PRIVATE "/shm", "/dev/shm", 0, ret_error);
    if (r == 0)
        r = mount_layer(template, &folder_area, layer, ret_error);
    if (r == 0)
        r = bind_on_top(template, ret_error);
    if (r == 0 && mounts_shows_folder_path(template->options))
        r = bind("/work", template->options->folder, 0, ret_error);
    if (r == 0)
        r = hide_show(&template->hidden, ret_error);
    return r ? r : leave_hidden(ret_error);
}

int mounts_build_empty(struct sandbox_error *ret_error) {
    if (mount("petri", ROOT, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0555,size=4k,nr_inodes=1"))
        return error_set(ret_error, STEP_MOUNT_TMPFS, errno, "the cage's root");
    if (chdir(ROOT) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
        return error_set(ret_error, STEP_PIVOT_ROOT, errno, "the cage's root");
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        return error_set(ret_error, STEP_MOUNT_ATTRIBUTES, errno, "the cage's root");
    return 0;
}
