#include "host/identity.h"

#include "core/file.h"
#include "core/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

char *identity_node_name(char buf[static NODE_NAME_MAX + 1])
{
    const char *name = getenv("CLUSTAT_HOSTNAME");
    struct utsname kernel;

    if (!name || !*name)
        name = uname(&kernel) == 0 ? kernel.nodename : "";
    return text_copy(text_from_string(name), buf, NODE_NAME_MAX + 1);
}

static size_t read_first_word(const char *path, char *buf, size_t cap)
{
    size_t len = 0;

    if (file_read(AT_FDCWD, path, buf, cap - 1, &len) < 0)
        len = 0;
    buf[len] = '\0';
    len = strcspn(buf, " \t\n");
    buf[len] = '\0';
    return len;
}

char *identity_machine_id(char buf[static MACHINE_ID_MAX + 1])
{
    /* While it is first set up, systemd's says "uninitialized". */
    if (!read_first_word("/etc/machine-id", buf, MACHINE_ID_MAX + 1) || !strcmp(buf, "uninitialized"))
        read_first_word("/var/lib/dbus/machine-id", buf, MACHINE_ID_MAX + 1);
    return buf;
}
