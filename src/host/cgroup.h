/*
 * What a process's control groups tell: the Slurm job and step it belongs to, and its container.
 *
 * A pure function over the content of /proc/PID/cgroup (lines `hierarchy:controllers:path`), for cgroup v1,
 * v2 and both at once. The forms are listed in test_cgroup.c.
 */
#ifndef HOST_CGROUP_H
#define HOST_CGROUP_H

#include "core/text.h"

/* All texts are borrowed from the content; absent where there is none. */
struct cgroup_owner {
    struct text slurm_job;  /* "123"; Slurm 26.05 and newer may tell the SLUID only ("sEKNKTV3WPV500") */
    struct text slurm_step; /* "0", "0+1" (heterogeneous), "batch", "extern", "interactive", "TBD" */
    struct text container;  /* 64 hex digits, of the innermost container */
};

/* Never fails: what is not recognised is absent. */
struct cgroup_owner cgroup_parse(struct text content);

#endif
