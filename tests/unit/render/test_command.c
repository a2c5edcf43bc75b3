#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "render/command.h"

#include <string.h>

static struct process process_of(struct text line)
{
    return (struct process){.facts = PROCESS_HAS_COMMAND_LINE, .command_line = line};
}

/* The words joined by "|", and the name behind "=". */
static void expect(struct text line, const char *expected)
{
    struct process process = process_of(line);
    struct command_words words = command_words(&process);
    char got[128] = "";
    struct text word, name = command_name(&process);

    while (command_next_word(&words, &word)) {
        strncat(got, word.bytes, word.len);
        strcat(got, "|");
    }
    assert_false(command_next_word(&words, &word));
    strcat(got, "=");
    if (text_is_present(name))
        strncat(got, name.bytes, name.len);
    else
        strcat(got, "(absent)");
    assert_string_equal(got, expected);
}

static void words(void **state)
{
    (void)state;
    expect(TEXT_LITERAL("/usr/bin/python3\0train.py"), "/usr/bin/python3|train.py|=python3");
    expect(TEXT_LITERAL("python3\0\0x\0"), "python3||x||=python3");
    expect(TEXT_LITERAL("\0empty"), "|empty|=");
    expect(TEXT_LITERAL("a b\0c d"), "a b|c d|=a b");
    expect(TEXT_LITERAL("nginx: worker process /etc/x"), "nginx:|worker|process|/etc/x|=nginx:");
    expect(TEXT_LITERAL("two  blanks"), "two||blanks|=two");
    expect(TEXT_LITERAL("/trailing/"), "/trailing/|=");
    expect(TEXT_LITERAL(""), "=(absent)");
    expect(TEXT_ABSENT, "=(absent)");
}

static void unreadable(void **state)
{
    struct process process = {.command_line = TEXT_LITERAL("left over")};

    (void)state;
    assert_false(text_is_present(command_name(&process)));
    assert_false(text_is_present(command_name(NULL)));
}

static void expect_path(const char *word, const char *folder, const char *name)
{
    struct command_path path = command_split_path(text_from_string(word));

    assert_true(text_equal_string(path.folder, folder));
    assert_true(text_equal_string(path.name, name));
}

static void paths(void **state)
{
    (void)state;
    expect_path("/usr/bin/python3", "/usr/bin/", "python3");
    expect_path("python3", "", "python3");
    expect_path("./a", "./", "a");
    expect_path("/", "/", "");
    expect_path("//", "//", "");
    expect_path("//x", "//", "x");
    expect_path("/trailing//", "/trailing/", "");
    expect_path("//double//slash", "//double/", "slash");
    expect_path("", "", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(unreadable),
        cmocka_unit_test(paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
