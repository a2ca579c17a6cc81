// Which host devices can be placed by NUMA node, and where (DOM-PCN-01, DOM-PCN-02).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "domain/conversion.h"
#include "domain/expander_buses.h"

namespace vg::domain {

using DevicesByAddress = std::map<std::string, ExpanderBuses::Device>;

// Devices that cannot be placed: an error if `strict`, else they are left where they are.
Result<DevicesByAddress> placeable_devices(Conversion& c, bool strict,
                                           const std::map<std::string, std::uint32_t>& known_nodes = {});

}  // namespace vg::domain
