/* Any bytes as the files of a process under /proc: what is taken from them lies within them. */
#include "fuzz/fuzz.h"

#include "host/cgroup.h"
#include "host/procfs.h"

static void must_lie_within(struct text part, struct text whole)
{
    if (!text_is_present(part))
        return;
    MUST(part.len > 0 && part.bytes >= whole.bytes && part.bytes + part.len <= whole.bytes + whole.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct text content = {(const char *)bytes, len};
    struct cgroup_owner owner = cgroup_parse(content);
    struct procfs_stat stat;
    uint64_t pages;
    uint32_t uid;

    must_lie_within(owner.slurm_job, content);
    must_lie_within(owner.slurm_step, content);
    must_lie_within(owner.container, content);
    MUST(!text_is_present(owner.slurm_step) || text_is_present(owner.slurm_job));
    MUST(!text_is_present(owner.container) || owner.container.len == 64);
    if (procfs_parse_stat(content, &stat) == 0)
        MUST(stat.comm_len <= sizeof(stat.comm));
    procfs_parse_uid(content, &uid);
    procfs_parse_statm(content, &pages);
    return 0;
}
