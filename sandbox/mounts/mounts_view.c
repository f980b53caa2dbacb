/*
 * mounts_view.c - what stands in the template once it is built: the session's view of the notebook's folder, and each
 * sandbox's own mounts.
 *
 * The notebook's folder as the session's cells see it is one overlay for all of
 * them. So a file of the host's that a cell writes to is the same one, with the
 * same device and inode number, in each later cell.
 */
#define _GNU_SOURCE
#include "sandbox/mounts/mounts.h"
#include "sandbox/mounts/mounts_inside.h"

#include "sandbox/base/step.h"
#include "sandbox/files/layers.h"
#include "sandbox/files/outputs.h"
#include "sandbox/mounts/proc.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Strict times of access tell the snapshot which files a cell may have read the contents of: see snapshot.h. With
 * "xino" folders keep their inode numbers, too. */
enum { VIEW_FLAGS = MS_NOSUID | MS_NODEV | MS_STRICTATIME, LAYER_FLAGS = MS_NOSUID | MS_NODEV };

#define LIVE_FILES MOUNTS_LIVE "/files"
#define MOUNT_POINTS MOUNTS_KEPT "/mountpoints"

/* What lies below the session's files: the folder, whole or taken apart. */
#define LOWEST MOUNTS_KEPT "/hidden:" MOUNTS_FOLDER ":" MOUNT_POINTS
#define LOWEST_WITH_SUBMOUNTS SUBMOUNTS_FILES ":" MOUNT_POINTS

/* The same for cells that see nothing of the folder for outputs. */
#define UNSEEN MOUNTS_KEPT "/emptied:" MOUNTS_KEPT "/unseen:"

/* with: 0, or MS_REC for all that is mounted below. */
static int bind(const char *source, const char *target, unsigned long with, struct error *error) {
    if (mount(source, target, NULL, MS_BIND | with, NULL))
        return step_failed(error, STEP_MOUNT_BIND, errno, "%s", target);
    return 0;
}

/* Where Linux can't make the folder that an overlay works in, it mounts the overlay, and read-only: that is no success
 * here. See: ovl_make_workdir() in overlayfs. */
static int mount_overlay(const char *lower, const char *upper, const char *work, const char *target,
                         unsigned long flags, struct error *error) {
    char data[4096]; /* a page, and no more */
    struct statvfs mounted;
    int n = snprintf(data, sizeof data, "userxattr,index=off%s,lowerdir=%s,upperdir=%s,workdir=%s",
                     flags & MS_STRICTATIME ? ",xino=on" : "", lower, upper, work);
    if (n >= (int)sizeof data)
        return step_failed(error, STEP_MOUNT_OVERLAY, ENAMETOOLONG, "%s", target);
    if (mount("petri", target, "overlay", flags, data))
        return step_failed(error, STEP_MOUNT_OVERLAY, errno, "%s", target);
    if (statvfs(target, &mounted))
        return step_failed(error, STEP_MOUNT_OVERLAY, errno, "%s", target);
    return mounted.f_flag & ST_RDONLY ? step_failed(error, STEP_MOUNT_OVERLAY, EROFS, "%s", target) : 0;
}

/* As a name stands in an overlay's options. See: ovl_unescape() in overlayfs. */
static void escape(const char *path, char *out, size_t size) {
    size_t n = 0;
    for (; *path && n + 2 < size; path++) {
        if (strchr("\\:,", *path))
            out[n++] = '\\';
        out[n++] = *path;
    }
    out[n] = 0;
}

/* A part of the folder that is a folder, as an overlay over itself: what lies over the folder has what is below its
 * path. base: of a layer, what was there before it; or NULL. */
static int mount_part(const struct submounts_part *part, size_t i, const char *base, const char *upper,
                      const char *work, const char *target, unsigned long flags, struct error *error) {
    char escaped[PATH_MAX], lower[2 * PATH_MAX], inner[PATH_MAX + 64], works[64];
    escape(part->path, escaped, sizeof escaped);
    snprintf(lower, sizeof lower, "%s%s%s" SUBMOUNTS_PARTS "/%zu", base ? base : "", base ? escaped : "",
             base ? ":" : "", i);
    snprintf(inner, sizeof inner, "%s%s", upper, escaped);
    snprintf(works, sizeof works, "%s/%zu", work, i);
    return mount_overlay(lower, inner, works, target, flags, error);
}

/* Mounts a part in its place. Where this process can't reach the place, no cell can, and nothing is missing. */
static int put_part(const char *from, const char *folder, const char *path, unsigned long how, struct error *error) {
    char target[PATH_MAX + 64];
    snprintf(target, sizeof target, "%s%s", folder, path);
    if (mount(from, target, NULL, how, NULL) && errno != EACCES)
        return step_failed(error, STEP_MOUNT_BIND, errno, "%s", target);
    return 0;
}

static const char *lowest(const struct template *template, uint64_t layer) {
    const bool hidden = outputs_are_hidden(template->options, layer);
    if (template->submounts.used)
        return hidden ? UNSEEN LOWEST_WITH_SUBMOUNTS : LOWEST_WITH_SUBMOUNTS;
    return hidden ? UNSEEN LOWEST : LOWEST;
}

/* Whether cells over a layer see a part at all. */
static bool shows_part(const struct template *template, uint64_t layer, size_t i) {
    const char *rest = template->options->outputs
                           ? folder_rest(template->options->outputs, template->submounts.part[i].path + 1)
                           : NULL;
    return !rest || !outputs_are_hidden(template->options, layer);
}

/* The overlays of the parts come before the folder's: their upper folders lie in its upper folder, and Linux refuses
 * an upper folder that lies in one that is in use. See: ovl_check_layer() in overlayfs. */
static int mount_view(const struct template *template, struct error *error) {
    const struct submounts *submounts = &template->submounts;
    char place[40];
    int r = 0;
    for (size_t i = 0; r == 0 && i < submounts->n; i++) {
        snprintf(place, sizeof place, SUBMOUNTS_SHOWN, i);
        if (submounts->part[i].folder && shows_part(template, LAYER_LIVE, i))
            r = mount_part(&submounts->part[i], i, NULL, LIVE_FILES "/folder", MOUNTS_LIVE "/" SUBMOUNTS_WORK, place,
                           VIEW_FLAGS, error);
    }
    if (r == 0)
        r = mount_overlay(lowest(template, LAYER_LIVE), LIVE_FILES "/folder", MOUNTS_LIVE "/folder.work", MOUNTS_VIEW,
                          VIEW_FLAGS, error);
    for (size_t i = 0; r == 0 && i < submounts->n; i++) {
        const bool folder = submounts->part[i].folder;
        if (folder)
            snprintf(place, sizeof place, SUBMOUNTS_SHOWN, i);
        else
            snprintf(place, sizeof place, SUBMOUNTS_PARTS "/%zu", i);
        if (shows_part(template, LAYER_LIVE, i))
            r = put_part(place, MOUNTS_VIEW, submounts->part[i].path, folder ? MS_MOVE : MS_BIND, error);
    }
    return r;
}

/* Of the capabilities that go with another user this one alone: overlayfs works in a folder of mode 0. */
static int raise_override(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data))
        return -errno;
    data[0].effective |= 1U << CAP_DAC_OVERRIDE;
    return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/*
 * An overlay acts with the credentials of the process that has mounted it, once
 * it has checked that the caller may do it. So it is mounted as the cells' user,
 * who owns all that cells make. A change of ids clears the parent-death signal,
 * so that is set again.
 * See: overlayfs.rst, "Permission model"; prctl(2).
 */
int mounts_show_session(const struct template *template, struct error *ret_error) {
    const struct sandbox_host *host = template->options->host;
    int signal = 0;
    (void)prctl(PR_GET_PDEATHSIG, &signal);
    setfsgid(host->worker_gid);
    setfsuid(host->worker_uid);
    int raised = raise_override();
    int r =
        raised ? step_failed(ret_error, STEP_CREDENTIALS, -raised, "the overlay's") : mount_view(template, ret_error);
    setfsuid(0);
    setfsgid(0);
    (void)prctl(PR_SET_PDEATHSIG, signal);
    return r;
}

int mounts_refresh_session(const struct template *template) {
    char path[PATH_MAX + 16];
    int r = mount(NULL, MOUNTS_VIEW, NULL, MS_REMOUNT | VIEW_FLAGS, NULL) ? -errno : 0;
    for (size_t i = 0; r == 0 && i < template->submounts.n; i++) {
        const struct submounts_part *part = &template->submounts.part[i];
        snprintf(path, sizeof path, MOUNTS_VIEW "%s", part->path);
        if (part->folder && mount(NULL, path, NULL, MS_REMOUNT | VIEW_FLAGS, NULL) && errno != EACCES &&
            errno != EINVAL)
            r = -errno;
    }
    return r;
}

int mounts_renew_session(const struct template *template, struct error *ret_error) {
    if (umount2(MOUNTS_VIEW, MNT_DETACH))
        return step_failed(ret_error, STEP_MOUNT_OVERLAY, errno, "%s", MOUNTS_VIEW);
    return mounts_show_session(template, ret_error);
}

/* What a layer has of the notebook's folder, over what was kept and what the host has. */
static int mount_folder_layer(const struct template *template, uint64_t number, const char *base, const char *layer,
                              struct error *error) {
    const struct submounts *submounts = &template->submounts;
    char lower[128], upper[64], works[64], work[64], below[64], part[32];
    snprintf(below, sizeof below, "%s/folder", base);
    snprintf(upper, sizeof upper, "%s/folder", layer);
    snprintf(works, sizeof works, "%s/" SUBMOUNTS_WORK, layer);
    snprintf(work, sizeof work, "%s/folder.work", layer);
    snprintf(lower, sizeof lower, "%s:%s", below, lowest(template, number));
    int r = 0;
    for (size_t i = 0; r == 0 && i < submounts->n; i++) {
        snprintf(part, sizeof part, SUBMOUNTS_PARTS "/%zu", i);
        r = submounts->part[i].folder && shows_part(template, number, i)
                ? mount_part(&submounts->part[i], i, below, upper, works, part, LAYER_FLAGS, error)
                : 0;
    }
    if (r == 0)
        r = mount_overlay(lower, upper, work, "/work", LAYER_FLAGS, error);
    for (size_t i = 0; r == 0 && i < submounts->n; i++) {
        snprintf(part, sizeof part, SUBMOUNTS_PARTS "/%zu", i);
        if (shows_part(template, number, i))
            r = put_part(part, "/work", submounts->part[i].path, submounts->part[i].folder ? MS_MOVE : MS_BIND, error);
    }
    return r;
}

static int mount_private_layer(const char *base, const char *layer, struct error *error) {
    char lower[64], upper[64], work[64];
    snprintf(lower, sizeof lower, "%s/private", base);
    snprintf(upper, sizeof upper, "%s/private", layer);
    snprintf(work, sizeof work, "%s/private.work", layer);
    return mount_overlay(lower, upper, work, MOUNTS_PRIVATE, LAYER_FLAGS, error);
}

static int bind_private(const char *private, struct error *error) {
    static const char *const places[][2] = {{"tmp", "/tmp"}, {"home", MOUNTS_HOME}, {"shm", "/dev/shm"}};
    char path[64];
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", private, places[i][0]);
        r = bind(path, places[i][1], 0, error);
    }
    return r;
}

/* The live files, or a layer over those that are kept. */
static int show_files(const struct template *template, uint64_t layer, struct error *error) {
    char base[LAYER_NAME_SIZE], name[LAYER_NAME_SIZE];
    int r = 0;
    layer_base(layer, base);
    layer_name(layer, name);
    if (layer != LAYER_LIVE)
        r = mount_private_layer(base, name, error);
    if (r == 0)
        r = bind_private(layer == LAYER_LIVE ? LIVE_FILES "/private" : MOUNTS_PRIVATE, error);
    if (r)
        return r;
    return layer == LAYER_LIVE ? bind(MOUNTS_VIEW, "/work", MS_REC, error)
                               : mount_folder_layer(template, layer, base, name, error);
}

/* What is shown on top of a private area: bound onto a mount point that the layers have. */
static int bind_on_top(const struct template *template, struct error *error) {
    int r = 0;
    for (int i = 0; r == 0 && i < template->n_on_top; i++) {
        char place[64];
        snprintf(place, sizeof place, MOUNTS_ON_TOP "/%d", i);
        if (access(place, F_OK) == 0)
            r = bind(place, template->on_top[i], MS_REC, error);
    }
    return r;
}

/*
 * A root of the sandbox's own: one that came with the template can't be the
 * root of its namespace (Linux locks its mounts together). Until the sandbox is
 * complete we have it as our root and the template's working folder as ours, so
 * absolute names, and links on the way, are the sandbox's.
 */
int mounts_begin_sandbox(struct error *ret_error) {
    if (mount(MOUNTS_ROOT, MOUNTS_ROOT, NULL, MS_BIND | MS_REC, NULL))
        return step_failed(ret_error, STEP_MOUNT_BIND, errno, "the sandbox's root");
    if (chroot(MOUNTS_ROOT))
        return step_failed(ret_error, STEP_PIVOT_ROOT, errno, "the sandbox's root");
    return proc_mount(MOUNTS_COVERS, "/proc", ret_error);
}

/* The sandbox's root becomes its namespace's, which loses all that is not below it. */
static int leave_template(struct error *error) {
    if (chroot(".") || chdir(MOUNTS_ROOT) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) ||
        chdir("/"))
        return step_failed(error, STEP_PIVOT_ROOT, errno, "leaving the template");
    return 0;
}

int mounts_build_sandbox(const struct template *template, uint64_t layer, struct error *ret_error) {
    int r = show_files(template, layer, ret_error);
    if (r == 0)
        r = bind_on_top(template, ret_error);
    if (r == 0)
        r = masked_paths_show(&template->masked, template->options->folder, true, ret_error);
    if (r == 0 && mounts_shows_folder_path(template->options))
        r = bind("/work", template->options->folder, MS_REC, ret_error);
    if (r == 0)
        r = masked_paths_show(&template->masked, template->options->folder, false, ret_error);
    return r ? r : leave_template(ret_error);
}

int mounts_build_empty(struct error *ret_error) {
    if (mount("petri", MOUNTS_ROOT, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0555,size=4k,nr_inodes=1"))
        return step_failed(ret_error, STEP_MOUNT_TMPFS, errno, "the cage's root");
    if (chdir(MOUNTS_ROOT) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
        return step_failed(ret_error, STEP_PIVOT_ROOT, errno, "the cage's root");
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        return step_failed(ret_error, STEP_MOUNT_ATTRIBUTES, errno, "the cage's root");
    return 0;
}
