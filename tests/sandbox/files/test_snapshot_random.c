/*
 * Random cells change files, and are committed or lost. After a commit the copy
 * must be what the live files are; after a loss the live files must be what they
 * were, and each in the inode that it had, unless that has gone: a guarded one never
 * has. Now and then a version is kept, whose files must stay as they are, and the files go to one
 * of these. PETRI_SEED takes up one seed, PETRI_SNAPSHOTS as many as one wants.
 */
#include "sandbox/files/snapshot.h"
#include "sandbox/files/tree.h"
#include "tests/sandbox/as_user.h"
#include "tests/sandbox/tmpfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* One seed in so many waits before each cell until times can tell what has changed, as they do for cells of a session.
 */
enum { PATIENT = 30, PATIENCE_NS = 30000000 };

enum { SEEDS = 150, CELLS = 24, OPERATIONS = 14, PATH_BYTES = 16, ENTRIES = 512 };

static uint64_t random_state;
static char history[1 << 18]; /* what was done, for the case of a difference */
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
    check_failed(__FILE__, __LINE__, "a snapshot is what it is a copy of");
}

/* A path of one to three short names, so that operations meet each other. */
static void draw_path(char path[PATH_BYTES]) {
    size_t n = 0;
    for (unsigned depth = 1 + draw(3); depth > 0; depth--) {
        path[n++] = (char)('a' + draw(3));
        path[n++] = '/';
    }
    path[n - 1] = 0;
}

static void write_at(int dir, const char *path, int flags, off_t at, unsigned number) {
    char text[16];
    int fd = openat(dir, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0644);
    (void)snprintf(text, sizeof text, "%u", number);
    if (fd >= 0)
        CHECK(pwrite(fd, text, strlen(text), at) > 0);
    close(fd);
}

/* A write that no time tells. */
static void write_mapped(struct snapshot *snapshot, int dir, const char *path, unsigned number) {
    struct stat st;
    int fd = openat(dir, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size == 0) {
        close(fd);
        return;
    }
    volatile char *mapped = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(mapped != MAP_FAILED);
    char before = mapped[0];
    mapped[0] = (char)(before + (char)(1 + number % 100));
    snapshot_suspect(snapshot, st.st_ino);
    close(fd);
}

enum operation {
    WRITE,
    OVERWRITE,
    SPARSE,
    TRUNCATE,
    MAPPED,
    MAKE_FOLDER,
    LINK,
    SYMLINK,
    FIFO,
    RENAME,
    EXCHANGE,
    CHMOD,
    UNLINK,
    REMOVE_FOLDER,
    REMOVE_ALL,
    N_OPERATIONS
};
static const char *const operation_names[N_OPERATIONS] = {"write",    "overwrite", "sparse",  "truncate", "mapped",
                                                          "mkdir",    "link",      "symlink", "fifo",     "rename",
                                                          "exchange", "chmod",     "unlink",  "rmdir",    "rm -r"};

/* What makes something stands here more than once, or there would soon be nothing to meet. */
static const enum operation urn[] = {WRITE,   WRITE,  WRITE,         OVERWRITE,   OVERWRITE,   SPARSE,   TRUNCATE,
                                     MAPPED,  MAPPED, MAKE_FOLDER,   MAKE_FOLDER, MAKE_FOLDER, LINK,     LINK,
                                     SYMLINK, FIFO,   RENAME,        RENAME,      RENAME,      EXCHANGE, EXCHANGE,
                                     CHMOD,   UNLINK, REMOVE_FOLDER, REMOVE_ALL};

static void operate(struct snapshot *snapshot, int dir) {
    const enum operation operation = urn[draw(sizeof urn / sizeof urn[0])];
    const unsigned number = draw(10000);
    char path[PATH_BYTES], other[PATH_BYTES];
    int r = 0;
    draw_path(path);
    draw_path(other);
    note("  %s %s %s %u\n", operation_names[operation], path, other, number);
    if (operation == WRITE)
        write_at(dir, path, O_CREAT | O_TRUNC, 0, number);
    else if (operation == OVERWRITE)
        write_at(dir, path, 0, number % 7, number);
    else if (operation == SPARSE)
        write_at(dir, path, O_CREAT, (off_t)number * 100, number);
    else if (operation == TRUNCATE)
        write_at(dir, path, O_TRUNC, number % 3, number);
    else if (operation == MAPPED)
        write_mapped(snapshot, dir, path, number);
    else if (operation == MAKE_FOLDER)
        r = mkdirat(dir, path, 0755);
    else if (operation == LINK)
        r = linkat(dir, path, dir, other, 0);
    else if (operation == SYMLINK)
        r = symlinkat(other, dir, path);
    else if (operation == FIFO)
        r = mkfifoat(dir, path, 0600);
    else if (operation == RENAME)
        r = renameat(dir, path, dir, other);
    else if (operation == EXCHANGE)
        r = renameat2(dir, path, dir, other, RENAME_EXCHANGE);
    else if (operation == CHMOD)
        r = fchmodat(dir, path, 0700 | (number & 077), 0);
    else if (operation == UNLINK)
        r = unlinkat(dir, path, 0);
    else if (operation == REMOVE_FOLDER)
        r = unlinkat(dir, path, AT_REMOVEDIR);
    else
        r = tree_remove(dir, path);
    (void)r; /* half of them have nothing to act on */
}

/* One entry: all that is to be the same. */
struct entry {
    char path[64];
    struct stat st;
    uint64_t hash; /* of the contents */
};

struct tree {
    size_t n;
    struct entry entry[ENTRIES];
};

static uint64_t add_to_hash(uint64_t hash, const char *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)data[i]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t read_contents(int dir, const char *name, const struct stat *st) {
    static char buf[1 << 16];
    uint64_t hash = UINT64_C(14695981039346656037);
    ssize_t n = 0;
    if (S_ISLNK(st->st_mode))
        n = readlinkat(dir, name, buf, sizeof buf);
    if (n > 0)
        return add_to_hash(hash, buf, (size_t)n);
    int fd = S_ISREG(st->st_mode) ? openat(dir, name, O_RDONLY | O_CLOEXEC) : -1;
    while (fd >= 0 && (n = read(fd, buf, sizeof buf)) > 0)
        hash = add_to_hash(hash, buf, (size_t)n);
    close(fd);
    return hash;
}

static void read_tree(int dir, const char *prefix, struct tree *tree) {
    struct dirent **entries;
    int n = scandirat(dir, ".", &entries, NULL, alphasort);
    CHECK(n >= 0);
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            CHECK(tree->n < ENTRIES);
            struct entry *entry = &tree->entry[tree->n++];
            CHECK(snprintf(entry->path, sizeof entry->path, "%s/%s", prefix, name) < (int)sizeof entry->path);
            CHECK_EQUAL(fstatat(dir, name, &entry->st, AT_SYMLINK_NOFOLLOW), 0);
            entry->hash = read_contents(dir, name, &entry->st);
            if (S_ISDIR(entry->st.st_mode)) {
                int fd = tree_open(dir, name);
                CHECK(fd >= 0);
                read_tree(fd, entry->path, tree);
                close(fd);
            }
        }
        free(entries[i]);
    }
    free(entries);
}

static struct tree *new_tree(int dir) {
    struct tree *tree = calloc(1, sizeof *tree);
    CHECK(tree);
    read_tree(dir, "", tree);
    return tree;
}

static bool has_inode(const struct tree *tree, ino_t inode) {
    for (size_t i = 0; i < tree->n; i++)
        if (tree->entry[i].st.st_ino == inode)
            return true;
    return false;
}

/* links: names beside those in the tree, which some have aside or as guards, count for one of the two. */
static void check_same(const char *what, const struct tree *is, const struct tree *was) {
    if (is->n != was->n)
        differ(what, "its number of entries");
    for (size_t i = 0; i < is->n; i++) {
        const struct entry *a = &is->entry[i], *b = &was->entry[i];
        if (strcmp(a->path, b->path) != 0 || a->st.st_mode != b->st.st_mode || a->hash != b->hash ||
            memcmp(&a->st.st_mtim, &b->st.st_mtim, sizeof a->st.st_mtim) != 0 ||
            (!S_ISDIR(a->st.st_mode) && a->st.st_size != b->st.st_size))
            differ(what, b->path);
        for (size_t k = 0; k < i; k++) /* who shares an inode with whom */
            if ((is->entry[k].st.st_ino == a->st.st_ino) != (was->entry[k].st.st_ino == b->st.st_ino))
                differ(what, b->path);
    }
}

/* there: what the rolled-back cell has left; guarded: the inodes that have a guard. */
static void check_inodes(const struct tree *is, const struct tree *was, const struct tree *there,
                         const struct tree *guarded) {
    for (size_t i = 0; i < is->n; i++) {
        const ino_t inode = was->entry[i].st.st_ino;
        if (is->entry[i].st.st_ino != inode && (has_inode(there, inode) || has_inode(guarded, inode)))
            differ("the inode", was->entry[i].path);
    }
}

static int open_new(int dir_fd, const char *name) {
    put_folder(dir_fd, name);
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

/* Versions that are kept, each with what the live files were then. */
enum { VERSIONS = 4 };
static struct {
    struct snapshot_version *version;
    struct tree *tree;
    uint64_t number;     /* of the folder that it is pinned in; 0 where it isn't */
    struct tree *pinned; /* what was there then */
} versions[VERSIONS];

/* Some of the live files, and of each version every third, whose contents it has in its copy. */
static void guard_some(struct snapshot *snapshot, const struct tree *tree) {
    ino_t some[(1 + VERSIONS) * ENTRIES];
    size_t n = 0;
    for (size_t i = 0; i < tree->n; i++)
        if (draw(3) == 0)
            some[n++] = tree->entry[i].st.st_ino;
    for (unsigned v = 0; v < VERSIONS; v++)
        for (size_t i = 0; versions[v].version && i < versions[v].tree->n; i += 3)
            some[n++] = versions[v].tree->entry[i].st.st_ino;
    CHECK_EQUAL(snapshot_guard(snapshot, some, n), 0);
    CHECK_EQUAL(snapshot_empty_guards(snapshot, NULL, 0), 0);
}

static struct tree *new_tree_of_number(const struct snapshot_folders *f, uint64_t number) {
    char name[32];
    snprintf(name, sizeof name, "%" PRIu64, number);
    int fd = openat(f->versions, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    struct tree *tree = new_tree(fd);
    close(fd);
    return tree;
}

static void unpin(unsigned i) {
    if (versions[i].number == 0)
        return;
    note("unpin version %u\n", i);
    snapshot_unpin(versions[i].version);
    free(versions[i].pinned);
    versions[i].pinned = NULL;
    versions[i].number = 0;
}

static void pin_or_unpin(const struct snapshot_folders *f) {
    const unsigned i = draw(VERSIONS);
    if (versions[i].number || !versions[i].version) {
        unpin(i);
        return;
    }
    note("pin version %u\n", i);
    CHECK_EQUAL(snapshot_pin(versions[i].version, &versions[i].number), 0);
    versions[i].pinned = new_tree_of_number(f, versions[i].number);
}

/* A pinned version's files and folders are the very ones that they were. */
static void check_pinned(const struct snapshot_folders *f, unsigned i) {
    if (versions[i].number == 0)
        return;
    struct tree *is = new_tree_of_number(f, versions[i].number);
    check_same("a pinned version", is, versions[i].pinned);
    for (size_t k = 0; k < is->n; k++)
        CHECK_EQUAL(is->entry[k].st.st_ino, versions[i].pinned->entry[k].st.st_ino);
    free(is);
}

/* What is pinned stays for a while after it is forgotten otherwise. */
static void forget_version(unsigned i) {
    snapshot_forget(versions[i].version);
    unpin(i);
    free(versions[i].tree);
    versions[i].version = NULL;
    versions[i].tree = NULL;
}

static void keep_version(struct snapshot *snapshot, const struct snapshot_folders *f) {
    const unsigned i = draw(VERSIONS);
    note("keep as version %u\n", i);
    forget_version(i);
    versions[i].version = snapshot_keep(snapshot);
    versions[i].tree = new_tree(f->live);
    CHECK(versions[i].version);
}

static void check_versions(const struct snapshot_folders *f) {
    for (unsigned i = 0; i < VERSIONS; i++) {
        const char *name = versions[i].version ? snapshot_version_name(versions[i].version) : "";
        if (!versions[i].version)
            continue;
        int fd = name[0] ? openat(f->versions, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : dup(f->kept);
        CHECK(fd >= 0);
        struct tree *is = new_tree(fd);
        check_same("a version", is, versions[i].tree);
        free(is);
        close(fd);
        check_pinned(f, i);
    }
}

static void go_to_version(struct snapshot *snapshot, const struct snapshot_folders *f, struct tree **was) {
    const unsigned i = draw(VERSIONS);
    if (!versions[i].version)
        return;
    note("go to version %u\n", i);
    struct tree *guarded = new_tree(f->guards);
    CHECK_EQUAL(snapshot_switch(versions[i].version), 0);
    snapshot_begin(snapshot);
    CHECK_EQUAL(snapshot_restore(snapshot), 0);
    struct tree *is = new_tree(f->live), *kept = new_tree(f->kept);
    check_same("the version's copy", kept, versions[i].tree);
    check_same("what a version has restored", is, versions[i].tree);
    check_inodes(is, versions[i].tree, *was, guarded);
    free(guarded);
    free(kept);
    free(*was);
    *was = is;
}

static void run_cell(struct snapshot *snapshot, const struct snapshot_folders *f, struct tree **was) {
    const bool lost = draw(2);
    note("%s cell\n", lost ? "lost" : "committed");
    snapshot_begin(snapshot);
    for (int i = 0; i < OPERATIONS; i++)
        operate(snapshot, f->live);
    struct tree *there = new_tree(f->live), *guarded = new_tree(f->guards);
    CHECK_EQUAL(lost ? snapshot_restore(snapshot) : snapshot_commit(snapshot), 0);
    struct tree *is = new_tree(f->live), *kept = new_tree(f->kept);
    check_same("the copy", kept, is);
    check_same(lost ? "what was restored" : "what was committed", is, lost ? *was : there);
    check_inodes(is, lost ? *was : there, there, guarded);
    guard_some(snapshot, is);
    free(*was);
    *was = is;
    free(there);
    free(guarded);
    free(kept);
}

static int run_seed(void *argument) {
    const unsigned seed = *(const unsigned *)argument;
    int top = tmpfs_enter();
    const struct snapshot_folders f = {.live = open_new(top, "live"),
                                       .live_aside = open_new(top, "live-aside"),
                                       .kept = open_new(top, "kept"),
                                       .kept_aside = open_new(top, "kept-aside"),
                                       .guards = open_new(top, "guards"),
                                       .versions = open_new(top, "versions")};
    struct snapshot *snapshot = NULL;
    random_state = UINT64_C(88172645463325252) + seed * UINT64_C(2654435761);
    note("PETRI_SEED=%u\n", seed);
    CHECK_EQUAL(snapshot_create(&f, &snapshot), 0);
    struct tree *was = new_tree(f.live);
    for (int i = 0; i < CELLS; i++) {
        if (seed % PATIENT == 0)
            nanosleep(&(struct timespec){.tv_nsec = PATIENCE_NS}, NULL);
        run_cell(snapshot, &f, &was);
        if (draw(3) == 0)
            keep_version(snapshot, &f);
        if (draw(3) == 0)
            pin_or_unpin(&f);
        if (draw(4) == 0)
            go_to_version(snapshot, &f, &was);
        check_versions(&f);
    }
    for (unsigned i = 0; i < VERSIONS; i++)
        forget_version(i);
    struct tree *left = new_tree(f.versions);
    CHECK_EQUAL(left->n, 0);
    free(left);
    free(was);
    snapshot_destroy(snapshot);
    return 0;
}

static unsigned number_from(const char *variable, unsigned otherwise) {
    const char *text = getenv(variable);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void test_random_cells_are_kept_and_undone(void **state) {
    const bool one = getenv("PETRI_SEED") != NULL;
    const unsigned n = one ? 1 : number_from("PETRI_SNAPSHOTS", SEEDS);
    (void)state;
    for (unsigned i = 0; i < n; i++) {
        unsigned seed = one ? number_from("PETRI_SEED", 0) : i;
        run_in_fork(run_seed, &seed, false);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_cells_are_kept_and_undone)};
    return cmocka_run_group_tests_name("random snapshots", tests, NULL, NULL);
}
