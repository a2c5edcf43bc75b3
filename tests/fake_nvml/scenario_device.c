#include "scenario_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY(type_, name_, kind_, presence_) \
    { \
#name_, offsetof(struct type_, name_), VALUE_TYPE_##kind_, KEY_##presence_ \
    }
#define KEYS(keys_) keys_, sizeof(keys_) / sizeof(keys_[0])

#define PERIOD_US_DEFAULT 166667

void scenario_read_memory(struct reader *reader, struct json *node, struct memory *memory)
{
    static const struct value_key keys[] = {
        KEY(memory, total, U64, REQUIRED),
        KEY(memory, reserved, U64, ZERO),
    };
    if (!node || reader_plain_rc(reader, node, &memory->total))
        return;
    struct json *from = reader_object(reader, node);
    reader_values(reader, from, KEYS(keys), memory);
    struct json *used = reader_required(reader, from, "used");
    struct json *sum =
        used && used->type == JSON_OBJECT ? reader_member(reader, used, "sum_of_processes") : NULL;
    if (sum) {
        memory->used_is_sum = true;
        memory->sum_base = reader_whole_of(reader, sum, 0, UINT64_MAX);
        reader_finish_object(reader, used);
    } else if (used) {
        memory->used = reader_value_of(reader, used, VALUE_TYPE_U64);
    }
    reader_finish_object(reader, from);
}

void scenario_read_bar1(struct reader *reader, struct json *node, struct bar1 *bar1)
{
    static const struct value_key keys[] = {KEY(bar1, total, U64, REQUIRED), KEY(bar1, used, U64, REQUIRED)};
    struct json *from = reader_object(reader, node);
    reader_values(reader, from, KEYS(keys), bar1);
    reader_finish_object(reader, from);
}

static void read_utilization(struct reader *reader, struct json *node, struct utilization *utilization)
{
    static const struct value_key keys[] = {
        KEY(utilization, gpu, U32, OPTIONAL), KEY(utilization, memory, U32, OPTIONAL),
        KEY(utilization, enc, U32, OPTIONAL), KEY(utilization, dec, U32, OPTIONAL),
        KEY(utilization, jpg, U32, OPTIONAL), KEY(utilization, ofa, U32, OPTIONAL),
    };
    struct value rc;
    utilization->period_us = PERIOD_US_DEFAULT;
    if (reader_plain_rc(reader, node, &rc)) {
        utilization->gpu = utilization->memory = utilization->enc = rc;
        utilization->dec = utilization->jpg = utilization->ofa = rc;
        return;
    }
    struct json *from = reader_object(reader, node);
    reader_values(reader, from, KEYS(keys), utilization);
    utilization->period_us =
        (uint32_t)reader_whole(reader, from, "period_us", 0, UINT32_MAX, PERIOD_US_DEFAULT);
    reader_finish_object(reader, from);
}

static void read_clocks(struct reader *reader, struct json *node, struct clocks *clocks)
{
    static const struct value_key keys[] = {
        KEY(clocks, graphics, U32, OPTIONAL),
        KEY(clocks, sm, U32, OPTIONAL),
        KEY(clocks, mem, U32, OPTIONAL),
        KEY(clocks, video, U32, OPTIONAL),
    };
    struct json *from = reader_object(reader, node);
    reader_values(reader, from, KEYS(keys), clocks);
    reader_finish_object(reader, from);
}

static void read_thresholds(struct reader *reader, struct json *node, struct thresholds *thresholds)
{
    static const struct value_key keys[] = {
        KEY(thresholds, shutdown, U32, OPTIONAL),
        KEY(thresholds, slowdown, U32, OPTIONAL),
        KEY(thresholds, mem_max, U32, OPTIONAL),
        KEY(thresholds, gpu_max, U32, OPTIONAL),
    };
    struct json *from = reader_object(reader, node);
    reader_values(reader, from, KEYS(keys), thresholds);
    reader_finish_object(reader, from);
}

static void read_pcie(struct reader *reader, struct json *node, struct pcie *pcie)
{
    static const struct value_key keys[] = {
        KEY(pcie, gen, U32, OPTIONAL),     KEY(pcie, width, U32, OPTIONAL),
        KEY(pcie, max_gen, U32, OPTIONAL), KEY(pcie, max_width, U32, OPTIONAL),
        KEY(pcie, tx_kbs, U32, OPTIONAL),  KEY(pcie, rx_kbs, U32, OPTIONAL),
    };
    struct json *from = reader_object(reader, node);
    reader_values(reader, from, KEYS(keys), pcie);
    reader_finish_object(reader, from);
}

static void read_ecc(struct reader *reader, struct json *node, struct ecc *ecc)
{
    static const struct value_key keys[] = {
        KEY(ecc, volatile_corrected, U64, ZERO),
        KEY(ecc, volatile_uncorrected, U64, ZERO),
        KEY(ecc, aggregate_corrected, U64, ZERO),
        KEY(ecc, aggregate_uncorrected, U64, ZERO),
    };
    struct json *from = reader_object(reader, node);
    if (!from)
        return; /* the counters have a default only where there is ECC */
    struct value *const mode[] = {&ecc->mode_current, &ecc->mode_pending};
    reader_value_list(reader, reader_required(reader, from, "mode"), 2, mode);
    reader_values(reader, from, KEYS(keys), ecc);
    reader_finish_object(reader, from);
}

static void read_process_codes(struct reader *reader, struct json *node, struct process_codes *codes)
{
    static const struct value_key keys[] = {
        KEY(process_codes, compute, CODE, ZERO),
        KEY(process_codes, graphics, CODE, ZERO),
        KEY(process_codes, mps, CODE, ZERO),
    };
    struct json *from = reader_object(reader, node);
    reader_values(reader, from, KEYS(keys), codes);
    reader_finish_object(reader, from);
}

/* A key is a field id in decimal, written as a number is: no sign, no leading zero. */
static uint32_t read_field_id(struct reader *reader, const struct json *node)
{
    const char *key = node->key;
    size_t digits = strspn(key, "0123456789");
    unsigned long long id = strtoull(key, NULL, 10);
    if (digits == 0 || digits > 10 || key[digits] != '\0' || (key[0] == '0' && digits > 1) || id > UINT32_MAX)
        reader_fail(reader, node, "the key must be a field id in decimal");
    return (uint32_t)id;
}

/* By the format: energy, NVLink data and PCIe byte counters. */
bool scenario_field_is_wide(uint32_t id)
{
    return id == 83 || id == 138 || id == 139 || id == 197 || id == 198;
}

static void read_field_values(struct reader *reader, struct json *node, struct device *device)
{
    struct json *from = reader_object(reader, node);
    device->field_values =
        arena_take_array(reader->arena, from ? from->count : 0, sizeof(*device->field_values));
    for (struct json *member = from ? from->first : NULL; member && device->field_values;
         member = member->next) {
        struct field_value *field = &device->field_values[device->field_value_count++];
        field->id = read_field_id(reader, member);
        field->value = reader_value_of(reader, member,
                                       scenario_field_is_wide(field->id) ? VALUE_TYPE_U64 : VALUE_TYPE_U32);
    }
}

static uint32_t read_hex_word(struct reader *reader, struct json *from, const char *key, const char *absent)
{
    const char *text = reader_text(reader, from, key, absent);
    if (!text)
        return 0;
    if (strncmp(text, "0x", 2) != 0 || strlen(text) != 10 || strspn(text + 2, "0123456789ABCDEFabcdef") != 8)
        reader_fail(reader, json_member(from, key), "must be 0x and 8 hex digits");
    return (uint32_t)strtoul(text, NULL, 16);
}

static void read_pci(struct reader *reader, struct json *from, uint32_t position, struct pci *pci)
{
    char absent[sizeof("DDDDDDDD:BB:DD.F") + 8];
    snprintf(absent, sizeof(absent), "00000000:%02X:00.0", (16 + position) & 0xFF);
    const char *given = reader_text(reader, from, "pci", NULL);
    pci->address = given ? given : arena_copy_text(reader->arena, absent);
    if (!pci->address)
        return;
    bool ok = strlen(pci->address) == 16;
    for (size_t i = 0; ok && i < 16; i++)
        ok = i == 8 || i == 11 ? pci->address[i] == ':'
             : i == 14         ? pci->address[i] == '.'
                               : strchr("0123456789ABCDEF", pci->address[i]) != NULL;
    if (!ok) {
        reader_fail(reader, json_member(from, "pci"), "must be DDDDDDDD:BB:DD.F in capital hex digits");
        return;
    }
    pci->domain = (uint32_t)strtoul(pci->address, NULL, 16);
    pci->bus = (uint32_t)strtoul(pci->address + 9, NULL, 16);
    pci->device = (uint32_t)strtoul(pci->address + 12, NULL, 16);
    pci->id = read_hex_word(reader, from, "pci_id", "0x233010DE");
    pci->subsystem_id = read_hex_word(reader, from, "subsystem_id", "0x00000000");
}

static void read_identity(struct reader *reader, struct json *from, uint32_t position, struct device *device)
{
    static const struct value_key keys[] = {
        KEY(device, name, TEXT, REQUIRED),        KEY(device, uuid, TEXT, REQUIRED),
        KEY(device, handle, CODE, ZERO),          KEY(device, index, U32, OPTIONAL),
        KEY(device, minor, U32, OPTIONAL),        KEY(device, serial, TEXT, OPTIONAL),
        KEY(device, brand, U32, OPTIONAL),        KEY(device, numa_node, U32, OPTIONAL),
        KEY(device, architecture, U32, OPTIONAL),
    };
    struct json *id = reader_required(reader, from, "id");
    device->id = id ? reader_text_of(reader, id) : NULL;
    reader_values(reader, from, KEYS(keys), device);
    if (device->index.kind == VALUE_ABSENT)
        device->index = value_of_number(position);
    if (device->minor.kind == VALUE_ABSENT)
        device->minor = value_of_number(position);
    read_pci(reader, from, position, &device->pci);
    struct json *capability = reader_member(reader, from, "compute_capability");
    struct value *const parts[] = {&device->capability_major, &device->capability_minor};
    reader_value_list(reader, capability, 2, parts);
}

static void read_remapped_rows(struct reader *reader, struct json *node, struct remapped_rows *rows)
{
    struct value *const parts[] = {&rows->corrected, &rows->uncorrected, &rows->pending, &rows->failed};
    reader_value_list(reader, node, 4, parts);
}

static void read_measures(struct reader *reader, struct json *from, struct device *device)
{
    static const struct value_key keys[] = {
        KEY(device, temperature, SIGNED, OPTIONAL), KEY(device, fan, U32, OPTIONAL),
        KEY(device, power_mw, U32, OPTIONAL),       KEY(device, power_limit_mw, U32, OPTIONAL),
        KEY(device, energy_mj, U64, OPTIONAL),      KEY(device, pstate, U32, OPTIONAL),
        KEY(device, compute_mode, U32, OPTIONAL),   KEY(device, persistence, U32, OPTIONAL),
        KEY(device, display_active, U32, OPTIONAL), KEY(device, throttle, U64, OPTIONAL),
    };
    reader_values(reader, from, KEYS(keys), device);
    bool has_fan = device->fan.kind != VALUE_ABSENT && device->fan.kind != VALUE_RC;
    device->fan_count = (uint32_t)reader_whole(reader, from, "fans", 0, UINT32_MAX, has_fan ? 1 : 0);
}

void scenario_read_device(struct reader *reader, struct json *node, uint32_t position, struct device *device)
{
    struct json *from = reader_object(reader, node);
    read_identity(reader, from, position, device);
    read_measures(reader, from, device);
    scenario_read_memory(reader, reader_required(reader, from, "memory"), &device->memory);
    scenario_read_bar1(reader, reader_member(reader, from, "bar1"), &device->bar1);
    read_thresholds(reader, reader_member(reader, from, "thresholds"), &device->thresholds);
    read_utilization(reader, reader_member(reader, from, "utilization"), &device->utilization);
    read_clocks(reader, reader_member(reader, from, "clocks"), &device->clocks);
    read_clocks(reader, reader_member(reader, from, "max_clocks"), &device->max_clocks);
    read_ecc(reader, reader_member(reader, from, "ecc"), &device->ecc);
    read_remapped_rows(reader, reader_member(reader, from, "remapped_rows"), &device->remapped_rows);
    read_pcie(reader, reader_member(reader, from, "pcie"), &device->pcie);
    read_field_values(reader, reader_member(reader, from, "field_values"), device);
    read_process_codes(reader, reader_member(reader, from, "process_rc"), &device->process_codes);
    scenario_read_processes(reader, reader_member(reader, from, "processes"), device);
    scenario_read_mig(reader, reader_member(reader, from, "mig"), device);
    reader_finish_object(reader, from);
}
