/* A library as CUDA toolkits bring it for linking: it complains instead of answering. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int nvmlInit_v2(void);
__attribute__((visibility("default"))) int nvmlDeviceGetCount_v2(unsigned *count);
__attribute__((visibility("default"))) int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle);

static const char complaint[] = "This is a stub library, for linking only\n";

int nvmlInit_v2(void)
{
    fputs(complaint, stderr);
    abort(); /* the test fails if anybody calls it */
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    (void)count;
    abort();
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
    (void)index, (void)handle;
    abort();
}
