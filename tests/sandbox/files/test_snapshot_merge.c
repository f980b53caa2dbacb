/*
 * A layer that is merged shows what an overlay of both showed: random changes are made through an overlay by Linux, and
 * after the merge another one is looked at. PETRI_SEED takes up one seed, PETRI_MERGES as many as one wants.
 */
#include "base/cleanup.h"
#include "sandbox/files/snapshot_merge.h"
#include "tests/sandbox/as_user.h"
#include "tests/sandbox/tmpfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

enum { SEEDS = 60, ROUNDS = 4, OPERATIONS = 25, LISTING_BYTES = 1 << 18, DEPTH = 12 };

static uint64_t random_state;

static unsigned draw(unsigned n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

/* A path of some folders and a name, of few, so that they meet. */
static const char *draw_path(const char *top, char path[128]) {
    static const char names[] = "abc";
    int n = snprintf(path, 128, "%s", top);
    for (unsigned depth = 1 + draw(3); depth > 0; depth--)
        n += snprintf(path + n, 128 - (size_t)n, "/%c", names[draw(3)]);
    return path;
}

static int remove_all(const char *path) {
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf %s", path);
    return system(command);
}

static void write_file(const char *path, int flags) {
    char text[32];
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600 + draw(64));
    const int n = snprintf(text, sizeof text, "%u.", draw(1000));
    if (fd >= 0)
        CHECK_EQUAL(write(fd, text, (size_t)n), n);
    if (fd >= 0)
        close(fd);
}

/* Whatever Linux does of it: what is impossible it refuses. */
static void operate(const char *top) {
    char path[128], other[128];
    draw_path(top, path);
    int r = 0;
    switch (draw(10)) {
    case 0:
    case 1:
        r = mkdir(path, 0700 + draw(64));
        break;
    case 2:
        write_file(path, O_TRUNC);
        break;
    case 3:
        write_file(path, O_APPEND);
        break;
    case 4:
        r = unlink(path);
        break;
    case 5:
        r = remove_all(path);
        break;
    case 6:
        r = rename(path, draw_path(top, other));
        break;
    case 7:
        r = symlink(path, draw_path(top, other));
        break;
    case 8:
        r = link(path, draw_path(top, other));
        break;
    default:
        r = chmod(path, 0700 + draw(64));
        break;
    }
    errno = r ? errno : 0;
}

static void list_entry(int dir_fd, const char *name, char *listing, size_t *used, int depth);

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void list_folder(int fd, char *listing, size_t *used, int depth) {
    struct dirent **entries;
    const int n = scandirat(fd, ".", &entries, NULL, by_name);
    CHECK(n >= 0 && depth < DEPTH);
    for (int i = 0; i < n; i++) {
        if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0)
            list_entry(fd, entries[i]->d_name, listing, used, depth);
        free(entries[i]);
    }
    free(entries);
}

/* Attributes that cells would see. */
static void list_attributes(int fd, char *listing, size_t *used) {
    char names[1024];
    const ssize_t n = flistxattr(fd, names, sizeof names);
    for (const char *name = names; n > 0 && name < names + n; name += strlen(name) + 1)
        *used += (size_t)snprintf(listing + *used, LISTING_BYTES - *used, " %s", name);
}

static void list_entry(int dir_fd, const char *name, char *listing, size_t *used, int depth) {
    struct stat st;
    char text[256] = "";
    CHECK_EQUAL(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    auto_fd fd = S_ISLNK(st.st_mode) ? -1 : openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (S_ISLNK(st.st_mode))
        CHECK(readlinkat(dir_fd, name, text, sizeof text - 1) > 0);
    if (S_ISREG(st.st_mode))
        CHECK(fd >= 0 && read(fd, text, sizeof text - 1) >= 0);
    *used += (size_t)snprintf(listing + *used, LISTING_BYTES - *used, "%*s%s %o %ld %s", depth, "", name, st.st_mode,
                              S_ISREG(st.st_mode) ? (long)st.st_mtime : 0, text);
    list_attributes(fd, listing, used);
    *used += (size_t)snprintf(listing + *used, LISTING_BYTES - *used, "\n");
    if (S_ISDIR(st.st_mode))
        list_folder(fd, listing, used, depth + 1);
}

/* What is below a path: the caller's. */
static char *list(const char *path) {
    char *listing = calloc(1, LISTING_BYTES);
    size_t used = 0;
    auto_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0 && listing);
    list_folder(fd, listing, &used, 0);
    return listing;
}

static void mount_overlay(const char *lower, const char *upper, const char *work, const char *target) {
    char data[256];
    (void)snprintf(data, sizeof data, "userxattr,index=off,lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work);
    CHECK_EQUAL(mount("petri", target, "overlay", 0, data), 0);
}

/* Attributes on a tmpfs are there from Linux 6.6 on: without them a cell can't put a folder in another's place. */
static bool has_attributes(int root) {
    put_text(root, "probe", "x");
    return setxattr("probe", "user.overlay.probe", "y", 1, 0) == 0;
}

/* The files of a session: "private" plainly, and what the layer "folder" over the host's shows. */
static void list_session(char *ret_listings[2]) {
    mount_overlay("host", "to/folder", "work", "seen");
    ret_listings[0] = list("seen");
    CHECK_EQUAL(umount("seen"), 0);
    ret_listings[1] = list("to/private");
}

/* A cell: changes through overlays over the session's files, which are then merged. */
static void run_cell(int root) {
    static const char *const folders[] = {"layer", "layer/private", "layer/folder", "layer/folder.work",
                                          "layer/private.work"};
    char *shown[2], *merged[2];
    struct stat x, y;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        put_folder(root, folders[i]);
    mount_overlay("to/folder:host", "layer/folder", "layer/folder.work", "seen");
    mount_overlay("to/private", "layer/private", "layer/private.work", "seen-private");
    for (int i = 0; i < OPERATIONS; i++) {
        operate("seen");
        operate("seen-private");
    }
    (void)unlink("seen/x");
    (void)unlink("seen/y");
    write_file("seen/x", 0);
    CHECK_EQUAL(link("seen/x", "seen/y"), 0);
    shown[0] = list("seen");
    shown[1] = list("seen-private");
    CHECK_EQUAL(umount("seen"), 0);
    CHECK_EQUAL(umount("seen-private"), 0);
    auto_fd layer_fd = openat(root, "layer", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd to_fd = openat(root, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd aside_fd = openat(root, "aside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd host_fd = openat(root, "host", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_EQUAL(snapshot_merge_layer(&(struct snapshot_merge_folders){layer_fd, to_fd, aside_fd,
                                                                      (const int[]){host_fd, -1}, NULL, NULL}),
                0);
    list_session(merged);
    for (int i = 0; i < 2; i++) {
        CHECK_TEXT(merged[i], shown[i]);
        free(merged[i]);
        free(shown[i]);
    }
    CHECK_EQUAL(stat("to/folder/x", &x), 0);
    CHECK_EQUAL(stat("to/folder/y", &y), 0);
    CHECK_EQUAL(x.st_ino, y.st_ino);
    char *aside = list("aside");
    CHECK_TEXT(aside, "");
    free(aside);
    CHECK_EQUAL(remove_all("layer"), 0);
}

static int run_seed(void *argument) {
    const unsigned seed = *(const unsigned *)argument;
    static const char *const folders[] = {"host",  "to",   "to/private", "to/folder",
                                          "aside", "work", "seen",       "seen-private"};
    int root = tmpfs_enter();
    (void)fprintf(stderr, "PETRI_SEED=%u\n", seed);
    random_state = UINT64_C(88172645463325252) + seed * UINT64_C(2654435761);
    if (!has_attributes(root))
        return 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        put_folder(root, folders[i]);
    for (int i = 0; i < 2 * OPERATIONS; i++)
        operate("host");
    for (int i = 0; i < ROUNDS; i++)
        run_cell(root);
    return 0;
}

static unsigned number_from(const char *variable, unsigned otherwise) {
    const char *text = getenv(variable);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void test_merged_layer_shows_what_the_overlay_did(void **state) {
    const bool one = getenv("PETRI_SEED") != NULL;
    const unsigned n = one ? 1 : number_from("PETRI_MERGES", SEEDS);
    (void)state;
    for (unsigned i = 0; i < n; i++) {
        unsigned seed = one ? number_from("PETRI_SEED", 0) : i;
        run_in_fork(run_seed, &seed, false);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_merged_layer_shows_what_the_overlay_did)};
    return cmocka_run_group_tests_name("merged layers", tests, NULL, NULL);
}
