#include "admission/rules/machine/families.h"

namespace vg::admission {
namespace {

constexpr std::span<const MachineRule> none;

}  // namespace

const MachineFamily memory_family = family_of<none>;
const MachineFamily memory_required_family = family_of<none>;
const MachineFamily overhead_family = family_of<none>;

}  // namespace vg::admission
