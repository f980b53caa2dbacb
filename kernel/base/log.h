/*
 * log.h - lines on standard error for the operator.
 *
 * In normal work there are none: clients such as nbclient show a kernel's
 * standard error to their users. PETRI_LOG=debug in the environment shows all,
 * and where in the source each line comes from.
 *
 * Ours, because syslog(3) and the journal are not where clients look for what
 * their kernel says.
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
 * Writes one line "petri: level: text", at level debug of the log "petri: level: SOURCE:FUNCTION: text", with one
 * write(2), so that lines of several writers do not mix; what is not seen in it as it is becomes question marks.
 */
#define log_write(log, level, ...) log_write_from((log), (level), __FILE__, __func__, __VA_ARGS__)

/* What log_write() is made of: file is a path of a source, function the name of one in it. */
void log_write_from(const struct log *log, enum log_level level, const char *file, const char *function,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
