/*
 * timeline.h - the images that a session has had, as a tree: what led to each, what they are called, where one is.
 *
 *     first ── [1] ── [2] ── [3] ── [4]          %restore 2, then another cell
 *                       └─── [3] ── [4] *        * current
 *
 * A node is what one cell has left. Its parent is the node that the cell was made
 * of. The images themselves are the sandbox's: a node has a handle to one as long as it is
 * kept, and stays in the tree without it for a while, so that whoever asks for it is told
 * that it is gone. Where there are more than TIMELINE_NODES_MAX nodes, the oldest of those
 * without an image are forgotten; only nodes with images, whose number the caller limits by
 * timeline_drop_oldest(), can be more.
 *
 * Nothing here runs anything or blocks. Nodes are borrowed until the next call that
 * changes the tree.
 *
 * See: docs/time-travel.md.
 */
#ifndef PETRI_TIMELINE_H
#define PETRI_TIMELINE_H

#include "base/cleanup.h"
#include "kernel/base/image_name.h"
#include "kernel/timeline/timeline_state.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kept_image;

enum {
    TIMELINE_ID_BYTES = 37,    /* a run id, or "first" */
    TIMELINE_SHORT_ID = 8,     /* characters of an id that are enough to mean it, where no other one begins with them */
    TIMELINE_LINE_BYTES = 120, /* of the first line of its code, with the NUL */
    TIMELINE_NODES_MAX = 4096, /* with those whose images are gone; then the oldest of these are forgotten */
};

/* What is known of a cell when it is committed. Texts are borrowed for the call. */
struct timeline_cell {
    const char *run_id;
    int execution_count; /* that it had; 0 for none */
    const char *code;    /* UTF-8; NULL for none */
    size_t code_bytes;
    const char *started; /* date, ISO 8601 */
    int64_t started_ms;  /* the same since 1970, for "3 min ago" */
    int64_t wall_ms;
    uint64_t bytes_changed; /* of memory */
    unsigned files_changed;
};

struct timeline_node {
    struct timeline_node *parent; /* NULL: the first one, or one whose parent is forgotten */
    struct timeline_node *redo;   /* the child that was left last, or the step after what it amends; NULL for none */
    bool amends;                  /* no step: a later state of its parent's step, which had a name; timeline_amend() */
    uint64_t order;               /* of all nodes, by their making; greater than the parent's */
    char id[TIMELINE_ID_BYTES];
    char parent_id[TIMELINE_ID_BYTES]; /* "" for the first one */
    int execution_count;
    char line[TIMELINE_LINE_BYTES]; /* of the code, by image_name_line(); "" for none */
    char started[32];
    int64_t started_ms; /* 0 where no cell has made it */
    int64_t wall_ms;
    uint64_t bytes_changed;
    unsigned files_changed;
    json_t *names;               /* array of texts, sorted; owned */
    struct kept_image *image;    /* NULL where it is gone */
    struct timeline_state state; /* without an image it refers to nothing */
};

/* Gives an image back to the sandbox. */
typedef void timeline_drop(void *arg, struct kept_image *image);

struct timeline {
    struct timeline_node **node; /* n of them, by their order; owned */
    size_t n;
    size_t n_images;               /* of nodes whose image is there */
    struct timeline_node *current; /* NULL before the first one */
    struct timeline_node *held;    /* timeline_hold(); or NULL */
    struct timeline_node *aside;   /* what a branch has left since the last step; or NULL */
    uint64_t next_order;
    timeline_drop *drop;
    void *arg;
};

/* drop is called with arg for each image that the timeline gives up; it must not use the timeline. */
void timeline_init(struct timeline *timeline, timeline_drop *drop, void *arg);

/* Drops all images, and leaves an empty timeline that can be used again. */
void timeline_fini(struct timeline *timeline);

/* The first image, of a session that has just started; steals image. It becomes the current one. 0 or -ENOMEM, then
 * nothing is stolen. state is copied, with references to its lists; here and below. */
int timeline_begin(struct timeline *timeline, struct kept_image *image, const struct timeline_state *state) MUST_CHECK;

/* What a cell has left, as a child of the current node; steals image (NULL: it can't be kept). It becomes the current
 * one. What had been undone stays as a branch beside it. 0 or -ENOMEM, then nothing is stolen. */
int timeline_add(struct timeline *timeline, const struct timeline_cell *cell, struct kept_image *image,
                 const struct timeline_state *state) MUST_CHECK;

/* The same for what a cell has left that was made of the image of the node with this id and ran beside the session: the
 * current node stays the current one. */
int timeline_branch(struct timeline *timeline, const char *parent_id, const struct timeline_cell *cell,
                    struct kept_image *image, const struct timeline_state *state) MUST_CHECK;

/* A cell that a record tells of, whose image isn't there: a child of the newest node with the id parent_id, or of none
 * where there is no such node. It becomes the current one. 0 or -ENOMEM. */
int timeline_add_recorded(struct timeline *timeline, const struct timeline_cell *cell,
                          const char *parent_id) MUST_CHECK;

/* The current node's image is replaced by another one, which is stolen (NULL: it can't be kept): what has changed it is
 * no step of its own. But where the node has names, what they mean must not change: then a child that amends it has the
 * image, and becomes the current one. It has timeline_amended_id() as its id, and neither execution count nor line.
 * There has to be a current node. 0 or -ENOMEM, then nothing is stolen. */
int timeline_amend(struct timeline *timeline, const char *run_id, struct kept_image *image,
                   const struct timeline_state *state) MUST_CHECK;

/* The id that the current node will have after timeline_amend() with this run_id: its own, where it has no names. */
const char *timeline_amended_id(const struct timeline *timeline, const char *run_id);

/* The node as people see it: of one that amends and has no name, the one that it amends. NULL for NULL. */
const struct timeline_node *timeline_shown(const struct timeline_node *node);

/* How many of the nodes that people see have an image. */
size_t timeline_count_kept(const struct timeline *timeline);

/* Moves to a node whose image is there. From each ancestor of the node that is left, whether one goes there or to
 * another branch, redo leads back to it. */
void timeline_go(struct timeline *timeline, struct timeline_node *node);

/* The current node is to be gone back to: it and its image stay, whatever there is no room for. */
void timeline_hold(struct timeline *timeline);

/* Holds it no longer; with is_back it becomes the current one again, and redo leads where it led before. */
void timeline_let_go(struct timeline *timeline, bool is_back);

/* The node that is n > 0 steps before the current one, or the last on that way that there is; one that amends belongs
 * to the step that it amends. NULL where there is no step before. Its image may be gone; here and below. */
struct timeline_node *timeline_before(const struct timeline *timeline, unsigned n);

/* The node that is n > 0 steps on, where one has come from by going back, or the last on that way. NULL where there is
 * none. */
struct timeline_node *timeline_after(const struct timeline *timeline, unsigned n);

/* The newest node with an id; NULL where there is none. */
struct timeline_node *timeline_find_id(const struct timeline *timeline, const char *id);

/* The node that a text means: a name, "first", the id of a run, a number as timeline_find_number() has it, or what no
 * other id than that of a run begins with, TIMELINE_SHORT_ID characters at least. The earlier of these wins. NULL where
 * there is none. */
struct timeline_node *timeline_find(const struct timeline *timeline, const char *text);

/* The node of a cell with an execution count: in the line of the current node and its ancestors first, then the newest
 * one that has it; of those that amend it the current or the newest one. NULL where there is none. */
struct timeline_node *timeline_find_number(const struct timeline *timeline, int number);

/* How many nodes have ids that begin with a text, which has TIMELINE_SHORT_ID characters at least; else 0. */
size_t timeline_count_ids(const struct timeline *timeline, const char *text);

/* As many characters of the node's id as timeline_find() needs, and which are no number. Returns buf. */
const char *timeline_short_id(const struct timeline *timeline, const struct timeline_node *node,
                              char buf[TIMELINE_ID_BYTES]);

/* The node that has a name; NULL where none has it. */
struct timeline_node *timeline_find_name(const struct timeline *timeline, const char *name);

/* Gives a node a name, which has no image_name_problem(). Another one may have had it, which then loses it. 0, or
 * -ENOMEM and nothing is changed. */
int timeline_name(struct timeline *timeline, struct timeline_node *node, const char *name) MUST_CHECK;

/* Takes a name away. 0, or -ENOENT where no node has it. */
int timeline_unname(struct timeline *timeline, const char *name) MUST_CHECK;

/* Drops the image that is to go first: the oldest without a name; then the oldest with one; then what the current one
 * was made of, which is the next to be gone back to; then what a branch has left last, to which somebody is about to
 * go; never the current one's. The node that has lost it, or NULL where there is
 * none to drop. */
struct timeline_node *timeline_drop_oldest(struct timeline *timeline);

/* Bytes of this process' memory that the states of all nodes have and the current one's has not. What nodes share that
 * were made one after the other counts once. */
uint64_t timeline_bytes(const struct timeline *timeline);

/* What lies between the current node and one to which one would go. The first node is no cell. Where what the two have
 * in common is forgotten, all that is known of both lines counts. */
struct timeline_way {
    unsigned cells; /* that are undone: those of the current node and its ancestors up to the common one */
    unsigned again; /* that are there again: from the common one to the node */
    unsigned files; /* that the undone ones have changed, summed up */
    uint64_t bytes; /* of memory that they have changed, summed up */
};
void timeline_measure_way(const struct timeline *timeline, const struct timeline_node *node,
                          struct timeline_way *ret_way);

#endif
