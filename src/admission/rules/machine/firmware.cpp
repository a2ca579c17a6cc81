#include "admission/rules/machine/families.h"

namespace vg::admission {
namespace {

constexpr std::span<const MachineRule> none;

}  // namespace

const MachineFamily machine_type_family = family_of<none>;
const MachineFamily acpi_family = family_of<none>;
const MachineFamily firmware_family = family_of<none>;

}  // namespace vg::admission
