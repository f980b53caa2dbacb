/*
 * timeline.c - makes nodes, moves between them, and lets go of images and nodes.
 *
 * Nodes are in one array by their order, so the oldest is found from its beginning.
 * There are a few thousand at most, and one more for each cell: no index is needed.
 */

#include "timeline.h"

#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ID "first"

void timeline_init(struct timeline *timeline, timeline_drop *drop, void *arg) {
    *timeline = (struct timeline){.drop = drop, .arg = arg};
}

/* The node's own; its image, if it has one, was stolen from it or given back. */
static void free_node(struct timeline_node *node) {
    json_decref(node->names);
    timeline_state_clear(&node->state);
    free(node);
}

static void drop_image(struct timeline *timeline, struct timeline_node *node) {
    if (!node->image)
        return;
    timeline->drop(timeline->arg, steal_pointer(node->image));
    timeline->n_images--;
}

void timeline_fini(struct timeline *timeline) {
    for (size_t i = 0; i < timeline->n; i++) {
        drop_image(timeline, timeline->node[i]);
        free_node(timeline->node[i]);
    }
    free(timeline->node);
    timeline_init(timeline, timeline->drop, timeline->arg);
}

/* Gives a node an image, which is stolen, and its state; without an image the node keeps nothing of that. */
static void set_image(struct timeline *timeline, struct timeline_node *node, struct kept_image *image,
                      const struct timeline_state *state) {
    timeline_state_set(&node->state, state, timeline->current ? &timeline->current->state : NULL);
    if (!image)
        timeline_state_clear(&node->state);
    drop_image(timeline, node);
    node->image = image;
    timeline->n_images += image != NULL;
}

static void forget(struct timeline *timeline, size_t i) {
    struct timeline_node *node = timeline->node[i];
    for (size_t k = 0; k < timeline->n; k++) {
        struct timeline_node *other = timeline->node[k];
        if (other->parent == node)
            other->parent = NULL;
        if (other->redo == node)
            other->redo = NULL;
    }
    if (timeline->aside == node)
        timeline->aside = NULL;
    free_node(node);
    timeline->n--;
    memmove(&timeline->node[i], &timeline->node[i + 1], (timeline->n - i) * sizeof(struct timeline_node *));
}

static bool is_needed(const struct timeline *timeline, const struct timeline_node *node) {
    return node == timeline->current || node == timeline->held;
}

/* Forgets the oldest nodes without an image until there is room for one more, or none of these is left. */
static void forget_oldest(struct timeline *timeline) {
    for (size_t i = 0; i < timeline->n && timeline->n >= TIMELINE_NODES_MAX;)
        if (timeline->node[i]->image || is_needed(timeline, timeline->node[i]))
            i++;
        else
            forget(timeline, i);
}

/* A new child of a node that may be forgotten ("": the first node); NULL on ENOMEM. */
static struct timeline_node *make_node(struct timeline *timeline, const char *parent_id, const char *id,
                                       struct kept_image *image, const struct timeline_state *state) {
    struct timeline_node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    node->names = json_array();
    if (!node->names || array_grow(&timeline->node, timeline->n, sizeof(struct timeline_node *)) < 0) {
        free_node(node);
        return NULL;
    }
    forget_oldest(timeline);
    node->parent = timeline_find_id(timeline, parent_id);
    node->order = timeline->next_order++;
    snprintf(node->id, sizeof node->id, "%s", id);
    snprintf(node->parent_id, sizeof node->parent_id, "%s", parent_id);
    set_image(timeline, node, image, state);
    timeline->node[timeline->n++] = node;
    return node;
}

/* The same for a child of the current node, or the first one: it becomes the current one. */
static int make_current(struct timeline *timeline, const char *id, struct kept_image *image,
                        const struct timeline_state *state) {
    struct timeline_node *node = make_node(timeline, timeline->current ? timeline->current->id : "", id, image, state);
    if (!node)
        return -ENOMEM;
    timeline->current = node;
    timeline->aside = NULL;
    return 0;
}

int timeline_begin(struct timeline *timeline, struct kept_image *image, const struct timeline_state *state) {
    return make_current(timeline, FIRST_ID, image, state);
}

static void tell_cell(struct timeline_node *node, const struct timeline_cell *cell) {
    node->execution_count = cell->execution_count;
    if (cell->code)
        image_name_line(cell->code, cell->code_bytes, node->line, sizeof node->line);
    snprintf(node->started, sizeof node->started, "%s", cell->started);
    node->started_ms = cell->started_ms;
    node->wall_ms = cell->wall_ms;
    node->bytes_changed = cell->bytes_changed;
    node->files_changed = cell->files_changed;
}

int timeline_add(struct timeline *timeline, const struct timeline_cell *cell, struct kept_image *image,
                 const struct timeline_state *state) {
    int r = make_current(timeline, cell->run_id, image, state);
    if (r == 0)
        tell_cell(timeline->current, cell);
    return r;
}

int timeline_branch(struct timeline *timeline, const char *parent_id, const struct timeline_cell *cell,
                    struct kept_image *image, const struct timeline_state *state) {
    struct timeline_node *node = make_node(timeline, parent_id, cell->run_id, image, state);
    if (!node)
        return -ENOMEM;
    tell_cell(node, cell);
    timeline->aside = node;
    return 0;
}

int timeline_add_recorded(struct timeline *timeline, const struct timeline_cell *cell, const char *parent_id) {
    const struct timeline_state nothing = {0};
    int r = timeline_branch(timeline, parent_id, cell, NULL, &nothing);
    if (r == 0)
        timeline->current = timeline->node[timeline->n - 1];
    return r;
}

/* Whether a node amends the current one and nothing keeps it from doing so anew: a name, or what was made of it. */
static bool amends_alone(const struct timeline *timeline, const struct timeline_node *node) {
    bool alone = node->amends && node->parent == timeline->current && json_array_size(node->names) == 0;
    for (size_t i = 0; alone && i < timeline->n; i++)
        alone = timeline->node[i]->parent != node;
    return alone;
}

/* The node that takes what changes the current one: that itself, one that has taken it before, so that a step with a
 * name takes two places at most however often one goes back to it; or NULL for a new one. */
static struct timeline_node *find_amended(const struct timeline *timeline) {
    size_t i = timeline->n;
    if (json_array_size(timeline->current->names) == 0)
        return timeline->current;
    while (i > 0 && !amends_alone(timeline, timeline->node[i - 1]))
        i--;
    return i > 0 ? timeline->node[i - 1] : NULL;
}

const char *timeline_amended_id(const struct timeline *timeline, const char *run_id) {
    const struct timeline_node *node = find_amended(timeline);
    return node ? node->id : run_id;
}

/* What redo leads to from a node, but for nodes that amend. */
static struct timeline_node *next_step(const struct timeline_node *node) {
    struct timeline_node *next = node->redo;
    while (next && next->amends)
        next = next->redo;
    return next;
}

int timeline_amend(struct timeline *timeline, const char *run_id, struct kept_image *image,
                   const struct timeline_state *state) {
    struct timeline_node *step = timeline->current, *node = find_amended(timeline);
    int r = 0;
    if (node) {
        set_image(timeline, node, image, state);
        timeline->current = node;
    } else {
        r = make_current(timeline, run_id, image, state);
    }
    if (r < 0 || timeline->current == step)
        return r;
    timeline->current->amends = true;
    timeline->current->redo = next_step(step); /* it is no step, so there is as much to go on to */
    return 0;
}

void timeline_go(struct timeline *timeline, struct timeline_node *node) {
    struct timeline_node *from = timeline->current;
    const struct timeline_node *to = node;
    if (from != node)
        from->redo = next_step(from); /* the step is left as it is here */
    /* Up to what the two have in common, as timeline_measure_way(). */
    while (from != to)
        if (!to || (from && from->order > to->order)) {
            if (from->parent)
                from->parent->redo = from;
            from = from->parent;
        } else {
            to = to->parent;
        }
    timeline->current = node;
}

void timeline_hold(struct timeline *timeline) {
    timeline->held = timeline->current;
}

void timeline_let_go(struct timeline *timeline, bool is_back) {
    if (is_back)
        timeline->current = timeline->held;
    timeline->held = NULL;
}

/* The later it is to go, the greater. */
static int worth(const struct timeline *timeline, const struct timeline_node *node) {
    if (node == timeline->aside)
        return 3;
    return node == timeline_before(timeline, 1) ? 2 : json_array_size(node->names) > 0;
}

struct timeline_node *timeline_drop_oldest(struct timeline *timeline) {
    struct timeline_node *first = NULL;
    for (size_t i = 0; i < timeline->n; i++) {
        struct timeline_node *node = timeline->node[i];
        if (node->image && !is_needed(timeline, node) && (!first || worth(timeline, node) < worth(timeline, first)))
            first = node;
    }
    if (first) {
        drop_image(timeline, first);
        timeline_state_clear(&first->state);
    }
    return first;
}

uint64_t timeline_bytes(const struct timeline *timeline) {
    static const struct timeline_state nothing = {0};
    const struct timeline_state *present = timeline->current ? &timeline->current->state : &nothing, *before = &nothing;
    uint64_t sum = 0;
    for (size_t i = 0; i < timeline->n; i++) {
        const struct timeline_node *node = timeline->node[i];
        sum += timeline_state_own_bytes(&node->state, before, present);
        before = node->image ? &node->state : before;
    }
    return sum;
}
