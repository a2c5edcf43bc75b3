#include "host/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define A64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B64 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

struct form {
    const char *content, *job, *step, *container;
};

/* Slurm: cgroup.conf(5) and the scopes of slurmd; containers: the names that the engines give. */
static const struct form forms[] = {
    /* nothing */
    {"", NULL, NULL, NULL},
    {"0::/", NULL, NULL, NULL},
    {"0::/\n", NULL, NULL, NULL},
    {"0::/../..\n", NULL, NULL, NULL},
    {"0::/user.slice/user-1000.slice/session-3.scope\n", NULL, NULL, NULL},
    {"nonsense\n:\n::\n\n", NULL, NULL, NULL},
    /* Slurm, cgroup v1 */
    {"12:freezer:/slurm/uid_1000/job_123/step_0/task_0\n", "123", "0", NULL},
    {"11:memory:/slurm_gpu7/uid_1000/job_123/step_batch/task_0\n", "123", "batch", NULL},
    {"4:cpu,cpuacct:/\n3:devices:/slurm/uid_5/job_77/step_extern/task_0\n1:name=systemd:/system.slice\n",
     "77", "extern", NULL},
    {"3:memory:/slurm/uid_5/job_77\n2:freezer:/slurm/uid_5/job_77/step_4\n", "77", "4", NULL},
    {"2:freezer:/slurm/uid_5/job_77/step_4\n3:memory:/slurm/uid_5/job_77\n", "77", "4", NULL},
    {"2:freezer:/slurm/uid_5/job_77\n", "77", NULL, NULL},
    /* Slurm, cgroup v2 */
    {"0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0\n", "123", "0", NULL},
    {"0::/system.slice/gpu7_slurmstepd.scope/job_123/step_0+1/user/task_special\n", "123", "0+1", NULL},
    {"0::/site.slice/slurmstepd.scope/job_9/step_interactive/slurm\n", "9", "interactive", NULL},
    {"0::/system.slice/slurmstepd.scope/job_9/step_TBD/user (deleted)\n", "9", "TBD", NULL},
    {"0::/system.slice/slurmstepd.scope/job_9/step_3 (deleted)\n", "9", "3", NULL},
    {"0::/system.slice/slurmstepd.scope/system\n", NULL, NULL, NULL},
    /* Slurm 26.05: the SLUID instead of the number */
    {"0::/sEKNKTV3WPV500/step_0/user/task_0\n", "sEKNKTV3WPV500", "0", NULL},
    {"0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_batch\n", "sEKNKTV3WPV500", "batch", NULL},
    {"0::/system.slice/slurmstepd.scope/job_5/step_batch\n", "5", "batch", NULL},
    {"0::/sEKNKTV3WPV50O/step_0\n", NULL, NULL, NULL},  /* O is no digit of that base */
    {"0::/sEKNKTV3WPV500/session\n", NULL, NULL, NULL}, /* merely looks like one */
    /* looks like a job, is none */
    {"0::/job_123/step_0\n", NULL, NULL, NULL},
    {"0::/system.slice/slurmstepd.scope/job_12x/step_0\n", NULL, NULL, NULL},
    {"0::/system.slice/slurmstepd.scope/job_\n", NULL, NULL, NULL},
    {"0::/system.slice/slurmctld.service\n", NULL, NULL, NULL},
    {"0::/user.slice/user-5.slice/user@5.service/slurmstepd.scope/job_1/step_0\n", NULL, NULL, NULL},
    {"0::/user.slice/user-5.slice/user@5.service/sEKNKTV3WPV500/step_0\n", NULL, NULL, NULL},
    /* a job's own sub-groups cannot rename it */
    {"0::/system.slice/slurmstepd.scope/job_1/step_0/user/slurm/job_2/step_9\n", "1", "0", NULL},
    /* containers */
    {"0::/docker/" A64 "\n", NULL, NULL, A64},
    {"0::/system.slice/docker-" A64 ".scope\n", NULL, NULL, A64},
    {"0::/machine.slice/libpod-" A64 ".scope/container\n", NULL, NULL, A64},
    {"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A64 ".scope\n", NULL, NULL, A64},
    {"0::/libpod_parent/libpod-" A64 "\n", NULL, NULL, A64},
    {"0::/machine.slice/libpod-conmon-" A64 ".scope\n", NULL, NULL, NULL},
    {"0::/kubepods.slice/kubepods-pod1_2.slice/crio-" A64 ".scope\n", NULL, NULL, A64},
    {"0::/kubepods.slice/kubepods-pod1_2.slice/crio-conmon-" A64 ".scope\n", NULL, NULL, NULL},
    {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a_2b.slice/cri-containerd-" A64
     ".scope\n",
     NULL, NULL, A64},
    {"9:memory:/system.slice/containerd.service/kubepods-besteffort-pod1_2.slice:cri-containerd:" A64 "\n",
     NULL, NULL, A64},
    {"9:memory:/kubepods/burstable/pod1a2b-3c4d/" A64 "\n", NULL, NULL, A64},
    {"9:memory:/docker/" A64 "/docker/" B64 "\n", NULL, NULL, B64},
    {"0::/docker/" A64 "/kubelet.slice/kubelet-kubepods.slice/cri-containerd-" B64 ".scope/init\n", NULL,
     NULL, B64},
    {"0::/docker/" A64 " (deleted)\n", NULL, NULL, A64},
    {"2:cpu:/\n1:name=systemd:/docker/" A64 "\n0::/system.slice/containerd.service\n", NULL, NULL, A64},
    /* looks like an id, is none */
    {"0::/docker/" A64 "0\n", NULL, NULL, NULL},
    {"0::/docker/x" A64 "\n", NULL, NULL, NULL},
    {"0::/docker/0123456789abcdef\n", NULL, NULL, NULL},
    {"0::/lxc.payload.web\n", NULL, NULL, NULL},
    {"0::/machine.slice/systemd-nspawn@web.service/payload\n", NULL, NULL, NULL},
    /* a container within a job */
    {"0::/system.slice/slurmstepd.scope/job_8/step_1/user/task_0/libpod-" A64 ".scope\n", "8", "1", A64},
    {"5:devices:/slurm/uid_1/job_8/step_1\n1:name=systemd:/docker/" A64 "\n", "8", "1", A64},
};

static void check_text(struct text got, const char *want, const char *content, const char *what)
{
    if (!text_equal(got, text_from_string(want)))
        fail_msg("%s: %s is %.*s, not %s", content, what, (int)got.len, got.bytes, want ? want : "absent");
}

static void every_form_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct cgroup_owner owner = cgroup_parse(text_from_string(forms[i].content));

        check_text(owner.slurm_job, forms[i].job, forms[i].content, "job");
        check_text(owner.slurm_step, forms[i].step, forms[i].content, "step");
        check_text(owner.container, forms[i].container, forms[i].content, "container");
    }
}

/* Exact-size heap copies, so that valgrind and the sanitizers see a read past the end. */
static void every_truncation_is_survived(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        for (size_t len = 0; len <= strlen(forms[i].content); len++) {
            char *copy = test_malloc(len + 1);

            memmove(copy + 1, forms[i].content, len);
            cgroup_parse((struct text){copy + 1, len});
            test_free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(every_truncation_is_survived),
    };

    return cmocka_run_group_tests_name("host/cgroup", tests, NULL, NULL);
}
