/*
 * mime.c - tables of the first bytes of files, tried in an order that puts certain types before guesses.
 *
 * First a zip archive, by its first names; then text, because a text may begin
 * like a signature, but a file with a signature is never all text; then
 * signatures. Only the first bytes are read, and JSON is parsed only where the
 * whole file is there.
 */

#include "mime.h"

#include "protocol/text.h"
#include "protocol/utf8.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define OFFICE "application/vnd.openxmlformats-officedocument."
#define OASIS "application/vnd.oasis.opendocument."

enum { MAX_JSON_DEPTH = 64 };

/* Signatures: bytes at an offset. The first row that matches counts, so more specific rows come first. */
static const struct {
    size_t at, n;
    const char *bytes;
    const char *mime;
} signatures[] = {
    {0, 8, "\x89PNG\r\n\x1a\n", "image/png"},
    {0, 3, "\xff\xd8\xff", "image/jpeg"},
    {0, 6, "GIF87a", "image/gif"},
    {0, 6, "GIF89a", "image/gif"},
    {8, 4, "WEBP", "image/webp"},
    {8, 4, "WAVE", "audio/wav"},
    {0, 4, "II*\0", "image/tiff"},
    {0, 4, "MM\0*", "image/tiff"},
    {0, 5, "%PDF-", "application/pdf"},
    {0, 4, "PAR1", "application/vnd.apache.parquet"},
    {0, 6, "ARROW1", "application/vnd.apache.arrow.file"},
    {0, 16, "SQLite format 3\0", "application/vnd.sqlite3"},
    {0, 6, "\x93NUMPY", "application/x-npy"},
    {0, 8, "\x89HDF\r\n\x1a\n", "application/x-hdf5"},
    {0, 2, "\x1f\x8b", "application/gzip"},
    {0, 6,
     "\xfd"
     "7zXZ\0",
     "application/x-xz"},
    {0, 4, "\x28\xb5\x2f\xfd", "application/zstd"},
    {0, 3, "BZh", "application/x-bzip2"},
    {0, 6, "7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"},
    {4, 4, "ftyp", "video/mp4"},
    {0, 4, "OggS", "application/ogg"},
    {0, 3, "ID3", "audio/mpeg"},
    {0, 4, "wOF2", "font/woff2"},
    {0, 4,
     "\x7f"
     "ELF",
     "application/x-executable"},
    {257, 5, "ustar", "application/x-tar"},
};

/* Types of zip archives, by the first names in them. */
static const struct {
    const char *text;
    const char *mime;
} archives[] = {
    {"mimetype" OASIS "text", OASIS "text"},
    {"mimetype" OASIS "spreadsheet", OASIS "spreadsheet"},
    {"mimetype" OASIS "presentation", OASIS "presentation"},
    {"mimetypeapplication/epub+zip", "application/epub+zip"},
    {"word/", OFFICE "wordprocessingml.document"},
    {"xl/", OFFICE "spreadsheetml.sheet"},
    {"ppt/", OFFICE "presentationml.presentation"},
    {".npy", "application/x-npz"},
};

/* The beginnings of text of other types than text/plain, without regard to case. */
static const struct {
    const char *text;
    const char *mime;
} markups[] = {
    {"<svg", "image/svg+xml"}, {"<!doctype svg", "image/svg+xml"}, {"<!doctype html", "text/html"},
    {"<html", "text/html"},    {"%pdf-", "application/pdf"},
};

static const struct {
    const char *end;
    const char *mime;
} extensions[] = {
    {".csv", "text/csv"},
    {".tsv", "text/tab-separated-values"},
    {".md", "text/markdown"},
    {".py", "text/x-python"},
};

static const char *find_signature(const unsigned char *head, size_t n) {
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
        if (n >= signatures[i].at + signatures[i].n &&
            memcmp(head + signatures[i].at, signatures[i].bytes, signatures[i].n) == 0)
            return signatures[i].mime;
    return NULL;
}

static const char *archive_type(const unsigned char *head, size_t n) {
    for (size_t i = 0; i < sizeof archives / sizeof archives[0]; i++)
        if (memmem(head, n, archives[i].text, strlen(archives[i].text)))
            return archives[i].mime;
    return "application/zip";
}

/* Whether it is UTF-8 (the last character may be incomplete) without control characters that text does not have. */
static bool is_text(const unsigned char *head, size_t n, bool whole) {
    size_t valid = utf8_valid(head, n);
    if (valid < n && (whole || text_whole_utf8(head, n) != valid))
        return false;
    for (size_t i = 0; i < valid; i++)
        if (head[i] < 0x20 && !strchr("\t\n\v\f\r\x1b", head[i]))
            return false;
    return memchr(head, 0, valid) == NULL;
}

static bool begins_with(const unsigned char *text, size_t n, const char *what) {
    size_t bytes = strlen(what);
    return n >= bytes && strncasecmp((const char *)text, what, bytes) == 0;
}

/* Compares the end of a name, without regard to case. */
static bool ends_with(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcasecmp(name + n - m, end) == 0;
}

/* Skips what may come before a document's first tag. */
static size_t skip_prolog(const unsigned char *text, size_t n) {
    size_t at = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (;;) {
        while (at < n && isspace(text[at]))
            at++;
        const char *end = begins_with(text + at, n - at, "<?xml")  ? "?>"
                          : begins_with(text + at, n - at, "<!--") ? "-->"
                                                                   : NULL;
        const unsigned char *found = end ? memmem(text + at, n - at, end, strlen(end)) : NULL;
        if (!found)
            return at;
        at = (size_t)(found - text) + strlen(end);
    }
}

/* Parses a whole file. Of a longer one only the beginning and the name are checked. */
static bool is_json(const unsigned char *text, size_t n, bool whole, const char *name) {
    size_t at = 0;
    while (at < n && isspace(text[at]))
        at++;
    bool named = ends_with(name, ".json") || ends_with(name, ".ipynb") || ends_with(name, ".geojson");
    bool opens = at < n && (text[at] == '{' || text[at] == '[');
    if (!whole)
        return named && opens;
    if (!opens && !named)
        return false;
    json_t *json = text_parse_json((const char *)text, n, MAX_JSON_DEPTH);
    json_decref(json);
    return json != NULL;
}

static const char *text_type(const unsigned char *text, size_t n, bool whole, const char *name) {
    size_t at = skip_prolog(text, n);
    for (size_t i = 0; i < sizeof markups / sizeof markups[0]; i++)
        if (begins_with(text + at, n - at, markups[i].text))
            return markups[i].mime;
    if (begins_with(text, n, "<?xml"))
        return "application/xml";
    if (is_json(text, n, whole, name))
        return "application/json";
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++)
        if (ends_with(name, extensions[i].end))
            return extensions[i].mime;
    return "text/plain";
}

const char *mime_of(const void *head, size_t n, bool whole, const char *name) {
    if (n >= 4 && memcmp(head, "PK\x03\x04", 4) == 0)
        return archive_type(head, n);
    /* Before the signatures: a table may begin with "ID3", but a file with a signature is never all text. */
    if (is_text(head, n, whole))
        return text_type(head, n, whole, name);
    const char *mime = find_signature(head, n);
    return mime ? mime : "application/octet-stream";
}
