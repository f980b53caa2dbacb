/*
 * cache.h - the recorded result of a fresh run, given again at once.
 *
 * Only where it is asked for, by the request or by the configuration, and only
 * for what nothing else has a part in: a run from image 0 that ended well, asked
 * for no input, made no files, was recorded whole and had nothing in it that is
 * redacted. The key is everything that such a run depends on: code,
 * metadata.petri, the content of its files, whether it may ask for input, limits,
 * profile, the environment's digest, and each file of the notebook's folder and
 * of the configuration's input folders with its size and times; where these are
 * more than CACHE_FOLDER_FILES, nothing is given again.
 */
#ifndef PETRI_CACHE_H
#define PETRI_CACHE_H

#include "kernel/run/run.h"

struct accounts;

enum { CACHE_FOLDER_FILES = 5000, CACHE_FOLDER_DEPTH = 32 };

/* Before a run: works out its key, and finds what may be given in its place: run->result.cached. */
void cache_look(struct accounts *accounts, struct run *run);

/* The key that a run's record gets: "" where its result may not be given again. */
const char *cache_key(const struct run *run, const json_t *report);

#endif
