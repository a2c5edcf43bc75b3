#include "backend/known_nodes.h"

#include "core/cleanup.h"
#include "core/file.h"
#include "render/json_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

static void put_hex(const uint8_t *bytes, size_t len, char *hex)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * len] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool get_hex(const char *hex, size_t hex_len, uint8_t *bytes, size_t len)
{
    if (hex_len != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void known_nodes_deinit(struct known_nodes *nodes)
{
    free(nodes->nodes);
    *nodes = (struct known_nodes){0};
}

/* ---- writing ---- */

static void put_member(struct json_writer *json, const char *key, const char *value)
{
    json_key(json, key);
    json_put_string(json, value);
}

static void put_node(struct json_writer *json, const struct known_node *node)
{
    char identity[2 * IDENTITY_SIZE + 1], address[NET_ADDRESS_TEXT_CAP];

    put_hex(node->identity, IDENTITY_SIZE, identity);
    json_begin_object(json);
    put_member(json, "identity", identity);
    put_member(json, "hostname", node->hostname);
    put_member(json, "software", node->software);
    json_key(json, "addresses");
    json_begin_list(json);
    for (size_t i = 0; i < node->address_count; i++)
        json_put_string(json, net_address_format_host(&node->addresses[i], address));
    json_end_list(json);
    json_key(json, "udp_port");
    json_unsigned(json, node->udp_port);
    json_key(json, "tcp_port");
    json_unsigned(json, node->tcp_port);
    json_key(json, "answered_unix_us");
    json_signed(json, node->answered_unix_us);
    json_key(json, "stopped");
    json_bool(json, node->stopped);
    json_end_object(json);
}

void known_nodes_put(const struct known_node *nodes, size_t count, struct buffer *out)
{
    struct json_writer json = json_writer_new(out, JSON_BAD_REPLACED);

    json_begin_object(&json);
    json_key(&json, "version");
    json_unsigned(&json, KNOWN_NODES_VERSION);
    json_key(&json, "nodes");
    json_begin_list(&json);
    for (size_t i = 0; i < count; i++)
        put_node(&json, &nodes[i]);
    json_end_list(&json);
    json_end_object(&json);
    json_finish(&json);
}

/* ---- reading ---- */

static int refuse(struct buffer *why, size_t place, const char *what)
{
    buffer_printf(why, "node %zu: %s", place + 1, what);
    return -EBADMSG;
}

/* A text without NUL bytes that fits `cap` with its own. False: it is none. */
static bool get_text(const json_t *object, const char *key, char *text, size_t cap)
{
    const json_t *value = json_object_get(object, key);
    size_t len = json_string_length(value);

    if (!json_is_string(value) || len >= cap || strlen(json_string_value(value)) != len)
        return false;
    memcpy(text, json_string_value(value), len + 1);
    return true;
}

static bool get_number(const json_t *object, const char *key, int64_t max, int64_t *ret_number)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > max)
        return false;
    *ret_number = json_integer_value(value);
    return true;
}

/* An address that a server could have: not "any", not a group. */
static bool get_address(const json_t *value, struct net_address *ret_address)
{
    struct text text = {json_string_value(value), json_string_length(value)};

    return json_is_string(value) && net_address_parse(text, 0, ret_address) == 0 && !ret_address->port &&
           !net_address_is_multicast(ret_address) && !net_address_is_any(ret_address);
}

static bool get_addresses(const json_t *object, struct known_node *node)
{
    const json_t *list = json_object_get(object, "addresses");
    size_t count = json_array_size(list);

    if (!json_is_array(list) || !count || count > KNOWN_ADDRESSES_MAX)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!get_address(json_array_get(list, i), &node->addresses[i]))
            return false;
    node->address_count = count;
    return true;
}

static bool get_identity(const json_t *object, struct known_node *node)
{
    const json_t *value = json_object_get(object, "identity");

    return json_is_string(value) &&
           get_hex(json_string_value(value), json_string_length(value), node->identity, IDENTITY_SIZE);
}

static int get_node(const json_t *object, size_t place, struct known_node *node, struct buffer *why)
{
    const json_t *stopped = json_object_get(object, "stopped");
    int64_t udp_port, tcp_port;

    if (!json_is_object(object))
        return refuse(why, place, "is no object");
    if (!get_identity(object, node))
        return refuse(why, place, "identity is not 32 hex digits");
    if (!get_text(object, "hostname", node->hostname, sizeof(node->hostname)))
        return refuse(why, place, "hostname is no text of at most 255 bytes");
    if (!get_text(object, "software", node->software, sizeof(node->software)))
        return refuse(why, place, "software is no text of at most 64 bytes");
    if (!get_addresses(object, node))
        return refuse(why, place, "addresses is no list of 1 to 8 addresses");
    if (!get_number(object, "udp_port", 65535, &udp_port) ||
        !get_number(object, "tcp_port", 65535, &tcp_port) || (!udp_port && !tcp_port))
        return refuse(why, place, "udp_port and tcp_port are no ports");
    if (!get_number(object, "answered_unix_us", INT64_MAX / 2, &node->answered_unix_us))
        return refuse(why, place, "answered_unix_us is no time");
    if (!json_is_boolean(stopped))
        return refuse(why, place, "stopped is neither true nor false");
    node->udp_port = (uint16_t)udp_port;
    node->tcp_port = (uint16_t)tcp_port;
    node->stopped = json_is_true(stopped);
    return 0;
}

static int get_nodes(const json_t *root, struct known_nodes *ret_nodes, struct buffer *why)
{
    const json_t *list = json_object_get(root, "nodes");
    size_t count = json_array_size(list);
    struct known_nodes nodes = {0};
    int64_t version;
    int r = 0;

    if (!json_is_object(root) || !get_number(root, "version", INT32_MAX, &version)) {
        buffer_put_string(why, "there is no version");
        return -EBADMSG;
    }
    if (version != KNOWN_NODES_VERSION) {
        buffer_printf(why, "it has version %lld, this program knows %d", (long long)version,
                      KNOWN_NODES_VERSION);
        return -EBADMSG;
    }
    if (!json_is_array(list) || count > KNOWN_NODES_MAX) {
        buffer_printf(why, "nodes is no list of at most %d", KNOWN_NODES_MAX);
        return -EBADMSG;
    }
    nodes.nodes = calloc(count ? count : 1, sizeof(*nodes.nodes));
    if (!nodes.nodes)
        return -ENOMEM;
    for (size_t i = 0; i < count && r == 0; i++)
        r = get_node(json_array_get(list, i), i, &nodes.nodes[i], why);
    nodes.count = count;
    if (r < 0)
        known_nodes_deinit(&nodes);
    else
        *ret_nodes = nodes;
    return r;
}

int known_nodes_parse(struct text content, struct known_nodes *ret_nodes, struct buffer *why)
{
    json_error_t error;
    json_t *root = json_loadb(content.bytes, content.len, JSON_REJECT_DUPLICATES, &error);
    int r;

    if (!root) {
        buffer_printf(why, "line %d: %s", error.line, error.text);
        return -EBADMSG;
    }
    r = get_nodes(root, ret_nodes, why);
    json_decref(root);
    return r;
}

/* ---- the file ---- */

/* Makes way for a new file. The damaged one is kept for a person to look at. */
static int set_aside(int dir_fd, const char *folder, struct buffer *why)
{
    int r = renameat(dir_fd, KNOWN_NODES_FILE, dir_fd, KNOWN_NODES_ASIDE) < 0 ? -errno : 0;

    if (r == 0)
        buffer_printf(why, "; it is set aside as %s/%s", folder, KNOWN_NODES_ASIDE);
    else
        buffer_printf(why, "; it cannot be set aside: %s", strerror(-r));
    return KNOWN_NODES_SET_ASIDE;
}

int known_nodes_load(const char *folder, struct known_nodes *ret_nodes, struct buffer *why)
{
    _cleanup_(cleanup_close) int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(cleanup_free) char *bytes = NULL;
    size_t len = 0;
    bool cut = false;
    int r = dir_fd < 0 ? -errno
                       : file_read_long(dir_fd, KNOWN_NODES_FILE, KNOWN_NODES_MAX_BYTES, &bytes, &len, &cut);

    *ret_nodes = (struct known_nodes){0};
    if (r == -ENOENT)
        return KNOWN_NODES_NONE;
    buffer_printf(why, "%s/%s: ", folder, KNOWN_NODES_FILE);
    if (r < 0) {
        buffer_put_string(why, strerror(-r));
        return r;
    }
    if (cut) {
        buffer_printf(why, "it is larger than %u MiB", KNOWN_NODES_MAX_BYTES >> 20);
        r = -EBADMSG;
    } else {
        r = known_nodes_parse((struct text){bytes ? bytes : "", len}, ret_nodes, why);
    }
    return r == -EBADMSG ? set_aside(dir_fd, folder, why) : r;
}

static int write_all(int fd, struct text content)
{
    while (content.len) {
        ssize_t n = write(fd, content.bytes, content.len);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            content = (struct text){content.bytes + n, content.len - (size_t)n};
    }
    return 0;
}

static int write_temporary(int dir_fd, const char *name, struct text content)
{
    _cleanup_(cleanup_close) int fd =
        openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int r = fd < 0 ? -errno : write_all(fd, content);

    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    /* Some file systems tell of a full disk only here. */
    if (fd >= 0 && close(steal_fd(&fd)) < 0 && r == 0)
        r = -errno;
    return r;
}

int known_nodes_save(const char *folder, struct text content)
{
    _cleanup_(cleanup_close) int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char temporary[64];
    int r;

    if (dir_fd < 0)
        return -errno;
    /* A fixed name: one that was killed while writing leaves at most this file behind. */
    snprintf(temporary, sizeof(temporary), "%s.new", KNOWN_NODES_FILE);
    r = write_temporary(dir_fd, temporary, content);
    if (r == 0 && renameat(dir_fd, temporary, dir_fd, KNOWN_NODES_FILE) < 0)
        r = -errno;
    if (r < 0) {
        unlinkat(dir_fd, temporary, 0);
        return r;
    }
    return fsync(dir_fd) < 0 ? -errno : 0;
}
