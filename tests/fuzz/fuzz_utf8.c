/* Any text made visible, whole and cut: nothing unsafe comes out, and the widths are what was promised. */
#include "fuzz/fuzz.h"

#include "core/utf8.h"

/* Columns of a text that must be safe already. */
static size_t safe_width(struct text text)
{
    size_t columns = 0;

    for (size_t pos = 0; pos < text.len;) {
        uint32_t code = utf8_next(text, &pos);

        MUST(!utf8_is_unsafe(code));
        columns += utf8_code_width(code);
    }
    return columns;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct text text = {(const char *)bytes + 1, len - 1};
    struct buffer out = BUFFER_EMPTY;
    size_t columns, used, whole;

    if (!len)
        return 0;
    columns = bytes[0] / 2;
    utf8_put_visible(&out, text);
    MUST(!buffer_error(&out));
    whole = safe_width(buffer_text(&out));
    MUST(whole == utf8_visible_width(text));
    MUST(utf8_count(text) <= text.len);

    buffer_clear(&out);
    used = utf8_put_visible_cut(&out, text, columns, bytes[0] & 1);
    MUST(!buffer_error(&out));
    MUST(used <= columns && used == safe_width(buffer_text(&out)));
    MUST(whole > columns || used == whole);
    buffer_deinit(&out);
    return 0;
}
