/*
 * log.h - log lines on standard error, for the operator.
 *
 * A kernel without problems writes none, because clients such as nbclient show a
 * kernel's standard error to their users. PETRI_LOG=debug in the environment
 * shows all lines, with source and function.
 *
 * It is not syslog(3) or the journal, because clients read the kernel's standard
 * error.
 */
#ifndef PETRI_LOG_H
#define PETRI_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG, LOG_LEVEL_N };

struct log {
    enum log_level level; /* the least severe level that is written */
};

/* Level from a name ("error", "warning", "info", "debug"); NULL or another text means warning. */
void log_init(struct log *log, const char *level_name);

/*
 * Writes one line "petri: level: text", at level debug of the log "petri: level:
 * SOURCE:FUNCTION: text", with one write(2), so that lines of several processes
 * do not mix. Control and unseen characters become question marks.
 */
#define log_write(log, level, ...) log_write_from((log), (level), __FILE__, __func__, __VA_ARGS__)

/* Used by log_write(): file is the path of a source, function the name of one in it. */
void log_write_from(const struct log *log, enum log_level level, const char *file, const char *function,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
