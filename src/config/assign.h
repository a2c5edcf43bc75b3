/* Puts one checked value into the configuration. Internal to src/config/. */
#ifndef CONFIG_ASSIGN_H
#define CONFIG_ASSIGN_H

#include "config/schema.h"
#include "config/toml.h"

/* Sets the key's default for a program. Returns 0 or -ENOMEM. */
int assign_default(struct config *config, enum config_key key, enum config_program program);

/*
 * Sets the key to a value of the file.
 * Returns 0; -EINVAL if the value is not allowed: nothing is changed, and *ret_culprit is the value, or the
 * item of it, that is wrong; -ENOMEM.
 */
int assign_value(struct config *config, enum config_key key, const struct toml_value *value,
                 struct toml_value *ret_culprit);

/* Appends an item to a list key. Returns 0, -EINVAL (not allowed), -E2BIG (CONFIG_MAX_ITEMS) or -ENOMEM. */
int assign_append(struct config *config, enum config_key key, struct text item);

/* Frees what the key owns. */
void assign_clear(struct config *config, enum config_key key);

#endif
