/*
 * replace_file.h - files that are written for Jupyter, which may be reading them.
 *
 * Each is written under another name and renamed, so that a reader sees the old or the new
 * one. The folder may belong to another user, as when root installs into a user's environment,
 * so existing files are not opened for writing: a link could lead to any file.
 */
#ifndef PETRI_REPLACE_FILE_H
#define PETRI_REPLACE_FILE_H

#include "base/cleanup.h"

#include <jansson.h>

/* Makes the folder and those above it, and opens it, unless it is a link. A file descriptor, or -errno. */
int replace_file_folder(const char *path) MUST_CHECK;

/* Replaces the file of this name in a folder by that of the same name in from_folder. 0 or -errno. */
int replace_file(int folder_fd, const char *name, const char *from_folder) MUST_CHECK;

/* The same with json, indented. 0 or -errno. */
int replace_file_json(int folder_fd, const char *name, const json_t *json) MUST_CHECK;

/* Removes a file, if it is there. 0 or -errno. */
int replace_file_remove(int folder_fd, const char *name) MUST_CHECK;

#endif
