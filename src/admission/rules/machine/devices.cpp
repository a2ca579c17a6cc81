#include "admission/rules/machine/families.h"

namespace vg::admission {
namespace {

constexpr std::span<const MachineRule> none;

}  // namespace

const MachineFamily input_family = family_of<none>;
const MachineFamily io_thread_family = family_of<none>;
const MachineFamily gpu_family = family_of<none>;
const MachineFamily sound_family = family_of<none>;
const MachineFamily vsock_family = family_of<none>;
const MachineFamily downward_metrics_family = family_of<none>;
const MachineFamily display_family = family_of<none>;

}  // namespace vg::admission
