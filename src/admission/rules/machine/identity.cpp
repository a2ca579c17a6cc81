#include "admission/rules/machine/families.h"

namespace vg::admission {
namespace {

constexpr std::span<const MachineRule> none;

}  // namespace

const MachineFamily name_family = family_of<none>;
const MachineFamily service_account_family = family_of<none>;

}  // namespace vg::admission
