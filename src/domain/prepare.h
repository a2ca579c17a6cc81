// From the raw document to the one that is defined (spec domain 5), for whoever runs guests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "domain/element.h"
#include "domain/vmi.h"

namespace vg::domain {

// What has to be asked of the disks' files (spec domain 1.6).
struct DiskProbes {
  std::function<bool(const std::string& path, bool is_device)> direct_io;
  std::function<bool(const std::string& path)> preallocated;
};

// DOM-FIN, of every disk. A disk for hotplug: complete_disk.
Result<void> complete_disks(Element& domain, const DiskProbes& probes);
Result<void> complete_disk(Element& disk, const DiskProbes& probes);

// DOM-HPP-02 to DOM-HPP-05: how many root ports are to be kept free. `domain` is the document before it is defined.
Result<std::uint32_t> spare_ports(const Vmi& vmi, const Element& domain);
// DOM-HPP-06a, DOM-HPP-07: a document that the hypervisor completed, with so many ports more behind `index_max`.
std::string with_spare_ports(std::string completed, std::uint32_t index_max, std::uint32_t count);

}  // namespace vg::domain
