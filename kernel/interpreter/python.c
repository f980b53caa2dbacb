/*
 * python.c - runs an interpreter isolated (-I) in a child process, and reads three lines.
 *
 * Its time is not limited: it runs as if the user ran it.
 */

#include "python.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char question[] = "import sys\n"
                               "from importlib.util import find_spec\n"
                               "print(sys.executable)\n"
                               "print(sys.prefix)\n"
                               "print(*[m for m in ('IPython', 'comm', 'matplotlib_inline') if not find_spec(m)])\n";

/*
 * Isolated (-I): nothing is imported from the working folder, which may have any
 * modules, nor from the user's site-packages, as in cells. See:
 * sys.flags.isolated.
 */
static void exec_python(const char *name, int out_fd) {
    dup2(out_fd, STDOUT_FILENO);
    execlp(name, name, "-I", "-c", question, (char *)NULL);
    _exit(127);
}

/* Reads a line without its end. 0 or -EPROTO. */
static int read_line(FILE *file, char *buf, size_t size) {
    if (!fgets(buf, (int)size, file) || !strchr(buf, '\n'))
        return -EPROTO;
    *strchr(buf, '\n') = '\0';
    return 0;
}

static int read_answer(int fd, struct python *python) {
    auto_file file = fdopen(fd, "r");
    if (!file)
        return -errno;
    int r = read_line(file, python->executable, sizeof python->executable);
    if (r == 0)
        r = read_line(file, python->prefix, sizeof python->prefix);
    if (r == 0)
        r = read_line(file, python->missing, sizeof python->missing);
    return r;
}

const char *python_name(const char *given) {
    const char *installed_for = getenv("PETRI_PYTHON");
    return given ? given : installed_for && installed_for[0] ? installed_for : "python3";
}

int python_ask(const char *name, struct python *ret_python, struct error *ret_error) {
    struct python python = {0};
    int fds[2];
    int status = 0;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set(ret_error, EMFILE, "%s can't be asked what it is: %s", name, strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        exec_python(name, fds[1]);
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return error_set(ret_error, EAGAIN, "no process could be started to ask %s", name);
    }
    int r = read_answer(fds[0], &python);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (r < 0 || status != 0 || python.executable[0] != '/') {
        bool absent = WIFEXITED(status) && WEXITSTATUS(status) == 127;
        return error_set(ret_error, absent ? ENOENT : EINVAL, "%s %s", name,
                         absent ? "can't be run: is it an interpreter?" : "is no Python 3");
    }
    *ret_python = python;
    return 0;
}

int python_compile(const char *executable, const char *folder) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        execl(executable, executable, "-I", "-m", "compileall", "-q", folder, (char *)NULL);
        _exit(127);
    }
    if (pid < 0)
        return -errno;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status == 0 ? 0 : -EACCES;
}
