/*
 * sys.c - copies the files that programs ask for, once a session, as text.
 */
#define _GNU_SOURCE
#include "sys.h"

#include "base/cleanup.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Of the machine, and of each processor. None of them changes while a machine runs and keeps its processors. */
static const char *const of_all[] = {"kernel_max", "online", "possible", "present"};
static const char *const of_each[] = {"core_id", "core_siblings", "physical_package_id", "thread_siblings"};

/* Each file takes a page of the template, which has room for 4,096; a map of 8,192 processors has 2,304 characters. */
enum { MAX_PROCESSORS = 512, FILE_SIZE = 4096 };

/* One that this machine lacks is no loss. */
static int copy(int old_fd, int new_fd, const char *name, struct error *error) {
    char text[FILE_SIZE];
    int r = (int)system_read_file(old_fd, name, text, sizeof text);
    if (r < 0)
        return 0;
    r = system_make_file(new_fd, name, text);
    return r ? step_failed(error, STEP_TEMPLATE_FILE, -r, SYS_PROCESSORS "/%s", name) : 0;
}

static int copy_processor(int old_fd, int new_fd, const char *processor, struct error *error) {
    char name[64];
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof of_each / sizeof of_each[0]; i++) {
        snprintf(name, sizeof name, "%.16s/topology/%s", processor, of_each[i]);
        r = copy(old_fd, new_fd, name, error);
    }
    return r;
}

static bool is_processor(const char *name) {
    return strncmp(name, "cpu", 3) == 0 && name[3] && strspn(name + 3, "0123456789") == strlen(name + 3);
}

int sys_build(const char *old, struct error *ret_error) {
    char path[PATH_MAX];
    const struct dirent *entry;
    int r = 0, n = 0;
    snprintf(path, sizeof path, "%s%s", old, SYS_PROCESSORS);
    auto_dir dir = opendir(path);
    if (!dir)
        return 0;
    auto_fd new_fd = open(SYS_PROCESSORS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (new_fd < 0)
        return step_failed(ret_error, STEP_TEMPLATE_FILE, errno, SYS_PROCESSORS);
    for (size_t i = 0; r == 0 && i < sizeof of_all / sizeof of_all[0]; i++)
        r = copy(dirfd(dir), new_fd, of_all[i], ret_error);
    while (r == 0 && n < MAX_PROCESSORS && (entry = readdir(dir)))
        if (is_processor(entry->d_name)) {
            r = copy_processor(dirfd(dir), new_fd, entry->d_name, ret_error);
            n++;
        }
    return r;
}
