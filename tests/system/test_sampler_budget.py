"""The share of wall time that the sampler holds the driver's lock, measured in the fake's call log."""
import time

import pytest

from probe import Probe, device, read_log, write_scenario

LIMIT = 0.02

# The costs of single calls, in microseconds.
COSTS = [('nvmlDeviceGet*RunningProcesses*', 4500), ('nvmlDeviceGetFanSpeed*', 137),
         ('nvmlDeviceGetMemoryInfo*', 12), ('nvmlDeviceGetUtilizationRates', 2.5)]


def scenario_with_costs(tmp_path):
    faults = [{'fn': name, 'latency_us': cost} for name, cost in COSTS]
    return write_scenario(tmp_path, [device('gpu%d' % i) for i in range(8)], faults=faults)


def longest_gap(calls, names, position, start, end):
    times = sorted(c.start for c in calls if c.name.startswith(names) and c.device == position)
    times = [start] + [t for t in times if start < t < end] + [end]
    return max(b - a for a, b in zip(times, times[1:])) / 1e9


def check_window(calls, start, end):
    held = sum(min(c.end, end) - max(c.start, start) for c in calls if c.end > start and c.start < end)
    assert held / (end - start) <= LIMIT, 'the lock is held %.3f %% of the time' % (100 * held / (end - start))
    for position in range(8):
        for name in ('nvmlDeviceGetUtilizationRates', 'nvmlDeviceGetMemoryInfo'):
            reads = [c for c in calls if c.name.startswith(name) and c.device == position and start <= c.start < end]
            assert len(reads) >= 10 * (end - start) / 1e9, name
        gap = longest_gap(calls, 'nvmlDeviceGetComputeRunningProcesses', position, start, end)
        assert gap <= 10, 'process lists of device %d: %.1f s' % (position, gap)


def watch(tmp_path, settle, seconds):
    log = tmp_path / 'log'
    with Probe('--interest-ms=50', '--seconds=%d' % (settle + seconds + 1), '--terse',
               scenario=scenario_with_costs(tmp_path), log=log) as probe:
        lines = probe.finish(settle + seconds + 30)
    calls = read_log(log)
    start = calls[0].start + settle * 10**9
    return calls, start, start + seconds * 10**9, lines


def check_habits(calls):
    """Handles are fetched once, and nothing is ever called that disturbs."""
    names = [c.name for c in calls]
    assert 'nvmlDeviceGetPcieThroughput' not in names
    assert len([n for n in names if n.startswith('nvmlInit')]) == 1
    assert len([n for n in names if n.startswith('nvmlDeviceGetHandleBy')]) == 8
    assert not [n for n in names if n == 'nvmlShutdown']


def test_budget(tmp_path):
    calls, start, end, lines = watch(tmp_path, 2, 12)
    check_window(calls, start, end)
    check_habits(calls)
    assert lines[-1]['snapshots'] >= 15 * 15


@pytest.mark.slow
def test_budget_over_a_minute(tmp_path):
    calls, start, end, _ = watch(tmp_path, 10, 60)
    check_window(calls, start, end)
    check_habits(calls)
