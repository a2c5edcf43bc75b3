#include "gpu/sysfs_pci.h"

#include "core/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void cleanup_closedir(DIR **directory)
{
    if (*directory)
        closedir(*directory);
}

/* Reads a short attribute without its newline. False if it cannot be read. */
static bool read_attribute(const char *path, char *buf, size_t cap)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len;

    if (fd < 0)
        return false;
    len = read(fd, buf, cap - 1);
    if (len < 0)
        return false;
    buf[len] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
    return true;
}

static bool device_attribute(const char *root, const char *address, const char *name, char *buf, size_t cap)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/%s", root, address, name) >= (int)sizeof(path))
        return false;
    return read_attribute(path, buf, cap);
}

static bool is_nvidia_gpu(const char *root, const char *address)
{
    char value[32];

    return device_attribute(root, address, "vendor", value, sizeof(value)) && strcmp(value, "0x10de") == 0 &&
           device_attribute(root, address, "class", value, sizeof(value)) && strncmp(value, "0x03", 4) == 0;
}

/* True if a driver other than nvidia (vfio-pci, nouveau) has the device: NVML will not list it. */
static bool is_held_by_another(const char *root, const char *address)
{
    char path[PATH_MAX], target[PATH_MAX];
    ssize_t len;
    const char *name;

    if (snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/driver", root, address) >= (int)sizeof(path))
        return false;
    len = readlink(path, target, sizeof(target) - 1);
    if (len < 0)
        return false;
    target[len] = '\0';
    name = strrchr(target, '/');
    return strcmp(name ? name + 1 : target, "nvidia") != 0;
}

static int compare_addresses(const void *a, const void *b)
{
    const struct pci_gpu *left = a, *right = b;
    size_t left_len = strlen(left->address), right_len = strlen(right->address);

    /* A longer domain is a larger one: 10000: stands behind ffff:. */
    if (left_len != right_len)
        return left_len < right_len ? -1 : 1;
    return strcmp(left->address, right->address);
}

size_t pci_list_gpus(const char *root, struct pci_gpu *gpus, size_t cap)
{
    _cleanup_(cleanup_closedir) DIR *directory = NULL;
    char path[PATH_MAX];
    struct dirent *item;
    bool all = false;
    size_t count = 0;

    /* The driver's own folder spares the walk over all devices of a large machine. */
    if (snprintf(path, sizeof(path), "%s/bus/pci/drivers/nvidia", root) < (int)sizeof(path))
        directory = opendir(path);
    if (!directory && snprintf(path, sizeof(path), "%s/bus/pci/devices", root) < (int)sizeof(path)) {
        directory = opendir(path);
        all = true;
    }
    while (directory && count < cap && (item = readdir(directory))) {
        size_t len = strlen(item->d_name);

        if (len >= PCI_ADDRESS_SIZE || !strchr(item->d_name, ':') || !is_nvidia_gpu(root, item->d_name))
            continue;
        if (all && is_held_by_another(root, item->d_name))
            continue;
        memcpy(gpus[count].address, item->d_name, len + 1);
        gpus[count].suspended = pci_is_suspended(root, item->d_name);
        count++;
    }
    qsort(gpus, count, sizeof(gpus[0]), compare_addresses);
    return count;
}

bool pci_is_suspended(const char *root, const char *address)
{
    char status[32];

    return device_attribute(root, address, "power/runtime_status", status, sizeof(status)) &&
           strcmp(status, "suspended") == 0 && is_nvidia_gpu(root, address);
}

bool pci_address_from_nvml(const char *bus_id, char ret_address[static PCI_ADDRESS_SIZE])
{
    unsigned domain, bus, device, function;
    int len = 0;

    if (sscanf(bus_id, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &len) != 4 || bus_id[len])
        return false;
    snprintf(ret_address, PCI_ADDRESS_SIZE, "%04x:%02x:%02x.%x", domain, bus & 0xff, device & 0xff,
             function & 0xf);
    return true;
}

bool pci_address_to_nvml(const char *address, char ret_bus_id[static 32])
{
    unsigned domain, bus, device, function;
    int len = 0;

    if (sscanf(address, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &len) != 4 || address[len])
        return false;
    snprintf(ret_bus_id, 32, "%08X:%02X:%02X.%X", domain, bus & 0xff, device & 0xff, function & 0xf);
    return true;
}

bool pci_driver_version(const char *root, char *buf, size_t cap)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/module/nvidia/version", root) >= (int)sizeof(path))
        return false;
    return read_attribute(path, buf, cap) && buf[0];
}
