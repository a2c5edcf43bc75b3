/* The inside of a JSON text: escapes and UTF-8, decoded in place. */
#pragma once

/*
 * Decodes from *at, the byte after the opening quote, and ends the result with NUL. On success *at is behind
 * the closing quote, *ret_text the result, and NULL is returned; else the reason, *at being near it. The
 * decoded text is never longer than its source, and the NUL takes the place of the closing quote at the
 * latest.
 */
const char *json_decode_text(char **at, char *end, const char **ret_text);
