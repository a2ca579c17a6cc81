// Replica sets of machines (spec work-objects 3.7). The rules of the machines themselves (RS07) are not here yet.
#include "admission/rules/tables.h"
#include "admission/rules/template_rules.h"
#include "json/access.h"

namespace vg::admission {
namespace {

const json::Value* in_template(const Case& about, std::string_view member) {
  return json::find_path(*about.object, {"spec", "template", member});
}

void there_is_a_template(const Case& about, Causes& causes) {
  const json::Value* found = json::find_path(*about.object, {"spec", "template"});
  if (!found || !found->is_object())
    causes.required("spec.template", "a replica set makes machines from a template; describe it in spec.template");
}

void grace_annotations(const Case& about, Causes& causes) {
  const Place root, spec = root.field("spec"), in = spec.field("template");
  check_grace_annotations(about, in_template(about, "spec"), in_template(about, "metadata"), in.field("metadata"),
                          causes);
}

void selector_finds_machines(const Case& about, Causes& causes) {
  const json::Value* metadata = in_template(about, "metadata");
  check_selector(json::find_path(*about.object, {"spec", "selector"}),
                 metadata ? json::find(*metadata, "labels") : nullptr, causes);
}

void nothing_discontinued(const Case& about, Causes& causes) {
  check_discontinued(about, in_template(about, "spec"), causes);
}

constexpr Rule rules[] = {
    Rule{"RS04", "there is a template", "spec.template", there_is_a_template}.stops(),
    {"RS05", "Grace devices go without the annotations that break them", "spec.template.metadata.annotations",
     grace_annotations},
    {"RS08", "the selector finds what the template makes", "spec.selector", selector_finds_machines},
    Rule{"RS10", "no feature is used that is gone", "", nothing_discontinued}.on(When::create),
};

}  // namespace

std::span<const Rule> replica_set_rules() { return rules; }

}  // namespace vg::admission
