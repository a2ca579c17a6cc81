// Replica sets of machines (spec work-objects 3.7). The template is judged as it was sent, and its metadata only for
// what Grace devices do not go with.
#include "admission/rule.h"
#include "admission/rules/machine/families.h"
#include "admission/rules/template_rules.h"
#include "json/access.h"

namespace vg::admission {
namespace {

const json::Value* in_template(const Case& judged, std::string_view member) {
  return json::find_path(*judged.object, {"spec", "template", member});
}

void there_is_a_template(const Case& judged, Causes& causes) {
  const json::Value* found = json::find_path(*judged.object, {"spec", "template"});
  if (!found || !found->is_object()) causes.required("spec.template", "the template of the VMIs of the replica set");
}

template <auto& check>
void with_machine(const Case& judged, Causes& causes) {
  const Place root, set = root.field("spec"), in = set.field("template");
  const Place spec = in.field("spec"), metadata = in.field("metadata");
  check({.judged = judged,
         .spec = api::kubevirt::VirtualMachineInstanceSpec(in_template(judged, "spec")),
         .metadata = in_template(judged, "metadata"),
         .place = spec,
         .metadata_place = metadata},
        causes);
}

void grace_annotations(const Machine& machine, Causes& causes) { grace_annotation_family.check(machine, causes); }
void list_grace_annotations(std::vector<RuleInfo>& out) { grace_annotation_family.list(out); }

void selector_finds_machines(const Case& judged, Causes& causes) {
  const json::Value* metadata = in_template(judged, "metadata");
  check_selector(json::find_path(*judged.object, {"spec", "selector"}),
                 metadata ? json::find(*metadata, "labels") : nullptr, causes);
}

void replica_set_has_nothing_discontinued(const Case& judged, Causes& causes) {
  check_discontinued(judged, in_template(judged, "spec"), causes);
}

constexpr Rule replica_set_rule_table[] = {
    Rule{"RS04", "spec.template is required", "spec.template", there_is_a_template}.stops(),
    Rule{"RS05", "Grace devices must not have annotations that break them", "spec.template.metadata.annotations",
         with_machine<grace_annotations>}
        .stands_for(list_grace_annotations),
    Rule{"RS07", "the VMIs of the template must be valid", "spec.template.spec", with_machine<check_machine_spec>}
        .stands_for(list_spec_rules),
    {"RS08", "the selector must match the labels of the template", "spec.selector", selector_finds_machines},
    Rule{"RS10", "features that were removed must not be used", "", replica_set_has_nothing_discontinued}.on(
        When::create),
};

}  // namespace

std::span<const Rule> replica_set_rules() { return replica_set_rule_table; }

}  // namespace vg::admission
