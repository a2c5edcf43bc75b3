#include "dump.h"

#include "evaluate.h"
#include "nvml_codes.h"

#define KEY_SIZE 16

/* u32 values need no function of their own: only a wave can leave their range. */
void dump_u64(struct json_writer *writer, const char *key, const struct value *value, double t)
{
    uint64_t number;
    int rc = value_u64(value, t, &number);
    if (rc == NVML_SUCCESS)
        json_write_u64(writer, key, number);
    else
        json_write_rc(writer, key, rc);
}

static void dump_u32(struct json_writer *writer, const char *key, const struct value *value, double t)
{
    uint32_t number;
    int rc = value_u32(value, t, &number);
    if (rc == NVML_SUCCESS)
        json_write_u64(writer, key, number);
    else
        json_write_rc(writer, key, rc);
}

void dump_signed(struct json_writer *writer, const char *key, const struct value *value, double t)
{
    int32_t number;
    int rc = value_signed(value, t, &number);
    if (rc == NVML_SUCCESS)
        json_write_i64(writer, key, number);
    else
        json_write_rc(writer, key, rc);
}

void dump_text(struct json_writer *writer, const char *key, const struct value *value, double t)
{
    const char *text;
    int rc = value_text(value, t, &text);
    if (rc == NVML_SUCCESS)
        json_write_text(writer, key, text);
    else
        json_write_rc(writer, key, rc);
}

void dump_list(struct json_writer *writer, const char *key, const struct value *const values[], size_t count,
               double t)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t number;
        int rc = value_u32(values[i], t, &number);
        if (rc != NVML_SUCCESS) {
            json_write_rc(writer, key, rc);
            return;
        }
    }
    json_write_begin(writer, key, '[');
    for (size_t i = 0; i < count; i++)
        dump_u32(writer, NULL, values[i], t);
    json_write_end(writer, ']');
}

void dump_memory(struct json_writer *writer, const struct device *device, const struct mig_device *mig,
                 double t)
{
    struct memory_figures figures;
    int rc = evaluate_memory(device, mig, t, &figures);
    if (rc != NVML_SUCCESS) {
        json_write_rc(writer, "memory", rc);
        return;
    }
    json_write_begin(writer, "memory", '{');
    json_write_u64(writer, "total", figures.total);
    json_write_u64(writer, "reserved", figures.reserved);
    json_write_u64(writer, "used", figures.used);
    json_write_u64(writer, "free", figures.free);
    json_write_u64(writer, "used_with_reserved", figures.used_with_reserved);
    json_write_end(writer, '}');
}

void dump_bar1(struct json_writer *writer, const struct bar1 *bar1, double t)
{
    uint64_t total, used;
    int rc = evaluate_bar1(bar1, t, &total, &used);
    if (rc != NVML_SUCCESS) {
        json_write_rc(writer, "bar1", rc);
        return;
    }
    json_write_begin(writer, "bar1", '{');
    json_write_u64(writer, "total", total);
    json_write_u64(writer, "used", used);
    json_write_u64(writer, "free", used < total ? total - used : 0);
    json_write_end(writer, '}');
}

static void dump_identity(struct json_writer *writer, const struct device *device, double t)
{
    const struct value *const capability[] = {&device->capability_major, &device->capability_minor};
    int handle = value_code(&device->handle, t);
    json_write_text(writer, "id", device->id);
    if (handle == NVML_SUCCESS)
        json_write_u64(writer, "handle", 0);
    else
        json_write_rc(writer, "handle", handle);
    dump_text(writer, "name", &device->name, t);
    dump_text(writer, "uuid", &device->uuid, t);
    dump_u32(writer, "index", &device->index, t);
    dump_u32(writer, "minor", &device->minor, t);
    dump_text(writer, "serial", &device->serial, t);
    json_write_text(writer, "pci", device->pci.address);
    json_write_u64(writer, "pci_id", device->pci.id);
    json_write_u64(writer, "subsystem_id", device->pci.subsystem_id);
    dump_u32(writer, "architecture", &device->architecture, t);
    dump_u32(writer, "brand", &device->brand, t);
    dump_u32(writer, "numa_node", &device->numa_node, t);
    dump_list(writer, "compute_capability", capability, 2, t);
}

static void dump_utilization(struct json_writer *writer, const struct utilization *utilization, double t)
{
    uint32_t gpu, memory;
    int rc = evaluate_rates(utilization, t, &gpu, &memory);
    json_write_begin(writer, "utilization", '{');
    if (rc == NVML_SUCCESS) {
        json_write_u64(writer, "gpu", gpu);
        json_write_u64(writer, "memory", memory);
    } else {
        json_write_rc(writer, "gpu", rc);
        json_write_rc(writer, "memory", rc);
    }
    dump_u32(writer, "enc", &utilization->enc, t);
    dump_u32(writer, "dec", &utilization->dec, t);
    dump_u32(writer, "jpg", &utilization->jpg, t);
    dump_u32(writer, "ofa", &utilization->ofa, t);
    json_write_u64(writer, "period_us", utilization->period_us);
    json_write_end(writer, '}');
}

static void dump_clocks(struct json_writer *writer, const char *key, const struct clocks *clocks, double t)
{
    json_write_begin(writer, key, '{');
    dump_u32(writer, "graphics", &clocks->graphics, t);
    dump_u32(writer, "sm", &clocks->sm, t);
    dump_u32(writer, "mem", &clocks->mem, t);
    dump_u32(writer, "video", &clocks->video, t);
    json_write_end(writer, '}');
}

static void dump_thresholds(struct json_writer *writer, const struct thresholds *thresholds, double t)
{
    json_write_begin(writer, "thresholds", '{');
    dump_u32(writer, "shutdown", &thresholds->shutdown, t);
    dump_u32(writer, "slowdown", &thresholds->slowdown, t);
    dump_u32(writer, "mem_max", &thresholds->mem_max, t);
    dump_u32(writer, "gpu_max", &thresholds->gpu_max, t);
    json_write_end(writer, '}');
}

static void dump_pcie(struct json_writer *writer, const struct pcie *pcie, double t)
{
    json_write_begin(writer, "pcie", '{');
    dump_u32(writer, "gen", &pcie->gen, t);
    dump_u32(writer, "width", &pcie->width, t);
    dump_u32(writer, "max_gen", &pcie->max_gen, t);
    dump_u32(writer, "max_width", &pcie->max_width, t);
    dump_u32(writer, "tx_kbs", &pcie->tx_kbs, t);
    dump_u32(writer, "rx_kbs", &pcie->rx_kbs, t);
    json_write_end(writer, '}');
}

static void dump_ecc(struct json_writer *writer, const struct ecc *ecc, double t)
{
    const struct value *const mode[] = {&ecc->mode_current, &ecc->mode_pending};
    json_write_begin(writer, "ecc", '{');
    dump_list(writer, "mode", mode, 2, t);
    dump_u64(writer, "volatile_corrected", &ecc->volatile_corrected, t);
    dump_u64(writer, "volatile_uncorrected", &ecc->volatile_uncorrected, t);
    dump_u64(writer, "aggregate_corrected", &ecc->aggregate_corrected, t);
    dump_u64(writer, "aggregate_uncorrected", &ecc->aggregate_uncorrected, t);
    json_write_end(writer, '}');
}

static void dump_field_values(struct json_writer *writer, const struct device *device, double t)
{
    json_write_begin(writer, "field_values", '{');
    for (size_t i = 0; i < device->field_value_count; i++) {
        const struct field_value *field = &device->field_values[i];
        char key[KEY_SIZE];
        snprintf(key, sizeof(key), "%u", field->id);
        if (scenario_field_is_wide(field->id))
            dump_u64(writer, key, &field->value, t);
        else
            dump_u32(writer, key, &field->value, t);
    }
    json_write_end(writer, '}');
}

static void dump_measures(struct json_writer *writer, const struct device *device, double t)
{
    const struct remapped_rows *rows = &device->remapped_rows;
    const struct value *const remapped[] = {&rows->corrected, &rows->uncorrected, &rows->pending,
                                            &rows->failed};
    dump_signed(writer, "temperature", &device->temperature, t);
    dump_thresholds(writer, &device->thresholds, t);
    dump_u32(writer, "fan", &device->fan, t);
    json_write_u64(writer, "fans", device->fan_count);
    dump_u32(writer, "power_mw", &device->power_mw, t);
    dump_u32(writer, "power_limit_mw", &device->power_limit_mw, t);
    dump_u64(writer, "energy_mj", &device->energy_mj, t);
    dump_utilization(writer, &device->utilization, t);
    dump_clocks(writer, "clocks", &device->clocks, t);
    dump_clocks(writer, "max_clocks", &device->max_clocks, t);
    dump_u32(writer, "pstate", &device->pstate, t);
    dump_u32(writer, "compute_mode", &device->compute_mode, t);
    dump_u32(writer, "persistence", &device->persistence, t);
    dump_u32(writer, "display_active", &device->display_active, t);
    dump_u64(writer, "throttle", &device->throttle, t);
    dump_ecc(writer, &device->ecc, t);
    dump_list(writer, "remapped_rows", remapped, 4, t);
    dump_pcie(writer, &device->pcie, t);
    dump_field_values(writer, device, t);
}

void dump_device(struct json_writer *writer, const struct device *device, double t)
{
    json_write_begin(writer, NULL, '{');
    dump_identity(writer, device, t);
    dump_memory(writer, device, NULL, t);
    dump_bar1(writer, &device->bar1, t);
    dump_measures(writer, device, t);
    dump_processes(writer, device, NULL, t);
    dump_process_utilization(writer, device, t);
    dump_mig(writer, device, t);
    json_write_end(writer, '}');
}
