// A new VMI (spec vmi-compute 1.3, steps 4 to 12): every step is asked, and all causes are told in this order.
#include <span>

#include "admission/rule.h"
#include "admission/rules/machine/families.h"
#include "admission/rules/template_rules.h"
#include "json/access.h"

namespace vg::admission {
namespace {

const json::Value* spec_of(const Case& judged) { return json::find_path(*judged.object, {"spec"}); }

template <auto& check>
void with_machine(const Case& judged, Causes& causes) {
  const Place root, spec = root.field("spec"), metadata = root.field("metadata");
  check({.judged = judged,
         .spec = api::kubevirt::VirtualMachineInstanceSpec(spec_of(judged)),
         .metadata = json::find_path(*judged.object, {"metadata"}),
         .place = spec,
         .metadata_place = metadata},
        causes);
}

template <auto& order>
void check_in_order(const Machine& machine, Causes& causes) {
  for (const MachineFamily* family : order) family->check(machine, causes);
}
template <auto& order>
void list_in_order(std::vector<RuleInfo>& out) {
  for (const MachineFamily* family : order) family->list(out);
}

// Networks are checked by themselves, and once more with the whole spec: upstream tells their causes twice. Where there
// was nothing to tell there is nothing to tell again.
void check_networks_and_spec(const Machine& machine, Causes& causes) {
  discontinued_binding_family.check(machine, causes);
  const std::size_t before = causes.size();
  network_family.check(machine, causes);
  const bool sound = causes.size() == before;
  for (const MachineFamily* family : spec_families())
    if (!sound || family != &network_family) family->check(machine, causes);
}
void list_networks_and_spec(std::vector<RuleInfo>& out) {
  discontinued_binding_family.list(out);
  list_spec_rules(out);
}

constexpr const MachineFamily* beside_the_spec[] = {&volume_usage_family, &memory_required_family,
                                                    &metadata_family,     &grace_annotation_family,
                                                    &hyperv_family,       &architecture_family};

void vmi_has_nothing_discontinued(const Case& judged, Causes& causes) {
  check_discontinued(judged, spec_of(judged), causes);
}

constexpr Rule vmi_create_rule_table[] = {
    {"FG-01", "features that were removed must not be used", "", vmi_has_nothing_discontinued},
    Rule{"", "", "spec", with_machine<check_networks_and_spec>}.stands_for(list_networks_and_spec),
    Rule{"", "", "spec", with_machine<check_in_order<beside_the_spec>>}.stands_for(list_in_order<beside_the_spec>),
};

}  // namespace

std::span<const Rule> vmi_create_rules() { return vmi_create_rule_table; }

}  // namespace vg::admission
