/* log.c - writes one line of bounded length, made safe for a terminal, with one write(2). */

#include "log.h"

#include "kernel/base/terminal.h"
#include "protocol/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};
_Static_assert(sizeof level_names / sizeof level_names[0] == LOG_LEVEL_N, "one name a level");

void log_init(struct log *log, const char *level_name) {
    log->level = LOG_LEVEL_WARNING;
    for (int level = 0; level_name && level < LOG_LEVEL_N; level++)
        if (strcmp(level_name, level_names[level]) == 0)
            log->level = (enum log_level)level;
}

void log_write_from(const struct log *log, enum log_level level, const char *file, const char *function,
                    const char *format, ...) {
    char line[1024];
    va_list args;
    if (level > log->level)
        return;
    const char *slash = strrchr(file, '/');
    int head = snprintf(line, sizeof line, "petri: %s: ", level_names[level]);
    if (log->level == LOG_LEVEL_DEBUG)
        head += snprintf(line + head, sizeof line - (size_t)head, "%.60s:%.60s: ", slash ? slash + 1 : file, function);
    va_start(args, format);
    vsnprintf(line + head, sizeof line - (size_t)head, format, args);
    va_end(args);
    auto_bytes safe = {0};
    terminal_append(&safe, line, text_whole_utf8(line, strlen(line)), true);
    bytes_append_text(&safe, "\n");
    /* Where standard error can't be written, there is no other place for the line. */
    if (write(STDERR_FILENO, safe.data ? safe.data : "", safe.n) < 0)
        return;
}
