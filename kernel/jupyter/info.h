/*
 * info.h - kernel_info, which can be asked for before there is an interpreter.
 *
 * The worker says what language it speaks long before it is warm. A request
 * that comes earlier still waits for that, at most two seconds.
 * See: Jupyter messaging, "Kernel info".
 */
#ifndef PETRI_INFO_H
#define PETRI_INFO_H

#include "kernel/jupyter/request.h"

struct jupyter;

struct info {
    json_t *language; /* language_info; NULL until the worker said hello */
    json_t *banner;
    bool answered;                /* at least once */
    bool final;                   /* no hello will come any more: answer with what is known */
    struct request_queue waiting; /* kernel_info requests, busy already said */
};

void info_fini(struct info *info);

/* A kernel_info_request; takes it over. */
void info_request(struct info *info, struct jupyter *jupyter, struct request *request);

/* The worker's hello; borrowed. */
void info_hello(struct info *info, struct jupyter *jupyter, const json_t *hello);

/* There is no worker, or none any more. */
void info_give_up(struct info *info, struct jupyter *jupyter);

/* Answers all that wait once the first one has waited long enough; and when that will be. */
void info_tick(struct info *info, struct jupyter *jupyter, int64_t now_us);
int64_t info_deadline(const struct info *info);

#endif
