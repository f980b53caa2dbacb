/*
 * snapshot_node.c - two search trees over the same nodes, by live and by kept inode number.
 *
 * A node is in both trees or in none; the tree by live numbers owns it.
 */
#define _GNU_SOURCE
#include "snapshot_node.h"

#include "base/array.h"

#include <search.h>
#include <stdlib.h>

static int compare(ino_t a, ino_t b) {
    return (a > b) - (a < b);
}

static int by_live(const void *a, const void *b) {
    return compare(((const struct snapshot_node *)a)->live, ((const struct snapshot_node *)b)->live);
}

static int by_kept(const void *a, const void *b) {
    return compare(((const struct snapshot_node *)a)->kept, ((const struct snapshot_node *)b)->kept);
}

static struct snapshot_node *find(void *const *tree, const struct snapshot_node *key,
                                  int (*order)(const void *, const void *)) {
    struct snapshot_node *const *found = tfind(key, tree, order);
    return found ? *found : NULL;
}

struct snapshot_node *snapshot_node_of_live(const struct snapshot_nodes *nodes, ino_t live) {
    return find(&nodes->by_live, &(struct snapshot_node){.live = live}, by_live);
}

struct snapshot_node *snapshot_node_of_kept(const struct snapshot_nodes *nodes, ino_t kept) {
    return find(&nodes->by_kept, &(struct snapshot_node){.kept = kept}, by_kept);
}

static void forget(struct snapshot_nodes *nodes, struct snapshot_node *node) {
    if (!node)
        return;
    (void)tdelete(node, &nodes->by_live, by_live);
    (void)tdelete(node, &nodes->by_kept, by_kept);
    free(node->name);
    free(node);
}

struct snapshot_node *snapshot_node_pair(struct snapshot_nodes *nodes, ino_t live, ino_t kept, mode_t kind) {
    forget(nodes, snapshot_node_of_live(nodes, live));
    forget(nodes, snapshot_node_of_kept(nodes, kept));
    struct snapshot_node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    *node = (struct snapshot_node){.live = live, .kept = kept, .kind = kind & S_IFMT};
    if (tsearch(node, &nodes->by_live, by_live) && tsearch(node, &nodes->by_kept, by_kept))
        return node;
    forget(nodes, node);
    return NULL;
}

/* What twalk_r(3) finds to forget: a tree can't be changed meanwhile. */
struct forgotten {
    uint64_t round;
    struct snapshot_node **node;
    size_t n;
    int result;
};

static void note_forgotten(const void *at, VISIT visit, void *arg) {
    struct forgotten *forgotten = arg;
    struct snapshot_node *node = *(struct snapshot_node *const *)at;
    if ((visit != preorder && visit != leaf) || node->round == forgotten->round || forgotten->result)
        return;
    forgotten->result = array_grow(&forgotten->node, forgotten->n, sizeof(struct snapshot_node *));
    if (forgotten->result == 0)
        forgotten->node[forgotten->n++] = node;
}

int snapshot_nodes_forget(struct snapshot_nodes *nodes, uint64_t round) {
    struct forgotten forgotten = {.round = round};
    twalk_r(nodes->by_live, note_forgotten, &forgotten);
    for (size_t i = 0; i < forgotten.n; i++)
        forget(nodes, forgotten.node[i]);
    free(forgotten.node);
    return forgotten.result;
}

static void keep(void *node) {
    (void)node; /* the other tree frees it */
}

static void free_node(void *node) {
    free(((struct snapshot_node *)node)->name);
    free(node);
}

void snapshot_nodes_fini(struct snapshot_nodes *nodes) {
    tdestroy(nodes->by_kept, keep);
    tdestroy(nodes->by_live, free_node);
    *nodes = (struct snapshot_nodes){0};
}
