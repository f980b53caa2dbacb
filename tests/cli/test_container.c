/* Which runtime a container is told to be of, by its environment and by what lies in a tree. */
#include "cli/container.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A root with nothing in it; and no variable that tells of a container. */
struct root {
    char path[64];
};

static int make_root(void **state) {
    static struct root root;
    strcpy(root.path, "/tmp/petri-container-XXXXXX");
    unsetenv("container");
    unsetenv("KUBERNETES_SERVICE_HOST");
    *state = &root;
    return mkdtemp(root.path) ? 0 : -1;
}

static int remove_root(void **state) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", ((struct root *)*state)->path);
    return system(command);
}

/* Makes a file with a text, and the folders on the way to it. */
static void put(const struct root *root, const char *path, const char *text) {
    char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s%s", root->path, path);
    for (char *slash = strchr(whole + strlen(root->path) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(whole, 0755);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect(const struct root *root, const char *name) {
    const struct container *found = container_find(root->path);
    assert_non_null(found);
    assert_string_equal(found->name, name);
}

static void test_container_without_a_trace_is_none(void **state) {
    const struct root *root = *state;
    assert_null(container_find(root->path));
}

static void test_container_is_told_by_the_variable(void **state) {
    static const char *const rows[][2] = {{"podman", "podman"},
                                          {"docker", "Docker"},
                                          {"kubernetes", "Kubernetes"},
                                          {"lxc", "LXC"},
                                          {"systemd-nspawn", "systemd-nspawn"},
                                          {"oci", "a container"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setenv("container", rows[i][0], 1);
        expect(*state, rows[i][1]);
    }
}

static void test_container_is_told_by_a_file(void **state) {
    static const char *const rows[][2] = {{"/run/.containerenv", "podman"},
                                          {"/.dockerenv", "Docker"},
                                          {"/dev/.lxc/proc", "LXC"},
                                          {"/var/run/secrets/kubernetes.io/serviceaccount/token", "Kubernetes"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(make_root(state), 0);
        put(*state, rows[i][0], "");
        expect(*state, rows[i][1]);
        assert_int_equal(remove_root(state), 0);
    }
    assert_int_equal(make_root(state), 0);
}

/* An image made by one runtime may be run by another. */
static void test_container_of_podman_with_a_file_of_docker_is_podman(void **state) {
    put(*state, "/.dockerenv", "");
    put(*state, "/run/.containerenv", "");
    expect(*state, "podman");
}

static void test_container_of_docker_in_kubernetes_is_kubernetes(void **state) {
    put(*state, "/.dockerenv", "");
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    expect(*state, "Kubernetes");
}

static void test_container_is_told_by_what_systemd_has_noted(void **state) {
    put(*state, "/run/systemd/container", "systemd-nspawn\n");
    expect(*state, "systemd-nspawn");
    put(*state, "/run/systemd/container", "wsl\n");
    expect(*state, "a container");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_container_without_a_trace_is_none),
        TEST(test_container_is_told_by_the_variable),
        TEST(test_container_is_told_by_a_file),
        TEST(test_container_of_podman_with_a_file_of_docker_is_podman),
        TEST(test_container_of_docker_in_kubernetes_is_kubernetes),
        TEST(test_container_is_told_by_what_systemd_has_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
