/* A library without the one function that finds devices. */
__attribute__((visibility("default"))) int nvmlInit(void);
__attribute__((visibility("default"))) int nvmlDeviceGetCount(unsigned *count);

int nvmlInit(void)
{
    return 0;
}

int nvmlDeviceGetCount(unsigned *count)
{
    *count = 1;
    return 0;
}
