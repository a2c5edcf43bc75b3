"""What each library exports, against the table of the scenario format and the documented prototypes."""
import subprocess

import pytest

from fake_runner import PROFILES, library_path

OLDEST = set('''
Init Init_v2 InitWithFlags Shutdown ErrorString SystemGetDriverVersion SystemGetNVMLVersion
SystemGetCudaDriverVersion SystemGetCudaDriverVersion_v2
DeviceGetCount DeviceGetCount_v2 DeviceGetHandleByIndex DeviceGetHandleByIndex_v2
DeviceGetHandleByPciBusId DeviceGetHandleByPciBusId_v2 DeviceGetHandleByUUID
DeviceGetName DeviceGetUUID DeviceGetSerial DeviceGetIndex DeviceGetMinorNumber
DeviceGetPciInfo DeviceGetPciInfo_v2 DeviceGetPciInfo_v3 DeviceGetBrand DeviceGetCudaComputeCapability
DeviceGetTemperature DeviceGetTemperatureThreshold DeviceGetFanSpeed DeviceGetFanSpeed_v2
DeviceGetPowerUsage DeviceGetEnforcedPowerLimit DeviceGetPowerManagementLimit DeviceGetTotalEnergyConsumption
DeviceGetUtilizationRates DeviceGetEncoderUtilization DeviceGetDecoderUtilization
DeviceGetClockInfo DeviceGetMaxClockInfo DeviceGetCurrentClocksThrottleReasons DeviceGetPerformanceState
DeviceGetComputeMode DeviceGetPersistenceMode DeviceGetDisplayActive
DeviceGetCurrPcieLinkGeneration DeviceGetCurrPcieLinkWidth DeviceGetMaxPcieLinkGeneration
DeviceGetMaxPcieLinkWidth DeviceGetPcieThroughput
DeviceGetMemoryInfo DeviceGetBAR1MemoryInfo DeviceGetEccMode DeviceGetTotalEccErrors DeviceGetFieldValues
DeviceGetComputeRunningProcesses DeviceGetGraphicsRunningProcesses DeviceGetMPSComputeRunningProcesses
DeviceGetProcessUtilization
EventSetCreate EventSetFree EventSetWait DeviceGetSupportedEventTypes DeviceRegisterEvents
DeviceGetSamples DeviceGetMemoryErrorCounter DeviceGetNvLinkState DeviceGetNvLinkVersion
DeviceGetTopologyCommonAncestor DeviceGetCpuAffinity DeviceGetVirtualizationMode
'''.split())
LISTS = ['DeviceGetComputeRunningProcesses', 'DeviceGetGraphicsRunningProcesses',
         'DeviceGetMPSComputeRunningProcesses']
V2 = {name + '_v2' for name in LISTS}
V3 = {name + '_v3' for name in LISTS}
ADDED = {
    'r418': set(),
    'r450_51': set('''DeviceGetMigMode DeviceGetMaxMigDeviceCount DeviceGetMigDeviceHandleByIndex DeviceGetGpuInstanceId
        DeviceGetComputeInstanceId DeviceIsMigDeviceHandle DeviceGetDeviceHandleFromMigDeviceHandle
        DeviceGetAttributes_v2 EventSetWait_v2 DeviceGetRemappedRows DeviceGetArchitecture
        DeviceGetMemoryAffinity'''.split()),
    'r470': V2,
    'r510': V3 | {'DeviceGetMemoryInfo_v2', 'DeviceGetNumFans'},
    'r535_54': {'DeviceGetCurrentClocksEventReasons', 'DeviceGetJpgUtilization', 'DeviceGetOfaUtilization',
                'DeviceGetConfComputeMemSizeInfo'},
    'r535_98': set(),
    'r550': {'DeviceGetRunningProcessDetailList', 'DeviceGetProcessesUtilizationInfo', 'DeviceGetPciInfoExt',
             'DeviceGetNumaNodeId'},
    'r580': {'DeviceGetTemperatureV', 'DeviceGetDriverModel_v2'},
}


def expected(profile):
    names = set(OLDEST)
    for one in PROFILES[:PROFILES.index(profile) + 1]:
        names |= ADDED[one]
    return {'nvml' + name for name in names - (V3 if profile == 'r535_98' else set())}


def tool(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.mark.parametrize('profile', PROFILES)
def test_exports(profile):
    lines = tool('nm', '-D', '--defined-only', str(library_path(profile))).splitlines()
    # A bare name: no symbol version, as in the real library.
    assert {line.split()[2] for line in lines} == expected(profile)
    assert {line.split()[1] for line in lines} == {'T'}


@pytest.mark.parametrize('profile', PROFILES)
def test_dynamic_section(profile):
    text = tool('readelf', '-dW', str(library_path(profile)))
    assert 'Library soname: [libnvidia-ml.so.1]' in text
    assert 'SYMBOLIC' in text
    needed = {line.split('[')[1].rstrip(']') for line in text.splitlines() if '(NEEDED)' in line}
    # Old libcs have threads apart; the sanitizers of a test build bring their own.
    assert {n for n in needed if 'san' not in n} <= {'libc.so.6', 'libpthread.so.0', 'ld-linux-x86-64.so.2'}


def test_what_the_known_clients_look_up_is_there():
    names = expected('r580')
    gpustat = '''InitWithFlags Shutdown SystemGetDriverVersion DeviceGetCount_v2 DeviceGetHandleByIndex_v2
        DeviceGetIndex DeviceGetName DeviceGetUUID DeviceGetTemperature DeviceGetFanSpeed DeviceGetMemoryInfo_v2
        DeviceGetUtilizationRates DeviceGetEncoderUtilization DeviceGetDecoderUtilization DeviceGetPowerUsage
        DeviceGetEnforcedPowerLimit DeviceGetComputeRunningProcesses_v3 DeviceGetGraphicsRunningProcesses_v3'''
    nvtop = '''ErrorString DeviceGetPciInfo DeviceGetMaxPcieLinkGeneration DeviceGetMaxPcieLinkWidth
        DeviceGetCurrPcieLinkGeneration DeviceGetCurrPcieLinkWidth DeviceGetTemperatureThreshold DeviceGetClockInfo
        DeviceGetMaxClockInfo DeviceGetPcieThroughput'''
    assert {'nvml' + name for name in (gpustat + ' ' + nvtop).split()} <= names


@pytest.mark.parametrize('profile', PROFILES)
def test_nobody_takes_our_rows_for_32_bytes(profile):
    """A known client does so where _v3 and ConfComputeMemSizeInfo exist without RunningProcessDetailList."""
    names = expected(profile)
    looks_wide = ('nvmlDeviceGetComputeRunningProcesses_v3' in names and
                  'nvmlDeviceGetConfComputeMemSizeInfo' in names and
                  'nvmlDeviceGetRunningProcessDetailList' not in names)
    assert looks_wide == (profile == 'r535_54')
