/*
 * Runs a fuzz target over every file of its corpus, each in a buffer of exactly its size.
 * usage: replay-NAME FOLDER.  Status 1 if the folder holds no file.
 */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

/* Reads a whole file; NULL and a line on standard error if it cannot be read. Freed by the caller. */
static uint8_t *read_file(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "r");
    uint8_t *bytes = NULL;
    long len = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        len = ftell(file);
    if (len >= 0)
        bytes = malloc(len ? (size_t)len : 1);
    if (bytes) {
        rewind(file);
        *ret_len = fread(bytes, 1, (size_t)len, file);
    } else {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    }
    if (file)
        fclose(file);
    return bytes;
}

static int replay(const char *folder, const char *name)
{
    char path[4096];
    uint8_t *bytes;
    size_t len;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    bytes = read_file(path, &len);
    if (!bytes)
        return -1;
    LLVMFuzzerTestOneInput(bytes, len);
    free(bytes);
    return 0;
}

int main(int argc, char *argv[])
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    unsigned count = 0, failed = 0;

    if (!dir) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        failed += replay(argv[1], entry->d_name) < 0;
    }
    closedir(dir);
    printf("%u files replayed, %u unreadable\n", count, failed);
    return !count || failed;
}
