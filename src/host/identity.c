#include "host/identity.h"

#include "core/text.h"

#include <stdlib.h>
#include <sys/utsname.h>

char *identity_node_name(char buf[static NODE_NAME_MAX + 1])
{
    const char *name = getenv("CLUSTAT_HOSTNAME");
    struct utsname kernel;

    if (!name || !*name)
        name = uname(&kernel) == 0 ? kernel.nodename : "";
    return text_copy(text_from_string(name), buf, NODE_NAME_MAX + 1);
}
