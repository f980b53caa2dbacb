/*
 * measure.h - what the processes of a cell hold and use together, without a control group or beside one.
 *
 * A cell decides how long it takes to read that: by its processes, their open files and their mappings, and by holding
 * a lock that Linux waits for. So what is not quickly done is work for an errand (errand.h), and a request has all that
 * it looks at.
 *
 * See: watcher.h, kcmp(2).
 */
#ifndef PETRI_SANDBOX_LIMITS_MEASURE_H
#define PETRI_SANDBOX_LIMITS_MEASURE_H

#include "sandbox/limits/watcher.h"

/* Whose, and what is asked. */
struct measure_request {
    pid_t worker;                  /* these two, and all their descendants */
    pid_t init;                    /* pid 1 of the sandbox, which is counted as no task */
    pid_t image;                   /* has the image's memory, which is not the cell's */
    bool is_watched;               /* memory and CPU time are asked for; else tasks alone */
    bool asks_in_flight;           /* whether descriptors wait in their sockets is asked for, too */
    uint64_t limit_bytes;          /* of memory; 0 for none: then a bound of it will do */
    uint64_t files_bytes;          /* of the session's files, that are the cell's */
    struct watcher_reading before; /* the files in memory that the image has */
};

struct measure_figures {
    uint64_t memory_bytes;
    uint64_t cpu_us;
    unsigned tasks;
    bool over_memory;
    bool in_flight;
};

/* Reads them, where that takes no more than some hundred microseconds; else false, and ret is not touched. */
bool measure_quickly(const struct measure_request *request, struct measure_figures *ret);

/* Takes as long as it takes. */
void measure_slowly(const struct measure_request *request, struct measure_figures *ret);

/* The anonymous memory of a cell's processes: what no image has, and their part of what they share with its image. */
struct measure_parts {
    uint64_t own_bytes;
    uint64_t of_image_bytes;
};

/* keeper has the memory of the worker, and so counts for it; worker: 0 where no process of the cell runs. Walks their
 * page tables. */
void measure_read_parts(pid_t keeper, pid_t worker, pid_t init, pid_t image, struct measure_parts *ret);

#endif
