#include "admission/rules/tables.h"

namespace vg::admission {

std::span<const Rule> vmi_update_rules() { return {}; }

}  // namespace vg::admission
