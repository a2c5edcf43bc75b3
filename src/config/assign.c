#include "config/assign.h"

#include "config/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *member_of(struct config *config, const struct schema_key *key)
{
    return (char *)config + key->offset;
}

static void list_clear(struct config_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct config_list){NULL, 0};
}

void assign_clear(struct config *config, enum config_key key)
{
    const struct schema_key *info = &schema_keys[key];
    char **text = member_of(config, info);

    if (info->type == SCHEMA_LIST) {
        list_clear(member_of(config, info));
    } else if (info->type == SCHEMA_TEXT) {
        free(*text);
        *text = NULL;
    }
}

/* Writes a number into the member, in the member's own type and unit. */
static void store_number(struct config *config, const struct schema_key *key, int64_t number)
{
    void *member = member_of(config, key);
    uint32_t narrow = (uint32_t)number;
    bool truth = number != 0;

    if (key->type == SCHEMA_DURATION)
        memcpy(member, &number, sizeof(number));
    else if (key->type == SCHEMA_BOOLEAN)
        memcpy(member, &truth, sizeof(truth));
    else
        memcpy(member, &narrow, sizeof(narrow));
}

_Static_assert(sizeof(enum config_protocol) == sizeof(uint32_t), "store_number() writes choices as uint32_t");
_Static_assert(sizeof(enum command_line_mode) == sizeof(uint32_t), "the same");

static int store_text(struct config *config, const struct schema_key *key, struct text text)
{
    char **member = member_of(config, key), *copy = strndup(text.bytes, text.len);

    if (!copy)
        return -ENOMEM;
    free(*member);
    *member = copy;
    return 0;
}

int assign_default(struct config *config, enum config_key key, enum config_program program)
{
    const struct schema_key *info = &schema_keys[key];

    switch (info->type) {
    case SCHEMA_TEXT:
        return store_text(config, info, text_from_string(info->fallback_text));
    case SCHEMA_LIST:
        return 0;
    case SCHEMA_PORT_RANGE:
        config->connecting.port_first = 30000;
        config->connecting.port_last = 40000;
        return 0;
    case SCHEMA_DURATION:
        store_number(config, info, info->fallback * NS_PER_MS);
        return 0;
    case SCHEMA_BOOLEAN:
    case SCHEMA_INTEGER:
    case SCHEMA_PERCENT:
    case SCHEMA_CHOICE:
        break;
    }
    if (key == CONFIG_KEY_MAX_CONNECTIONS)
        store_number(config, info, program == CONFIG_SERVER ? 64 : 4096);
    else
        store_number(config, info, info->fallback);
    return 0;
}

static bool in_limits(const struct schema_key *key, int64_t number)
{
    return (number >= key->min && number <= key->max) || (key->zero_too && number == 0);
}

static int set_boolean(struct config *config, const struct schema_key *key, const struct toml_value *value)
{
    if (value->kind != TOML_KIND_BOOLEAN)
        return -EINVAL;
    store_number(config, key, value->boolean);
    return 0;
}

static int set_integer(struct config *config, const struct schema_key *key, const struct toml_value *value)
{
    if (value->kind != TOML_KIND_INTEGER || !in_limits(key, value->integer))
        return -EINVAL;
    store_number(config, key, value->integer);
    return 0;
}

/* A whole or real number, `scale` times larger. False for other kinds, NaN, and what leaves -limit..limit. */
static bool scaled_number(const struct toml_value *value, double scale, double limit, int64_t *ret_number)
{
    double number = value->kind == TOML_KIND_INTEGER ? (double)value->integer : value->real;

    if (value->kind != TOML_KIND_INTEGER && value->kind != TOML_KIND_REAL)
        return false;
    number *= scale;
    if (!(number >= -limit && number <= limit))
        return false;
    *ret_number = (int64_t)(number + (number < 0 ? -0.5 : 0.5));
    return true;
}

static int set_percent(struct config *config, const struct schema_key *key, const struct toml_value *value)
{
    int64_t ppm;

    if (!scaled_number(value, 10000, 1e9, &ppm) || !in_limits(key, ppm))
        return -EINVAL;
    store_number(config, key, ppm);
    return 0;
}

/* "500ms", "5s", "2m", "1h": a whole number and its unit. */
static bool duration_from_text(struct text text, int64_t *ret_ns)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ms", NS_PER_MS}, {"s", NS_PER_S}, {"m", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S}};
    size_t digits = 0;
    unsigned long long number;

    while (digits < text.len && text.bytes[digits] >= '0' && text.bytes[digits] <= '9')
        digits++;
    if (text_parse_decimal((struct text){text.bytes, digits}, INT32_MAX, &number) < 0)
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (text_equal_string((struct text){text.bytes + digits, text.len - digits}, units[i].name)) {
            *ret_ns = (int64_t)number * units[i].ns; /* at most 2^31 hours: fits */
            return true;
        }
    }
    return false;
}

static int set_duration(struct config *config, const struct schema_key *key, const struct toml_value *value)
{
    int64_t ns;
    bool known = value->kind == TOML_KIND_STRING
                     ? duration_from_text(value->string, &ns)
                     : scaled_number(value, (double)(key->unit_ms * NS_PER_MS), 9e18, &ns);

    if (!known || ns < key->min * NS_PER_MS || ns > key->max * NS_PER_MS)
        return -EINVAL;
    store_number(config, key, ns);
    return 0;
}

static int set_choice(struct config *config, const struct schema_key *key, const struct toml_value *value)
{
    for (unsigned i = 0; value->kind == TOML_KIND_STRING && key->choices[i]; i++) {
        if (text_equal_string(value->string, key->choices[i])) {
            store_number(config, key, i);
            return 0;
        }
    }
    return -EINVAL;
}

static bool is_allowed_text(const struct schema_key *key, struct text text)
{
    return check_plain(text) == 0 && (!key->check || key->check(text) == 0);
}

static int set_text(struct config *config, const struct schema_key *key, const struct toml_value *value)
{
    if (value->kind != TOML_KIND_STRING || !is_allowed_text(key, value->string))
        return -EINVAL;
    return store_text(config, key, value->string);
}

int assign_append(struct config *config, enum config_key key, struct text item)
{
    struct config_list *list = member_of(config, &schema_keys[key]);
    char **wider, *copy;

    if (!is_allowed_text(&schema_keys[key], item))
        return -EINVAL;
    if (list->count >= CONFIG_MAX_ITEMS)
        return -E2BIG;
    wider = realloc(list->items, (list->count + 1) * sizeof(*wider));
    if (!wider)
        return -ENOMEM;
    list->items = wider;
    copy = strndup(item.bytes, item.len);
    if (!copy)
        return -ENOMEM;
    list->items[list->count++] = copy;
    return 0;
}

static int set_list(struct config *config, const struct schema_key *key, const struct toml_value *value,
                    struct toml_value *ret_culprit)
{
    if (value->kind != TOML_KIND_ARRAY || value->count > CONFIG_MAX_ITEMS)
        return -EINVAL;
    for (uint32_t i = 0; i < value->count; i++) {
        struct toml_value item = toml_item(value, i);

        if (item.kind != TOML_KIND_STRING || !is_allowed_text(key, item.string)) {
            *ret_culprit = item;
            return -EINVAL;
        }
    }
    list_clear(member_of(config, key));
    for (uint32_t i = 0; i < value->count; i++) {
        int r = assign_append(config, (enum config_key)(key - schema_keys), toml_item(value, i).string);

        if (r < 0)
            return r;
    }
    return 0;
}

static int set_port_range(struct config *config, const struct schema_key *key, const struct toml_value *value)
{
    struct toml_value first, last;

    if (value->kind != TOML_KIND_ARRAY || value->count != 2)
        return -EINVAL;
    first = toml_item(value, 0);
    last = toml_item(value, 1);
    if (first.kind != TOML_KIND_INTEGER || last.kind != TOML_KIND_INTEGER || !in_limits(key, first.integer) ||
        !in_limits(key, last.integer) || first.integer > last.integer)
        return -EINVAL;
    config->connecting.port_first = (uint16_t)first.integer;
    config->connecting.port_last = (uint16_t)last.integer;
    return 0;
}

int assign_value(struct config *config, enum config_key key, const struct toml_value *value,
                 struct toml_value *ret_culprit)
{
    const struct schema_key *info = &schema_keys[key];

    *ret_culprit = *value;
    switch (info->type) {
    case SCHEMA_BOOLEAN:
        return set_boolean(config, info, value);
    case SCHEMA_INTEGER:
        return set_integer(config, info, value);
    case SCHEMA_PERCENT:
        return set_percent(config, info, value);
    case SCHEMA_DURATION:
        return set_duration(config, info, value);
    case SCHEMA_CHOICE:
        return set_choice(config, info, value);
    case SCHEMA_TEXT:
        return set_text(config, info, value);
    case SCHEMA_LIST:
        return set_list(config, info, value, ret_culprit);
    case SCHEMA_PORT_RANGE:
        return set_port_range(config, info, value);
    }
    return -EINVAL;
}
