#include "admission/rules/data_volume_templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using api::View;
using std::string_view;

// One template, and the names that the machine's volumes refer to.
struct TemplateAt {
  View spec;
  string_view name;
  const std::vector<string_view>& used_names;  // sorted

  bool sets(string_view member) const { return static_cast<bool>(View(spec.get(member))); }
  // The claim itself is filled from something.
  bool claim_has_source() const {
    const View claim(spec.get(sets("pvc") ? "pvc" : "storage"));
    return View(claim.get("dataSource")) || View(claim.get("dataSourceRef"));
  }
  bool has_source() const { return sets("source") || sets("sourceRef"); }
};

bool is_nameless(const TemplateAt& at) { return at.name.empty(); }
bool asks_for_no_storage(const TemplateAt& at) { return !at.sets("pvc") && !at.sets("storage"); }
bool asks_for_storage_twice(const TemplateAt& at) { return at.sets("pvc") && at.sets("storage"); }
bool has_two_origins(const TemplateAt& at) { return at.claim_has_source() && at.has_source(); }
bool has_no_origin(const TemplateAt& at) { return !at.claim_has_source() && !at.has_source(); }

bool has_not_one_source(const TemplateAt& at) {
  constexpr std::array<string_view, 10> kinds = {"http",   "s3",    "gcs",     "registry", "pvc",
                                                 "upload", "blank", "imageio", "vddk",     "snapshot"};
  const View source(at.spec.get("source"));
  return source &&
         std::ranges::count_if(kinds, [&](string_view kind) { return static_cast<bool>(View(source.get(kind))); }) != 1;
}

bool is_unused(const TemplateAt& at) { return !std::ranges::binary_search(at.used_names, at.name); }

// Only the first row that is broken is told of a template.
struct TemplateRule {
  RuleInfo info;
  string_view reason;
  string_view field;  // behind the template
  bool (*broken)(const TemplateAt&);
  string_view advice;
};

constexpr string_view invalid = "FieldValueInvalid", required = "FieldValueRequired";

// Upstream writes dataVolumeTemplate without s here, and two members as if one stood inside of the other.
constexpr TemplateRule data_volume_templates_rows[] = {
    {{"DVT-03", "a DataVolume template must have a name", "dataVolumeTemplate[].name"},
     required,
     ".name",
     is_nameless,
     "metadata.name is required, volumes refer to it"},
    {{"DVT-04", "a DataVolume template must request storage", "dataVolumeTemplate[].PVC.Storage"},
     invalid,
     ".PVC.Storage",
     asks_for_no_storage,
     "spec.storage or spec.pvc is required, with the size of the storage"},
    {{"DVT-05", "storage and pvc of a DataVolume template are mutually exclusive", "dataVolumeTemplate[].PVC.Storage"},
     invalid,
     ".PVC.Storage",
     asks_for_storage_twice,
     "spec.storage is mutually exclusive with spec.pvc; remove one of them"},
    {{"DVT-06", "dataSource and source of a DataVolume template are mutually exclusive", "dataVolumeTemplate[].source"},
     invalid,
     ".source",
     has_two_origins,
     "dataSource and dataSourceRef are mutually exclusive with source and sourceRef; remove one of them"},
    {{"DVT-07", "a DataVolume template must have a source", "dataVolumeTemplate[].source.sourceRef"},
     invalid,
     ".source.sourceRef",
     has_no_origin,
     "spec.source, spec.sourceRef, or a dataSource or dataSourceRef of the storage is required"},
    {{"DVT-08", "a DataVolume template must have exactly one source", "dataVolumeTemplate[].source"},
     invalid,
     ".source",
     has_not_one_source,
     "spec.source must have exactly one source, for example registry, http or blank"},
    {{"DVT-09", "a DataVolume template must be used by a volume", "dataVolumeTemplate[]"},
     required,
     "",
     is_unused,
     "no volume of the VM uses this template; set dataVolume.name of a volume to its name, or remove the template"},
};

std::vector<string_view> names_of_used(const json::Value& vm_spec) {
  std::vector<string_view> names;
  for (const View volume : api::List<View>(json::find_path(vm_spec, {"template", "spec", "volumes"}))) {
    if (const View source(volume.get("dataVolume")); source) names.push_back(member_text(source, "name"));
    if (const View source(volume.get("persistentVolumeClaim")); source)
      names.push_back(member_text(source, "claimName"));
  }
  std::ranges::sort(names);
  return names;
}

void check_template(const TemplateAt& at, const Place& base, std::size_t index, Causes& causes) {
  const auto rule =
      std::ranges::find_if(data_volume_templates_rows, [&](const TemplateRule& row) { return row.broken(at); });
  if (rule == std::end(data_volume_templates_rows)) return;
  causes.asked_by(rule->info.id);
  causes.add(
      rule->reason,
      fmt::format("{}.dataVolumeTemplate[{}]{}", api::print_place(base, api::PlaceStyle::brackets), index, rule->field),
      fmt::format("DataVolume template {}: {}", api::in_words(at.name), rule->advice));
}

}  // namespace

void check_data_volume_templates(const Case&, const json::Value* vm_spec, const Place& base, Causes& causes) {
  const api::List<View> templates(vm_spec ? json::find(*vm_spec, "dataVolumeTemplates") : nullptr);
  if (templates.empty()) return;
  const std::vector<string_view> used = names_of_used(*vm_spec);
  for (std::size_t i = 0; i < templates.size(); ++i)
    check_template({.spec = View(templates[i].get("spec")),
                    .name = member_text(View(templates[i].get("metadata")), "name"),
                    .used_names = used},
                   base, i, causes);
}

void list_data_volume_template_rules(std::vector<RuleInfo>& out) {
  for (const TemplateRule& rule : data_volume_templates_rows) out.push_back(rule.info);
}

}  // namespace vg::admission
