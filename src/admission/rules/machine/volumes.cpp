#include "admission/rules/machine/families.h"

namespace vg::admission {
namespace {

constexpr std::span<const MachineRule> none;

}  // namespace

const MachineFamily volume_family = family_of<none>;
const MachineFamily container_disk_family = family_of<none>;
const MachineFamily utility_volume_family = family_of<none>;
const MachineFamily reservation_family = family_of<none>;
const MachineFamily filesystem_family = family_of<none>;

}  // namespace vg::admission
