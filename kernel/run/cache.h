/*
 * cache.h - returns the recorded result of an equal fresh run, without running it again.
 *
 * Only where the request or the configuration asks for it, and only for a run
 * that started from image 0, had the outcome "ok", didn't ask for input, made no
 * files, was recorded as a whole, and in whose record nothing was redacted. The
 * key is a digest of everything that such a run depends on: code, metadata.petri,
 * the content of its files, whether it may ask for input, limits, profile, the
 * environment's digest, and each file of the notebook's folder and of the
 * configuration's input folders with its size and times; where there are more
 * than CACHE_FOLDER_FILES of them, the run is not cached.
 */
#ifndef PETRI_CACHE_H
#define PETRI_CACHE_H

#include "kernel/run/run.h"

struct accounts;

enum { CACHE_FOLDER_FILES = 5000, CACHE_FOLDER_DEPTH = 32 };

/* Before a run: makes its key, and looks for a record with that key, which becomes run->result.cached. */
void cache_look(struct accounts *accounts, struct run *run);

/* The key to store in a run's record; "" where its result may not be returned again. */
const char *cache_key(const struct run *run, const json_t *report);

#endif
