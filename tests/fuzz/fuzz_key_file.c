/* Any text as a key file. */
#include "fuzz/fuzz.h"

#include "wire/seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct text file = {(const char *)bytes, len};
    struct seal_keys keys = {.count = 0};
    unsigned line, lines = 1;
    int r = seal_parse_keys(file, &keys, &line);

    for (size_t i = 0; i < len; i++)
        lines += bytes[i] == '\n';
    MUST(r >= SEAL_FILE_OK && r < SEAL_FILE_OUTCOMES && seal_file_problem(r));
    MUST(line <= lines);
    MUST((r == SEAL_FILE_OK) == (keys.count > 0) && keys.count <= SEAL_MAX_KEYS);
    MUST((line > 0) == (r != SEAL_FILE_OK && r != SEAL_FILE_NO_KEY && r != SEAL_FILE_TOO_LONG));
    return 0;
}
