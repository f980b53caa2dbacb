/*
 * fuzz_procfs.c - what Linux says in /proc, in any bytes.
 *
 * Whatever stands in a text: a mapping has pages, a path an end, a number its
 * range. What was understood and is written as Linux does is understood again, and
 * as the same. A text that was cut anywhere says the same as the whole or
 * nothing; a text that comes in pieces says what the whole does. A task may be
 * called by these bytes, and its line of stat says of it what it did.
 */
#include "fuzz.h"

#include "sandbox/process/procfs.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

enum { IDS = 64, PATH = 256 };

static bool same_text(struct procfs_text a, struct procfs_text b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

static void check_inside(struct procfs_text outer, struct procfs_text inner) {
    INVARIANT(inner.at >= outer.at && inner.at + inner.n <= outer.at + outer.n);
}

static void check_mapping(struct procfs_text line) {
    struct procfs_mapping mapping, again;
    if (!procfs_parse_mapping(line, &mapping))
        return;
    INVARIANT(mapping.start < mapping.end && mapping.start % PROCFS_PAGE == 0 && mapping.end % PROCFS_PAGE == 0);
    INVARIANT(mapping.offset % PROCFS_PAGE == 0 && mapping.offset <= UINT64_MAX - (mapping.end - mapping.start));
    INVARIANT((mapping.protection & ~(PROT_READ | PROT_WRITE | PROT_EXEC)) == 0);
    check_inside(line, mapping.name);
    char *text = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&text, &n);
    (void)fprintf(file, "%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 " 00:01 %" PRIu64 " ", mapping.start,
                  mapping.end, mapping.protection & PROT_READ ? 'r' : '-', mapping.protection & PROT_WRITE ? 'w' : '-',
                  mapping.protection & PROT_EXEC ? 'x' : '-', mapping.shared ? 's' : 'p', mapping.offset,
                  mapping.inode);
    (void)fwrite(mapping.name.at, 1, mapping.name.n, file);
    (void)fclose(file);
    INVARIANT(procfs_parse_mapping((struct procfs_text){text, n}, &again));
    INVARIANT(again.start == mapping.start && again.end == mapping.end && again.offset == mapping.offset);
    INVARIANT(again.inode == mapping.inode && again.protection == mapping.protection);
    INVARIANT(again.shared == mapping.shared && same_text(again.name, mapping.name));
    INVARIANT(procfs_is_deleted(again.name) == procfs_is_deleted(mapping.name));
    free(text);
}

static void check_watch(struct procfs_text line) {
    struct procfs_watch watch, again;
    char text[128];
    if (!procfs_parse_watch(line, &watch))
        return;
    INVARIANT(watch.fd >= 0);
    int n = snprintf(text, sizeof text, "tfd: %8d events: %8" PRIx32 " data: %16" PRIx64 "  pos:0 ino:%" PRIx64,
                     watch.fd, watch.events, watch.data, watch.inode);
    const struct procfs_text printed = {text, (size_t)n};
    INVARIANT(procfs_is_watch(printed) && procfs_parse_watch(printed, &again));
    INVARIANT(again.fd == watch.fd && again.events == watch.events && again.data == watch.data);
    INVARIANT(again.inode == watch.inode);
}

/* How long the fifth word of a line is without escapes, of four bytes each. */
static size_t bytes_of_mount_point(struct procfs_text line) {
    size_t n = 0, spaces = 0;
    for (size_t i = 0; i < line.n && spaces <= 4; i++) {
        spaces += line.at[i] == ' ';
        n += spaces == 4 && line.at[i] != ' ';
        i += spaces == 4 && line.at[i] == '\\' ? 3 : 0;
    }
    return n;
}

static void check_mount_point(struct procfs_text line) {
    char path[PATH], again[PATH], text[16 + 4 * PATH] = "1 2 3:4 /";
    size_t n = strlen(text);
    if (!procfs_parse_mount_point(line, path, sizeof path))
        return;
    INVARIANT(path[0] == '/' && strnlen(path, sizeof path) == bytes_of_mount_point(line));
    text[n++] = ' ';
    for (const char *at = path; *at; at++)
        n += (size_t)(strchr(" \t\n\\", *at) ? snprintf(text + n, 5, "\\%03o", (unsigned char)*at)
                                             : snprintf(text + n, 2, "%c", *at));
    INVARIANT(procfs_parse_mount_point((struct procfs_text){text, n}, again, sizeof again));
    INVARIANT(strcmp(path, again) == 0);
}

static void check_stat(struct procfs_text text) {
    struct procfs_stat stat, again;
    char *printed = NULL;
    size_t n = 0;
    if (!procfs_parse_stat(text, &stat))
        stat = (struct procfs_stat){'S', 1, 2, 3, 4, 5};
    FILE *file = open_memstream(&printed, &n);
    (void)fprintf(file, "7 (");
    (void)fwrite(text.at, 1, text.n, file);
    (void)fprintf(file,
                  ") %c 1 2 3 4 -1 6 7 8 9 10 %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " 20 -5 %" PRIu64 " 0\n",
                  stat.state, stat.user_ticks, stat.system_ticks, stat.children_user_ticks, stat.children_system_ticks,
                  stat.threads);
    (void)fclose(file);
    INVARIANT(procfs_parse_stat((struct procfs_text){printed, n}, &again));
    INVARIANT(again.state == stat.state && again.threads == stat.threads);
    INVARIANT(again.user_ticks == stat.user_ticks && again.system_ticks == stat.system_ticks);
    INVARIANT(again.children_user_ticks == stat.children_user_ticks);
    INVARIANT(again.children_system_ticks == stat.children_system_ticks);
    free(printed);
}

/* All that may be asked for by a name; a number that is not there stays 0. */
struct said {
    bool found;
    uint64_t number, bytes;
    int64_t value, s, ns;
    pid_t id;
};

static struct said ask(struct procfs_text text, const char *name) {
    struct said said = {0};
    struct procfs_text value;
    said.found = procfs_find(text, name, &value);
    if (said.found)
        check_inside(text, value);
    for (unsigned base = 8; base <= 16 && said.number == 0; base += base == 8 ? 2 : 6)
        (void)procfs_find_number(text, name, base, &said.number);
    (void)procfs_find_bytes(text, name, &said.bytes);
    (void)procfs_find_signed(text, name, &said.value);
    (void)procfs_find_time(text, name, &said.s, &said.ns);
    (void)procfs_find_last_id(text, name, &said.id);
    INVARIANT(said.bytes % 1024 == 0 && said.s >= 0 && said.ns >= 0 && said.ns < 1000000000 && said.id >= 0);
    INVARIANT(said.found || (said.number | said.bytes) == 0);
    return said;
}

static void check_cut(struct procfs_text text, struct procfs_text part) {
    static const char *const names[] = {
        "pos",     "flags", "eventfd-count", "ticks", "settime flags", "it_value", "it_interval", "sigmask",
        "scm_fds", "lock",  "Umask",         "NSpid", "VmPTE",         "Pss_Anon", "Threads",     "a"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct said all = ask(text, names[i]), some = ask(part, names[i]);
        if (!some.found)
            continue;
        INVARIANT(all.found && all.number == some.number && all.bytes == some.bytes && all.value == some.value);
        INVARIANT(all.s == some.s && all.ns == some.ns && all.id == some.id);
    }
}

static void check_ids(struct procfs_text text, size_t cut) {
    pid_t ids[IDS], pieces[IDS];
    size_t n = 0, m = 0;
    struct procfs_ids reader = {0}, other = {0};
    const struct procfs_text one = {text.at, cut}, two = {text.at + cut, text.n - cut};
    const bool understood = procfs_read_ids(&reader, text, ids, IDS, &n);
    INVARIANT(understood ==
              (procfs_read_ids(&other, one, pieces, IDS, &m) && procfs_read_ids(&other, two, pieces, IDS, &m)));
    INVARIANT(n <= IDS && n == m && memcmp(ids, pieces, n * sizeof ids[0]) == 0);
    INVARIANT(!understood || (reader.inside == other.inside && reader.id == other.id));
    char printed[12 * IDS + 1];
    int bytes = 0;
    for (size_t i = 0; i < n; i++) {
        INVARIANT(ids[i] > 0);
        bytes += snprintf(printed + bytes, sizeof printed - (size_t)bytes, "%d ", ids[i]);
    }
    reader = (struct procfs_ids){0};
    m = 0;
    INVARIANT(procfs_read_ids(&reader, (struct procfs_text){printed, (size_t)bytes}, pieces, IDS, &m));
    INVARIANT(n == m && memcmp(ids, pieces, n * sizeof ids[0]) == 0);
}

static void check_lines(struct procfs_text text) {
    struct procfs_text rest = text, line;
    size_t bytes = 0;
    while (procfs_next_line(&rest, &line)) {
        check_inside(text, line);
        INVARIANT(line.n == 0 || !memchr(line.at, '\n', line.n));
        bytes += line.n + 1;
        check_mapping(line);
        check_watch(line);
        check_mount_point(line);
        (void)procfs_has_word(line, "mw");
    }
    INVARIANT(bytes + rest.n == text.n && (rest.n == 0 || !memchr(rest.at, '\n', rest.n)));
}

static void check_numbers(struct procfs_text text) {
    uint64_t number;
    size_t n = 0;
    while (procfs_get_number(text, n, &number))
        n++;
    INVARIANT(!procfs_get_number(text, n + 1, &number));
}

static void check_name(struct procfs_text text) {
    char name[32] = "", again[32];
    int id;
    memcpy(name, text.at, text.n < sizeof name - 1 ? text.n : sizeof name - 1);
    if (!procfs_parse_id(name, &id))
        return;
    INVARIANT(id >= 0);
    (void)snprintf(again, sizeof again, "%d", id);
    INVARIANT(strcmp(name + strspn(name, "0"), again + strspn(again, "0")) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    const struct procfs_text text = {(const char *)data + 1, size - 1};
    const size_t cut = text.n ? data[0] * text.n / UINT8_MAX : 0;
    char *part = malloc(cut + 1); /* of its own, so that a read behind it is seen */
    INVARIANT(part != NULL);
    memcpy(part, text.at, cut);
    check_cut(text, (struct procfs_text){part, cut});
    check_lines(text);
    check_stat(text);
    check_ids(text, cut);
    check_numbers(text);
    if (text.n > 0)
        check_name(text);
    free(part);
    return 0;
}
