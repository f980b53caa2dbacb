/* Shared mappings without a named file are found, on Linux with a query for them and without; names make no others. */
#include "sandbox/image/prefault.h"
#include "sandbox/process/mappings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, LONG_NAME = 250, DEPTH = 5 };

static int note(void *arg, const struct mapping *mapping) {
    char **text = arg, line[128];
    (void)snprintf(line, sizeof line, "%llx %llx %llx %d %d%s\n", (unsigned long long)(mapping->end - mapping->start),
                   (unsigned long long)mapping->offset, (unsigned long long)mapping->inode, mapping->protection,
                   mapping->is_memory, mapping->is_shared ? "" : " private");
    *text = realloc(*text, (*text ? strlen(*text) : 0) + sizeof line);
    strcat(*text, line);
    return 0;
}

static char *list(bool private_too) {
    char *text = calloc(1, 1);
    assert_int_equal(mappings_each(getpid(), private_too, note, &text), 0);
    return text;
}

/* A file that is mapped, and gone, below folders whose names make a line of 1,250 bytes. */
static unsigned long map_unlinked_file(char *folder) {
    char path[DEPTH * (LONG_NAME + 1) + 64], *end = path + sprintf(path, "%s", folder);
    struct stat st;
    for (int i = 0; i < DEPTH; i++) {
        *end++ = '/';
        memset(end, 'a' + i, LONG_NAME);
        end += LONG_NAME;
        *end = 0;
        assert_int_equal(mkdir(path, 0700), 0);
    }
    (void)sprintf(end, "/file");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, 2L * PAGE), 0);
    assert_ptr_not_equal(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, PAGE), MAP_FAILED);
    assert_int_equal(fstat(fd, &st), 0);
    close(fd);
    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < DEPTH; i++) {
        *strrchr(path, '/') = 0;
        assert_int_equal(rmdir(path), 0);
    }
    return st.st_ino;
}

/* Without the query, as Linux before 6.11 answers. */
static char *list_without_query(bool private_too) {
    int ends[2];
    static char text[65536];
    size_t n = 0;
    ssize_t r;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOTTY), SCMP_SYS(ioctl), 0) || seccomp_load(filter))
            _exit(1);
        const char *found = list(private_too);
        _exit(write(ends[1], found, strlen(found)) < 0);
    }
    close(ends[1]);
    while ((r = read(ends[0], text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)r;
    text[n] = 0;
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return text;
}

static void test_mappings_of_memory_and_of_no_name_are_found_with_and_without_the_query(void **state) {
    char folder[] = "/tmp/petri-mappings-XXXXXX", expected[128];
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_ptr_not_equal(mmap(NULL, 3 * PAGE, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), MAP_FAILED);
    int fd = memfd_create("name\nof two lines", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 5L * PAGE), 0);
    assert_ptr_not_equal(mmap(NULL, 5 * PAGE, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
    unsigned long inode = map_unlinked_file(folder);
    assert_ptr_not_equal(mmap(NULL, 7 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0), MAP_FAILED);
    char *found = list(false), *all = list(true);
    (void)snprintf(expected, sizeof expected, "%x %x %lx %d 0\n", PAGE, PAGE, inode, PROT_READ | PROT_WRITE);
    assert_non_null(strstr(found, expected));
    assert_non_null(strstr(found, "3000 0 "));
    assert_non_null(strstr(found, "5000 0 "));
    assert_null(strstr(found, "private"));
    const char *own = strstr(all, "private");
    assert_non_null(strstr(all, "7000 0 "));
    assert_non_null(own);
    assert_null(strstr(own + 1, "private")); /* no library */
    assert_string_equal(list_without_query(false), found);
    assert_string_equal(list_without_query(true), all);
    free(found);
    free(all);
    assert_int_equal(rmdir(folder), 0);
}

/* Maps a file whose line of maps has text from its byte at on, and whatever is needed in front of it. */
static void map_file_with_line(char *folder, size_t at, const char *text) {
    enum { NAME_AT = 73 }; /* of a line: Linux fills up to it */
    char path[1024];
    size_t n = (size_t)sprintf(path, "%s/", folder);
    const size_t front = at - NAME_AT - 1;
    while (n < front) {
        const size_t more = front - n < LONG_NAME ? front - n : LONG_NAME;
        memset(path + n, 'a', more);
        n += more;
        path[n] = 0;
        assert_int_equal(mkdir(path, 0700), 0);
        path[n++] = '/';
    }
    (void)sprintf(path + n, "%s", text);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, PAGE), 0);
    assert_ptr_not_equal(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0), MAP_FAILED);
    close(fd);
    assert_int_equal(unlink(path), 0);
    while (strlen(path) > strlen(folder)) {
        *strrchr(path, '/') = 0;
        if (strlen(path) > strlen(folder))
            assert_int_equal(rmdir(path), 0);
    }
}

/* A reader with a buffer of a power of two bytes would find a line at its end. */
static void test_end_of_a_long_name_is_no_mapping(void **state) {
    char folder[] = "/tmp/petri-mappings-XXXXXX", text[128];
    static const struct prefault nothing;
    struct prefault sample;
    (void)state;
    assert_non_null(mkdtemp(folder));
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 1;
    assert_int_equal(mprotect(page, PAGE, PROT_READ), 0);
    (void)snprintf(text, sizeof text, "%lx-%lx rw-p 00000000 00:00 0 ", (unsigned long)page,
                   (unsigned long)page + PAGE);
    for (size_t bytes = 256; bytes <= 512; bytes *= 2)
        map_file_with_line(folder, bytes - 1, text);
    assert_int_equal(prefault_sample(getpid(), &nothing, &sample), 0);
    for (size_t i = 0; i < sample.n; i++)
        assert_true((uint64_t)page != sample.page[i]);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_of_a_long_name_is_no_mapping),
        cmocka_unit_test(test_mappings_of_memory_and_of_no_name_are_found_with_and_without_the_query),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
