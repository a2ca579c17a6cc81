#include "admission/rules/machine/families.h"

namespace vg::admission {
namespace {

constexpr std::span<const MachineRule> none;

}  // namespace

const MachineFamily start_strategy_family = family_of<none>;
const MachineFamily eviction_strategy_family = family_of<none>;
const MachineFamily reboot_policy_family = family_of<none>;

}  // namespace vg::admission
