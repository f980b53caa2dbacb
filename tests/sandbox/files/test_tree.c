/* Removing what somebody hostile has left. */
#include "sandbox/files/tree.h"
#include "tests/sandbox/as_user.h"

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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

enum { DEEP = 50000, WIDE = 5000, EXTRA_DESCRIPTORS = 6 };

static char base[64];

static int make_base(void **state) {
    (void)state;
    strcpy(base, "/dev/shm/petri-tree-XXXXXX");
    return mkdtemp(base) && chmod(base, 0777) == 0 ? 0 : -1;
}

static int remove_base(void **state) {
    (void)state;
    return rmdir(base); /* empty, or a test has failed */
}

static int open_base(void) {
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static void put_file(int dir_fd, const char *name) {
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, "x", 1) == 1);
    close(fd);
}

/* A folder below dir_fd, which is closed. */
static int go_down(int dir_fd, const char *name) {
    CHECK(mkdirat(dir_fd, name, 0700) == 0);
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    close(dir_fd);
    return fd;
}

/* Removes name from base, with hardly a descriptor to extra, and looks that it is gone and nothing was left open. */
static int remove_with_few_descriptors(const char *name) {
    int fd = open_base(), next, after;
    struct rlimit limit;
    struct stat st;
    CHECK((next = dup(fd)) >= 0 && close(next) == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = (rlim_t)next + EXTRA_DESCRIPTORS;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK_EQUAL(tree_remove(fd, name), 0);
    CHECK((after = dup(fd)) == next);
    CHECK(fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT);
    close(after);
    close(fd);
    return 0;
}

static int remove_deep_tree_leaves_nothing(void *unused) {
    (void)unused;
    int fd = go_down(open_base(), "deep");
    for (int i = 0; i < DEEP; i++)
        fd = go_down(fd, "d");
    put_file(fd, "bottom");
    close(fd);
    return remove_with_few_descriptors("deep");
}

static int remove_wide_folder_leaves_nothing(void *unused) {
    char name[32];
    (void)unused;
    int fd = go_down(open_base(), "wide");
    for (int i = 0; i < WIDE; i++) {
        (void)snprintf(name, sizeof name, "file%d", i);
        put_file(fd, name);
        (void)snprintf(name, sizeof name, "empty%d", i);
        CHECK(mkdirat(fd, name, 0700) == 0);
        (void)snprintf(name, sizeof name, "full%d", i);
        int full = go_down(dup(fd), name);
        put_file(full, "x");
        close(full);
    }
    close(fd);
    return remove_with_few_descriptors("wide");
}

static int remove_folders_without_permissions_leaves_nothing(void *unused) {
    (void)unused;
    int fd = go_down(open_base(), "forbidden");
    int inner = go_down(dup(fd), "inner");
    put_file(inner, "x");
    int innermost = go_down(dup(inner), "innermost");
    put_file(innermost, "x");
    int unsearchable = go_down(dup(fd), "unsearchable");
    put_file(unsearchable, "x");
    CHECK(fchmod(unsearchable, 0600) == 0 && close(unsearchable) == 0);
    CHECK(fchmod(innermost, 0) == 0 && fchmod(inner, 0) == 0 && fchmod(fd, 0) == 0);
    close(innermost);
    close(inner);
    close(fd);
    return remove_with_few_descriptors("forbidden");
}

/* Links to a file and a folder outside, which must both stay. */
static int remove_links_leaves_their_targets(void *unused) {
    (void)unused;
    int outside = go_down(open_base(), "outside"), fd = go_down(open_base(), "links");
    put_file(outside, "precious");
    CHECK(symlinkat("../outside", fd, "folder") == 0 && symlinkat("../outside/precious", fd, "file") == 0);
    CHECK(symlinkat("/", fd, "root") == 0 && symlinkat("loop", fd, "loop") == 0);
    close(fd);
    remove_with_few_descriptors("links");
    CHECK(faccessat(outside, "precious", F_OK, 0) == 0);
    return remove_with_few_descriptors("outside");
}

/* The name itself is a link, a file, or nothing. */
static int remove_link_file_or_nothing_succeeds(void *unused) {
    (void)unused;
    int base_fd = open_base(), outside = go_down(dup(base_fd), "outside");
    put_file(outside, "precious");
    CHECK(symlinkat("outside", base_fd, "link") == 0);
    put_file(base_fd, "file");
    CHECK(mkfifoat(base_fd, "fifo", 0600) == 0);
    remove_with_few_descriptors("link");
    CHECK(faccessat(outside, "precious", F_OK, 0) == 0);
    remove_with_few_descriptors("file");
    remove_with_few_descriptors("fifo");
    remove_with_few_descriptors("nothing");
    return remove_with_few_descriptors("outside");
}

/* Names as long as there are, and with every byte that a name can have. */
static int remove_odd_names_leaves_nothing(void *unused) {
    char name[256];
    (void)unused;
    int fd = go_down(open_base(), "odd");
    for (int c = 1; c < 256; c++) {
        if (c == '/' || c == '.')
            continue;
        memset(name, c, 255);
        name[255] = 0;
        int inner = go_down(dup(fd), name);
        put_file(inner, name);
        close(inner);
    }
    put_file(fd, "...");
    CHECK(mkdirat(fd, "..hidden", 0700) == 0);
    close(fd);
    return remove_with_few_descriptors("odd");
}

int main(void) {
    static const struct part parts[] = {
        PART(remove_deep_tree_leaves_nothing),
        PART(remove_wide_folder_leaves_nothing),
        PART(remove_folders_without_permissions_leaves_nothing),
        PART(remove_links_leaves_their_targets),
        PART(remove_link_file_or_nothing_succeeds),
        PART(remove_odd_names_leaves_nothing),
    };
    return run_parts("tree", parts, sizeof parts / sizeof parts[0], make_base, remove_base);
}
