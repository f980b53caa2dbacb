/*
 * info.c - answers with the fields of the worker's hello, or without them after two seconds.
 *
 * Requests that wait do so in the order of arrival, so the first one's age is the
 * deadline.
 */

#include "info.h"

#include "kernel/base/clock.h"
#include "kernel/jupyter/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_S = 2 };

static const struct {
    const char *text;
    const char *url;
} help_links[] = {
    {"Python Reference", "https://docs.python.org/3"},
    {"IPython Reference", "https://ipython.org/documentation.html"},
    {"NumPy Reference", "https://numpy.org/doc/stable/"},
    {"SciPy Reference", "https://docs.scipy.org/doc/scipy/"},
    {"Matplotlib Reference", "https://matplotlib.org/stable/"},
    {"pandas Reference", "https://pandas.pydata.org/docs/"},
};

void info_link_help(struct info *info, const char *profile, bool writable) {
    const char *prefix = getenv("JUPYTERHUB_SERVICE_PREFIX");
    const char *name = writable ? "writable" : strcmp(profile, "notebook") == 0 ? "" : profile;
    const int n = snprintf(info->help_url, sizeof info->help_url, "%skernelspecs/petri%s%s/help.html",
                           prefix && prefix[0] == '/' ? prefix : "/", name[0] ? "-" : "", name);
    if (n >= (int)sizeof info->help_url)
        info->help_url[0] = '\0';
}

void info_fini(struct info *info) {
    json_decref(info->language);
    json_decref(info->banner);
    request_queue_clear(&info->waiting);
    *info = (struct info){0};
}

static json_t *make_help_links(const struct info *info) {
    json_t *links = json_array();
    if (info->help_url[0])
        json_array_append_new(links, json_pack("{s:s, s:s}", "text", "petri Reference", "url", info->help_url));
    for (size_t i = 0; i < sizeof help_links / sizeof help_links[0]; i++)
        json_array_append_new(links, json_pack("{s:s, s:s}", "text", help_links[i].text, "url", help_links[i].url));
    return links;
}

/* What is true for every Python 3, used where no hello has come. */
static json_t *language_unheard(void) {
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:{s:s, s:i}, s:s}", "name", "python", "version", "3", "mimetype",
                     "text/x-python", "file_extension", ".py", "pygments_lexer", "ipython3", "codemirror_mode", "name",
                     "ipython", "version", 3, "nbconvert_exporter", "python");
}

static json_t *make_info(const struct info *info) {
    json_t *language = info->language ? json_incref(info->language) : language_unheard();
    json_t *banner = info->banner ? json_incref(info->banner) : json_string("petri " PETRI_VERSION);
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:b, s:[]}", "status", "ok", "protocol_version",
                     MESSAGE_PROTOCOL_VERSION, "implementation", "petri", "implementation_version", PETRI_VERSION,
                     "language_info", language, "banner", banner, "help_links", make_help_links(info), "debugger", 0,
                     "supported_features");
}

static void answer_info(struct info *info, struct jupyter *jupyter, struct request *request) {
    reply_send(jupyter, request, "kernel_info_reply", NULL, make_info(info));
    reply_idle(jupyter, request);
    info->answered = true;
}

static void answer_all(struct info *info, struct jupyter *jupyter) {
    struct request *request;
    while ((request = request_queue_pop(&info->waiting)))
        answer_info(info, jupyter, request);
}

void info_request(struct info *info, struct jupyter *jupyter, struct request *request) {
    reply_busy(jupyter, request);
    if (info->language || info->final)
        answer_info(info, jupyter, request);
    else
        request_queue_push(&info->waiting, request);
}

void info_hello(struct info *info, struct jupyter *jupyter, const json_t *hello) {
    json_decref(info->language);
    json_decref(info->banner);
    info->language = json_incref(json_object_get(hello, "language_info"));
    info->banner = json_incref(json_object_get(hello, "banner"));
    answer_all(info, jupyter);
}

void info_give_up(struct info *info, struct jupyter *jupyter) {
    info->final = true;
    answer_all(info, jupyter);
}

void info_tick(struct info *info, struct jupyter *jupyter, int64_t now_us) {
    if (info_deadline(info) <= now_us)
        answer_all(info, jupyter);
}

int64_t info_deadline(const struct info *info) {
    return info->waiting.first ? info->waiting.first->arrived_us + WAIT_S * CLOCK_S : CLOCK_NEVER;
}
