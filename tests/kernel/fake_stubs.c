/* The rest of sandbox.h without a sandbox: what does nothing, whatever a test plans. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int there_is_none(struct error *ret_error) {
    *ret_error = (struct error){.step = 1, .err = ENOSYS, .text = "no sandboxes in this test"};
    return -ENOSYS;
}

const char *sandbox_error_mend(const struct error *error) {
    (void)error;
    return "Mend it.";
}

bool sandbox_error_is_of_module(const struct error *error) {
    (void)error;
    return false;
}

const char *sandbox_error_text(const struct error *error, char *buf, size_t size) {
    snprintf(buf, size, "making it failed (%s). Mend it.", error->text);
    return buf;
}

int sandbox_enter(const struct sandbox_folder *folder, const struct sandbox_bounds *bounds, const int *moving_fds,
                  struct sandbox_host *ret_host, struct error *ret_error) {
    (void)bounds;
    (void)moving_fds;
    (void)folder;
    (void)ret_host;
    return there_is_none(ret_error);
}

int session_create(const struct session_options *options, struct session **ret_session, struct error *ret_error) {
    (void)options;
    (void)ret_session;
    return there_is_none(ret_error);
}

struct session_view session_view(const struct session *session) {
    (void)session;
    return (struct session_view){0};
}

int session_keep_output(struct session *session, const char *path) {
    (void)session;
    (void)path;
    return 0;
}

int session_release_kept(struct session *session, struct kept_image *kept, const char *const *paths, size_t n,
                         bool *ret_released) {
    (void)session;
    (void)kept;
    (void)paths;
    for (size_t i = 0; i < n; i++)
        ret_released[i] = false;
    return 0;
}

int cell_copy_ahead(struct cell *cell, cell_is_idle *has_time, void *arg, uint64_t *ret_bytes) {
    (void)cell;
    (void)has_time;
    (void)arg;
    *ret_bytes = 0;
    return 0;
}

unsigned session_take_strays(struct session *session) {
    (void)session;
    return 0;
}

bool session_is_watched(const struct session *session) {
    (void)session;
    return true;
}

const char *sandbox_memory_backend(const struct sandbox_host *host) {
    (void)host;
    return "watched";
}

void session_measure_files(const struct session *session, uint64_t *ret_bytes, uint64_t *ret_files) {
    (void)session;
    *ret_bytes = 3 << 20;
    *ret_files = 7;
}

const char *session_memory_backend(const struct session *session) {
    (void)session;
    return "watched";
}

int cell_list_changes(const struct cell *cell, enum cell_listing what, cell_change_handler *handler, void *arg) {
    (void)cell;
    (void)what;
    (void)handler;
    (void)arg;
    return 0;
}

int cell_release_file(struct cell *cell, const char *path) {
    (void)cell;
    (void)path;
    return 1;
}

int cell_list_held(const struct cell *cell, cell_held_handler *handler, void *arg) {
    (void)cell;
    (void)handler;
    (void)arg;
    return 0;
}

int cell_open_change(const struct cell *cell, const char *path) {
    (void)cell;
    (void)path;
    return -ENOENT;
}

int cell_watch_opened(struct cell *cell) {
    (void)cell;
    return 0;
}

int cell_names_fd(struct cell *cell) {
    (void)cell;
    return -1;
}

bool cell_computes(const struct cell *cell) {
    (void)cell;
    return true;
}

int sandbox_try_compare(void) {
    return 0;
}

int sandbox_try_listener(void) {
    return 0;
}

bool cell_knows_left(const struct cell *cell) {
    (void)cell;
    return true;
}

uint64_t cell_changed_bytes(const struct cell *cell) {
    (void)cell;
    return 1 << 20;
}
