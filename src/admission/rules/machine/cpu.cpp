#include "admission/rules/machine/families.h"

namespace vg::admission {
namespace {

constexpr std::span<const MachineRule> none;

}  // namespace

const MachineFamily cpu_resources_family = family_of<none>;
const MachineFamily cpu_family = family_of<none>;
const MachineFamily realtime_family = family_of<none>;

}  // namespace vg::admission
