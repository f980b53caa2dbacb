/* Where the help menu leads: to the page beside the kernelspec, by the address of Jupyter's server. */
#include "kernel/jupyter/info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_info_link_help_names_the_kernelspec_of_profile_and_mode(void **state) {
    static const struct {
        const char *prefix, *profile;
        bool writable;
        const char *url;
    } rows[] = {
        {NULL, "notebook", false, "/kernelspecs/petri/help.html"},
        {"", "notebook", true, "/kernelspecs/petri-writable/help.html"},
        {"/user/ada/", "strict", false, "/user/ada/kernelspecs/petri-strict/help.html"},
        {"https://elsewhere/", "classroom", false, "/kernelspecs/petri-classroom/help.html"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct info info = {0};
        unsetenv("JUPYTERHUB_SERVICE_PREFIX");
        if (rows[i].prefix)
            setenv("JUPYTERHUB_SERVICE_PREFIX", rows[i].prefix, 1);
        info_link_help(&info, rows[i].profile, rows[i].writable);
        assert_string_equal(info.help_url, rows[i].url);
        info_fini(&info);
    }
}

static void test_info_link_help_with_an_address_that_is_too_long_links_nothing(void **state) {
    struct info info = {0};
    char prefix[INFO_URL_BYTES];
    (void)state;
    memset(prefix, '/', sizeof prefix - 1);
    prefix[sizeof prefix - 1] = '\0';
    setenv("JUPYTERHUB_SERVICE_PREFIX", prefix, 1);
    info_link_help(&info, "notebook", false);
    assert_string_equal(info.help_url, "");
    info_fini(&info);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info_link_help_names_the_kernelspec_of_profile_and_mode),
        cmocka_unit_test(test_info_link_help_with_an_address_that_is_too_long_links_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
