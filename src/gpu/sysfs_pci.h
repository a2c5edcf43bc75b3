/*
 * NVIDIA's GPUs as the kernel's PCI tree shows them, without touching the driver: which there are, and which
 * of them are runtime-suspended and must not be woken.
 */
#ifndef GPU_SYSFS_PCI_H
#define GPU_SYSFS_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_ADDRESS_SIZE 24 /* "0000:41:00.0" and its NUL; domains may have more than four digits */

struct pci_gpu {
    char address[PCI_ADDRESS_SIZE];
    bool suspended;
};

/*
 * Lists NVIDIA's display devices (vendor 0x10de, class 0x03....) that the nvidia driver holds, by address.
 * Where that driver shows no folder of its own: those that no other driver holds.
 * root: "/sys". Returns how many were written, at most `cap`; 0 if the tree cannot be read.
 */
size_t pci_list_gpus(const char *root, struct pci_gpu *gpus, size_t cap);

/*
 * True if there is an NVIDIA GPU at this address and its power/runtime_status says "suspended"; false also if
 * there is no such file.
 */
bool pci_is_suspended(const char *root, const char *address);

/* NVML's "00000000:41:00.0" (or a 4-digit domain) as sysfs writes it, "0000:41:00.0". False if it is neither.
 */
bool pci_address_from_nvml(const char *bus_id, char ret_address[static PCI_ADDRESS_SIZE]);

/* The reverse, as NVML writes it. ret_bus_id: 32 bytes. */
bool pci_address_to_nvml(const char *address, char ret_bus_id[static 32]);

/* The loaded kernel module's version ("580.95.05") into buf, cut at cap. False if there is none. */
bool pci_driver_version(const char *root, char *buf, size_t cap);

#endif
