#include "gpu/sysfs_pci.h"

#include "gpu_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct gpu_test test;

static int set_up(void **state)
{
    (void)state;
    gpu_test_init(&test);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gpu_test_deinit(&test);
    return 0;
}

static void add_device(const char *address, const char *vendor, const char *class, const char *status)
{
    char path[256];

    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/vendor", address);
    gpu_test_write(&test, path, vendor);
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/class", address);
    gpu_test_write(&test, path, class);
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/power/runtime_status", address);
    if (status)
        gpu_test_write(&test, path, status);
}

static void set_driver(const char *address, const char *driver)
{
    char target[256], path[256];

    snprintf(target, sizeof(target), "../../drivers/%s", driver);
    snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/driver", test.sysfs, address);
    assert_int_equal(symlink(target, path), 0);
}

static void gpus_are_listed_by_address(void **state)
{
    struct pci_gpu gpus[8];

    (void)state;
    add_device("10000:01:00.0", "0x10de\n", "0x030200\n", "active\n");
    add_device("0000:c1:00.0", "0x10de\n", "0x030200\n", "suspended\n");
    add_device("0000:41:00.0", "0x10de\n", "0x030000\n", NULL);
    add_device("0000:41:00.1", "0x10de\n", "0x040300\n", "suspended\n"); /* its audio function */
    add_device("0000:03:00.0", "0x8086\n", "0x030000\n", "suspended\n"); /* another vendor's */
    assert_int_equal(pci_list_gpus(test.sysfs, gpus, 8), 3);
    assert_string_equal(gpus[0].address, "0000:41:00.0");
    assert_string_equal(gpus[1].address, "0000:c1:00.0");
    assert_string_equal(gpus[2].address, "10000:01:00.0");
    assert_false(gpus[0].suspended);
    assert_true(gpus[1].suspended);
    assert_false(gpus[2].suspended);
    assert_int_equal(pci_list_gpus(test.sysfs, gpus, 2), 2);
}

static void other_drivers_devices_are_left_out(void **state)
{
    struct pci_gpu gpus[8];

    (void)state;
    add_device("0000:01:00.0", "0x10de\n", "0x030200\n", "suspended\n");
    add_device("0000:02:00.0", "0x10de\n", "0x030200\n", "active\n");
    add_device("0000:04:00.0", "0x10de\n", "0x030200\n", "active\n");
    set_driver("0000:01:00.0", "vfio-pci");
    set_driver("0000:02:00.0", "nvidia");
    assert_int_equal(pci_list_gpus(test.sysfs, gpus, 8), 2);
    assert_string_equal(gpus[0].address, "0000:02:00.0");
    assert_string_equal(gpus[1].address, "0000:04:00.0");

    /* Once the driver has a folder, only what it holds counts. */
    gpu_test_write(&test, "sys/bus/pci/drivers/nvidia/0000:02:00.0", "");
    gpu_test_write(&test, "sys/bus/pci/drivers/nvidia/module", "");
    assert_int_equal(pci_list_gpus(test.sysfs, gpus, 8), 1);
    assert_string_equal(gpus[0].address, "0000:02:00.0");
}

static void only_gpus_sleep(void **state)
{
    (void)state;
    add_device("0000:01:00.0", "0x10de\n", "0x030200\n", "suspended\n");
    add_device("0000:02:00.0", "0x10de\n", "0x030200\n", "suspending\n");
    add_device("0000:03:00.0", "0x1022\n", "0x060400\n", "suspended\n");
    assert_true(pci_is_suspended(test.sysfs, "0000:01:00.0"));
    assert_false(pci_is_suspended(test.sysfs, "0000:02:00.0"));
    assert_false(pci_is_suspended(test.sysfs, "0000:03:00.0")); /* a bridge where a GPU was thought to be */
    assert_false(pci_is_suspended(test.sysfs, "0000:09:00.0"));
}

static void addresses_are_converted(void **state)
{
    char address[PCI_ADDRESS_SIZE], bus_id[32];

    (void)state;
    assert_true(pci_address_from_nvml("00000000:C1:1F.0", address));
    assert_string_equal(address, "0000:c1:1f.0");
    assert_true(pci_address_from_nvml("0000:C1:1F.0", address));
    assert_string_equal(address, "0000:c1:1f.0");
    assert_true(pci_address_from_nvml("00010000:01:00.0", address));
    assert_string_equal(address, "10000:01:00.0");
    assert_false(pci_address_from_nvml("", address));
    assert_false(pci_address_from_nvml("N/A", address));
    assert_false(pci_address_from_nvml("00000000:C1:00.0 ", address));
    assert_true(pci_address_to_nvml("0000:c1:00.0", bus_id));
    assert_string_equal(bus_id, "00000000:C1:00.0");
    assert_false(pci_address_to_nvml("c1:00.0", bus_id));
}

static void no_tree_is_no_gpu(void **state)
{
    struct pci_gpu gpus[1];
    char version[16];

    (void)state;
    assert_int_equal(pci_list_gpus("/nonexistent", gpus, 1), 0);
    assert_false(pci_driver_version(test.sysfs, version, sizeof(version)));
    gpu_test_write(&test, "sys/module/nvidia/version", "580.95.05\n");
    assert_true(pci_driver_version(test.sysfs, version, sizeof(version)));
    assert_string_equal(version, "580.95.05");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gpus_are_listed_by_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_drivers_devices_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_gpus_sleep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(addresses_are_converted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_tree_is_no_gpu, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
