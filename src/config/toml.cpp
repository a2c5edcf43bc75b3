#include "config/toml.h"

/* No exceptions (errors come as values), no writing, nothing that needs iostreams at start. */
#define TOML_EXCEPTIONS                 0
#define TOML_ENABLE_FORMATTERS          0
#define TOML_ENABLE_UNRELEASED_FEATURES 0
#include <toml++/toml.h>

#include <cerrno>
#include <cstdio>
#include <new>

struct toml_document {
    toml::table table;
};

static struct text text_of(std::string_view view)
{
    return {view.data() ? view.data() : "", view.size()};
}

static struct toml_value value_of(const toml::node &node, const toml::source_region &place)
{
    struct toml_value value = {};

    value.line = place.begin.line;
    value.node = &node;
    switch (node.type()) {
    case toml::node_type::string:
        value.kind = TOML_KIND_STRING;
        value.string = text_of(node.as_string()->get());
        break;
    case toml::node_type::integer:
        value.kind = TOML_KIND_INTEGER;
        value.integer = node.as_integer()->get();
        break;
    case toml::node_type::floating_point:
        value.kind = TOML_KIND_REAL;
        value.real = node.as_floating_point()->get();
        break;
    case toml::node_type::boolean:
        value.kind = TOML_KIND_BOOLEAN;
        value.boolean = node.as_boolean()->get();
        break;
    case toml::node_type::array:
        value.kind = TOML_KIND_ARRAY;
        value.count = static_cast<uint32_t>(node.as_array()->size());
        break;
    case toml::node_type::table:
        value.kind = TOML_KIND_TABLE;
        value.count = static_cast<uint32_t>(node.as_table()->size());
        break;
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
    case toml::node_type::none:
        value.kind = TOML_KIND_DATE;
        break;
    }
    return value;
}

int toml_parse(struct text content, struct toml_document **ret_document, struct toml_error *ret_error)
{
    toml::parse_result result = toml::parse(std::string_view(content.len ? content.bytes : "", content.len));
    struct toml_document *document;

    if (!result) {
        const toml::parse_error &error = result.error();
        const std::string_view description = error.description();

        ret_error->line = error.source().begin.line;
        ret_error->column = error.source().begin.column;
        snprintf(ret_error->message, sizeof(ret_error->message), "%.*s", static_cast<int>(description.size()),
                 description.data());
        return -EBADMSG;
    }
    document = new (std::nothrow) toml_document{std::move(result).table()};
    if (!document)
        return -ENOMEM;
    *ret_document = document;
    return 0;
}

void toml_free(struct toml_document *document)
{
    delete document;
}

struct toml_value toml_root(const struct toml_document *document)
{
    return value_of(document->table, document->table.source());
}

void toml_each_member(const struct toml_value *table, toml_member *member, void *context)
{
    const toml::node *node = static_cast<const toml::node *>(table->node);

    for (const auto &[key, child] : *node->as_table()) {
        const struct toml_value value = value_of(child, key.source());

        member(context, text_of(key.str()), &value);
    }
}

struct toml_value toml_item(const struct toml_value *array, uint32_t index)
{
    const toml::node *node = static_cast<const toml::node *>(array->node);
    const toml::node &item = (*node->as_array())[index];

    return value_of(item, item.source());
}
