/* The contract of sources, kept by NVML over the fake library. */
#include "contract.h"

#include "gpu_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define DEVICE(id, more) \
    "{\"id\":\"g" id "\",\"name\":\"Toy\",\"uuid\":\"GPU-" id "\",\"serial\":\"1\"," \
    "\"memory\":{\"total\":1000000,\"used\":200000,\"reserved\":30000}," \
    "\"temperature\":40,\"fan\":30,\"power_mw\":99000,\"power_limit_mw\":400000," \
    "\"utilization\":{\"gpu\":20,\"memory\":10,\"enc\":30,\"dec\":40}," \
    "\"clocks\":{\"graphics\":1001,\"sm\":1002,\"mem\":1003,\"video\":1004}," \
    "\"max_clocks\":{\"graphics\":2001,\"mem\":2003},\"pstate\":2,\"compute_mode\":3,\"persistence\":1," \
    "\"throttle\":4,\"ecc\":{\"mode\":[1,1]},\"remapped_rows\":[5,6,1,7]," \
    "\"pcie\":{\"gen\":3,\"width\":8,\"max_gen\":5,\"max_width\":16},\"field_values\":{\"230\":0}," \
    "\"mig\":{\"mode\":[0,0]},\"processes\":[{\"pid\":10" id ",\"mem\":1048576,\"sm\":40}]" more "}"

static const char scenario[] = "{\"version\":1,\"devices\":[" DEVICE("0", "") "," DEVICE("1", "") "," DEVICE(
    "2", "") "],\"faults\":[{\"device\":\"g1\",\"rc\":17}]}";

static struct gpu_test test;

static struct source *make(struct source_options *options, const char *library)
{
    struct source *source;

    options->library_path = library;
    assert_int_equal(nvml_source_new(options, &source), 0);
    return source;
}

static struct source *open_fake(struct source_options *options)
{
    gpu_test_init(&test);
    assert_true(gpu_test_use_fake(&test, "r580", scenario));
    return make(options, test.library);
}

static struct source *open_missing(struct source_options *options)
{
    gpu_test_init(&test);
    return make(options, "/nonexistent/libnvidia-ml.so.1");
}

static void close_fake(void)
{
    gpu_test_deinit(&test);
}

int main(void)
{
    const struct contract_fixture fixture = {open_fake, open_missing, 17, close_fake};

    return contract_run(&fixture);
}
