#include "profile.h"

const char *const profile_name = FAKE_PROFILE_NAME;
const size_t profile_process_v3_size = FAKE_PROCESS_V3_SIZE;
