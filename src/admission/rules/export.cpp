// Exports (spec work-objects 3.13).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/rule.h"
#include "admission/semantic_equal.h"
#include "api/canonical_words.h"
#include "base/phrases.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using api::in_words;
using std::string_view;

struct Source {
  string_view kind, group;
};

constexpr string_view template_kind = "VirtualMachineTemplate";
constexpr std::array sources = std::to_array<Source>({
    {"PersistentVolumeClaim", ""},
    {"VirtualMachineSnapshot", "snapshot.kubevirt.io"},
    {"VirtualMachine", "kubevirt.io"},
    {"VirtualMachineBackup", "backup.kubevirt.io"},
    {template_kind, "template.kubevirt.io"},
});

string_view source_member(const Case& judged, string_view name) {
  return json::as_string(json::find_path(*judged.object, {"spec", "source", name})).value_or("");
}

const Source* source_of(const Case& judged) {
  const auto* found = std::ranges::find(sources, source_member(judged, "kind"), &Source::kind);
  return found == sources.end() ? nullptr : found;
}

void source_is_known(const Case& judged, Causes& causes) {
  if (source_of(judged)) return;
  causes.invalid(
      "spec.source.kind",
      fmt::format(
          "{}: supported values: PersistentVolumeClaim, VirtualMachine, VirtualMachineSnapshot, VirtualMachineBackup, "
          "VirtualMachineTemplate",
          in_words(source_member(judged, "kind"))));
}

void templates_are_on(const Case& judged, Causes& causes) {
  if (source_member(judged, "kind") != template_kind) return;
  if (judged.enabled(config::Gate::oci_export) && judged.context.config.virt_template_deployment()) return;
  causes.invalid("spec.source.kind",
                 "exporting a VirtualMachineTemplate requires the feature gates OCIExport and Template, and "
                 "spec.configuration.virtTemplateDeployment of the KubeVirt object must not be disabled");
}

void source_has_name(const Case& judged, Causes& causes) {
  if (source_member(judged, "name").empty())
    causes.invalid("spec.source.name", phrases::missing("the name of the object to export"));
}

void source_has_its_group(const Case& judged, Causes& causes) {
  const string_view group = source_member(judged, "apiGroup"), wanted = source_of(judged)->group;
  if (group == wanted) return;
  causes.invalid("spec.source.APIGroup", fmt::format("{2}: the apiGroup of a {0} must be {1}",
                                                     source_member(judged, "kind"), in_words(wanted), in_words(group)));
}

void spec_stays(const Case& judged, Causes& causes) {
  if (!unchanged(judged, {"spec"}))
    causes.invalid("spec", phrases::immutable("delete the export and create another one"));
}

constexpr Rule export_rule_table[] = {
    Rule{"EX14", "the source must be of a kind that can be exported", "spec.source.kind", source_is_known}
        .on(When::create)
        .stops(),
    Rule{"EX11", "exporting templates requires their feature gates", "spec.source.kind", templates_are_on}
        .on(When::create)
        .of_gate(config::Gate::oci_export)
        .stops(),
    Rule{"EX03", "spec.source.name is required", "spec.source.name", source_has_name}.on(When::create),
    Rule{"EX04", "spec.source.apiGroup must be that of the kind", "spec.source.APIGroup", source_has_its_group}.on(
        When::create),
    Rule{"EX16", "spec is immutable", "spec", spec_stays}.on(When::update),
};

}  // namespace

std::span<const Rule> export_rules() { return export_rule_table; }

}  // namespace vg::admission
