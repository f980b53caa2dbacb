/*
 * identities.c - a table of connections, searched in order under one lock.
 *
 * A routing id is a number in digits of base 255, none of which is 0, because the
 * routing ids that libzmq chooses begin with 0. It has as many digits as the name
 * has bytes, because it replaces the name in the byte stream. The cookie of its
 * descriptor says whether a connection still exists. A full table replaces
 * entries of closed connections, first those that have never sent a signed
 * message.
 *
 * The lock is held for searches and copies only, never while anything is sent.
 */

#include "identities.h"

#include "kernel/jupyter/cookie.h"

#include <pthread.h>
#include <string.h>

enum {
    ENTRIES = 1024, /* twice the connections that the gate allows, because closed connections are kept for a while */
    FIRST_DIGITS = 255, /* no byte is 0: the routing ids that libzmq chooses begin with that */
};

struct identity {
    uint64_t number; /* in order of arrival; 0: the entry is free */
    uint64_t cookie;
    int fd;
    enum channel channel;
    bool proved;
    size_t bytes, received; /* the length of both, and the bytes of the name that have been received */
    unsigned char name[IDENTITIES_MAX_BYTES];
    unsigned char given[IDENTITIES_MAX_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_number;
static size_t n_entries; /* entries that have been used */
static struct identity entries[ENTRIES];

/* Whether libzmq has not closed its connection. */
static bool is_live(const struct identity *entry) {
    return entry->number && cookie_of(entry->fd) == entry->cookie;
}

static bool is_given(const struct identity *entry, const void *data, size_t bytes) {
    return entry->number && entry->bytes == bytes && memcmp(entry->given, data, bytes) == 0;
}

static bool have_one_name(const struct identity *a, const struct identity *b) {
    return a->received == a->bytes && b->received == b->bytes && a->bytes == b->bytes &&
           memcmp(a->name, b->name, a->bytes) == 0;
}

/* The entry with this routing id, or NULL. */
static struct identity *look_up(const struct frame *routing_id) {
    for (size_t i = 0; i < n_entries; i++)
        if (is_given(&entries[i], routing_id->data, routing_id->bytes))
            return &entries[i];
    return NULL;
}

/* Whether a is to be replaced before b: not proved before proved, then the older one. */
static bool is_less(const struct identity *a, const struct identity *b) {
    return a->proved != b->proved ? b->proved : a->number < b->number;
}

/* A free entry, or that of a closed connection; NULL where there is none. An open connection never loses its entry. */
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

/* Whether no other open connection has the same routing id; removes it from closed ones. */
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

/* Chooses a number whose routing id no other connection has. 0 where none is free. */
static uint64_t choose_number(struct identity *entry) {
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
        entry->number = choose_number(entry);
    }
    bool found = entry && entry->number;
    pthread_mutex_unlock(&lock);
    return found ? entry : NULL;
}

void identities_take(struct identity *identity, size_t at, unsigned char *data, size_t n) {
    pthread_mutex_lock(&lock);
    memcpy(identity->name + at, data, n);
    memcpy(data, identity->given + at, n);
    identity->received = at + n;
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

/* The next open connection after the number `last` that has the name of entry, on a channel, proved or not. */
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
 * The connection that has sent the request, and the latest one that has signed a
 * message under the same name: a client may have reconnected before the kernel
 * knows that the old connection is lost.
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

/*
 * First the connections that have signed a message, then the others, each in
 * order of arrival: another peer can only know a name after its client has
 * used it.
 */
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
