#define _GNU_SOURCE
#include "listing.h"

#include "as_user.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int listing_add(void *arg, const struct cell_file *file) {
    static const char *const words[] = {"created", "changed", "deleted"};
    struct listing *listing = arg;
    CHECK(listing->n < LISTING_LINES);
    CHECK(asprintf(&listing->line[listing->n++], "%s %s%s", words[file->change], file->path,
                   S_ISDIR(file->mode) ? "/" : "") > 0);
    return 0;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

const char *listing_take(struct listing *listing) {
    static char text[2048];
    size_t used = 0;
    qsort(listing->line, listing->n, sizeof listing->line[0], by_text);
    text[0] = 0;
    for (size_t i = 0; i < listing->n; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "", listing->line[i]);
        CHECK(used < sizeof text);
        free(listing->line[i]);
    }
    listing->n = 0;
    return text;
}
