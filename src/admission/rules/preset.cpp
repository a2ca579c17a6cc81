// Presets of machines (spec work-objects 3.6).
#include "admission/rules/disks.h"
#include "admission/rules/tables.h"
#include "json/access.h"

namespace vg::admission {
namespace {

const json::Value* domain(const Case& about) { return json::find_path(*about.object, {"spec", "domain"}); }

void there_is_a_domain(const Case& about, Causes& causes) {
  if (const json::Value* found = domain(about); !found || !found->is_object())
    causes.required("spec.domain", "a preset says what machines get; describe it in spec.domain");
}

void disks_are_sound(const Case& about, Causes& causes) {
  const Place root, spec = root.field("spec"), in_domain = spec.field("domain"), devices = in_domain.field("devices");
  check_disks(json::find_path(*domain(about), {"devices", "disks"}), devices.field("disks"), causes);
}

void firmware_is_sound(const Case& about, Causes& causes) {
  const Place root, spec = root.field("spec"), in_domain = spec.field("domain");
  check_firmware(json::find(*domain(about), "firmware"), in_domain.field("firmware"), causes);
}

constexpr Rule rules[] = {
    Rule{"PR04", "a preset describes a domain", "spec.domain", there_is_a_domain}.stops(),
    {"PR05", "its disks are sound (DK01 to DK16)", "spec.domain.devices.disks", disks_are_sound},
    {"PR06", "its firmware is sound (FW01 to FW06)", "spec.domain.firmware", firmware_is_sound},
};

}  // namespace

std::span<const Rule> preset_rules() { return rules; }

}  // namespace vg::admission
