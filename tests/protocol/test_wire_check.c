#include "fixture.h"

#include "protocol/wire.h"

#include <errno.h>
#include <string.h>

#define LANGUAGE_INFO                                                                                                  \
    "{'name':'python','version':'3','mimetype':'text/x-python','file_extension':'.py','pygments_lexer':'ipython3'}"
#define PUBLISH(msg_type, content) "{'type':'publish','seq':1,'msg_type':'" msg_type "','content':" content "}"

/* JSON with ' for ", which is easier to read in C. */
static json_t *parse(const char *text) {
    char quoted[2048];
    size_t n = strlen(text);
    assert_true(n < sizeof quoted);
    for (size_t i = 0; i <= n; i++)
        quoted[i] = text[i] == '\'' ? '"' : text[i];
    json_t *json = json_loads(quoted, JSON_ALLOW_NUL, NULL);
    if (json == NULL)
        fail_msg("the test's own JSON is wrong: %s", text);
    return json;
}

static void test_check_good_frames_pass(void **state) {
    static const struct {
        const char *json;
        enum wire_type type;
    } rows[] = {
        {"{'type':'hello','language_info':" LANGUAGE_INFO ",'banner':''}", WIRE_HELLO},
        {"{'type':'ready'}", WIRE_READY},
        {"{'type':'ready','more':[]}", WIRE_READY},
        {"{'type':'sync','seq':0}", WIRE_SYNC},
        {"{'type':'sync','seq':9007199254740992}", WIRE_SYNC},
        {"{'type':'input','seq':1,'prompt':'','password':false}", WIRE_INPUT},
        {"{'type':'variable','name':'','value':'a\\u0000b'}", WIRE_VARIABLE},
        {"{'type':'input','seq':1,'prompt':'a\\u0000b','password':true}", WIRE_INPUT},
        {"{'type':'done','reply':{}}", WIRE_DONE},
        {"{'type':'done','reply':{'status':'ok','payload':[]}}", WIRE_DONE},
        {PUBLISH("stream", "{'name':'stdout','text':''}"), WIRE_PUBLISH},
        {PUBLISH("display_data", "{'data':{},'metadata':{},'transient':{}}"), WIRE_PUBLISH},
        {PUBLISH("update_display_data", "{'data':{},'transient':{'display_id':'1'}}"), WIRE_PUBLISH},
        {PUBLISH("execute_result", "{'data':{'text/plain':'1'},'execution_count':1}"), WIRE_PUBLISH},
        {PUBLISH("error", "{'ename':'E','evalue':'','traceback':['a','b']}"), WIRE_PUBLISH},
        {PUBLISH("clear_output", "{'wait':true}"), WIRE_PUBLISH},
        {PUBLISH("comm_open", "{'comm_id':'1','target_name':'t','data':{}}"), WIRE_PUBLISH},
        {PUBLISH("comm_msg", "{'comm_id':'1','data':'anything'}"), WIRE_PUBLISH},
        {PUBLISH("comm_close", "{'comm_id':'1'}"), WIRE_PUBLISH},
        {"{'type':'publish','seq':1,'msg_type':'clear_output','content':{'wait':true},'metadata':{},'parent':3}",
         WIRE_PUBLISH},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_auto_t *json = parse(rows[i].json);
        enum wire_type type = WIRE_N_TYPES;
        const char *why = NULL;
        int r = wire_check(json, &type, &why);
        if (r != 0 || type != rows[i].type)
            fail_msg("%s: %s", rows[i].json, why != NULL ? why : "another type");
    }
}

#define NOT_A_TYPE "\"type\" is missing or is not one that a worker may send"
#define NOT_PUBLISHED "publish: \"msg_type\" is not one that a worker may publish"
#define COUNT "a whole number from 0 to 2^53"
#define NAME "a string of 1 to 256 bytes without NUL"
#define X16 "xxxxxxxxxxxxxxxx"
#define X256 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16

static void test_check_bad_frames_say_what_is_wrong(void **state) {
    static const struct {
        const char *json;
        const char *why;
    } rows[] = {
        {"{}", NOT_A_TYPE},
        {"{'type':1}", NOT_A_TYPE},
        {"{'type':''}", NOT_A_TYPE},
        {"{'type':'ack','seq':1}", NOT_A_TYPE},
        {"{'type':'Ready'}", NOT_A_TYPE},
        {"{'type':'ready\\u0000'}", NOT_A_TYPE},
        {"{'type':'hello','banner':''}", "hello: \"language_info\" is missing or is not an object"},
        {"{'type':'hello','language_info':{},'banner':''}", "language_info: \"name\" is missing or is not " NAME},
        {"{'type':'hello','language_info':" LANGUAGE_INFO "}", "hello: \"banner\" is missing or is not a string"},
        {"{'type':'sync'}", "sync: \"seq\" is missing or is not " COUNT},
        {"{'type':'sync','seq':-1}", "sync: \"seq\" is missing or is not " COUNT},
        {"{'type':'sync','seq':1.0}", "sync: \"seq\" is missing or is not " COUNT},
        {"{'type':'sync','seq':true}", "sync: \"seq\" is missing or is not " COUNT},
        {"{'type':'sync','seq':9007199254740993}", "sync: \"seq\" is missing or is not " COUNT},
        {"{'type':'variable','name':'A'}", "variable: \"value\" is missing or is not a string"},
        {"{'type':'variable','name':1,'value':''}", "variable: \"name\" is missing or is not a string"},
        {"{'type':'input','seq':1,'password':false}", "input: \"prompt\" is missing or is not a string"},
        {"{'type':'input','seq':1,'prompt':'','password':0}", "input: \"password\" is missing or is not true or false"},
        {"{'type':'done'}", "done: \"reply\" is missing or is not an object"},
        {"{'type':'done','reply':[]}", "done: \"reply\" is missing or is not an object"},
        {"{'type':'done','reply':{'status':null}}", "reply: \"status\" is not " NAME},
        {"{'type':'publish','msg_type':'stream','content':{}}", "publish: \"seq\" is missing or is not " COUNT},
        {"{'type':'publish','seq':1,'content':{}}", "publish: \"msg_type\" is missing or is not " NAME},
        {"{'type':'publish','seq':1,'msg_type':'error'}", "publish: \"content\" is missing or is not an object"},
        {"{'type':'publish','seq':1,'msg_type':'error','content':{},'metadata':null}",
         "publish: \"metadata\" is not an object"},
        {"{'type':'publish','seq':1,'msg_type':'error','content':{},'parent':-1}", "publish: \"parent\" is not " COUNT},
        {PUBLISH("status", "{'execution_state':'idle'}"), NOT_PUBLISHED},
        {PUBLISH("execute_reply", "{}"), NOT_PUBLISHED},
        {PUBLISH("execute_input", "{}"), NOT_PUBLISHED},
        {PUBLISH("shutdown_reply", "{}"), NOT_PUBLISHED},
        {PUBLISH("debug_event", "{}"), NOT_PUBLISHED},
        {PUBLISH("publish", "{}"), NOT_PUBLISHED},
        {PUBLISH("stream", "{'name':'stdout'}"), "stream: \"text\" is missing or is not a string"},
        {PUBLISH("stream", "{'name':'stdin','text':''}"),
         "stream: \"name\" is missing or is not \"stdout\" or \"stderr\""},
        {PUBLISH("display_data", "{'data':'x'}"), "display_data: \"data\" is missing or is not an object"},
        {PUBLISH("update_display_data", "{'data':{}}"),
         "update_display_data: \"transient\" is missing or is not an object"},
        {PUBLISH("execute_result", "{'data':{},'execution_count':'1'}"),
         "execute_result: \"execution_count\" is not " COUNT},
        {PUBLISH("error", "{'ename':'E','evalue':'','traceback':'a'}"),
         "error: \"traceback\" is missing or is not a list of strings"},
        {PUBLISH("error", "{'ename':'E','evalue':'','traceback':['a',1]}"),
         "error: \"traceback\" is missing or is not a list of strings"},
        {PUBLISH("clear_output", "{}"), "clear_output: \"wait\" is missing or is not true or false"},
        {PUBLISH("comm_open", "{'comm_id':'1'}"), "comm_open: \"target_name\" is missing or is not " NAME},
        {PUBLISH("comm_msg", "{'comm_id':'a\\u0000'}"), "comm_msg: \"comm_id\" is missing or is not " NAME},
        {PUBLISH("comm_close", "{}"), "comm_close: \"comm_id\" is missing or is not " NAME},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_auto_t *json = parse(rows[i].json);
        enum wire_type type = WIRE_N_TYPES;
        const char *why = "";
        int r = wire_check(json, &type, &why);
        if (r != -EBADMSG || type != WIRE_N_TYPES || strcmp(why, rows[i].why) != 0)
            fail_msg("%s: %d, %s", rows[i].json, r, why);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_good_frames_pass),
        cmocka_unit_test(test_check_bad_frames_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
