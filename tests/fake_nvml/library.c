#include "library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "event_set.h"
#include "log.h"
#include "nvml_codes.h"
#include "profile.h"

#define NS_PER_S 1e9

/* Bits of a handle: mark (16), generation (32), position (8), slot + 1 or 0 (8). The mark makes it no
 * address. */
#define HANDLE_MARK (UINT64_C(0x4E56) << 48)

struct library library = {.lock = PTHREAD_MUTEX_INITIALIZER, .generation = 1};

static void init_condition(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&library.changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

/*
 * Another thread may have been in the middle of a call when the process forked, so nothing of the state can
 * be trusted and nothing is freed; only the generation goes on, to refuse the parent's handles.
 */
static void start_anew_in_child(void)
{
    library = (struct library){.generation = library.generation + 1};
    pthread_mutex_init(&library.lock, NULL);
    init_condition();
    event_sets_forget();
}

__attribute__((constructor)) static void library_constructor(void)
{
    init_condition();
    pthread_atfork(NULL, NULL, start_anew_in_child);
}

static void complain(const char *reason)
{
    char line[SCENARIO_ERROR_SIZE + 32];
    int length = snprintf(line, sizeof(line), "fake-nvml: %s\n", reason);
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written; /* there is nobody else to tell */
}

/* FAKE_NVML_EPOCH_NS in *ret_ns; false if it is set to something else than a decimal number. */
static bool read_epoch(bool *ret_is_set, int64_t *ret_ns)
{
    const char *text = getenv("FAKE_NVML_EPOCH_NS");
    *ret_is_set = text;
    if (!text)
        return true;
    size_t digits = strspn(text, "0123456789");
    errno = 0;
    *ret_ns = strtoll(text, NULL, 10);
    return digits > 0 && text[digits] == '\0' && errno == 0;
}

static bool load(const char *path)
{
    char reason[SCENARIO_ERROR_SIZE];
    bool is_set;
    int64_t epoch_ns;
    int logging = log_open();
    if (!read_epoch(&is_set, &epoch_ns))
        snprintf(reason, sizeof(reason), "FAKE_NVML_EPOCH_NS must be a decimal number of nanoseconds");
    else if (logging < 0)
        snprintf(reason, sizeof(reason), "FAKE_NVML_LOG cannot be opened: %s", strerror(-logging));
    else if (scenario_load(path, profile_name, &library.scenario, reason) == 0)
        return true;
    complain(reason);
    return false;
}

int library_load(void)
{
    if (!library.loaded) {
        const char *path = getenv("FAKE_NVML_SCENARIO");
        if (!path)
            return NVML_DRIVER_NOT_LOADED;
        library.loaded = true;
        library.broken = !load(path);
    }
    return library.broken ? NVML_UNKNOWN : NVML_SUCCESS;
}

void library_start_clock(int64_t now_ns)
{
    bool is_set = false;
    int64_t epoch_ns = 0;
    if (library.zero_is_known)
        return;
    library.zero_is_known = true;
    library.zero_ns = read_epoch(&is_set, &epoch_ns) && is_set ? epoch_ns : now_ns;
}

double library_time(int64_t now_ns)
{
    return library.zero_is_known ? (double)(now_ns - library.zero_ns) / NS_PER_S : 0;
}

int64_t library_moment(double t)
{
    double ns = t * NS_PER_S;
    if (!(ns < 4e18))
        return INT64_MAX;
    /* Rounded up, so that at that moment library_time() has reached `t`. */
    return library.zero_ns + (int64_t)ns + 1;
}

void library_end_generation(void)
{
    library.generation++;
    event_sets_clear();
    pthread_cond_broadcast(&library.changed);
}

static void *make_handle(uint32_t position, uint32_t slot_plus_one)
{
    uint64_t bits = HANDLE_MARK | (uint64_t)library.generation << 16 | position << 8 | slot_plus_one;
    return (void *)(uintptr_t)bits;
}

void *library_device_handle(uint32_t position)
{
    return make_handle(position, 0);
}

void *library_mig_handle(uint32_t position, uint32_t slot)
{
    return make_handle(position, slot + 1);
}

bool library_find_handle(const void *handle, uint32_t *ret_position, const struct mig_device **ret_mig)
{
    uint64_t bits = (uint64_t)(uintptr_t)handle;
    uint32_t position = bits >> 8 & 0xFF, slot_plus_one = bits & 0xFF;
    if ((bits & ~UINT64_C(0xFFFF)) != (HANDLE_MARK | (uint64_t)library.generation << 16))
        return false;
    if (position >= library.scenario.device_count)
        return false;
    const struct mig *mig = library.scenario.devices[position].mig;
    if (slot_plus_one && (!mig || slot_plus_one > mig->device_count))
        return false;
    *ret_position = position;
    *ret_mig = slot_plus_one ? &mig->devices[slot_plus_one - 1] : NULL;
    return true;
}
