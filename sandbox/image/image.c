/*
 * image.c - an image is copied for each cell, and never run itself.
 *
 * An image is never run again. Its keeper stays in a ptrace stop and is copied by
 * one clone(2) that it makes itself, as a checked call: the copy has the pages
 * copy-on-write and a file table of its own, so that whatever a cell does to its
 * memory leaves the image as it was.
 *
 * What such a copy still shares with the image is found once, when the image is
 * made (image_find_shared()): open files and shared memory. Each cell gets its
 * own of these, or, where that can't be had, the image's are saved before the
 * cell starts and put back when it is rolled back. Where putting back fails the
 * image is marked as broken and no cell is made of it: an image is what it was,
 * or not used.
 */
#define _GNU_SOURCE
#include "image.h"

#include "base/cleanup.h"
#include "sandbox/base/step.h"
#include "sandbox/image/large_mappings.h"
#include "sandbox/inject/tracee.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

struct image *image_create(pid_t keeper, int memory_fd, struct threads *threads) {
    struct image *image = calloc(1, sizeof *image);
    if (!image)
        return NULL;
    *image = (struct image){.references = 1, .keeper = keeper, .memory_fd = memory_fd, .threads = *threads};
    *threads = (struct threads){0};
    return image;
}

struct image *image_ref(struct image *image) {
    image->references++;
    return image;
}

static void unref_outputs(struct image_outputs *outputs) {
    if (!outputs || --outputs->references > 0)
        return;
    for (size_t i = 0; i < DESCRIPTORS_OUTPUTS; i++)
        close_fd(&outputs->fd[i]);
    free(outputs);
}

int image_take_outputs(struct image *image, int outputs[DESCRIPTORS_OUTPUTS]) {
    struct image_outputs *taken = calloc(1, sizeof *taken);
    if (!taken)
        return -ENOMEM;
    taken->references = 1;
    for (size_t i = 0; i < DESCRIPTORS_OUTPUTS; i++)
        taken->fd[i] = steal_fd(&outputs[i]);
    unref_outputs(image->outputs);
    image->outputs = taken;
    return 0;
}

void image_share_outputs(struct image *image, const struct image *of) {
    if (of->outputs)
        of->outputs->references++;
    unref_outputs(image->outputs);
    image->outputs = of->outputs;
}

void image_unref(struct image *image, pid_t *ret_killed) {
    *ret_killed = 0;
    if (!image || --image->references > 0)
        return;
    kill(image->keeper, SIGKILL);
    *ret_killed = image->keeper;
    close(image->memory_fd);
    threads_fini(&image->threads);
    descriptors_fini(&image->descriptors);
    shared_fini(&image->shared);
    unref_outputs(image->outputs);
    free(image);
}

int image_copy_keeper(const struct image *image, const struct inject_area *area, pid_t *ret_keeper,
                      int *ret_memory_fd) {
    return image_copy_task(image->keeper, image->memory_fd, area, ret_keeper, ret_memory_fd);
}

int image_leave_copy(struct image *image, const struct inject_area *area, pid_t *ret_keeper, int *ret_memory_fd) {
    pid_t keeper;
    int memory_fd;
    int r = image_copy_keeper(image, area, &keeper, &memory_fd);
    if (r)
        return r;
    *ret_keeper = image->keeper;
    *ret_memory_fd = image->memory_fd;
    image->keeper = keeper;
    image->memory_fd = memory_fd;
    return 0;
}

static int clone_task(const struct inject_task *task, pid_t *ret_keeper) {
    struct inject_call call = {.number = SYS_clone, .argument = {CLONE_PARENT | SIGCHLD}};
    int r = inject_checked(task, &call, NULL, ret_keeper);
    return r ? r : inject_failure(&call, 1, NULL);
}

int image_copy_task(pid_t tid, int of_memory_fd, const struct inject_area *area, pid_t *ret_keeper,
                    int *ret_memory_fd) {
    const struct inject_task task = {tid, tid, of_memory_fd, area};
    pid_t keeper = 0;
    int r = clone_task(&task, &keeper);
    if (r == -ENOMEM && large_mappings_divide(&task) > 0)
        r = clone_task(&task, &keeper);
    if (r == 0 && keeper <= 0)
        r = -EUCLEAN;
    auto_fd memory_fd = r == 0 ? tracee_open_memory(keeper) : -1;
    if (r == 0 && memory_fd < 0)
        r = memory_fd;
    if (r) {
        if (keeper > 0)
            tracee_kill(keeper);
        return r;
    }
    *ret_keeper = keeper;
    *ret_memory_fd = steal_fd(&memory_fd);
    return 0;
}

int image_find_shared(struct image *image, pid_t viewer, const struct image *before,
                      const int outputs[DESCRIPTORS_OUTPUTS], const struct snapshot *files, struct error *ret_error) {
    const struct shared_known shared_known = {files, before ? &before->shared.mapped : NULL, viewer, image->may_hide};
    const struct descriptors_known known = {viewer, outputs, before ? before->keeper : 0,
                                            before ? &before->descriptors : NULL};
    int r = descriptors_dump(image->keeper, &known, &image->descriptors, ret_error);
    if (r == 0)
        r = shared_find(image->keeper, &image->descriptors, &shared_known, &image->shared, ret_error);
    return r == 0 || r == -ENOTSUP
               ? r
               : step_failed(ret_error, STEP_DESCRIPTORS, -r, "its open files can't be read: %s", strerror(-r));
}

int image_save_shared(struct image *image) {
    return shared_save(&image->shared, &image->descriptors, image->keeper);
}

uint64_t image_bytes(const struct image *image) {
    return sizeof *image + threads_bytes(&image->threads) + descriptors_bytes(&image->descriptors) +
           shared_list_bytes(&image->shared);
}

int image_check(const struct image *image, struct error *ret_error) {
    const int r = tracee_check_stopped(image->keeper);
    if (r)
        return step_failed(ret_error, STEP_KEEPER, -r, "%s", "");
    if (image->broken)
        return step_failed(ret_error, STEP_DESCRIPTORS, -image->broken,
                           "a cell that was rolled back had changed them, and this could not be undone");
    return 0;
}

void image_put_back_shared(struct image *image) {
    int contents = shared_put_back(&image->shared, &image->descriptors, image->keeper);
    int flags = descriptors_put_back(&image->descriptors, image->keeper);
    shared_forget(&image->shared);
    if (image->broken == 0)
        image->broken = contents ? contents : flags;
}

int image_read_place(struct image *image, pid_t pid) {
    char path[32], buf[PROCESS_STATUS];
    struct procfs_text status;
    uint64_t mask;
    snprintf(path, sizeof path, "/proc/%d/cwd", pid);
    ssize_t n = readlink(path, image->folder, sizeof image->folder - 1);
    if (n < 0)
        return -errno;
    image->folder[n] = 0;
    int r = process_read(pid, "status", buf, sizeof buf, &status);
    if (r)
        return r;
    if (!procfs_find_number(status, "Umask", 8, &mask) || mask > 0777)
        return -EBADMSG;
    image->file_mask = (mode_t)mask;
    return 0;
}
