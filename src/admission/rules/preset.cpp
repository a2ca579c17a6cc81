// Presets of machines (spec work-objects 3.6).
#include "admission/rule.h"
#include "admission/rules/disks.h"
#include "admission/rules/machine/firmware.h"
#include "json/access.h"

namespace vg::admission {
namespace {

const json::Value* domain(const Case& judged) { return json::find_path(*judged.object, {"spec", "domain"}); }

void there_is_a_domain(const Case& judged, Causes& causes) {
  if (const json::Value* found = domain(judged); !found || !found->is_object())
    causes.required("spec.domain", "what the preset sets in VMIs");
}

void disks_are_sound(const Case& judged, Causes& causes) {
  const Place root, spec = root.field("spec"), in_domain = spec.field("domain"), devices = in_domain.field("devices");
  check_disks(json::find_path(*domain(judged), {"devices", "disks"}), devices.field("disks"), causes);
}

void boots_soundly(const Case& judged, Causes& causes) {
  const Place root, spec = root.field("spec"), in_domain = spec.field("domain");
  check_boot(json::find(*domain(judged), "firmware"), in_domain.field("firmware"), causes);
}

constexpr Rule preset_rule_table[] = {
    Rule{"PR04", "spec.domain is required", "spec.domain", there_is_a_domain}.stops(),
    Rule{"PR05", "the disks of the preset must be valid", "spec.domain.devices.disks", disks_are_sound}.stands_for(
        list_disk_rules),
    Rule{"PR06", "the firmware of the preset must be valid", "spec.domain.firmware", boots_soundly}.stands_for(
        list_boot_rules),
};

}  // namespace

std::span<const Rule> preset_rules() { return preset_rule_table; }

}  // namespace vg::admission
