// The firmware UUID of a VM that has none of its own (spec vm-controller VMC-53): the same for every VM of a name.
#pragma once

#include <string>
#include <string_view>

namespace vg::controllers::vm {

// Version 5 (RFC 9562), lower case.
std::string stable_firmware_uuid(std::string_view vm_name);

}  // namespace vg::controllers::vm
