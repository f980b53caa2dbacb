/*
 * timeline_tree.c - walks the tree with a stack of its own, because a session may be thousands of nodes deep.
 *
 * The indentation has a limit: without one, branches in branches would make each
 * row longer than the one before, and the drawing as large as the square of its rows.
 */

#include "timeline_tree.h"

#include <stdarg.h>
#include <stdio.h>

enum { NONE = -1 };

/* Of the node with the same index. */
struct link {
    int first_child; /* the newest one */
    int next;        /* the next older one with the same parent */
    bool is_on_way;  /* to the current node, or it itself */
};

struct walk {
    const struct timeline *timeline;
    struct link *link;
    struct timeline_tree_row *stack; /* rows that are still to be drawn, the next one on top */
    size_t n;
};

/* Nodes lie by their order. */
static int index_of(const struct timeline *timeline, const struct timeline_node *node) {
    size_t low = 0, high = timeline->n;
    while (node && low < high) {
        const size_t middle = low + (high - low) / 2;
        if (timeline->node[middle]->order < node->order)
            low = middle + 1;
        else
            high = middle;
    }
    return node ? (int)low : NONE;
}

/* Links each node to its children; the return value is the newest of those that have no parent. */
static int link_nodes(const struct timeline *timeline, struct link *link) {
    int newest_root = NONE;
    for (size_t i = 0; i < timeline->n; i++)
        link[i] = (struct link){.first_child = NONE};
    for (size_t i = 0; i < timeline->n; i++) {
        if (timeline_shown(timeline->node[i]) != timeline->node[i])
            continue;
        const int parent = index_of(timeline, timeline_shown(timeline->node[i]->parent));
        int *list = parent == NONE ? &newest_root : &link[parent].first_child;
        link[i].next = *list;
        *list = (int)i;
    }
    for (const struct timeline_node *node = timeline->current; node; node = node->parent)
        link[index_of(timeline, node)].is_on_way = true;
    return newest_root;
}

static void push(struct walk *walk, int i, struct timeline_tree_row row) {
    row.node = walk->timeline->node[i];
    walk->stack[walk->n++] = row;
}

/* The child of several that goes on below its parent. */
static int find_straight(const struct walk *walk, int first_child) {
    int child = first_child;
    while (child != NONE && !walk->link[child].is_on_way)
        child = walk->link[child].next;
    return child;
}

/* Pushes the rows of a row's children, so that the oldest is drawn first and one that goes straight on last. */
static void push_children(struct walk *walk, const struct timeline_tree_row *row) {
    const int first = walk->link[index_of(walk->timeline, row->node)].first_child;
    struct timeline_tree_row on = {.level = row->level, .lines = row->lines};
    if (first == NONE)
        return;
    const bool is_only = walk->link[first].next == NONE;
    const int straight = is_only ? first : find_straight(walk, first);
    if (straight != NONE)
        push(walk, straight, on);
    for (int i = first; i != NONE; i = walk->link[i].next) {
        const bool is_last = i == first && straight == NONE;
        struct timeline_tree_row branch = {.level = row->level + 1, .lines = row->lines};
        if (i == straight)
            continue;
        branch.begins = is_last ? TIMELINE_TREE_LAST : TIMELINE_TREE_BRANCH;
        branch.lines |= is_last ? 0 : UINT32_C(1) << row->level;
        if (row->level == TIMELINE_TREE_LEVELS) {
            branch = on;
            branch.apart = true;
        }
        push(walk, i, branch);
    }
}

struct timeline_tree_row *timeline_tree_rows(const struct timeline *timeline) {
    /* One more, because malloc(0) may return NULL. */
    auto_free struct timeline_tree_row *rows = calloc(timeline->n + 1, sizeof *rows);
    auto_free struct timeline_tree_row *stack = calloc(timeline->n + 1, sizeof *stack);
    auto_free struct link *link = calloc(timeline->n + 1, sizeof *link);
    struct walk walk = {timeline, link, stack, 0};
    if (!rows || !stack || !link)
        return NULL;
    for (int root = link_nodes(timeline, link); root != NONE; root = link[root].next)
        push(&walk, root, (struct timeline_tree_row){.apart = timeline->node[root]->parent_id[0] != '\0'});
    for (size_t i = 0; walk.n > 0; i++) {
        rows[i] = walk.stack[--walk.n];
        push_children(&walk, &rows[i]);
    }
    return steal_pointer(rows);
}

static void add(char *buf, size_t size, size_t *used, const char *text) {
    *used += (size_t)snprintf(buf + *used, size - *used, "%s", text);
    if (*used >= size)
        *used = size - 1;
}

const char *timeline_tree_text(const struct timeline_tree_row *row, char *buf, size_t size) {
    const struct timeline_node *node = row->node;
    const unsigned level = row->begins == TIMELINE_TREE_ON ? row->level : row->level - 1;
    char number[16];
    size_t used = 0;
    snprintf(number, sizeof number, "[%d]", node->execution_count);
    for (unsigned i = 0; i < level; i++)
        add(buf, size, &used, row->lines >> i & 1 ? "│  " : "   ");
    if (row->begins != TIMELINE_TREE_ON)
        add(buf, size, &used, row->begins == TIMELINE_TREE_LAST ? "└─ " : "├─ ");
    if (row->apart)
        add(buf, size, &used, "… ");
    add(buf, size, &used, node->execution_count > 0 ? number : node->parent_id[0] == '\0' ? "first" : "·");
    return buf;
}
