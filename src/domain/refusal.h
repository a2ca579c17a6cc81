// How a conversion fails: one cause with the rule that found it, the field it is about, and what must hold.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::domain {

// A value of the user's in a message: in quotes, with escapes for what a terminal would act on, and cut short.
std::string in_quotes(std::string_view value);

// `field` is a dotted path such as "spec.domain.devices.disks[0]"; `why` follows "Invalid value: ".
Failed refuse(std::string_view rule, std::string_view field, std::string why);
// A value that must be there and is not; `why` follows "Required value: ".
Failed require(std::string_view rule, std::string_view field, std::string why);
// What the surroundings do not allow, whatever the VMI says: there is no field to change.
Failed refuse(std::string_view rule, std::string why);

}  // namespace vg::domain
