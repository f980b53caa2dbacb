/*
 * ps.c - `petri ps`: the kernels that run, what they do and what they use.
 *
 * Which there are and what they do is in the roster, which no cell can reach. What
 * they use is measured from outside, over the process that Jupyter has started and
 * all below it.
 */

#include "cli/commands.h"
#include "cli/options.h"
#include "kernel/base/clock.h"
#include "kernel/base/processes.h"
#include "kernel/base/terminal.h"
#include "kernel/roster/roster.h"
#include "protocol/text.h"

#include <inttypes.h>
#include <pwd.h>
#include <string.h>

enum { COLUMNS = 9, TEXT_BYTES = 64, BETWEEN = 2 };

/* A kernel as it is shown. */
struct shown {
    const struct roster_row *row;
    struct processes use;
    uint64_t cpu_ms;
    char user[33];
};

/* The table; folders come last, because they may be long. */
static const struct {
    const char *title;
    bool right;
} columns[COLUMNS] = {
    {"pid", true},    {"user", false},     {"profile", false}, {"since (UTC)", false}, {"now", false},
    {"memory", true}, {"processes", true}, {"CPU time", true}, {"folder", false},
};

static void find_user(uid_t uid, char *buf, size_t size) {
    const struct passwd *entry = getpwuid(uid);
    if (entry)
        snprintf(buf, size, "%s", entry->pw_name);
    else
        snprintf(buf, size, "%u", uid);
}

static void measure(const struct roster_row *row, struct shown *ret) {
    *ret = (struct shown){.row = row};
    find_user(row->uid, ret->user, sizeof ret->user);
    if (row->pid > 0)
        processes_read_below(row->pid, &ret->use);
    ret->cpu_ms = ret->use.ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* As "2026-01-31T12:00:00Z"; NULL where it is not known. */
static json_t *date(int64_t ms) {
    char text[32];
    const time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (ms == 0 || !gmtime_r(&seconds, &parts))
        return json_null();
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_string(text);
}

static json_t *number_or_null(int64_t number) {
    return number > 0 ? json_integer(number) : json_null();
}

/* What can't be measured is null. */
static json_t *kernel_json(const struct shown *shown) {
    const struct roster_row *row = shown->row;
    const bool measured = shown->use.n > 0;
    json_t *json = json_pack("{s:o, s:s, s:I, s:s}", "pid", number_or_null(row->pid), "user", shown->user, "uid",
                             (json_int_t)row->uid, "state", roster_state_name(row->now.state));
    json_object_set_new(json, "profile", text_to_json(row->profile, strlen(row->profile)));
    json_object_set_new(json, "folder", text_to_json(row->folder, strlen(row->folder)));
    json_object_set_new(json, "started", date(row->started_ms));
    json_object_set_new(json, "execution_count", number_or_null(row->now.execution_count));
    json_object_set_new(json, "since", date(row->since_ms));
    json_object_set_new(json, "memory_bytes",
                        measured ? json_integer((json_int_t)shown->use.memory_bytes) : json_null());
    json_object_set_new(json, "processes", measured ? json_integer(shown->use.n) : json_null());
    json_object_set_new(json, "cpu_ms", measured ? json_integer((json_int_t)shown->cpu_ms) : json_null());
    return json;
}

static int print_json(const struct shown *shown, size_t n) {
    json_auto_t *all = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(all, kernel_json(&shown[i]));
    return terminal_put_json(all);
}

/* "7 s", "3 min 20 s", "2 h 5 min", "3 d 2 h". */
static void write_duration(int64_t ms, char *buf, size_t size) {
    const int64_t s = ms > 0 ? ms / 1000 : 0;
    if (s < 60)
        snprintf(buf, size, "%" PRId64 " s", s);
    else if (s < 3600)
        snprintf(buf, size, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(buf, size, "%" PRId64 " h %" PRId64 " min", s / 3600, s % 3600 / 60);
    else
        snprintf(buf, size, "%" PRId64 " d %" PRId64 " h", s / 86400, s % 86400 / 3600);
}

static void write_now(const struct roster_row *row, char *buf, size_t size) {
    char lasts[40], cell[32] = "";
    if (row->now.state != ROSTER_RUNNING) {
        snprintf(buf, size, "%s",
                 row->now.state == ROSTER_UNAVAILABLE ? "runs no cell" : roster_state_name(row->now.state));
        return;
    }
    if (row->now.execution_count > 0)
        snprintf(cell, sizeof cell, " [%d]", row->now.execution_count);
    write_duration(clock_date_ms() - row->since_ms, lasts, sizeof lasts);
    snprintf(buf, size, "cell%s, for %s", cell, lasts);
}

static void write_since(int64_t ms, char *buf, size_t size) {
    const time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (ms == 0 || !gmtime_r(&seconds, &parts) || strftime(buf, size, "%Y-%m-%d %H:%M", &parts) == 0)
        snprintf(buf, size, "-");
}

static void write_use(const struct shown *shown, char texts[COLUMNS][TEXT_BYTES], size_t at) {
    for (size_t i = at; i < at + 3; i++)
        snprintf(texts[i], TEXT_BYTES, "-");
    if (shown->use.n == 0)
        return;
    snprintf(texts[at], TEXT_BYTES, "%.1f MiB", (double)shown->use.memory_bytes / (1 << 20));
    snprintf(texts[at + 1], TEXT_BYTES, "%u", shown->use.n);
    snprintf(texts[at + 2], TEXT_BYTES, "%.1f s", (double)shown->cpu_ms / 1000);
}

/* All columns but the folder. */
static void write_texts(const struct shown *shown, char texts[COLUMNS][TEXT_BYTES]) {
    enum { PID, USER, PROFILE, SINCE, NOW, USE };
    const struct roster_row *row = shown->row;
    snprintf(texts[PID], TEXT_BYTES, row->pid > 0 ? "%d" : "-", row->pid);
    snprintf(texts[USER], TEXT_BYTES, "%s", shown->user);
    snprintf(texts[PROFILE], TEXT_BYTES, "%s", row->profile[0] ? row->profile : "-");
    write_since(row->started_ms, texts[SINCE], TEXT_BYTES);
    write_now(row, texts[NOW], TEXT_BYTES);
    write_use(shown, texts, USE);
}

static void print_line(char texts[COLUMNS][TEXT_BYTES], const int *widths, const char *folder) {
    for (size_t i = 0; i + 1 < COLUMNS; i++)
        terminal_print(columns[i].right ? "%*s%*s" : "%-*s%*s", widths[i], texts[i], BETWEEN, "");
    terminal_put_line(folder);
    terminal_print("\n");
}

static int print_table(const struct shown *shown, size_t n) {
    char texts[COLUMNS][TEXT_BYTES];
    int widths[COLUMNS] = {0};
    if (n == 0)
        terminal_print("No kernel %sruns.\n", geteuid() == 0 ? "" : "of this user ");
    for (size_t i = 0; i < COLUMNS; i++)
        widths[i] = (int)strlen(columns[i].title);
    for (size_t i = 0; i < n; i++) {
        write_texts(&shown[i], texts);
        for (size_t at = 0; at + 1 < COLUMNS; at++)
            widths[at] = (int)strlen(texts[at]) > widths[at] ? (int)strlen(texts[at]) : widths[at];
    }
    for (size_t i = 0; i < COLUMNS; i++)
        snprintf(texts[i], TEXT_BYTES, "%s", columns[i].title);
    if (n > 0)
        print_line(texts, widths, texts[COLUMNS - 1]);
    for (size_t i = 0; i < n; i++) {
        write_texts(&shown[i], texts);
        print_line(texts, widths, shown[i].row->folder);
    }
    return EXIT_SUCCESS;
}

int command_ps(const struct arguments *arguments) {
    auto_free struct roster_row *rows = NULL;
    size_t n = 0;
    int r = roster_list(&rows, &n);
    auto_free struct shown *shown = r == 0 ? calloc(n > 0 ? n : 1, sizeof *shown) : NULL;
    if (!shown) {
        terminal_complain("there is no memory to list the kernels");
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < n; i++)
        measure(&rows[i], &shown[i]);
    return arguments->values[OPTION_JSON] ? print_json(shown, n) : print_table(shown, n);
}
