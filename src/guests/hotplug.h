// What must change in a running domain so that it has the disks and links that it should (spec launch 4.1, 4.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "domain/element.h"
#include "guests/facts.h"
#include "hypervisor/hypervisor.h"
#include "json/value.h"

namespace vg::guests {

struct DeviceChange {
  hypervisor::Change change = hypervisor::Change::attach;
  std::string name;  // of the volume or network
  std::string xml;
};

// RUN-HPD-01 to RUN-HPD-04, in their order. `wanted`: the document of a fresh conversion. Only disks below `folder` are
// hotplugged ones.
std::vector<DeviceChange> disk_changes(const DomainFacts& live, const domain::Element& wanted, std::string_view folder);

// RUN-NIC-01: bridged NICs of secondary networks that the spec has and the domain has not. `wanted`: as above.
bool has_nics_to_plug(const DomainFacts& live, const json::Object& vmi);
std::vector<DeviceChange> plugged_nics(const DomainFacts& live, const json::Object& vmi, const domain::Element& wanted);
// RUN-NIC-02: those of secondary networks alone; the first one stays.
std::vector<DeviceChange> unplugged_nics(const DomainFacts& live, const json::Object& vmi);
// RUN-NIC-03
std::vector<DeviceChange> link_changes(const DomainFacts& live, const json::Object& vmi);

// RUN-MEM-01, RUN-MEM-02: the device that gives the guest so much more memory than it began with, in bytes.
std::string memory_device(const DomainFacts& live, std::int64_t size, std::int64_t requested);

// What the claims behind its volumes hold, as the VMI's status has it: volume and amount.
std::vector<std::pair<std::string, std::string>> claim_capacities(const json::Object& vmi);

// Volumes that the VMI says are hotplugged, whether its spec still has them or not.
std::vector<std::string> hotplugged_volumes(const json::Object& vmi);

}  // namespace vg::guests
