#include "backend/paths.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SERVICE 990

static struct config config;

/* The configuration names both paths. */
static int read_config(void **state)
{
    struct config_report report;
    int r = config_parse(CONFIG_BACKEND, "test",
                         TEXT_LITERAL("[services]\nuds_path = \"/run/x.sock\"\nstate_dir = \"/var/x\"\n"),
                         &config, &report);

    (void)state;
    config_report_deinit(&report);
    return r;
}

static int drop_config(void **state)
{
    (void)state;
    config_deinit(&config);
    return 0;
}

static void expect(struct paths_context context, const char *socket, const char *state_dir)
{
    struct buffer why = BUFFER_EMPTY;
    struct paths paths;

    assert_int_equal(paths_choose(&config, &context, &paths, &why), 0);
    assert_string_equal(paths.socket, socket);
    assert_string_equal(paths.state_dir, state_dir);
    assert_int_equal(paths.service, context.uid == 0 || context.uid == SERVICE);
    paths_deinit(&paths);
    buffer_deinit(&why);
}

static void a_service_goes_where_the_configuration_says(void **state)
{
    (void)state;
    expect((struct paths_context){.uid = 0, .service_uid = SERVICE, .home = "/root"}, "/run/x.sock",
           "/var/x");
    expect((struct paths_context){.uid = SERVICE, .service_uid = SERVICE}, "/run/x.sock", "/var/x");
}

static void anybody_else_goes_to_his_own_folders(void **state)
{
    struct paths_context context = {.uid = 1000,
                                    .service_uid = SERVICE,
                                    .runtime_dir = "/run/user/1000",
                                    .state_home = "/home/a/state",
                                    .home = "/home/a"};

    (void)state;
    expect(context, "/run/user/1000/clustat/client.sock", "/home/a/state/clustat");
    context.state_home = NULL;
    expect(context, "/run/user/1000/clustat/client.sock", "/home/a/.local/state/clustat");
    context.state_home = "relative";
    context.home = NULL;
    expect(context, "/run/user/1000/clustat/client.sock", "");
    context.config_named = true; /* a file of his own counts */
    expect(context, "/run/x.sock", "/var/x");
    context.socket_named = "/b.sock";
    expect(context, "/b.sock", "/var/x");
    context.option = "/a.sock";
    expect(context, "/a.sock", "/var/x");
}

static void expect_refused(struct paths_context context, const char *says)
{
    struct buffer why = BUFFER_EMPTY;
    struct paths paths;

    assert_int_equal(paths_choose(&config, &context, &paths, &why), -EINVAL);
    assert_non_null(memmem(why.bytes, why.len, says, strlen(says)));
    buffer_deinit(&why);
}

static void impossible_ones_are_refused(void **state)
{
    char path[200];

    (void)state;
    memset(path, 'x', sizeof(path));
    path[0] = '/';
    path[108] = '\0';
    expect_refused((struct paths_context){.uid = 1000, .service_uid = (uid_t)-1}, "XDG_RUNTIME_DIR");
    expect_refused((struct paths_context){.option = "relative.sock"}, "absolute");
    expect_refused((struct paths_context){.option = path}, "107");
    path[107] = '\0';
    expect((struct paths_context){.option = path}, path, "/var/x");
}

static void folders_are_made(void **state)
{
    char top[] = "/tmp/paths-XXXXXX", socket[64], folder[64], inner[64];
    struct paths paths = {.socket = socket, .state_dir = inner};
    struct buffer why = BUFFER_EMPTY;
    struct stat info;

    (void)state;
    assert_non_null(mkdtemp(top));
    snprintf(socket, sizeof(socket), "%s/a/s.sock", top);
    snprintf(folder, sizeof(folder), "%s/a", top);
    snprintf(inner, sizeof(inner), "%s/a/b", top);
    assert_int_equal(paths_make_socket_folder(&paths, &why), 0);
    assert_int_equal(paths_make_state_folder(&paths, &why), 0);
    assert_int_equal(paths_make_state_folder(&paths, &why), 0); /* it is there */
    assert_int_equal(stat(inner, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(rmdir(inner), 0);
    fclose(fopen(inner, "w"));
    assert_int_equal(paths_make_state_folder(&paths, &why), -ENOTDIR);
    assert_non_null(memmem(why.bytes, why.len, inner, strlen(inner)));
    unlink(inner);
    rmdir(folder);
    assert_int_equal(rmdir(top), 0);
    buffer_deinit(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_goes_where_the_configuration_says),
        cmocka_unit_test(anybody_else_goes_to_his_own_folders),
        cmocka_unit_test(impossible_ones_are_refused),
        cmocka_unit_test(folders_are_made),
    };

    return cmocka_run_group_tests(tests, read_config, drop_config);
}
