#include "cli/option_table.h"

/* clang-format off */
const struct option_spec option_table[OPTION_COUNT] = {
    [OPTION_HELP] = {
        OPTION_HELP, {"-h", "--help"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "show this text and exit"},
    [OPTION_PRINT_COMPLETION] = {
        OPTION_PRINT_COMPLETION, {"--print-completion"}, {NULL}, ARITY_REQUIRED, VALUE_CHOICE, "SHELL",
        {"bash", "zsh", "tcsh", "fish"},
        "print a completion script for bash, zsh, tcsh or fish and exit"},
    [OPTION_COLOR] = {
        OPTION_COLOR, {"--force-color", "--color"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "use colours even if the output is no terminal"},
    [OPTION_NO_COLOR] = {
        OPTION_NO_COLOR, {"--no-color"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "use no colours"},
    [OPTION_ID] = {
        OPTION_ID, {"--id"}, {NULL}, ARITY_REQUIRED, VALUE_NUMBER, "INDEX[,INDEX...]", {NULL},
        "show only these GPUs, in this order"},
    [OPTION_SHOW_ALL] = {
        OPTION_SHOW_ALL, {"-a", "--show-all"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "show everything but full command lines: -c -u -p -F -e -P"},
    [OPTION_SHOW_CMD] = {
        OPTION_SHOW_CMD, {"-c", "--show-cmd"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "show the command name of each process"},
    [OPTION_SHOW_FULL_CMD] = {
        OPTION_SHOW_FULL_CMD, {"-f", "--show-full-cmd"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "show the full command line, CPU and memory of each process on a line of its own"},
    [OPTION_SHOW_USER] = {
        OPTION_SHOW_USER, {"-u", "--show-user"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "show the user of each process"},
    [OPTION_SHOW_PID] = {
        OPTION_SHOW_PID, {"-p", "--show-pid"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "show the process id of each process"},
    [OPTION_SHOW_FAN] = {
        OPTION_SHOW_FAN, {"-F", "--show-fan-speed", "--show-fan"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "show the fan speed"},
    [OPTION_SHOW_CODEC] = {
        OPTION_SHOW_CODEC, {"-e", "--show-codec"}, {NULL}, ARITY_OPTIONAL, VALUE_CHOICE, "CODEC",
        {"", "enc", "dec", "enc,dec"},
        "show the load of the encoder (enc), decoder (dec) or both (enc,dec, also without a value)"},
    [OPTION_SHOW_POWER] = {
        OPTION_SHOW_POWER, {"-P", "--show-power"}, {NULL}, ARITY_OPTIONAL, VALUE_CHOICE, "POWER",
        {"", "draw", "limit", "draw,limit", "limit,draw"},
        "show the power drawn (draw), or drawn and allowed (draw,limit, also without a value)"},
    [OPTION_JSON] = {
        OPTION_JSON, {"--json"}, {"-json"}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "print JSON instead of a table"},
    [OPTION_INTERVAL] = {
        OPTION_INTERVAL, {"-i", "--interval", "--watch"}, {NULL}, ARITY_OPTIONAL, VALUE_NUMBER, "SECONDS", {NULL},
        "watch: show it again every SECONDS, at least 0.05; q or Ctrl-C leaves"},
    [OPTION_NO_HEADER] = {
        OPTION_NO_HEADER, {"--no-header"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "leave out the first line"},
    [OPTION_GPUNAME_WIDTH] = {
        OPTION_GPUNAME_WIDTH, {"--gpuname-width"}, {NULL}, ARITY_REQUIRED, VALUE_NUMBER, "COLUMNS", {NULL},
        "width of the name column; 0 leaves it out"},
    [OPTION_DEBUG] = {
        OPTION_DEBUG, {"--debug"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "tell on standard error which driver calls failed"},
    [OPTION_NO_PROCESSES] = {
        OPTION_NO_PROCESSES, {"--no-processes"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "leave out the processes"},
    [OPTION_VERSION] = {
        OPTION_VERSION, {"-v", "--version"}, {NULL}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "show the version and exit"},
    [OPTION_USER] = {
        OPTION_USER, {NULL}, {"-user", "--user"}, ARITY_REQUIRED, VALUE_USER, "USER[,USER...]", {NULL},
        "show only GPUs with a process of these users, and only those processes"},
    [OPTION_NODE] = {
        OPTION_NODE, {NULL}, {"-n", "--node", "--nodes"}, ARITY_REQUIRED, VALUE_HOST, "FILTER", {NULL},
        "show only these nodes: names, host lists, * globs, addresses, networks, connection ids, !name excludes; "
        "separated by commas"},
    [OPTION_LOCAL] = {
        OPTION_LOCAL, {NULL}, {"--local"}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "ask this machine's driver, no service"},
    [OPTION_WATCH] = {
        OPTION_WATCH, {NULL}, {"-w"}, ARITY_OPTIONAL, VALUE_NUMBER, "SECONDS", {NULL},
        "the same as -i"},
    [OPTION_NO_LATENCY] = {
        OPTION_NO_LATENCY, {NULL}, {"--no-latency"}, ARITY_FLAG, VALUE_NONE, NULL, {NULL},
        "leave the nodes' answer time out of the header"},
    [OPTION_LATENCY_DISPLAY] = {
        OPTION_LATENCY_DISPLAY, {NULL}, {"--latency-display"}, ARITY_REQUIRED, VALUE_CHOICE, "BOOL",
        {"true", "false", "yes", "no", "on", "off", "1", "0"},
        "whether the header shows the nodes' answer time"},
    [OPTION_BACKEND_SOCKET] = {
        OPTION_BACKEND_SOCKET, {NULL}, {"--backend-socket"}, ARITY_REQUIRED, VALUE_FILE, "PATH", {NULL},
        "socket of the clustat-backend to ask"},
    [OPTION_FORGET] = {
        OPTION_FORGET, {NULL}, {"--forget"}, ARITY_REQUIRED, VALUE_HOST, "FILTER", {NULL},
        "forget these nodes, which do not answer any more, and exit (root, clustat)"},
};
/* clang-format on */

static size_t names_in(const char *const names[])
{
    size_t count = 0;

    while (count < OPTION_NAMES_MAX && names[count])
        count++;
    return count;
}

const char *option_name(const struct option_spec *spec, size_t i)
{
    size_t count = names_in(spec->names);

    if (i < count)
        return spec->names[i];
    i -= count;
    return i < names_in(spec->own_names) ? spec->own_names[i] : NULL;
}
