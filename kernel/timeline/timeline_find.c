/*
 * timeline_find.c - which node is meant, by a number of steps, a name, an id or a number; and what lies before it.
 */

#include "timeline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NOT_THERE = -1 };

/* Up over nodes that amend: the step that they belong to. One whose step is forgotten stands for it. */
static struct timeline_node *step_of(struct timeline_node *node) {
    while (node && node->amends && node->parent)
        node = node->parent;
    return node;
}

/* On over nodes that amend: the state in which the step was left. */
static struct timeline_node *end_of(struct timeline_node *node) {
    while (node && node->redo && node->redo->amends)
        node = node->redo;
    return node;
}

struct timeline_node *timeline_before(const struct timeline *timeline, unsigned n) {
    struct timeline_node *node = timeline->current, *step = step_of(node);
    for (; n > 0 && step && step->parent; n--) {
        node = step->parent;
        step = step_of(node);
    }
    return node == timeline->current ? NULL : node;
}

struct timeline_node *timeline_after(const struct timeline *timeline, unsigned n) {
    struct timeline_node *node = end_of(timeline->current);
    for (; n > 0 && node && node->redo; n--)
        node = end_of(node->redo);
    return node == timeline->current ? NULL : node;
}

const struct timeline_node *timeline_shown(const struct timeline_node *node) {
    while (node && node->amends && node->parent && json_array_size(node->names) == 0)
        node = node->parent;
    return node;
}

/* What the number of a step means: of nodes that amend it the current one, or the newest one that is there; else the
 * step's own. */
static struct timeline_node *latest_of(const struct timeline *timeline, struct timeline_node *step) {
    if (timeline_shown(timeline->current) == step)
        return timeline->current;
    for (size_t i = timeline->n; i > 0; i--) {
        struct timeline_node *node = timeline->node[i - 1];
        if (node != step && node->image && timeline_shown(node) == step)
            return node;
    }
    return step;
}

size_t timeline_count_kept(const struct timeline *timeline) {
    size_t n = 0;
    for (size_t i = 0; i < timeline->n; i++)
        n += timeline->node[i]->image && timeline_shown(timeline->node[i]) == timeline->node[i];
    return n;
}

/* The index of a name among a node's. */
static int name_index(const struct timeline_node *node, const char *name) {
    for (size_t i = 0; i < json_array_size(node->names); i++)
        if (strcmp(json_string_value(json_array_get(node->names, i)), name) == 0)
            return (int)i;
    return NOT_THERE;
}

struct timeline_node *timeline_find_name(const struct timeline *timeline, const char *name) {
    for (size_t i = 0; i < timeline->n; i++)
        if (name_index(timeline->node[i], name) != NOT_THERE)
            return timeline->node[i];
    return NULL;
}

struct timeline_node *timeline_find_id(const struct timeline *timeline, const char *id) {
    size_t i = timeline->n;
    while (i > 0 && strcmp(timeline->node[i - 1]->id, id) != 0)
        i--;
    return i > 0 ? timeline->node[i - 1] : NULL;
}

/* 0 where a text is no execution count. Part of an id may consist of digits; then it isn't the number 12 as 00000012.
 */
static int number_of(const char *text) {
    int number = 0;
    if (text[0] == '0' && strlen(text) >= TIMELINE_SHORT_ID)
        return 0;
    for (; *text; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *text - '0', &number))
            return 0;
    return number;
}

struct timeline_node *timeline_find_number(const struct timeline *timeline, int number) {
    if (number <= 0)
        return NULL;
    for (struct timeline_node *node = timeline->current; node; node = node->parent)
        if (node->execution_count == number)
            return latest_of(timeline, node);
    for (size_t i = timeline->n; i > 0; i--)
        if (timeline->node[i - 1]->execution_count == number)
            return latest_of(timeline, timeline->node[i - 1]);
    return NULL;
}

static bool begins(const struct timeline_node *node, const char *text, size_t n) {
    return strncmp(node->id, text, n) == 0;
}

size_t timeline_count_ids(const struct timeline *timeline, const char *text) {
    const size_t n = strlen(text);
    size_t found = 0;
    for (size_t i = 0; n >= TIMELINE_SHORT_ID && i < timeline->n; i++)
        found += begins(timeline->node[i], text, n);
    return found;
}

/* The one whose id begins with a text; NULL where there is none, or more than one. */
static struct timeline_node *find_short_id(const struct timeline *timeline, const char *text) {
    if (timeline_count_ids(timeline, text) != 1)
        return NULL;
    size_t i = 0;
    while (!begins(timeline->node[i], text, strlen(text)))
        i++;
    return timeline->node[i];
}

const char *timeline_short_id(const struct timeline *timeline, const struct timeline_node *node,
                              char buf[TIMELINE_ID_BYTES]) {
    for (size_t n = TIMELINE_SHORT_ID; n < TIMELINE_ID_BYTES; n++) {
        snprintf(buf, n + 1, "%s", node->id);
        const bool is_number = buf[strspn(buf, "0123456789")] == '\0';
        if (!is_number && timeline_count_ids(timeline, buf) <= 1)
            break;
    }
    return buf;
}

struct timeline_node *timeline_find(const struct timeline *timeline, const char *text) {
    struct timeline_node *node = timeline_find_name(timeline, text);
    if (!node)
        node = timeline_find_id(timeline, text); /* that of the first one is "first" */
    if (!node)
        node = timeline_find_number(timeline, number_of(text));
    return node ? node : find_short_id(timeline, text);
}

int timeline_name(struct timeline *timeline, struct timeline_node *node, const char *name) {
    struct timeline_node *before = timeline_find_name(timeline, name);
    size_t i = 0;
    if (before == node)
        return 0;
    while (i < json_array_size(node->names) && strcmp(json_string_value(json_array_get(node->names, i)), name) < 0)
        i++;
    if (json_array_insert_new(node->names, i, json_string(name)) < 0)
        return -ENOMEM;
    if (before)
        json_array_remove(before->names, (size_t)name_index(before, name));
    return 0;
}

int timeline_unname(struct timeline *timeline, const char *name) {
    struct timeline_node *node = timeline_find_name(timeline, name);
    if (!node)
        return -ENOENT;
    json_array_remove(node->names, (size_t)name_index(node, name));
    return 0;
}

static bool is_cell(const struct timeline_node *node) {
    return node->parent_id[0] != '\0' && !node->amends;
}

void timeline_measure_way(const struct timeline *timeline, const struct timeline_node *node,
                          struct timeline_way *ret_way) {
    const struct timeline_node *from = timeline->current, *to = node;
    struct timeline_way way = {0};
    /* A parent's order is less than its children's: the one with the greater order can't be the common ancestor. */
    while (from != to)
        if (!to || (from && from->order > to->order)) {
            way.cells += is_cell(from);
            way.files += from->files_changed;
            way.bytes += from->bytes_changed;
            from = from->parent;
        } else {
            way.again += is_cell(to);
            to = to->parent;
        }
    *ret_way = way;
}
