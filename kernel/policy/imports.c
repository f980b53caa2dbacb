#include "imports.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct scan {
    const char *at;
    const char *end;
    int line;
    int depth; /* of brackets */
    imports_handler *handler;
    void *arg;
    bool stopped;
};

static char peek(const struct scan *scan, size_t ahead) {
    return (size_t)(scan->end - scan->at) > ahead ? scan->at[ahead] : '\0';
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* One byte on. */
static void step(struct scan *scan) {
    scan->line += *scan->at == '\n';
    scan->at++;
}

/* Past a string that begins here; one of one line ends with the line at the latest. */
static void skip_string(struct scan *scan) {
    char quote = *scan->at;
    bool triple = peek(scan, 1) == quote && peek(scan, 2) == quote;
    for (int i = triple ? 3 : 1; i > 0; i--)
        step(scan);
    while (scan->at < scan->end && (triple || *scan->at != '\n')) {
        bool closes = *scan->at == quote && (!triple || (peek(scan, 1) == quote && peek(scan, 2) == quote));
        bool escapes = *scan->at == '\\' && peek(scan, 1) != '\0';
        for (int i = closes && triple ? 3 : escapes ? 2 : 1; i > 0; i--)
            step(scan);
        if (closes)
            return;
    }
}

/* Past blanks, continued lines and, inside of brackets, comments and line ends. */
static void skip_blanks(struct scan *scan, bool in_brackets) {
    while (scan->at < scan->end) {
        if (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\f' || *scan->at == '\r' ||
            (in_brackets && *scan->at == '\n'))
            step(scan);
        else if (*scan->at == '\\' && peek(scan, 1) == '\n')
            step(scan), step(scan);
        else if (in_brackets && *scan->at == '#')
            while (scan->at < scan->end && *scan->at != '\n')
                step(scan);
        else
            return;
    }
}

/* Takes the word if it stands here. */
static bool take_word(struct scan *scan, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(scan->end - scan->at) < n || memcmp(scan->at, word, n) != 0 || is_name(peek(scan, n)))
        return false;
    scan->at += n;
    return true;
}

/* a.b.c behind what buf already has; blanks around the dots are allowed. Returns whether there was a name that fits. */
static bool take_module(struct scan *scan, bool in_brackets, char buf[IMPORTS_NAME_BYTES]) {
    size_t n = strlen(buf);
    size_t before = n;
    for (;;) {
        skip_blanks(scan, in_brackets);
        while (is_name(peek(scan, 0)) && n + 1 < IMPORTS_NAME_BYTES)
            buf[n++] = *scan->at++;
        buf[n] = '\0';
        skip_blanks(scan, in_brackets);
        if (peek(scan, 0) != '.' || n == before || n + 1 >= IMPORTS_NAME_BYTES)
            return n > before;
        buf[n++] = '.';
        scan->at++;
    }
}

static void tell(struct scan *scan, const char *module, int line) {
    if (!scan->stopped)
        scan->stopped = !scan->handler(scan->arg, module, line);
}

/* "as name", and whether a comma follows. */
static bool take_rest(struct scan *scan, bool in_brackets) {
    char ignored[IMPORTS_NAME_BYTES] = "";
    skip_blanks(scan, in_brackets);
    if (take_word(scan, "as"))
        take_module(scan, in_brackets, ignored);
    skip_blanks(scan, in_brackets);
    if (peek(scan, 0) != ',')
        return false;
    step(scan);
    return true;
}

static void read_import(struct scan *scan) {
    int line = scan->line;
    do {
        char module[IMPORTS_NAME_BYTES] = "";
        if (!take_module(scan, false, module))
            return;
        tell(scan, module, line);
    } while (take_rest(scan, false));
}

static void read_from(struct scan *scan) {
    char module[IMPORTS_NAME_BYTES] = "";
    int line = scan->line;
    skip_blanks(scan, false);
    if (!take_module(scan, false, module) || !take_word(scan, "import"))
        return; /* a relative import has no module of its own here */
    tell(scan, module, line);
    skip_blanks(scan, false);
    bool in_brackets = peek(scan, 0) == '(';
    if (in_brackets)
        step(scan);
    size_t n = strlen(module);
    if (n + 1 >= sizeof module)
        return;
    do {
        snprintf(module + n, sizeof module - n, ".");
        if (!take_module(scan, in_brackets, module))
            return;
        tell(scan, module, line);
        module[n] = '\0';
    } while (take_rest(scan, in_brackets));
}

/* Where a statement can begin. */
static void read_statement(struct scan *scan) {
    skip_blanks(scan, false);
    if (take_word(scan, "import"))
        read_import(scan);
    else if (take_word(scan, "from"))
        read_from(scan);
}

void imports_scan(const char *code, size_t bytes, imports_handler *handler, void *arg) {
    struct scan scan = {.at = code, .end = code + bytes, .line = 1, .handler = handler, .arg = arg};
    read_statement(&scan);
    while (scan.at < scan.end && !scan.stopped) {
        char c = *scan.at;
        if (c == '"' || c == '\'') {
            skip_string(&scan);
        } else if (c == '#') {
            while (scan.at < scan.end && *scan.at != '\n')
                step(&scan);
        } else if (c == '\\' && peek(&scan, 1) == '\n') {
            step(&scan);
            step(&scan);
        } else {
            step(&scan);
            scan.depth += (strchr("([{", c) != NULL && c) - (strchr(")]}", c) != NULL && c && scan.depth > 0);
            if (scan.depth == 0 && (c == '\n' || c == ';' || c == ':'))
                read_statement(&scan);
        }
    }
}
