#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define WORDS_MAX 16

/* Splits `line` at '|' into words ("" is no word at all) and parses them. */
static int parse(bool as_gpustat, const char *line, struct options *ret_options, struct buffer *error)
{
    static char copy[1024]; /* options borrow their strings from it */
    char *words[WORDS_MAX];
    size_t count = 0;
    char *rest = copy;

    assert_true(strlen(line) < sizeof(copy));
    strcpy(copy, line);
    while (*line && rest) {
        assert_true(count < WORDS_MAX);
        words[count++] = strsep(&rest, "|");
    }
    buffer_clear(error);
    return options_parse(as_gpustat, words, count, ret_options, error);
}

static struct options parse_good(bool as_gpustat, const char *line)
{
    struct buffer error = BUFFER_EMPTY;
    struct options options;
    int r = parse(as_gpustat, line, &options, &error);

    if (r != 0)
        fail_msg("'%s': %.*s", line, (int)error.len, error.bytes);
    assert_int_equal(error.len, 0);
    buffer_deinit(&error);
    return options;
}

static void expect_error(bool as_gpustat, const char *line, const char *message)
{
    struct buffer error = BUFFER_EMPTY;
    struct options options;

    assert_int_equal(parse(as_gpustat, line, &options, &error), OPTIONS_USAGE);
    buffer_put_char(&error, '\0');
    assert_string_equal(error.bytes, message);
    buffer_deinit(&error);
}

static void table_rows_stand_at_their_ids(void **state)
{
    (void)state;
    for (size_t id = 0; id < OPTION_COUNT; id++) {
        const struct option_spec *spec = &option_table[id];

        assert_int_equal(spec->id, id);
        assert_non_null(option_name(spec, 0));
        assert_non_null(spec->help);
        assert_true((spec->arity == ARITY_FLAG) == (spec->value == VALUE_NONE));
        assert_true((spec->arity == ARITY_FLAG) == (spec->metavar == NULL));
        assert_true((spec->value == VALUE_CHOICE) == (spec->choices[0] != NULL));
    }
}

static void names_are_unique(void **state)
{
    (void)state;
    for (size_t a = 0; a < OPTION_COUNT; a++)
        for (size_t b = a + 1; b < OPTION_COUNT; b++)
            for (size_t i = 0; option_name(&option_table[a], i); i++)
                for (size_t j = 0; option_name(&option_table[b], j); j++)
                    assert_string_not_equal(option_name(&option_table[a], i),
                                            option_name(&option_table[b], j));
}

static void program_name_decides_the_contract(void **state)
{
    (void)state;
    assert_true(options_called_as_gpustat("gpustat"));
    assert_true(options_called_as_gpustat("/usr/bin/gpustat"));
    assert_false(options_called_as_gpustat("/usr/bin/clustat"));
    assert_false(options_called_as_gpustat("/gpustat/clustat"));
    assert_false(options_called_as_gpustat("mygpustat"));
    assert_false(options_called_as_gpustat(""));
    assert_false(options_called_as_gpustat(NULL));
}

static void nothing_given(void **state)
{
    struct options options = parse_good(false, "");

    (void)state;
    assert_int_equal(options.action, ACTION_SHOW);
    assert_int_equal(options.color, COLOR_AUTO);
    assert_int_equal(options.latency, LATENCY_AUTO);
    assert_int_equal(options.gpuname_width, -1);
    assert_int_equal(options.interval_ns, 0);
    assert_null(options.ids);
    assert_null(options.users);
    assert_null(options.nodes);
    assert_false(options.json || options.debug || options.local);
}

static void bundles(void **state)
{
    struct options options = parse_good(true, "-cupF");

    (void)state;
    assert_true(options.show_cmd && options.show_user && options.show_pid && options.show_fan);
    assert_false(options.show_full_cmd);
    options = parse_good(true, "-cupFPdraw");
    assert_int_equal(options.show_power, POWER_DRAW);
    options = parse_good(true, "-Feenc");
    assert_true(options.show_fan);
    assert_int_equal(options.show_codec, CODEC_ENC);
    options = parse_good(true, "-ci0");
    assert_int_equal(options.interval_ns, 0);
    options = parse_good(true, "-cP|limit");
    assert_int_equal(options.show_power, POWER_DRAW_LIMIT);
    options = parse_good(true, "-cnx");
    assert_string_equal(options.nodes, "x");
}

static void optional_values(void **state)
{
    (void)state;
    assert_int_equal(parse_good(true, "-P").show_power, POWER_DRAW_LIMIT);
    assert_int_equal(parse_good(true, "-P|").show_power, POWER_NONE);
    assert_int_equal(parse_good(true, "-P=draw").show_power, POWER_DRAW);
    assert_int_equal(parse_good(true, "-P|limit").show_power, POWER_DRAW_LIMIT);
    assert_int_equal(parse_good(true, "--show-power=").show_power, POWER_NONE);
    assert_int_equal(parse_good(true, "-P|draw|-P").show_power, POWER_DRAW_LIMIT);
    assert_int_equal(parse_good(true, "-e").show_codec, CODEC_ENC | CODEC_DEC);
    assert_int_equal(parse_good(true, "-e|dec").show_codec, CODEC_DEC);
    assert_int_equal(parse_good(true, "-e|-P").show_codec, CODEC_ENC | CODEC_DEC);
    assert_int_equal(parse_good(true, "-a").show_codec, CODEC_ENC | CODEC_DEC);
    assert_int_equal(parse_good(true, "-a|-e|enc|-P|draw").show_codec, CODEC_ENC | CODEC_DEC);
    assert_int_equal(parse_good(true, "-P|draw|-a").show_power, POWER_DRAW_LIMIT);
    assert_false(parse_good(true, "-a").show_full_cmd);
}

static void intervals(void **state)
{
    static const struct {
        const char *line;
        int64_t gpustat_ms, clustat_ms;
    } cases[] = {
        {"-i", 1000, 2000},       {"-w", 1000, 2000},
        {"--watch", 1000, 2000},  {"-i|-c", 1000, 2000},
        {"-i|3", 3000, 3000},     {"-i0.25", 250, 250},
        {"-i=5", 5000, 5000},     {"--inter|1e1", 10000, 10000},
        {"-i|1_0", 10000, 10000}, {"-i|0.001", 50, 50},
        {"-i|0.05", 50, 50},      {"-i|0", 0, 0},
        {"-i|-1", 0, 0},          {"-i|-1.5", 0, 0},
        {"-i|nan", 0, 0},         {"-i| 2 ", 2000, 2000},
        {"-w2", 2000, 2000},      {"-w|.5", 500, 500},
        {"-i|3|-i", 1000, 2000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(parse_good(true, cases[i].line).interval_ns, cases[i].gpustat_ms * 1000000);
        assert_int_equal(parse_good(false, cases[i].line).interval_ns, cases[i].clustat_ms * 1000000);
    }
    assert_true(parse_good(true, "-i|1e300").interval_ns > INT64_C(1000000000) * 86400 * 365);
}

static void prefixes(void **state)
{
    (void)state;
    assert_true(parse_good(true, "--no-proc").no_processes);
    assert_true(parse_good(true, "--no-h").no_header);
    assert_int_equal(parse_good(true, "--c").color, COLOR_ALWAYS);
    assert_int_equal(parse_good(true, "--fo").color, COLOR_ALWAYS);
    assert_int_equal(parse_good(true, "--gpun|5").gpuname_width, 5);
    assert_int_equal(parse_good(true, "--g=5").gpuname_width, 5);
    assert_true(parse_good(true, "--js").json);
    assert_true(parse_good(true, "--deb").debug);
    assert_true(parse_good(true, "--show-fan").show_fan);
    assert_true(parse_good(true, "--show-pi").show_pid);
    /* clustat's own, where gpustat's names leave room */
    assert_int_equal(parse_good(false, "--no-l").latency, LATENCY_HIDDEN);
    assert_true(parse_good(false, "--loc").local);
    assert_string_equal(parse_good(false, "--us|bob").users, "bob");
    assert_string_equal(parse_good(false, "--nod|x").nodes, "x");
    assert_string_equal(parse_good(false, "--nodes|x").nodes, "x");
    assert_string_equal(parse_good(false, "--b=/s").socket, "/s");
}

static void own_options(void **state)
{
    (void)state;
    assert_string_equal(parse_good(true, "-user|bob").users, "bob");
    assert_string_equal(parse_good(true, "-user=bob,eve").users, "bob,eve");
    assert_string_equal(parse_good(false, "--user=1000").users, "1000");
    assert_true(parse_good(true, "-json").json);
    assert_string_equal(parse_good(false, "-n|gpu[01-08]").nodes, "gpu[01-08]");
    assert_string_equal(parse_good(false, "-n=-x").nodes, "-x");
    assert_string_equal(parse_good(false, "-n=a=b").nodes, "a=b");
    assert_int_equal(parse_good(false, "--no-latency").latency, LATENCY_HIDDEN);
    assert_int_equal(parse_good(false, "--latency-display|false").latency, LATENCY_HIDDEN);
    assert_int_equal(parse_good(false, "--latency-display|off").latency, LATENCY_HIDDEN);
    assert_int_equal(parse_good(false, "--latency-display=0").latency, LATENCY_HIDDEN);
    assert_int_equal(parse_good(false, "--latency-display=no").latency, LATENCY_HIDDEN);
    assert_int_equal(parse_good(false, "--latency-display|true").latency, LATENCY_SHOWN);
    assert_int_equal(parse_good(false, "--no-latency|--latency-display|on").latency, LATENCY_SHOWN);
    assert_string_equal(parse_good(false, "--backend-socket|/s").socket, "/s");
    assert_string_equal(parse_good(false, "--print-completion|fish").completion, "fish");
    assert_string_equal(parse_good(false, "--id|0,1").ids, "0,1");
    assert_string_equal(parse_good(false, "--id|-1").ids, "-1");
    assert_string_equal(parse_good(false, "--id|").ids, "");
}

static void ends_where_told(void **state)
{
    (void)state;
    assert_int_equal(parse_good(true, "-h").action, ACTION_HELP);
    assert_int_equal(parse_good(true, "foo|--help|--frobnicate").action, ACTION_HELP);
    assert_int_equal(parse_good(true, "-cv").action, ACTION_VERSION);
    assert_int_equal(parse_good(true, "-cvc|foo").action, ACTION_VERSION);
    assert_int_equal(parse_good(true, "--print-completion|bash|x").action, ACTION_PRINT_COMPLETION);
    assert_int_equal(parse_good(true, "-v|--gpuname-width|x").action, ACTION_VERSION);
    expect_error(true, "-h|--i", "ambiguous option: --i could match --id, --interval");
    expect_error(true, "-hz", "argument -h/--help: ignored explicit argument 'z'");
}

static void usage_errors(void **state)
{
    static const char *const cases[][2] = {
        {"--i", "ambiguous option: --i could match --id, --interval"},
        {"--i=5", "ambiguous option: --i=5 could match --id, --interval"},
        {"--no-", "ambiguous option: --no- could match --no-color, --no-header, --no-processes"},
        {"--show-p", "ambiguous option: --show-p could match --show-pid, --show-power"},
        {"--show-fa", "ambiguous option: --show-fa could match --show-fan-speed, --show-fan"},
        {"--l", "ambiguous option: --l could match --local, --latency-display"},
        {"--no-color|--color", "argument --force-color/--color: not allowed with argument --no-color"},
        {"--color|--no-color", "argument --no-color: not allowed with argument --force-color/--color"},
        {"-cupFPe", "argument -P/--show-power: invalid choice: 'e' (choose from '', 'draw', 'limit', "
                    "'draw,limit', 'limit,draw')"},
        {"-e|dec,enc", "argument -e/--show-codec: invalid choice: 'dec,enc' (choose from '', 'enc', 'dec', "
                       "'enc,dec')"},
        {"-cz", "argument -c/--show-cmd: ignored explicit argument 'z'"},
        {"-c=nan", "argument -c/--show-cmd: ignored explicit argument 'nan'"},
        {"-c=", "argument -c/--show-cmd: ignored explicit argument ''"},
        {"-us", "argument -u/--show-user: ignored explicit argument 's'"},
        {"-use|x", "argument -u/--show-user: ignored explicit argument 'se'"},
        {"-json=1", "argument --json: ignored explicit argument '1'"},
        {"--json=1", "argument --json: ignored explicit argument '1'"},
        {"--id", "argument --id: expected one argument"},
        {"--id|-c", "argument --id: expected one argument"},
        {"-user", "argument -user/--user: expected one argument"},
        {"-n|--|x", "argument -n/--node/--nodes: expected one argument"},
        {"-i|abc", "argument -i/--interval/--watch: invalid float value: 'abc'"},
        {"-i|inf", "argument -i/--interval/--watch: invalid float value: 'inf'"},
        {"-i|1e999", "argument -i/--interval/--watch: invalid float value: '1e999'"},
        {"-w|abc", "argument -w: invalid float value: 'abc'"},
        {"-ci=0", "argument -i/--interval/--watch: invalid float value: '=0'"},
        {"-i|0x10", "argument -i/--interval/--watch: invalid float value: '0x10'"},
        {"--gpuname-width|abc", "argument --gpuname-width: invalid nonnegative_int value: 'abc'"},
        {"--gpuname-width|1.5", "argument --gpuname-width: invalid nonnegative_int value: '1.5'"},
        {"--gpuname-width|-1", "argument --gpuname-width: Only non-negative integers are allowed."},
        {"--gpuname-width", "argument --gpuname-width: expected one argument"},
        {"--latency-display|maybe",
         "argument --latency-display: invalid choice: 'maybe' (choose from 'true', "
         "'false', 'yes', 'no', 'on', 'off', '1', '0')"},
        {"--print-completion|ksh", "argument --print-completion: invalid choice: 'ksh' (choose from 'bash', "
                                   "'zsh', 'tcsh', 'fish')"},
        {"foo", "unrecognized arguments: foo"},
        {"-c|foo|bar", "unrecognized arguments: foo bar"},
        {"-c|--", "unrecognized arguments: --"},
        {"-c|--|foo", "unrecognized arguments: -- foo"},
        {"--frobnicate", "unrecognized arguments: --frobnicate"},
        {"-z", "unrecognized arguments: -z"},
        {"-z|foo|-y=1", "unrecognized arguments: -z foo -y=1"},
        {"-1", "unrecognized arguments: -1"},
        {"-", "unrecognized arguments: -"},
        {"-z\033[2J", "unrecognized arguments: -z^[[2J"},
        {"-i|it's", "argument -i/--interval/--watch: invalid float value: \"it's\""},
        {"-i|a\nb\377", "argument -i/--interval/--watch: invalid float value: 'a\\nb\\udcff'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_error(true, cases[i][0], cases[i][1]);
        expect_error(false, cases[i][0], cases[i][1]);
    }
}

static void widths_are_capped(void **state)
{
    (void)state;
    assert_int_equal(parse_good(true, "--gpuname-width|0").gpuname_width, 0);
    assert_int_equal(parse_good(true, "--gpuname-width| +1_0 ").gpuname_width, 10);
    assert_int_equal(parse_good(true, "--gpuname-width|9999999999999999999999").gpuname_width,
                     GPUNAME_WIDTH_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_rows_stand_at_their_ids),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(program_name_decides_the_contract),
        cmocka_unit_test(nothing_given),
        cmocka_unit_test(bundles),
        cmocka_unit_test(optional_values),
        cmocka_unit_test(intervals),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(own_options),
        cmocka_unit_test(ends_where_told),
        cmocka_unit_test(usage_errors),
        cmocka_unit_test(widths_are_capped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
