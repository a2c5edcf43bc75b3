#include "config/config.h"

#include "core/cleanup.h"
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* docs/configuration.md (its path is the first argument) ends with the table of keys. */
static void the_document_has_the_program_s_table(void **state)
{
    _cleanup_(buffer_deinit) struct buffer table = BUFFER_EMPTY;
    _cleanup_(cleanup_free) char *bytes = NULL;
    size_t len;
    bool cut;

    assert_int_equal(file_read_long(AT_FDCWD, *state, 1024 * 1024, &bytes, &len, &cut), 0);
    config_put_reference(&table);
    assert_int_equal(buffer_error(&table), 0);
    if (len < table.len || memcmp(bytes + len - table.len, table.bytes, table.len))
        fail_msg("%s must end with:\n%.*s", (const char *)*state, (int)table.len, table.bytes);
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(the_document_has_the_program_s_table, argv[argc - 1]),
    };

    return cmocka_run_group_tests_name("config/reference", tests, NULL, NULL);
}
