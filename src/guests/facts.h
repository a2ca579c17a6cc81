// What the hypervisor's document of a domain tells: the few things that statuses show and decisions ask for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg::guests {

struct DiskFact {
  std::string alias;   // without the prefix of names that users gave: the volume
  std::string target;  // "vda"
  std::string source;  // file or device; empty: none, as of a drive without a medium
  std::string device;  // "disk", "cdrom", "lun"
  std::string bus;
  bool is_read_only = false;
  std::string xml;  // the element itself, for detaching
};

struct NicFact {
  std::string alias, mac, target;
  std::string link = "up";
  std::int64_t queues = 1;
  std::string xml;
};

struct DomainFacts {
  std::string uid;      // of the VMI
  std::string machine;  // "pc-q35-7.2"
  std::string type;     // "kvm", "qemu"
  bool acpi = false;
  bool agent_connected = false;
  std::uint64_t memory_bytes = 0;  // that the guest has now
  std::uint32_t vcpus = 0;
  std::uint32_t pci_index_max = 0;  // of controllers
  std::string memory_device = {};   // the element of memory that was added; empty: none
  std::vector<DiskFact> disks = {};
  std::vector<NicFact> nics = {};

  // Null when there is none.
  const DiskFact* disk(std::string_view alias) const;
  const NicFact* nic(std::string_view alias) const;
};

// 400 for what is no such document, or is larger than any can be.
Result<DomainFacts> read_facts(std::string_view xml);

}  // namespace vg::guests
