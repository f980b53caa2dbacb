/*
 * labextension.h - the prebuilt extension of JupyterLab, client/lab/, which shows the timeline.
 *
 * See: JupyterLab, "Distributing a prebuilt extension".
 */
#ifndef PETRI_LABEXTENSION_H
#define PETRI_LABEXTENSION_H

#include "base/cleanup.h"

#define LABEXTENSION_NAME "petri-timeline" /* of its folder, and in its package.json */

/*
 * Writes the extension from its built files into labextensions/ of data, one of Jupyter's
 * folders of data. Files there of the same names are replaced, and those of an earlier version removed; links are not
 * followed. 0, or -errno: -ELOOP or -ENOTDIR where its folder is a link.
 */
int labextension_write(const char *data, const char *files) MUST_CHECK;

/*
 * Removes it again. 1, 0 where there is none, or -errno: -ENOTEMPTY where others have put something
 * into its folder, which stays.
 */
int labextension_remove(const char *data) MUST_CHECK;

#endif
