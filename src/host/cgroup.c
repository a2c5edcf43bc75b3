#include "host/cgroup.h"

#include "host/fields.h"

#define CONTAINER_ID_LEN 64 /* docker, podman, containerd and cri-o all use a SHA-256 in hex */
#define SLUID_LEN        14 /* 's' and 13 Crockford base-32 characters */

static bool is_in(char c, const char *set)
{
    return c && strchr(set, c);
}

static size_t leading(struct text text, const char *set)
{
    size_t len = 0;

    while (len < text.len && is_in(text.bytes[len], set))
        len++;
    return len;
}

/*
 * The folder below which Slurm puts its jobs: v1 "slurm", with several slurmd on a node "slurm_NODE";
 * v2 "slurmstepd.scope", "NODE_slurmstepd.scope".
 */
static bool is_slurm_root(struct text part)
{
    return text_equal_string(part, "slurm") || fields_starts_with(part, TEXT_LITERAL("slurm_")) ||
           text_equal_string(part, "slurmstepd.scope") ||
           fields_ends_with(part, TEXT_LITERAL("_slurmstepd.scope"));
}

static bool is_sluid(struct text part)
{
    return part.len == SLUID_LEN && part.bytes[0] == 's' &&
           leading(fields_skip(part, 1), "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == SLUID_LEN - 1;
}

/* The job of a path component "job_123" or of a SLUID; absent if it is neither. */
static struct text job_of(struct text part)
{
    if (is_sluid(part))
        return part;
    if (!fields_starts_with(part, TEXT_LITERAL("job_")))
        return TEXT_ABSENT;
    part = fields_skip(part, 4);
    return part.len && leading(part, "0123456789") == part.len ? part : TEXT_ABSENT;
}

static struct text step_of(struct text part)
{
    if (!fields_starts_with(part, TEXT_LITERAL("step_")) || part.len == 5)
        return TEXT_ABSENT;
    return fields_skip(part, 5);
}

/*
 * The first job of the path. Users can make groups of any name below their own session (user.slice), so
 * nothing there counts. A SLUID counts at the top of the tree too, where a step follows it.
 */
static void find_job(struct text path, struct cgroup_owner *owner)
{
    bool below_slurm = false;

    while (text_is_present(path)) {
        struct text part = fields_take(&path, '/'), rest = path, job, step = TEXT_ABSENT;

        if (text_equal_string(part, "user.slice"))
            return;
        job = job_of(part);
        if (text_is_present(job) && text_is_present(rest))
            step = step_of(fields_take(&rest, '/'));
        if (text_is_present(job) && (below_slurm || (is_sluid(part) && text_is_present(step)))) {
            owner->slurm_job = job;
            owner->slurm_step = step;
            return;
        }
        below_slurm = below_slurm || is_slurm_root(part);
    }
}

/*
 * The id in a path component: 64 hex digits that stand alone or after "docker-", "libpod-", "crio-",
 * "cri-containerd-", "...slice:cri-containerd:" and the like, up to the end or ".scope". A group of conmon
 * holds the container's monitor, not the container.
 */
static struct text container_of(struct text part)
{
    if (part.len >= 7 && memmem(part.bytes, part.len, "conmon-", 7))
        return TEXT_ABSENT;
    for (size_t i = 0; i + CONTAINER_ID_LEN <= part.len; i++) {
        struct text rest = fields_skip(part, i);
        size_t len;

        if (i && !is_in(part.bytes[i - 1], "-_:"))
            continue;
        len = leading(rest, "0123456789abcdef");
        if (len == CONTAINER_ID_LEN && (rest.len == len || rest.bytes[len] == '.'))
            return (struct text){rest.bytes, len};
    }
    return TEXT_ABSENT;
}

/* The last container of the path: with a container in a container that is the inner one. */
static struct text find_container(struct text path)
{
    struct text found = TEXT_ABSENT;

    while (text_is_present(path)) {
        struct text container = container_of(fields_take(&path, '/'));

        if (text_is_present(container))
            found = container;
    }
    return found;
}

struct cgroup_owner cgroup_parse(struct text content)
{
    const struct text deleted = TEXT_LITERAL(" (deleted)");
    struct cgroup_owner owner = {TEXT_ABSENT, TEXT_ABSENT, TEXT_ABSENT};

    while (text_is_present(content)) {
        struct text path = fields_take(&content, '\n');

        fields_take(&path, ':');
        fields_take(&path, ':');
        if (!text_is_present(path))
            continue;
        if (fields_ends_with(path, deleted))
            path.len -= deleted.len;
        /* Under v1 only some controllers have the step, so a line with one is better than one without. */
        if (!text_is_present(owner.slurm_step))
            find_job(path, &owner);
        if (!text_is_present(owner.container))
            owner.container = find_container(path);
    }
    return owner;
}
