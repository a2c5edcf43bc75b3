/* Any file as known nodes: it is refused with a reason, or what was read is written and read again unchanged.
 */
#include "fuzz/fuzz.h"

#include "backend/known_nodes.h"
#include "core/utf8.h"

#include <errno.h>
#include <string.h>

static void must_be_same(const struct known_nodes *a, const struct known_nodes *b)
{
    MUST(a->count == b->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct known_node *x = &a->nodes[i], *y = &b->nodes[i];

        MUST(memcmp(x->identity, y->identity, sizeof(x->identity)) == 0);
        MUST(strcmp(x->hostname, y->hostname) == 0 && strcmp(x->software, y->software) == 0);
        MUST(x->address_count >= 1 && x->address_count <= KNOWN_ADDRESSES_MAX);
        MUST(x->address_count == y->address_count);
        for (size_t j = 0; j < x->address_count; j++)
            MUST(net_address_equal(&x->addresses[j], &y->addresses[j]));
        MUST(x->udp_port == y->udp_port && x->tcp_port == y->tcp_port && (x->udp_port || x->tcp_port));
        MUST(x->answered_unix_us == y->answered_unix_us && x->answered_unix_us >= 0);
        MUST(x->stopped == y->stopped);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct buffer why = BUFFER_EMPTY, content = BUFFER_EMPTY;
    struct known_nodes nodes, again;
    int r = known_nodes_parse((struct text){(const char *)bytes, len}, &nodes, &why);

    MUST(r == 0 || r == -EBADMSG);
    MUST((r == -EBADMSG) == (why.len > 0));
    if (r == 0) {
        known_nodes_put(nodes.nodes, nodes.count, &content);
        MUST(!buffer_error(&content));
        MUST(known_nodes_parse(buffer_text(&content), &again, &why) == 0);
        must_be_same(&nodes, &again);
        known_nodes_deinit(&again);
        known_nodes_deinit(&nodes);
    }
    buffer_deinit(&content);
    buffer_deinit(&why);
    return 0;
}
