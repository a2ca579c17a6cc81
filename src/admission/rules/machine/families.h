// Every family of rules about machines, by the file that has it.
#pragma once

#include "admission/rules/machine/machine.h"

namespace vg::admission {

// identity.cpp
extern const MachineFamily name_family;             // ID-01, ID-02
extern const MachineFamily service_account_family;  // ID-03, ID-04
// memory.cpp
extern const MachineFamily memory_family;           // MEM-01 to MEM-08
extern const MachineFamily memory_required_family;  // MEM-09
extern const MachineFamily overhead_family;         // MEM-10
// firmware.cpp
extern const MachineFamily machine_type_family;  // MACH-01
extern const MachineFamily acpi_family;          // FW-01 to FW-03
extern const MachineFamily firmware_family;      // FW-04 to FW-10
// cpu.cpp
extern const MachineFamily cpu_resources_family;  // RES
extern const MachineFamily cpu_family;            // PIN, NUM, CPU
extern const MachineFamily realtime_family;       // RT
// lifecycle.cpp
extern const MachineFamily start_strategy_family;     // STR
extern const MachineFamily eviction_strategy_family;  // EVI
extern const MachineFamily reboot_policy_family;      // RBT
// scheduling.cpp
extern const MachineFamily scheduling_family;  // AFF, LSL, TSC

// devices.cpp
extern const MachineFamily input_family;             // INP
extern const MachineFamily io_thread_family;         // IOT
extern const MachineFamily gpu_family;               // GPU, HDV
extern const MachineFamily sound_family;             // SND
extern const MachineFamily vsock_family;             // VSK
extern const MachineFamily downward_metrics_family;  // DWM
extern const MachineFamily display_family;           // VID, PAN
// dra.cpp
extern const MachineFamily dra_family;  // DRA of devices
// grace.cpp
extern const MachineFamily grace_family;             // GRC-01 to GRC-07
extern const MachineFamily grace_annotation_family;  // GRC-08, GRC-09
// launch_security.cpp
extern const MachineFamily launch_security_family;  // LS
// probes.cpp
extern const MachineFamily probe_family;  // PRB
// access_credentials.cpp
extern const MachineFamily access_credential_family;  // ACR
// dns.cpp
extern const MachineFamily dns_family;  // DNS
// metadata.cpp
extern const MachineFamily metadata_family;  // META
// hyperv.cpp
extern const MachineFamily hyperv_family;  // HV
// architecture.cpp
extern const MachineFamily architecture_family;  // ARC, AMD, ARM, S39

// network.cpp, and network_*.cpp
extern const MachineFamily discontinued_binding_family;  // DISC
extern const MachineFamily network_family;               // NET, IFS, IFB, DRA of networks, IF, PORT, PRNG, DHCP

// disk_volumes.cpp
extern const MachineFamily disk_volume_family;   // MAP-01 to MAP-05, BOOT
extern const MachineFamily volume_usage_family;  // MAP-06 to MAP-09
// disk_list.cpp
extern const MachineFamily disk_list_family;  // DISK
// volumes.cpp
extern const MachineFamily volume_family;          // VOL, CLI, HDISK
extern const MachineFamily container_disk_family;  // CD
extern const MachineFamily utility_volume_family;  // UTIL
extern const MachineFamily reservation_family;     // PR
extern const MachineFamily filesystem_family;      // FS

}  // namespace vg::admission
