/*
 * start.c - `petri kernel`: starts a kernel from its options, runs the loop, and ends the kernel.
 *
 * The order matters: the sockets listen first, so that no client is refused and
 * tries again later (listeners.h). Namespaces are made before any thread exists, and
 * the session before libzmq starts its threads, so that the interpreter starts while
 * libzmq gets the sockets. The key is excluded from forks before there is a session,
 * because its processes don't need it. If something that cells need is missing, or
 * the configuration can't be used, the kernel still starts, and each run is refused
 * with the reason: front ends show a reply, and of a kernel that ends only that it did. At the end
 * the cells end first, then the heartbeat's thread and the sockets, and then the
 * key is wiped.
 */

#include "start.h"

#include "kernel/base/clock.h"
#include "kernel/base/sandbox_error.h"
#include "kernel/files/transaction.h"
#include "kernel/interpreter/launch.h"
#include "kernel/interpreter/python.h"
#include "kernel/jupyter/gate.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/registration.h"
#include "kernel/kernel.h"
#include "kernel/loop.h"
#include "kernel/run/warm.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <zmq.h>

enum { LOCK_S = 5 }; /* how long to wait for the folder */

/* What is found before the kernel's parts exist. */
struct start {
    struct workdir workdir;
    struct paths paths;
    char python[PATH_MAX];
    struct sandbox_host host;
    bool writable;            /* cells' changes shall be written to the folder */
    struct packages packages; /* what the configuration hides */
    struct error broken;      /* why no cell can run; its text is "" where one can */
    const char *mend;         /* what to do about it, where it is not petri doctor that says so; or NULL */
};

static int fail_kernel(const struct kernel *kernel, const char *why) {
    log_write(&kernel->log, LOG_LEVEL_ERROR, "%s", why);
    return EXIT_FAILURE;
}

/*
 * An absolute path is used as it is; any other name may be that of a script,
 * so the interpreter is run to find its path.
 */
static int find_python(const char *given, struct start *start) {
    struct python python;
    const char *name = python_name(given);
    if (name[0] == '/') {
        snprintf(start->python, sizeof start->python, "%s", name);
        return 0;
    }
    int r = python_ask(name, &python, &start->broken);
    if (r == 0)
        memcpy(start->python, python.executable, sizeof start->python);
    return r;
}

/* Never silently: what the configuration bounds and Linux does not. */
static void warn_of_bounds(const struct kernel *kernel, const struct sandbox_host *host) {
    const struct config_kernels *asked = &kernel->config.kernels;
    const bool memory = asked->memory_bytes > 0 && host->bounded.memory_bytes == 0;
    const bool processes = asked->processes > 0 && host->bounded.processes == 0;
    if (memory || processes)
        log_write(
            &kernel->log, LOG_LEVEL_WARNING,
            "the %s%s%s of all kernels together %s not bounded, as the configuration asks (\"kernels\"): there is "
            "no control group that petri may make for it; petri doctor says how to get one",
            memory ? "memory" : "", memory && processes ? " and the " : "", processes ? "processes" : "",
            memory && !processes ? "is" : "are");
}

/* Finds what cells need. If something is missing, sets start->broken, and the kernel starts all the same. */
static void prepare(const struct kernel *kernel, const struct start_options *options, struct start *start) {
    const struct config *config = &kernel->config;
    const struct sandbox_bounds bounds = {(uint64_t)config->kernels.memory_bytes, (uint64_t)config->kernels.processes};
    int fds[LISTENERS_FDS];
    struct error cause = {0};
    listeners_fds(&kernel->jupyter.listeners, fds);
    if (start->broken.text[0])
        return;
    if (workdir_open(&start->workdir, config->inputs, &start->broken) < 0)
        return;
    const struct sandbox_folder folder = workdir_folder(&start->workdir);
    int r = paths_find(&start->paths);
    if (r < 0)
        error_set(&start->broken, -r, "petri's own files are not where its program is");
    else if (find_python(options->python, start) == 0 &&
             (r = sandbox_enter(&folder, &bounds, fds, &start->host, &cause)) < 0)
        error_set_sandbox(&start->broken, r, &cause);
    if (start->broken.text[0] == '\0')
        warn_of_bounds(kernel, &start->host);
}

static int open_signals(struct kernel *kernel) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    kernel->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return kernel->signal_fd < 0 ? -errno : 0;
}

/* Where this fails, no cell runs, because it is not known what to hide. */
static void hide_packages(struct kernel *kernel, struct start *start) {
    struct distributions found;
    const char *site = start->paths.site;
    const json_t *listed = kernel->config.packages;
    if (!listed || start->broken.text[0])
        return;
    int r = distributions_find(start->python, site, &found);
    if (r == 0) {
        const char *const keep[] = {start->workdir.path, start->paths.worker, NULL};
        r = packages_hide(&(struct packages_facts){.found = &found,
                                                   .site = site,
                                                   .listed = listed,
                                                   .keep = keep,
                                                   .inputs = kernel->config.inputs,
                                                   .log = &kernel->log},
                          &start->packages);
        distributions_fini(&found);
    }
    if (r < 0)
        error_set(&start->broken, -r, "it can't be found which packages of %.400s to hide: %s", start->python,
                  strerror(-r));
}

/* Tells the user of the writable mode that the folder is not written. */
static void tell_read_only(struct kernel *kernel) {
    struct runner *runner = &kernel->runner;
    const size_t n = strlen(runner->note);
    snprintf(runner->note + n, sizeof runner->note - n,
             "petri: this folder is not written: cells don't see it as it is%s%s.\n",
             kernel->export.off ? "" : "; files that they make are copied to ",
             kernel->export.off ? "" : kernel->export.name);
}

/* Tells the user of what does not go on from cell to cell as it should. */
static void tell_apart(struct runner *runner) {
    const int r = sandbox_try_compare();
    const size_t n = strlen(runner->note);
    if (r)
        snprintf(
            runner->note + n, sizeof runner->note - n,
            "petri: kcmp is refused here (%s), so copies of a descriptor (os.dup) part after a cell, and an epoll may "
            "lose what it watches; petri doctor says how to change that.\n",
            strerror(-r));
}

static void start_session(struct kernel *kernel, struct start *start) {
    hide_packages(kernel, start);
    json_auto_t *variables = config_variables(&kernel->config);
    if (variables_add_all(&kernel->accounts.variables, variables) < 0)
        error_set(&start->broken, ENOMEM, "there is no memory");
    const struct launch launch = {.host = &start->host,
                                  .paths = &start->paths,
                                  .workdir = &start->workdir,
                                  .python = start->python,
                                  .profile = kernel->config.profile.kind,
                                  .limits = &kernel->runner.limits,
                                  .packages = &start->packages,
                                  .listed = kernel->config.packages,
                                  .variables = variables,
                                  .inputs = kernel->config.inputs,
                                  .outputs = kernel->export.name[0] ? kernel->export.name : NULL,
                                  .writable = kernel->writeback.on};
    struct session *session;
    if (start->broken.text[0] == '\0' && launch_session(&launch, &session, &start->broken) == 0) {
        const struct session_view view = session_view(session);
        workdir_note(&start->workdir, &view, kernel->runner.note, sizeof kernel->runner.note);
        if (view.in_parts)
            writeback_fini(&kernel->writeback); /* cells would not see what is written */
        if (start->writable && !kernel->writeback.on)
            tell_read_only(kernel);
        tell_apart(&kernel->runner);
        kernel->export.session = session;
        warm_begin(&kernel->runner, session);
    } else {
        kernel->runner.mend = start->mend;
        warm_give_up(&kernel->runner, start->broken.text);
    }
}

/*
 * A client may ask for an empty key. See: Jupyter messaging, "The wire
 * protocol": an empty key disables authentication.
 */
static void warn_of_empty_key(const struct kernel *kernel) {
    const struct connection *connection = &kernel->jupyter.connection;
    if (connection->key_bytes == 0 && connection->curve_secretkey[0] == '\0' &&
        strcmp(connection->transport, "tcp") == 0)
        log_write(&kernel->log, LOG_LEVEL_WARNING,
                  "the connection file's key is empty: whoever can connect to %s, every user of this machine among "
                  "them, can run cells in this session",
                  connection->ip);
}

static int open_channels(struct kernel *kernel, struct error *ret_error) {
    struct jupyter *jupyter = &kernel->jupyter;
    gate_prepare(NULL, &kernel->log);
    warn_of_empty_key(kernel);
    int r = channels_open(&jupyter->channels, &jupyter->connection, &jupyter->listeners, ret_error);
    if (r == 0)
        r = heartbeat_start(&jupyter->heartbeat, jupyter->channels.context, &jupyter->connection, &jupyter->listeners,
                            ret_error);
    return r < 0 ? r : registration_announce(&jupyter->channels, &jupyter->connection, ret_error);
}

static int serve(struct kernel *kernel, struct start *start) {
    struct error error;
    if (open_signals(kernel) < 0 || comms_init(&kernel->comms) < 0 || runner_init(&kernel->runner) < 0)
        return fail_kernel(kernel, "there is no memory or no descriptor to start with");
    if (connection_withhold(&kernel->jupyter.connection) < 0)
        return fail_kernel(kernel, "the key can't be kept from other processes");
    start_session(kernel, start);
    kernel->deferred = (struct deferred){.config = &kernel->config,
                                         .accounts = &kernel->accounts,
                                         .log = &kernel->log,
                                         .python = start->broken.text[0] ? NULL : start->python,
                                         .paths = &start->paths};
    if (open_channels(kernel, &error) < 0)
        return fail_kernel(kernel, error.text);
    iopub_await_subscriber(&kernel->jupyter);
    iopub_status(&kernel->jupyter, NULL, "starting");
    int r = loop_run(kernel);
    return r < 0 ? fail_kernel(kernel, zmq_strerror(-r)) : EXIT_SUCCESS;
}

/*
 * Chooses the export folder. A working folder that cells don't see does not count as the notebook's. In the writable
 * mode cells work in the folder itself, so copies of what is no part of the session go to another one, which no cell
 * sees.
 */
static void choose_export(struct kernel *kernel, const struct start_options *options, const struct start *start) {
    const char *path = options->artifacts;
    const struct workdir *workdir = &start->workdir;
    const char *of_config = workdir->shown ? kernel->config.artifacts : "";
    char name[NAME_MAX + 1];
    if (kernel->writeback.on && of_config[0])
        snprintf(name, sizeof name, "%.*s%s", NAME_MAX - (int)strlen(writeback_aside), of_config, writeback_aside);
    else
        snprintf(name, sizeof name, "%s", of_config);
    if (path)
        export_init_at(&kernel->export, path);
    else
        export_init(&kernel->export, workdir->fd, workdir->path, name);
    kernel->writeback.aside = kernel->export.name;
}

/*
 * Completes the changes that an earlier kernel had committed, but not made before it was killed. The folder may be
 * locked still by a process of that kernel that is about to end, or by a kernel that is just writing: no cell should
 * see half of it.
 */
static void end_writing(const struct kernel *kernel, const struct workdir *workdir) {
    const int64_t until_us = clock_us() + LOCK_S * CLOCK_S;
    int n = workdir->shown && workdir->fd >= 0 ? transaction_recover(workdir->fd) : 0;
    while (n == -EAGAIN && clock_us() < until_us) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        n = transaction_recover(workdir->fd);
    }
    if (n > 0)
        log_write(&kernel->log, LOG_LEVEL_INFO, "%d changes were completed that an earlier kernel had begun", n);
    else if (n == -ESTALE)
        log_write(
            &kernel->log, LOG_LEVEL_WARNING,
            "this folder is a copy of one in which a kernel was killed; what that kernel had begun to write is in "
            ".petri-kept-*");
    else if (n < 0)
        log_write(&kernel->log, LOG_LEVEL_WARNING, "the folder can't be written: %s", transaction_problem(n));
}

/* Turns the writable mode on, if it is asked for and possible. */
static void choose_writing(struct kernel *kernel, const struct start_options *options, struct start *start) {
    const struct config *config = &kernel->config;
    const struct workdir *workdir = &start->workdir;
    start->writable =
        (options->writable || config->writable.on) && config->profile.kind != PROFILE_STRICT && !options->artifacts;
    writeback_init(&kernel->writeback);
    if (start->broken.text[0])
        return;
    end_writing(kernel, workdir);
    if (!start->writable || !workdir->shown)
        return;
    int r = writeback_turn_on(&kernel->writeback, workdir->fd, config->writable.allow);
    if (r < 0)
        log_write(&kernel->log, LOG_LEVEL_ERROR, "the folder can't be written: %s", strerror(-r));
}

static void forget_clients(struct kernel *kernel) {
    listeners_close(&kernel->jupyter.listeners, &kernel->jupyter.connection);
    connection_fini(&kernel->jupyter.connection);
}

static void free_kernel(struct kernel *kernel) {
    introspections_fini(&kernel->introspections);
    preload_cancel(&kernel->preload);
    runner_fini(&kernel->runner);
    info_fini(&kernel->info);
    comms_fini(&kernel->comms);
    history_fini(&kernel->history);
    records_close(&kernel->accounts.records);
    variables_fini(&kernel->accounts.variables);
    patterns_destroy(kernel->accounts.patterns);
    patterns_destroy(kernel->refused);
    json_decref(kernel->accounts.unrecorded);
    json_decref(kernel->accounts.environment);
    if (kernel->jupyter.channels.context)
        zmq_ctx_shutdown(kernel->jupyter.channels.context);
    heartbeat_join(&kernel->jupyter.heartbeat);
    channels_close(&kernel->jupyter.channels);
    forget_clients(kernel);
    export_fini(&kernel->export);
    writeback_fini(&kernel->writeback);
    config_fini(&kernel->config);
    if (kernel->signal_fd >= 0)
        close(kernel->signal_fd);
}

/* No option turns on what the operator has turned off and locked. */
static int check_locks(const struct config *config, const struct start_options *options, struct error *ret_error) {
    static const char form[] = "%s can't be used: " CONFIG_POLICY_PATH ", which holds for every user of this machine, "
                               "locks \"%s\", and %s.";
    if (options->writable && !config->writable.on && config_locks(config, "writable"))
        return error_set(ret_error, EPERM, form, "The kernel \"petri, writable\" (--writable)", "writable",
                         "no cell writes to the notebook's folder");
    if (options->artifacts && options->artifacts[0] && !config->artifacts[0] && config_locks(config, "artifacts"))
        return error_set(ret_error, EPERM, form, "--artifacts", "artifacts", "no files of cells are copied out");
    return 0;
}

/*
 * Reads the profile and the configuration. Where either can't be used, no cell
 * runs, and nothing is stored.
 */
static void choose_config(struct kernel *kernel, const struct start_options *options, struct start *start) {
    if (config_load(options->config, options->profile, &kernel->config, &start->broken) < 0) {
        start->mend =
            "In a terminal, petri config check says what is wrong with the configuration. Restart the kernel once "
            "it is mended.";
    } else if (check_locks(&kernel->config, options, &start->broken) < 0) {
        start->mend = "In a terminal, petri config check says what is locked. Use the kernel \"Python 3 (petri)\", or "
                      "leave the option out.";
        config_fini(&kernel->config);
    } else {
        return;
    }
    config_closed(&kernel->config);
}

/* Who has set the bound that holds: the operator, or the user's own file. */
static const char *who_allows(int64_t bound, int64_t operators) {
    if (operators > 0 && bound == operators)
        return CONFIG_POLICY_PATH ", which holds for every user of this machine, allows";
    return "your configuration (\"kernels\") allows";
}

/* There are as many kernels as may be: this one runs no cell. */
static void refuse_number(const struct config *config, size_t running, struct start *start) {
    const int64_t most = config->kernels.number;
    error_set(&start->broken, EAGAIN, "%zu kernel%s of this user run%s, and %s no more than %" PRId64 " at once",
              running, running == 1 ? "" : "s", running == 1 ? "s" : "",
              who_allows(most, config->operators_kernels.number), most);
    start->mend = "In a terminal, petri ps lists them: shut one down, and restart this kernel.";
}

/*
 * Enters this kernel among those that run: here, in the process that Jupyter knows,
 * before there are others. Where no cell can run, it is listed, but takes no place.
 */
static void enter_roster(struct kernel *kernel, struct start *start) {
    const struct config *config = &kernel->config;
    const bool broken = start->broken.text[0];
    char folder[PATH_MAX];
    struct error cause;
    size_t running;
    const struct roster_facts facts = {.profile = config->profile.name,
                                       .folder = getcwd(folder, sizeof folder) ? folder : "",
                                       .takes_no_place = broken};
    const size_t most = (size_t)config->kernels.number;
    if (roster_enter(&kernel->roster, &facts, most, &running, &cause) == 0) {
        if (most > 0 && running >= most && !broken)
            refuse_number(config, running, start);
        return;
    }
    log_write(&kernel->log, LOG_LEVEL_WARNING, "petri ps does not list this kernel: %s", cause.text);
    if (most == 0 || broken)
        return;
    error_set(&start->broken, cause.err,
              "it can't be told how many kernels of this user run, of which there may be %zu: %s", most, cause.text);
    start->mend = "Who runs this machine can remove what is in the way. Restart the kernel then.";
}

/* Reads the configuration. An error here ends the program with START_EXIT_USAGE. */
static int configure(struct kernel *kernel, const struct start_options *options, struct start *start,
                     struct error *ret_error) {
    const struct config *config = &kernel->config;
    char history[PATH_MAX];
    choose_config(kernel, options, start);
    if (options->writable && config->profile.kind == PROFILE_STRICT)
        return error_set(ret_error, EINVAL, "profile strict writes to no folder: --writable is for profile notebook");
    kernel->runner.limits = config->limits;
    kernel->runner.grace_us = config->grace_ms * CLOCK_MS;
    kernel->runner.hold_us = CAPTURES_HOLD_MS * CLOCK_MS;
    int r = patterns_create(config->redact, &kernel->accounts.patterns);
    if (r == 0)
        r = patterns_create(config->refuse.patterns, &kernel->refused);
    if (r < 0)
        return error_set(ret_error, -r, "there is no memory for the patterns of the configuration");
    if (!config->history || history_default_path(history, sizeof history) < 0)
        history[0] = '\0';
    kernel->accounts.redaction = (struct redaction){kernel->accounts.patterns, &kernel->accounts.variables};
    history_init(&kernel->history, history, &kernel->accounts.redaction, &kernel->log);
    info_link_help(&kernel->info, config->profile.name, options->writable);
    return 0;
}

/*
 * How long the ports may be taken: a kernel that was killed has them for some milliseconds more, because its launcher
 * waits for the outer of its two processes, and the inner one ends after that (sandbox/spawn/enter.c).
 */
#define PATIENCE_US (5 * CLOCK_S)

/* Reads the connection file, and listens where it says. 0, or the exit status after a line in the log. */
static int listen_for_clients(struct kernel *kernel, const char *connection_file) {
    struct jupyter *jupyter = &kernel->jupyter;
    struct error error;
    if (connection_read(connection_file, &jupyter->connection, &error) < 0) {
        fail_kernel(kernel, error.text);
        return START_EXIT_USAGE;
    }
    if (listeners_open(&jupyter->connection, PATIENCE_US, &jupyter->listeners, &error) < 0) {
        connection_fini(&jupyter->connection);
        return fail_kernel(kernel, error.text);
    }
    return 0;
}

/* Sets the fields of each part that point to other parts. */
static void connect_parts(struct kernel *kernel) {
    struct runner *runner = &kernel->runner;
    kernel->jupyter.log = &kernel->log;
    kernel->accounts.log = &kernel->log;
    kernel->accounts.config = &kernel->config;
    kernel->accounts.session_id = kernel->jupyter.channels.session_id;
    kernel->accounts.profile = &kernel->config.profile;
    runner->log = &kernel->log;
    runner->jupyter = &kernel->jupyter;
    runner->info = &kernel->info;
    runner->comms = &kernel->comms;
    runner->history = &kernel->history;
    runner->export = &kernel->export;
    runner->writeback = &kernel->writeback;
    runner->accounts = &kernel->accounts;
    runner->config = &kernel->config;
    runner->refused = kernel->refused;
    runner->profile = &kernel->config.profile;
}

int start_kernel(const struct start_options *options) {
    struct kernel kernel = {.signal_fd = -1, .usage = {.pid = getpid()}};
    struct start start = {.workdir = {.fd = -1}, .host = {.folder_fd = -1}};
    struct error error;
    mallopt(M_ARENA_MAX, 1); /* else each thread of an errand leaves free memory that no other thread uses */
    log_init(&kernel.log, getenv("PETRI_LOG"));
    int status = listen_for_clients(&kernel, options->connection_file);
    if (status)
        return status;
    if (configure(&kernel, options, &start, &error) < 0) {
        fail_kernel(&kernel, error.text);
        forget_clients(&kernel);
        return START_EXIT_USAGE;
    }
    connect_parts(&kernel);
    enter_roster(&kernel, &start);
    introspections_init(&kernel.introspections);
    backpressure_init(&kernel.jupyter.backpressure, &kernel.jupyter.channels, &kernel.log);
    preload_init(&kernel.preload);
    compact_init(&kernel.compact);
    prepare(&kernel, options, &start);
    choose_writing(&kernel, options, &start);
    choose_export(&kernel, options, &start);
    status = serve(&kernel, &start);
    roster_leave(&kernel.roster);
    free_kernel(&kernel);
    packages_fini(&start.packages);
    workdir_close(&start.workdir);
    return status;
}
