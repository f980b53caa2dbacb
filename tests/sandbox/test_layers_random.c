/*
 * Random cells change files, in real overlays over layers that are committed or
 * dropped in between. Each cell must see what a plain folder shows to which only
 * the operations of committed cells were applied.
 */
#include "as_user.h"
#include "sandbox/layers.h"
#include "sandbox/tree.h"
#include "tmpfs.h"

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
#include <unistd.h>

#include <cmocka.h>

enum { SEEDS = 40, CELLS = 16, OPERATIONS = 20 };

static uint64_t random_state;
static char history[1 << 16]; /* what was done, for the case of a difference */
static size_t history_bytes;

static unsigned draw(unsigned n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(history + history_bytes, sizeof history - history_bytes, format, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof history - history_bytes)
        history_bytes += (size_t)n;
}

static void differ(const char *what, const char *path) __attribute__((noreturn));
static void differ(const char *what, const char *path) {
    (void)fprintf(stderr, "%s\n%s differs at %s\n", history, what, path);
    check_failed(__FILE__, __LINE__, "the overlay is as the plain folder");
}

/* A path of one to three short names, so that operations meet each other. */
static void draw_path(char path[16]) {
    size_t n = 0;
    for (unsigned depth = 1 + draw(3); depth > 0; depth--) {
        path[n++] = (char)('a' + draw(3));
        path[n++] = '/';
    }
    path[n - 1] = 0;
}

static int write_text(int dir, const char *path, int flags, const char *text) {
    int fd = openat(dir, path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0644);
    if (fd < 0)
        return -errno;
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    return 0;
}

static int result(int r) {
    return r < 0 ? -errno : 0;
}

static int remove_all(int dir, const char *path) {
    struct stat st;
    if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW))
        return -errno;
    return tree_remove(dir, path);
}

static int remake(int dir, const char *path) {
    int r = remove_all(dir, path);
    return r ? r : result(mkdirat(dir, path, 0755));
}

/*
 * What makes something stands here more than once, or there would soon be
 * nothing to meet. Hard links are left out: an overlay breaks them when a later
 * cell writes to one of the names (overlayfs.rst, "Non-standard behavior").
 */
enum operation { WRITE, APPEND, MKDIR, SYMLINK, RENAME, REMAKE, CHMOD, UNLINK, RMDIR, REMOVE_ALL, N_OPERATIONS };
static const enum operation urn[] = {WRITE,  WRITE,  APPEND, MKDIR, MKDIR,  MKDIR, MKDIR,      SYMLINK,
                                     RENAME, RENAME, REMAKE, CHMOD, UNLINK, RMDIR, REMOVE_ALL, REMOVE_ALL};

static const char *const operation_names[] = {"write",  "append", "mkdir",  "symlink", "rename",
                                              "remake", "chmod",  "unlink", "rmdir",   "rm -r"};

/* The very same operation, in the folder that dir is. */
static int operate(int dir, enum operation operation, const char *path, const char *other, unsigned number) {
    char text[16];
    (void)snprintf(text, sizeof text, "%u", number);
    switch (operation) {
    case WRITE:
        return write_text(dir, path, O_TRUNC, text);
    case APPEND:
        return write_text(dir, path, O_APPEND, text);
    case UNLINK:
        return result(unlinkat(dir, path, 0));
    case MKDIR:
        return result(mkdirat(dir, path, 0755));
    case RMDIR:
        return result(unlinkat(dir, path, AT_REMOVEDIR));
    case REMOVE_ALL:
        return remove_all(dir, path);
    case REMAKE:
        return remake(dir, path);
    case RENAME:
        return result(renameat(dir, path, dir, other));
    case SYMLINK:
        return result(symlinkat(other, dir, path));
    case CHMOD:
        return result(fchmodat(dir, path, 0700 | (number & 077), 0));
    case N_OPERATIONS:
        break;
    }
    return -ENOSYS;
}

/* A folder of a lower layer can't be renamed in an overlay (EXDEV); then the plain one's isn't either. */
static void operate_on_both(int overlay, int plain) {
    enum operation operation = urn[draw(sizeof urn / sizeof urn[0])];
    unsigned number = draw(10000);
    char path[16], other[16];
    draw_path(path);
    draw_path(other);
    int r = operate(overlay, operation, path, other, number);
    note("  %s %s %s: %d\n", operation_names[operation], path, other, r);
    if (r == -EXDEV)
        return;
    if (r != operate(plain, operation, path, other, number))
        differ(operation_names[operation], path);
}

static int list(int dir, struct dirent ***ret_entries) {
    int n = scandirat(dir, ".", ret_entries, NULL, alphasort);
    CHECK(n >= 2);
    return n;
}

static void compare_files(int a, int b, const char *name, mode_t type) {
    char text[2][4096] = {{0}, {0}};
    int dirs[] = {a, b};
    for (int i = 0; i < 2; i++) {
        if (S_ISLNK(type)) {
            CHECK(readlinkat(dirs[i], name, text[i], sizeof text[i] - 1) > 0);
            continue;
        }
        int fd = openat(dirs[i], name, O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0 && read(fd, text[i], sizeof text[i] - 1) >= 0);
        close(fd);
    }
    if (strcmp(text[0], text[1]) != 0)
        differ("content", name);
}

static void compare_folders(int a, int b);

static void compare_entries(int a, int b, const char *name) {
    struct stat in_a, in_b;
    if (fstatat(a, name, &in_a, AT_SYMLINK_NOFOLLOW) || fstatat(b, name, &in_b, AT_SYMLINK_NOFOLLOW))
        differ("existence", name);
    if (in_a.st_mode != in_b.st_mode)
        differ("mode", name);
    if (!S_ISDIR(in_a.st_mode)) {
        compare_files(a, b, name, in_a.st_mode);
        return;
    }
    int down_a = openat(a, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int down_b = openat(b, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(down_a >= 0 && down_b >= 0);
    compare_folders(down_a, down_b);
    close(down_a);
    close(down_b);
}

static void compare_folders(int a, int b) {
    struct dirent **in_a, **in_b;
    int n_a = list(a, &in_a), n_b = list(b, &in_b);
    for (int i = 0; i < n_a || i < n_b; i++) {
        if (i >= n_a || i >= n_b || strcmp(in_a[i]->d_name, in_b[i]->d_name) != 0)
            differ("listing", i < n_a ? in_a[i]->d_name : in_b[i]->d_name);
        if (in_a[i]->d_name[0] != '.')
            compare_entries(a, b, in_a[i]->d_name);
    }
    for (int i = 0; i < n_a; i++)
        free(in_a[i]);
    for (int i = 0; i < n_b; i++)
        free(in_b[i]);
    free(in_a);
    free(in_b);
}

static void run_shell(const char *command) {
    CHECK_EQUAL(system(command), 0);
}

static int open_path(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

/* As a cell's files are mounted: see mounts.c. lowest is NULL for the private area. */
static void mount_layer(uint64_t layer, const char *area, const char *lowest) {
    char name[LAYER_NAME_SIZE], data[512];
    layer_name(layer, name);
    (void)snprintf(data, sizeof data, "userxattr,lowerdir=committed/%s%s%s,upperdir=%s/%s,workdir=%s/%s.work", area,
                   lowest ? ":" : "", lowest ? lowest : "", name, area, name, area);
    CHECK_EQUAL(mount("petri", "seen", "overlay", 0, data) ? errno : 0, 0);
}

static void compare_now(const char *seen, const char *plain) {
    int a = open_path(seen), b = open_path(plain);
    compare_folders(a, b);
    close(a);
    close(b);
}

/* One cell: what it finds, what it does, what becomes of it. below is the path in the area where it works. */
static void run_cell(int root, uint64_t layer, const char *area, const char *lowest, const char *below) {
    char seen[64];
    (void)snprintf(seen, sizeof seen, "seen%s", below);
    bool keep = draw(4) > 0;
    note("cell %d, %s\n", (int)layer, keep ? "committed" : "dropped");
    CHECK_EQUAL(layer_create(root, layer, 0, 0), 0);
    mount_layer(layer, area, lowest);
    compare_now(seen, "plain");
    run_shell("cp -a plain next");
    int overlay = open_path(seen), plain = open_path("next");
    for (int i = 0; i < OPERATIONS; i++)
        operate_on_both(overlay, plain);
    close(overlay);
    close(plain);
    compare_now(seen, "next");
    CHECK_EQUAL(umount2("seen", 0) ? errno : 0, 0);
    CHECK_EQUAL(keep ? layer_commit(root, layer) : layer_remove(root, layer), 0);
    run_shell(keep ? "rm -r plain && mv next plain" : "rm -r next");
}

/* The notebook's folder: files and folders of the names that are drawn. */
static void fill_lowest(void) {
    int dir = open_path("lowest");
    for (int i = 0; i < 20; i++) {
        char path[16];
        draw_path(path);
        (void)operate(dir, draw(2) ? MKDIR : WRITE, path, "", draw(100));
    }
    close(dir);
}

static int be_random(void *argument) {
    const unsigned *seed = argument;
    bool private = *seed % 3 == 0;
    int root = tmpfs_enter();
    random_state = 0x9e3779b97f4a7c15ULL * (*seed + 1);
    note("seed %u, %s\n", *seed, private ? "private" : "folder");
    put_folder(root, "lowest");
    put_folder(root, "seen");
    CHECK_EQUAL(layers_init(root, 0, 0), 0);
    if (!private)
        fill_lowest();
    run_shell(private ? "mkdir plain" : "cp -a lowest plain");
    for (uint64_t layer = 1; layer <= CELLS; layer++)
        run_cell(root, layer, private ? "private" : "folder", private ? NULL : "lowest", private ? "/tmp" : "");
    return 0;
}

static void test_random_cells_see_what_a_plain_folder_shows(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < SEEDS; seed++)
        run_in_fork(be_random, &seed, seed % 2 == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_cells_see_what_a_plain_folder_shows)};
    return cmocka_run_group_tests_name("layers, at random", tests, NULL, NULL);
}
