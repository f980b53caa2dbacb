/*
 * kept_measure.c - what kept images hold beside the present one.
 *
 * No process tells that: what several kept images have and the present one has lost is in none of their private
 * memory. And no control group does: a page stays charged to the group of the cell that wrote it first, which may be a
 * place's, whoever has it later, and whatever has become of that cell's own image. So it is what all images have
 * together, less what the present one has.
 *
 * With control groups the first is what is charged to all that images can have memory of, less what cells have of it
 * that there are now. Without, each process tells its part of what it shares, and those of images and cells add up; as
 * this takes long, an errand does it, and there is a bound that is cheap: an image that comes has at most so much more
 * than all before it as its cell has written, and one that goes takes nothing away.
 */
#include "base/errand.h"
#include "sandbox/base/difference.h"
#include "sandbox/process/process.h"
#include "sandbox/session/cell.h"
#include "sandbox/session/kept.h"

static uint64_t sum_status(pid_t pid, const char *const *names, size_t n) {
    char buf[PROCESS_STATUS];
    struct procfs_text status;
    uint64_t sum = 0, bytes;
    if (process_read(pid, "status", buf, sizeof buf, &status))
        return 0;
    for (size_t i = 0; i < n; i++)
        sum += procfs_find_bytes(status, names[i], &bytes) ? bytes : 0;
    return sum;
}

/* Anonymous memory that an image has, shared or not. Groups don't have what is swapped out. See: proc_pid_status(5). */
static uint64_t anonymous_bytes(const struct session *session, const struct image *image) {
    static const char *const names[] = {"RssAnon", "VmSwap"};
    return sum_status(image->keeper, names, session->host.backend ? 1 : 2);
}

uint64_t kept_own_bytes(const struct image *image) {
    static const char *const names[] = {"VmPTE"};
    return sum_status(image->keeper, names, 1) + image_bytes(image) +
           shared_memory_bytes(&image->shared, &image->descriptors, image->keeper);
}

/* Whether a group's memory may be of images. */
static bool counts_group(const struct session *session, unsigned group) {
    return group == SANDBOX_CELLS || (group >= SANDBOX_BESIDE && session->beside[group - SANDBOX_BESIDE].has_left);
}

/* What is charged to these groups. 0 or -errno. */
static int read_groups(const struct session *session, uint64_t *ret_bytes) {
    uint64_t sum = 0, bytes = 0;
    int r = 0;
    for (unsigned i = 0; r == 0 && i < SANDBOX_BESIDE + session->host.n_beside; i++)
        if (counts_group(session, i) &&
            (r = session->host.backend->read_anonymous(&session->host.groups[i], &bytes)) == 0)
            sum += bytes;
    *ret_bytes = sum;
    return r;
}

/* A frozen cell's memory is its image's. */
static bool is_image(const struct session *session, const struct cell *cell) {
    return cell->result && kept_has(session, cell->result);
}

/* What an errand reads of one image, or of one cell: its part of what they share, or what no image has. */
enum kept_part { PART_OF_IMAGE, PART_OF_CELL, OWN_OF_CELL };

struct kept_row {
    enum kept_part part;
    pid_t keeper, worker, init, image; /* as in measure_read_parts(); of an image its keeper alone */
};

/* All that has to be read, and its sum. */
struct kept_reading {
    size_t n;
    struct kept_row *row; /* behind it */
    uint64_t bytes;
};

static void read_all(void *arg) {
    struct kept_reading *reading = arg;
    for (size_t i = 0; i < reading->n; i++) {
        const struct kept_row *row = &reading->row[i];
        struct watcher_shares shares;
        struct measure_parts parts;
        if (row->part == PART_OF_IMAGE) {
            watcher_read_shares(row->keeper, &shares);
            reading->bytes += shares.anon_bytes;
        } else if (row->keeper > 0) {
            measure_read_parts(row->keeper, row->worker, row->init, row->image, &parts);
            reading->bytes += row->part == PART_OF_CELL ? parts.of_image_bytes : parts.own_bytes;
        }
    }
}

static void add_image(struct kept_reading *reading, const struct image *image) {
    reading->row[reading->n++] = (struct kept_row){.part = PART_OF_IMAGE, .keeper = image->keeper};
}

static void add_cell(struct kept_reading *reading, const struct cell *cell, enum kept_part part) {
    reading->row[reading->n++] = (struct kept_row){.part = part,
                                                   .keeper = cell->result ? cell->result->keeper : cell->keeper,
                                                   .worker = cell->started && !cell->ended ? cell->worker : 0,
                                                   .init = cell->init.pid,
                                                   .image = cell->image->keeper};
}

/* Room for all rows that there can be. NULL on ENOMEM. */
static struct kept_reading *make_reading(const struct session *session) {
    size_t n = 2;
    for (const struct kept_image *kept = session->kept; kept; kept = kept->next)
        n++;
    for (const struct cell *cell = session->cells; cell; cell = cell->next)
        n += 2;
    struct kept_reading *reading = calloc(1, sizeof *reading + n * sizeof *reading->row);
    if (reading)
        reading->row = (struct kept_row *)(reading + 1);
    return reading;
}

/* What cells that run have in these groups. Of one that was made ahead the few pages that it was given count: nobody
 * waits for them to be told from the image's. */
static void add_own_of_cells(const struct session *session, struct kept_reading *reading) {
    for (const struct cell *cell = session->cells; cell; cell = cell->next)
        if (cell->started && !is_image(session, cell) &&
            counts_group(session, (unsigned)(cell_group(cell) - session->host.groups)))
            add_cell(reading, cell, OWN_OF_CELL);
}

/* Whether it is the first in the list of an image that is kept more than once. */
static bool is_first_of_image(const struct session *session, const struct kept_image *kept) {
    const struct kept_image *first = session->kept;
    while (first->image != kept->image)
        first = first->next;
    return first == kept;
}

/* Whether it is the first cell that alone has an image: one that was given up since the cell began. */
static bool is_first_to_have_image(const struct session *session, const struct cell *cell) {
    const struct cell *first = session->cells;
    while (first->image != cell->image)
        first = first->next;
    return first == cell && cell->image != session->current && cell->image != session->first &&
           !kept_has(session, cell->image);
}

/* What all images of the session hold together: what several of them, and cells, share is in the part of each. */
static void add_parts(const struct session *session, struct kept_reading *reading) {
    if (!kept_has(session, session->current))
        add_image(reading, session->current);
    if (session->first != session->current && !kept_has(session, session->first))
        add_image(reading, session->first);
    for (const struct kept_image *kept = session->kept; kept; kept = kept->next)
        if (is_first_of_image(session, kept))
            add_image(reading, kept->image);
    for (const struct cell *cell = session->cells; cell; cell = cell->next) {
        if (is_first_to_have_image(session, cell))
            add_image(reading, cell->image);
        if (!is_image(session, cell))
            add_cell(reading, cell, PART_OF_CELL);
    }
}

/* What kept images have that nothing else can have: page tables, shared memory, what is saved and recorded. */
static uint64_t own_bytes(const struct session *session) {
    uint64_t bytes = 0;
    for (const struct kept_image *kept = session->kept; kept; kept = kept->next)
        if (is_first_of_image(session, kept))
            bytes += shared_bytes(&kept->image->shared) + (kept->image == session->current ? 0 : kept->own_bytes);
    return bytes;
}

/* all: what all images have of anonymous memory. */
static uint64_t beside_present(const struct session *session, uint64_t all) {
    const uint64_t files = positive_difference(session_files_bytes(session, SESSION_FILES_KEPT),
                                               session_files_bytes(session, SESSION_FILES_LIVE));
    return positive_difference(all, anonymous_bytes(session, session->current)) + own_bytes(session) + files;
}

uint64_t session_kept_bound(const struct session *session) {
    uint64_t all = session->bound.bytes;
    if (session->host.backend && read_groups(session, &all))
        return UINT64_MAX;
    return beside_present(session, all);
}

static bool has_running_cell(const struct session *session) {
    const struct cell *cell = session->cells;
    while (cell && (!cell->started || is_image(session, cell)))
        cell = cell->next;
    return cell;
}

/* Begins to read what has to be read; false where there is nothing. */
static bool begin_reading(struct session *session) {
    struct kept_bound *bound = &session->bound;
    if (session->host.backend ? !has_running_cell(session) : bound->is_exact)
        return false;
    struct kept_reading *reading = make_reading(session);
    if (reading)
        (session->host.backend ? add_own_of_cells : add_parts)(session, reading);
    bound->reading = reading ? errand_begin(read_all, reading) : NULL;
    if (!bound->reading)
        free(reading);
    bound->is_outdated = has_running_cell(session);
    bound->added_bytes = 0;
    return bound->reading;
}

/* Of groups it is what is charged less what cells have of it; else what was found, and what has come since. */
static uint64_t take_reading(struct session *session) {
    struct kept_bound *bound = &session->bound;
    const struct kept_reading *found = errand_result(bound->reading);
    const uint64_t bytes = found->bytes;
    uint64_t all = 0;
    errand_leave(steal_pointer(bound->reading));
    if (session->host.backend && read_groups(session, &all) == 0)
        return positive_difference(all, bytes);
    bound->bytes = bytes + bound->added_bytes;
    bound->is_exact = !bound->is_outdated && bound->added_bytes == 0;
    return bound->bytes;
}

bool session_measure_kept(struct session *session, uint64_t *ret_bytes) {
    uint64_t all = session->bound.bytes;
    killed_reap(&session->killed);
    if (session->killed.n > 0)
        return false;
    if (session->bound.reading || begin_reading(session)) {
        if (!errand_result(session->bound.reading))
            return false;
        all = take_reading(session);
    } else if (session->host.backend && read_groups(session, &all)) {
        all = session->bound.bytes;
    }
    *ret_bytes = beside_present(session, all);
    return true;
}

void kept_bound_begin(struct session *session) {
    session->bound.bytes = anonymous_bytes(session, session->current);
}

void kept_bound_add(struct session *session, uint64_t bytes) {
    session->bound.bytes += bytes;
    session->bound.added_bytes += bytes;
    session->bound.is_exact = false;
}

void kept_bound_add_cell(struct cell *cell) {
    if (!cell->session->host.backend)
        kept_bound_add(cell->session, cell_new_bytes(cell));
}

/* So that several can go one after the other without all of the others being measured in between. */
void kept_bound_drop(struct session *session, const struct image *image) {
    struct watcher_shares shares;
    session->bound.is_outdated = true;
    if (!session->bound.is_exact || image == session->current || image == session->first || kept_has(session, image))
        return;
    session->bound.is_exact = image->references == 1;
    if (!session->bound.is_exact)
        return; /* a cell has it */
    watcher_read_shares(image->keeper, &shares);
    session->bound.bytes =
        positive_difference(session->bound.bytes, positive_difference(shares.private_bytes, shares.shared_bytes));
    session->bound.is_exact = shares.swap_bytes == 0; /* whose that is can't be told */
}
