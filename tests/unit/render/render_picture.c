/*
 * Prints what a renderer makes of the picture on standard input: render_picture
 * table|gpustat-json|clustat-json. For the tests that are written in Python.
 */
#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(FILE *file)
{
    struct buffer text = BUFFER_EMPTY;
    char chunk[4096];
    size_t len;

    while ((len = fread(chunk, 1, sizeof(chunk), file)) > 0)
        buffer_put(&text, chunk, len);
    buffer_put_char(&text, '\0');
    return text.bytes;
}

int main(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "";
    char *lines = read_all(stdin), *output;
    struct picture picture;

    picture_init(&picture);
    picture_draw(&picture, lines);
    if (strcmp(what, "table") == 0)
        output = picture_table(&picture);
    else if (strcmp(what, "gpustat-json") == 0)
        output = picture_gpustat_json(&picture);
    else if (strcmp(what, "clustat-json") == 0)
        output = picture_clustat_json(&picture);
    else
        return 2;
    fputs(output, stdout);
    free(output);
    free(lines);
    picture_deinit(&picture);
    return fflush(stdout) ? 1 : 0;
}
