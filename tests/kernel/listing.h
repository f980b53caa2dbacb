/*
 * listing.h - what packages_hide() finds to hide in a test's own folder; see tree.h.
 */
#ifndef PETRI_TEST_LISTING_H
#define PETRI_TEST_LISTING_H

#include "kernel/interpreter/packages.h"

/* An environment of the tree: VENV with the base BASE, each with the program bin/python3.99. */
#define BASE "base"
#define BASE_SITE BASE "/lib/python3.99/site-packages"
#define VENV "venv"
#define SITE VENV "/lib/python3.99/site-packages"

/* Makes them; setup for cmocka, with tree_remove() as teardown. */
int listing_setup(void **state);

/*
 * Makes a distribution NAME-1.0 in the folder site, with this RECORD and these
 * files of it, by what the rows of RECORD begin with; a row of another folder begins with ../
 */
void listing_add(const char *site, const char *name, const char *const *paths);
#define PATHS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A row of RECORD, and the file that it names, are apart where both are odd. */
void listing_record(const char *site, const char *name, const char *record);

/* What is hidden where these distributions are listed ("a b"), until the next call. input and keep are paths of the
 * tree, or NULL. */
void listing_find(const char *listed, const char *input, const char *keep);

/* What is hidden of a folder of the tree: names in their order with spaces between, "" for nothing, "*" for all. */
void listing_expect(const char *folder, const char *expected);

#endif
