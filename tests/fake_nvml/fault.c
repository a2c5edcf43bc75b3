#include "fault.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool fault_glob(const char *glob, const char *text)
{
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*glob == '*') {
            star = glob++;
            resume = text;
        } else if (*glob == '?' || *glob == *text) {
            glob++;
            text++;
        } else if (star) {
            glob = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    return glob[strspn(glob, "*")] == '\0';
}

bool fault_meets(const struct fault *fault, const char *function, int position, double t)
{
    if (t < fault->at_s || t >= fault->until_s)
        return false;
    if (fault->device >= 0 && fault->device != position)
        return false;
    return fault_glob(fault->function_glob, function);
}

/* Without O_CREAT and O_TRUNC: those would block in open, which some kernels let a signal end. */
static void write_to_frozen(const char *path)
{
    static const char complaint[] = "fake-nvml: FAKE_NVML_FREEZE_FILE cannot be written\n";
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    bool written = descriptor >= 0 && write(descriptor, "x", 1) == 1;
    if (!written && write(STDERR_FILENO, complaint, sizeof(complaint) - 1) < 0)
        return;
}

_Noreturn void fault_hang_forever(void)
{
    const char *path = getenv("FAKE_NVML_FREEZE_FILE");
    if (path)
        write_to_frozen(path);
    for (;;)
        pause();
}
