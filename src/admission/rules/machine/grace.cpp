#include "admission/rules/machine/families.h"

namespace vg::admission {
namespace {

constexpr std::span<const MachineRule> none;

}  // namespace

const MachineFamily grace_family = family_of<none>;
const MachineFamily grace_annotation_family = family_of<none>;

}  // namespace vg::admission
