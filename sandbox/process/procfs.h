/*
 * procfs.h - what Linux says in files of /proc, read from their text; nothing is opened here.
 *
 * Code of cells chooses much of such a text: the names of tasks, memfds, folders
 * and files, with brackets, newlines and " (deleted)" in them. So a text is bytes
 * with a length; a value is what follows the name at the beginning of a line; and
 * what can't be read to its end (a number that is too large, a line that was cut
 * off before its newline) counts as missing. No function guesses, and on failure
 * results are untouched.
 *
 * Ours, because libproc2 opens the files itself, by a pid, and its parsers
 * can't be had without that.
 *
 * See: proc(5).
 */
#ifndef PETRI_SANDBOX_PROCESS_PROCFS_H
#define PETRI_SANDBOX_PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCFS_PAGE = 4096 };

/* Bytes that are borrowed; no NUL ends them. */
struct procfs_text {
    const char *at;
    size_t n;
};

/* Takes the first line off a text, and gives it without its newline. Whether there is a whole one. */
bool procfs_next_line(struct procfs_text *text, struct procfs_text *ret_line);

/* The value of a line "NAME: VALUE", as it stands there. */
bool procfs_get_value(struct procfs_text line, const char *name, struct procfs_text *ret_value);

/* That of the first whole line of a text that has the name. */
bool procfs_find(struct procfs_text text, const char *name, struct procfs_text *ret_value);

/* The number that such a value begins with; the name of a unit may follow it. base: 8, 10 or 16. */
bool procfs_find_number(struct procfs_text text, const char *name, unsigned base, uint64_t *ret_number);
bool procfs_find_signed(struct procfs_text text, const char *name, int64_t *ret_number);

/* A value in kB, as bytes. */
bool procfs_find_bytes(struct procfs_text text, const char *name, uint64_t *ret_bytes);

/* A value "(SECONDS, NANOSECONDS)", which are fewer than a second's. See: timerfd in proc_pid_fdinfo(5). */
bool procfs_find_time(struct procfs_text text, const char *name, int64_t *ret_s, int64_t *ret_ns);

/* The last of the numbers of a value; it is a pid. See: NSpid in proc_pid_status(5). */
bool procfs_find_last_id(struct procfs_text text, const char *name, pid_t *ret_id);

/* The same where there are more than one. */
bool procfs_find_inner_id(struct procfs_text text, const char *name, pid_t *ret_id);

/* Whether a word is among those of a value. See: VmFlags in proc_pid_smaps(5). */
bool procfs_has_word(struct procfs_text value, const char *word);

/* The index-th, from 0, of the numbers that a line consists of. See: proc_pid_statm(5). */
bool procfs_get_number(struct procfs_text text, size_t index, uint64_t *ret_number);

/* What the name of a folder's entry says: of a task, of a descriptor. "." and ".." say nothing. */
bool procfs_parse_id(const char *name, int *ret_id);

/* A task or process. See: proc_pid_stat(5). */
struct procfs_stat {
    char state;            /* of the first thread, where it is a process */
    uint64_t faults;       /* minor ones, of all threads that it has had, where it is a process */
    uint64_t child_faults; /* minor ones, of children that were waited for */
    uint64_t user_ticks, system_ticks, children_user_ticks, children_system_ticks;
    uint64_t threads;
};
bool procfs_parse_stat(struct procfs_text text, struct procfs_stat *ret);

/* A line of maps, or the first of those that smaps has for a mapping. See: proc_pid_maps(5). */
struct procfs_mapping {
    uint64_t start, end; /* whole pages, one at least */
    uint64_t offset;     /* in the file */
    uint64_t inode;      /* 0: of no file */
    dev_t device;
    int protection; /* as mmap(2) takes it */
    bool shared;
    struct procfs_text name; /* with Linux's escapes; may be empty; stands in the line */
};
bool procfs_parse_mapping(struct procfs_text line, struct procfs_mapping *ret);

/* Whether a name ends as that of a file does that has been unlinked; or one that is called so. */
bool procfs_is_deleted(struct procfs_text name);

/* A line of an epoll's fdinfo. */
struct procfs_watch {
    int fd; /* the number that it was added by */
    uint32_t events;
    uint64_t data;
    uint64_t inode;
};
/* Whether a line is one of a watch, though it may not be understood. */
bool procfs_is_watch(struct procfs_text line);
bool procfs_parse_watch(struct procfs_text line, struct procfs_watch *ret);

/* Where a line of mountinfo has its mount; without escapes, ended with NUL. See: proc_pid_mountinfo(5). */
bool procfs_parse_mount_point(struct procfs_text line, char *ret_path, size_t size);

/* Reads ids of a text that comes in pieces, each with a blank behind it. See: proc_pid_task_tid_children(5). */
struct procfs_ids {
    uint64_t id;
    bool inside; /* an id: when there is no more text, it was cut off */
};
/* Adds the ids that end in a piece to ids, of which there are *n of max; those for which there is no room are left out,
 * and so is 0, which stands for a process of another namespace. Whether it was understood. */
bool procfs_read_ids(struct procfs_ids *reader, struct procfs_text piece, pid_t *ids, size_t max, size_t *n);

/* Of an entry of pagemap. See: pagemap.rst. */
static inline bool procfs_page_is_private(uint64_t entry) {
    return entry >> 61 == 4 || entry >> 61 == 2; /* present or swapped, and of no file and not shared */
}
static inline bool procfs_page_is_present(uint64_t entry) {
    return entry >> 63 == 1;
}
static inline bool procfs_page_is_exclusive(uint64_t entry) {
    return procfs_page_is_present(entry) && (entry >> 56 & 1) == 1; /* present, and in no other process */
}

#endif
