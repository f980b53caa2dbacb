/*
 * identities.c - a table of connections, searched in order under one lock.
 *
 * A routing id is a number in digits of base 255, none of them 0, for those that
 * libzmq chooses begin with a 0. It has as many digits as the name has bytes, for
 * it takes the name's place in the stream. Whether a connection is still there is
 * asked of its descriptor's cookie, when it matters. A slot is taken from a
 * connection that has gone; those that have signed nothing are forgotten first.
 *
 * The lock is held for searches and copies only, never while anything is sent.
 */

#include "identities.h"

#include "kernel/jupyter/cookie.h"

#include <pthread.h>
#include <string.h>

enum {
    ENTRIES = 1024,     /* twice the connections that the gate lets in: those that have gone are remembered */
    FIRST_DIGITS = 255, /* no byte is 0: with that begin the routing ids of libzmq's own choice */
};

struct identity {
    uint64_t number; /* in the order in which they came; 0: none */
    uint64_t cookie;
    int fd;
    enum channel channel;
    bool proved;
    size_t bytes, come; /* of both; the name is not known before it has come whole */
    unsigned char name[IDENTITIES_MAX_BYTES];
    unsigned char given[IDENTITIES_MAX_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_number;
static size_t n_entries; /* of them that have been needed */
static struct identity entries[ENTRIES];

/* Whether its connection is there, as far as libzmq knows. */
static bool is_live(const struct identity *entry) {
    return entry->number && cookie_of(entry->fd) == entry->cookie;
}

static bool is_given(const struct identity *entry, const void *data, size_t bytes) {
    return entry->number && entry->bytes == bytes && memcmp(entry->given, data, bytes) == 0;
}

static bool have_one_name(const struct identity *a, const struct identity *b) {
    return a->come == a->bytes && b->come == b->bytes && a->bytes == b->bytes &&
           memcmp(a->name, b->name, a->bytes) == 0;
}

/* The one with this routing id; NULL. */
static struct identity *look_up(const struct frame *routing_id) {
    for (size_t i = 0; i < n_entries; i++)
        if (is_given(&entries[i], routing_id->data, routing_id->bytes))
            return &entries[i];
    return NULL;
}

/* Which of two that have gone is to be forgotten: one that has signed nothing, then the older one. */
static bool is_less(const struct identity *a, const struct identity *b) {
    return a->proved != b->proved ? b->proved : a->number < b->number;
}

/* A slot for one more; unauthenticated connections never take that of a connected client that has signed. */
static struct identity *find_place(void) {
    struct identity *place = NULL;
    for (size_t i = 0; i < n_entries; i++) {
        if (!entries[i].number)
            return &entries[i];
        if ((!place || is_less(&entries[i], place)) && !is_live(&entries[i]))
            place = &entries[i];
    }
    return n_entries < ENTRIES ? &entries[n_entries++] : place;
}

static void write_given(struct identity *entry, uint64_t number) {
    for (size_t i = 0; i < entry->bytes; i++, number /= FIRST_DIGITS)
        entry->given[i] = (unsigned char)(1 + number % FIRST_DIGITS);
}

/* Whether no other connection has it; one that has gone gives it up. */
static bool is_free(const struct identity *entry) {
    for (size_t i = 0; i < n_entries; i++) {
        if (&entries[i] == entry || !is_given(&entries[i], entry->given, entry->bytes))
            continue;
        if (is_live(&entries[i]))
            return false;
        entries[i] = (struct identity){0};
    }
    return true;
}

/* A number whose digits, as many as fit, no other connection has. 0 where all are taken. */
static uint64_t choose(struct identity *entry) {
    for (int i = 0; i < ENTRIES; i++) {
        write_given(entry, ++last_number);
        if (is_free(entry))
            return last_number;
    }
    return 0;
}

struct identity *identities_begin(int fd, uint64_t cookie, enum channel channel, size_t bytes) {
    pthread_mutex_lock(&lock);
    struct identity *entry = bytes <= IDENTITIES_MAX_BYTES ? find_place() : NULL;
    if (entry) {
        *entry = (struct identity){.cookie = cookie, .fd = fd, .channel = channel, .bytes = bytes};
        entry->number = choose(entry);
    }
    bool found = entry && entry->number;
    pthread_mutex_unlock(&lock);
    return found ? entry : NULL;
}

void identities_take(struct identity *identity, size_t at, unsigned char *data, size_t n) {
    pthread_mutex_lock(&lock);
    memcpy(identity->name + at, data, n);
    memcpy(data, identity->given + at, n);
    identity->come = at + n;
    pthread_mutex_unlock(&lock);
}

void identities_clear(void) {
    pthread_mutex_lock(&lock);
    memset(entries, 0, n_entries * sizeof entries[0]);
    n_entries = 0;
    pthread_mutex_unlock(&lock);
}

void identities_prove(const struct frame *routing_id) {
    pthread_mutex_lock(&lock);
    struct identity *entry = look_up(routing_id);
    if (entry)
        entry->proved = true;
    pthread_mutex_unlock(&lock);
}

/* The next connected one behind `last` on a channel that claims the name of entry, of those that have signed or of all.
 */
static const struct identity *next_there(enum channel channel, const struct identity *entry, bool proved,
                                         uint64_t last) {
    const struct identity *next = NULL;
    for (size_t i = 0; i < n_entries; i++) {
        const struct identity *other = &entries[i];
        if (other->number > last && other->channel == channel && other->proved == proved &&
            (!next || other->number < next->number) && have_one_name(other, entry) && is_live(other))
            next = other;
    }
    return next;
}

static void add_way(const struct identity *entry, struct identity_way *ways, size_t *n) {
    ways[*n].bytes = entry->bytes;
    memcpy(ways[(*n)++].data, entry->given, entry->bytes);
}

/*
 * The sender of the request, and the last connection that has signed under its
 * name. A client that has lost its connection can be back before anything says
 * that the old one has gone.
 */
static void find_sender(const struct identity *entry, struct identity_way *ways, size_t *n) {
    const struct identity *last = NULL, *next = NULL;
    bool is_there = is_live(entry);
    while ((next = next_there(entry->channel, entry, true, next ? next->number : 0)))
        last = next;
    if (is_there)
        add_way(entry, ways, n);
    if (last && (!is_there || last->number > entry->number))
        add_way(last, ways, n);
}

/* Those that have signed come first, then the oldest ones: others learn a name only once it has been used. */
static void find_on(enum channel channel, const struct identity *entry, struct identity_way *ways, size_t *n) {
    for (int proved = 1; proved >= 0; proved--) {
        const struct identity *next = NULL;
        while (*n < IDENTITIES_WAYS && (next = next_there(channel, entry, proved, next ? next->number : 0)))
            add_way(next, ways, n);
    }
}

size_t identities_find(enum channel channel, const struct frame *routing_id,
                       struct identity_way ret_ways[IDENTITIES_WAYS]) {
    size_t n = 0;
    pthread_mutex_lock(&lock);
    const struct identity *entry = look_up(routing_id);
    if (entry && entry->channel != channel)
        find_on(channel, entry, ret_ways, &n);
    else if (entry)
        find_sender(entry, ret_ways, &n);
    pthread_mutex_unlock(&lock);
    if (n == 0 && routing_id->bytes <= IDENTITIES_MAX_BYTES) {
        ret_ways[n].bytes = routing_id->bytes;
        memcpy(ret_ways[n++].data, routing_id->data, routing_id->bytes);
    }
    return n;
}

bool identities_are_one(const struct frame *a, const struct frame *b) {
    if (a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0)
        return true;
    pthread_mutex_lock(&lock);
    const struct identity *first = look_up(a), *second = look_up(b);
    bool one = first && second && have_one_name(first, second);
    pthread_mutex_unlock(&lock);
    return one;
}
