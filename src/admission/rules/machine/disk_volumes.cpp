#include "admission/rules/machine/families.h"

namespace vg::admission {
namespace {

constexpr std::span<const MachineRule> none;

}  // namespace

const MachineFamily disk_volume_family = family_of<none>;
const MachineFamily volume_usage_family = family_of<none>;

}  // namespace vg::admission
