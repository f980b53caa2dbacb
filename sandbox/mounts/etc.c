/*
 * etc.c - two tables: the files that are made up, and those that are copied; and what has the host name in it.
 */
#define _GNU_SOURCE
#include "etc.h"

#include "base/cleanup.h"
#include "sandbox/base/step.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/utsname.h>

/* Made up: what libraries look up, and nothing of the host. */
static const struct {
    const char *path;
    const char *text;
} made[] = {
    {"/etc/passwd", "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
                    "petri:x:1000:1000:petri:/home/petri:/bin/sh\n"
                    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"/etc/group", "root:x:0:\npetri:x:1000:\nnogroup:x:65534:\n"},
    {"/etc/host.conf", "multi on\n"},
    {"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"},
    /* There is no network: each question is answered at once with "no such name". See: cell_names_fd() in sandbox.h. */
    {"/etc/resolv.conf", "nameserver 127.0.0.1\noptions attempts:1 timeout:1\n"},
    {"/etc/machine-id", "00000000000000000000000000000000\n"},
    {"/etc/shells", "/bin/sh\n/bin/bash\n"},
};

/* Copied: facts about the installation, none of them secret. Absent where the host has none. */
static const char *const copied[] = {
    "/etc/ld.so.cache",    "/etc/localtime",  "/etc/timezone",    "/etc/mime.types",
    "/etc/services",       "/etc/protocols",  "/etc/magic",       "/etc/matplotlibrc",
    "/etc/debian_version", "/etc/os-release", "/etc/lsb-release",
};

enum { MAX_BYTES = 4 << 20 };

static int make(const char *path, const char *text, struct error *error) {
    auto_fd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        return step_failed(error, STEP_TEMPLATE_FILE, errno, "%s", path);
    return 0;
}

static int copy(const char *old, const char *path, struct error *error) {
    char source[PATH_MAX];
    snprintf(source, sizeof source, "%s%s", old, path);
    auto_fd in = open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (in < 0)
        return 0;
    auto_fd out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (out < 0)
        return step_failed(error, STEP_TEMPLATE_FILE, errno, "%s", path);
    ssize_t n;
    off_t total = 0;
    while (total < MAX_BYTES && (n = sendfile(out, in, NULL, 1 << 20)) > 0)
        total += n;
    return 0;
}

/* Files of the host name, which is what uname(2) tells. */
static int make_named(struct error *error) {
    char hosts[sizeof(struct utsname)], hostname[sizeof(struct utsname)];
    struct utsname own;
    if (uname(&own))
        return step_failed(error, STEP_TEMPLATE_FILE, errno, "/etc/hostname");
    snprintf(hosts, sizeof hosts, "127.0.0.1 localhost %s\n::1 localhost\n", own.nodename);
    snprintf(hostname, sizeof hostname, "%s\n", own.nodename);
    int r = make("/etc/hosts", hosts, error);
    return r ? r : make("/etc/hostname", hostname, error);
}

int etc_build(const char *old, struct error *ret_error) {
    int r = make_named(ret_error);
    for (size_t i = 0; r == 0 && i < sizeof made / sizeof made[0]; i++)
        r = make(made[i].path, made[i].text, ret_error);
    for (size_t i = 0; r == 0 && i < sizeof copied / sizeof copied[0]; i++)
        r = copy(old, copied[i], ret_error);
    return r;
}
