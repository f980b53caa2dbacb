/*
 * info.h - kernel_info, which clients may request before the interpreter has started.
 *
 * The worker sends its language in its hello, long before it is ready. A request
 * that comes even earlier waits for that, but at most two seconds.
 * See: Jupyter messaging, "Kernel info".
 */
#ifndef PETRI_INFO_H
#define PETRI_INFO_H

#include "kernel/jupyter/request.h"

#include <stdbool.h>

struct jupyter;

enum { INFO_URL_BYTES = 512 };

struct info {
    char help_url[INFO_URL_BYTES]; /* of petri's own page; "" for none */
    json_t *language;              /* language_info; NULL until the worker said hello */
    json_t *banner;
    bool answered;                /* at least one request */
    bool final;                   /* no hello will come: answer at once */
    struct request_queue waiting; /* kernel_info requests; their busy status is already sent */
};

/*
 * petri's own page for the help menu of front ends: it lies beside the kernelspec, and Jupyter's server shows what lies
 * there, below the address that it is reached by. That is "/", or in a JupyterHub the one in
 * $JUPYTERHUB_SERVICE_PREFIX; a server that was given another base_url doesn't tell its kernels. profile and writable
 * tell which kernelspec of petri install's this kernel is of. See: jupyter_server, KernelSpecResourceHandler.
 */
void info_link_help(struct info *info, const char *profile, bool writable);

void info_fini(struct info *info);

/* A kernel_info_request; takes it over. */
void info_request(struct info *info, struct jupyter *jupyter, struct request *request);

/* The worker's hello; borrowed. */
void info_hello(struct info *info, struct jupyter *jupyter, const json_t *hello);

/* There is no worker, or none any more. */
void info_give_up(struct info *info, struct jupyter *jupyter);

/* Answers all requests that wait once the first has waited long enough, which is at info_deadline(). */
void info_tick(struct info *info, struct jupyter *jupyter, int64_t now_us);
int64_t info_deadline(const struct info *info);

#endif
