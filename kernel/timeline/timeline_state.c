/*
 * timeline_state.c - the lists of a state, which states share, and how much of this process' memory they are.
 *
 * Cells change these lists, at no more cost to them than a message, and each state that is kept may have lists of its
 * own. So they count as what is kept does, and go with the image, without which nobody goes to the state. A list is
 * measured when a state gets it. What is in it is counted whole, though lists may share it: it can't be told which of
 * them goes last.
 */
#include "timeline_state.h"

#include "base/cleanup.h"
#include "protocol/text.h"

#include <string.h>

static void list_parts(const struct timeline_state *state, json_t *ret_parts[TIMELINE_PARTS]) {
    ret_parts[0] = state->comms;
    ret_parts[1] = state->own_files;
    ret_parts[2] = state->missed;
}

void timeline_state_set(struct timeline_state *state, const struct timeline_state *to,
                        const struct timeline_state *like) {
    const struct timeline_state nothing = {0};
    struct timeline_state before = *state, now = *to;
    json_t *part[TIMELINE_PARTS], *known[TIMELINE_PARTS];
    list_parts(to, part);
    list_parts(like ? like : &nothing, known);
    for (int i = 0; i < TIMELINE_PARTS; i++) {
        json_incref(part[i]);
        now.bytes[i] = part[i] && part[i] == known[i] ? like->bytes[i] : text_memory(part[i]);
    }
    *state = now;
    timeline_state_clear(&before);
}

void timeline_state_clear(struct timeline_state *state) {
    json_decref(steal_pointer(state->comms));
    json_decref(steal_pointer(state->own_files));
    json_decref(steal_pointer(state->missed));
    memset(state->bytes, 0, sizeof state->bytes);
}

uint64_t timeline_state_own_bytes(const struct timeline_state *state, const struct timeline_state *one,
                                  const struct timeline_state *other) {
    json_t *part[TIMELINE_PARTS], *of_one[TIMELINE_PARTS], *of_other[TIMELINE_PARTS];
    uint64_t sum = 0;
    list_parts(state, part);
    list_parts(one, of_one);
    list_parts(other, of_other);
    for (int i = 0; i < TIMELINE_PARTS; i++)
        sum += part[i] == of_one[i] || part[i] == of_other[i] ? 0 : state->bytes[i];
    return sum;
}
