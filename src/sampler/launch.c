#include "sampler/launch.h"

#include "core/buffer.h"
#include "core/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>

#define WORDS_MAX      10
#define FIRST_SPARE_FD 10 /* our copies stay clear of the child's fixed places */

static const char *const mode_words[] = {
    [COMMAND_LINE_NONE] = "none", [COMMAND_LINE_NAME] = "name", [COMMAND_LINE_FULL] = "full"};

struct sampler_options sampler_options_default(void)
{
    return (struct sampler_options){
        .tick_ns = 25 * NS_PER_MS,
        .driver_time_ppm = 20000,
        .stuck_call_ns = 60 * NS_PER_S,
        .command_line = COMMAND_LINE_NAME,
        .command_line_max = 4096,
    };
}

bool sampler_is_child(char *const argv[])
{
    return argv[0] && !strcmp(argv[0], SAMPLER_ROLE);
}

/* ---- the child's side ---- */

/* What follows `name=` in a word, NULL if it is another word. */
static const char *value_of(const char *word, const char *name)
{
    size_t len = strlen(name);

    return !strncmp(word, name, len) && word[len] == '=' ? word + len + 1 : NULL;
}

static int parse_number(const char *value, unsigned long long max, unsigned long long *ret_number)
{
    return text_parse_decimal(text_from_string(value), max, ret_number);
}

static int parse_mode(const char *value, enum command_line_mode *ret_mode)
{
    for (size_t i = 0; i < sizeof(mode_words) / sizeof(mode_words[0]); i++)
        if (!strcmp(value, mode_words[i])) {
            *ret_mode = (enum command_line_mode)i;
            return 0;
        }
    return -EINVAL;
}

static int parse_devices(const char *value, struct device_set *set)
{
    for (;;) {
        size_t len = strcspn(value, ",");
        unsigned long long index;

        if (text_parse_decimal((struct text){value, len}, SNAPSHOT_MAX_DEVICES - 1, &index) < 0)
            return -EINVAL;
        device_set_add(set, (uint32_t)index);
        if (!value[len])
            return 0;
        value += len + 1;
    }
}

static int parse_word(const char *word, struct launch *launch)
{
    struct sampler_options *options = &launch->options;
    unsigned long long number;
    const char *value;

    if (!strcmp(word, "--without-host")) {
        launch->without_host = true;
        return 0;
    }
    if ((value = value_of(word, "--library"))) {
        options->library_path = value;
        return 0;
    }
    if ((value = value_of(word, "--leave-out")))
        return parse_devices(value, &launch->left_out);
    if ((value = value_of(word, "--command-line")))
        return parse_mode(value, &options->command_line);
    if ((value = value_of(word, "--tick-us"))) {
        if (parse_number(value, 3600000000, &number) < 0)
            return -EINVAL;
        options->tick_ns = (int64_t)number * NS_PER_US;
        return 0;
    }
    if ((value = value_of(word, "--driver-ppm"))) {
        if (parse_number(value, 1000000, &number) < 0)
            return -EINVAL;
        options->driver_time_ppm = (uint32_t)number;
        return 0;
    }
    if ((value = value_of(word, "--stuck-ms"))) {
        if (parse_number(value, 86400000, &number) < 0)
            return -EINVAL;
        options->stuck_call_ns = (int64_t)number * NS_PER_MS;
        return 0;
    }
    if ((value = value_of(word, "--command-line-max"))) {
        if (parse_number(value, UINT32_MAX, &number) < 0)
            return -EINVAL;
        options->command_line_max = (uint32_t)number;
        return 0;
    }
    return -EINVAL;
}

int launch_parse(int argc, char *const argv[], struct launch *ret_launch)
{
    struct launch launch = {.options = sampler_options_default()};

    for (int i = 1; i < argc; i++)
        if (parse_word(argv[i], &launch) < 0)
            return -EINVAL;
    *ret_launch = launch;
    return 0;
}

/* ---- the parent's side ---- */

/* The words one after another, each with its NUL, and where they begin. */
struct words {
    struct buffer text;
    size_t at[WORDS_MAX];
    size_t count;
};

static void begin_word(struct words *words)
{
    words->at[words->count++] = words->text.len;
}

static void put_number_word(struct words *words, const char *name, int64_t number)
{
    begin_word(words);
    buffer_printf(&words->text, "%s=%lld", name, (long long)number);
    buffer_put_char(&words->text, '\0');
}

static void put_string_word(struct words *words, const char *name, const char *value)
{
    begin_word(words);
    buffer_put_string(&words->text, name);
    buffer_put_string(&words->text, value);
    buffer_put_char(&words->text, '\0');
}

static void put_devices_word(struct words *words, const struct device_set *set)
{
    const char *before = "--leave-out=";

    for (uint32_t i = 0; i < SNAPSHOT_MAX_DEVICES; i++) {
        if (!device_set_has(set, i))
            continue;
        if (before[0] == '-')
            begin_word(words);
        buffer_put_string(&words->text, before);
        buffer_put_unsigned(&words->text, i);
        before = ",";
    }
    if (before[0] == ',')
        buffer_put_char(&words->text, '\0');
}

static void put_words(struct words *words, const struct launch *launch)
{
    const struct sampler_options *options = &launch->options;

    put_string_word(words, SAMPLER_ROLE, "");
    put_number_word(words, "--tick-us", options->tick_ns / NS_PER_US);
    put_number_word(words, "--driver-ppm", options->driver_time_ppm);
    put_number_word(words, "--stuck-ms", options->stuck_call_ns / NS_PER_MS);
    put_string_word(words, "--command-line=", mode_words[options->command_line]);
    put_number_word(words, "--command-line-max", options->command_line_max);
    if (options->library_path)
        put_string_word(words, "--library=", options->library_path);
    put_devices_word(words, &launch->left_out);
    if (launch->without_host)
        put_string_word(words, "--without-host", "");
}

/* File actions and attributes that are destroyed with their scope. */
struct spawn_setup {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

static void spawn_setup_deinit(struct spawn_setup *setup)
{
    posix_spawn_file_actions_destroy(&setup->actions);
    posix_spawnattr_destroy(&setup->attributes);
}

/* Returns 0 or a positive errno, as the calls do. */
static int describe_descriptors(posix_spawn_file_actions_t *actions, int socket_fd, int page_fd)
{
    int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    r = r ? r : posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!r && !getenv("CLUSTAT_SAMPLER_STDERR"))
        r = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    r = r ? r : posix_spawn_file_actions_adddup2(actions, socket_fd, SAMPLER_SOCKET_FD);
    return r ? r : posix_spawn_file_actions_adddup2(actions, page_fd, SAMPLER_PAGE_FD);
}

/* A session of its own (no signal of the terminal reaches it), no blocked or ignored signals. */
static int describe_process(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    int r;

    sigemptyset(&none);
    sigfillset(&all);
    r = posix_spawnattr_setsigmask(attributes, &none);
    r = r ? r : posix_spawnattr_setsigdefault(attributes, &all);
    return r ? r
             : posix_spawnattr_setflags(attributes,
                                        POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int spawn(char *const argv[], int socket_fd, int page_fd, char *const environment[], pid_t *ret_pid)
{
    _cleanup_(spawn_setup_deinit) struct spawn_setup setup;
    int r;

    posix_spawn_file_actions_init(&setup.actions);
    posix_spawnattr_init(&setup.attributes);
    r = describe_descriptors(&setup.actions, socket_fd, page_fd);
    r = r ? r : describe_process(&setup.attributes);
    r = r ? r : posix_spawn(ret_pid, "/proc/self/exe", &setup.actions, &setup.attributes, argv, environment);
    return -r;
}

static void words_deinit(struct words *words)
{
    buffer_deinit(&words->text);
}

int launch_spawn(const struct launch *launch, int socket_fd, int page_fd, char *const environment[],
                 pid_t *ret_pid)
{
    _cleanup_(words_deinit) struct words words = {0};
    _cleanup_(cleanup_close) int socket_copy = fcntl(socket_fd, F_DUPFD_CLOEXEC, FIRST_SPARE_FD);
    _cleanup_(cleanup_close) int page_copy = fcntl(page_fd, F_DUPFD_CLOEXEC, FIRST_SPARE_FD);
    char *argv[WORDS_MAX + 1] = {NULL};

    if (socket_copy < 0 || page_copy < 0)
        return -errno;
    put_words(&words, launch);
    if (buffer_error(&words.text) < 0)
        return buffer_error(&words.text);
    for (size_t i = 0; i < words.count; i++)
        argv[i] = words.text.bytes + words.at[i];
    return spawn(argv, socket_copy, page_copy, environment, ret_pid);
}

char **launch_environment(void)
{
    size_t count = 0, kept = 0;
    char **environment;

    while (environ[count])
        count++;
    environment = calloc(count + 1, sizeof(*environment));
    if (!environment)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "NOTIFY_SOCKET=", strlen("NOTIFY_SOCKET=")) != 0)
            environment[kept++] = environ[i];
    return environment;
}
