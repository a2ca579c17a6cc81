// Clones (spec work-objects 3.5).
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "admission/rule.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "base/net.h"
#include "base/phrases.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::admission {
namespace {

using api::in_words;
using std::string_view;

constexpr string_view machine_kind = "VirtualMachine";

api::View spec(const Case& judged) { return api::View(json::find(*judged.object, "spec")); }

struct Reference {
  bool present = false;
  string_view group, kind, name;
};

Reference reference(const Case& judged, string_view member) {
  const api::View view(spec(judged).get(member));
  if (!view) return {};
  return {.present = true,
          .group = json::get_string_or(*view.object(), "apiGroup"),
          .kind = json::get_string_or(*view.object(), "kind"),
          .name = json::get_string_or(*view.object(), "name")};
}

void check_filter(string_view filter, string_view field, Causes& causes) {
  if (filter == "!") return causes.invalid(field, "\"!\": a name to exclude is required after \"!\"");
  if (filter.size() < 2) return;
  if (filter.find('!', 1) != filter.npos)
    causes.invalid(field, fmt::format("{}: \"!\" is supported only at the start of a filter", in_words(filter)));
  if (filter.substr(0, filter.size() - 1).contains('*'))
    causes.invalid(field, fmt::format("{}: \"*\" is supported only at the end of a filter", in_words(filter)));
}

void filters_are_patterns(const Case& judged, Causes& causes) {
  const auto check = [&causes](const json::Value* list, string_view field) {
    for (const string_view filter : api::List<string_view>(list)) check_filter(filter, field, causes);
  };
  const api::View top = spec(judged), inner(top.get("template"));
  check(top.get("annotationFilters"), "spec.annotations");
  check(top.get("labelFilters"), "spec.labels");
  check(inner.get("annotationFilters"), "spec.template.annotations");
  check(inner.get("labelFilters"), "spec.template.labels");
}

void source_kind_is_known(const Case& judged, Causes& causes) {
  const auto source = reference(judged, "source");
  if (source.kind != machine_kind && source.kind != "VirtualMachineSnapshot")
    causes.invalid("spec.Source.Kind",
                   fmt::format("{}: supported values: VirtualMachine, VirtualMachineSnapshot", in_words(source.kind)));
}

void target_kind_is_known(const Case& judged, Causes& causes) {
  const auto target = reference(judged, "target");
  if (target.present && target.kind != machine_kind)
    causes.invalid("spec.Target.Kind", fmt::format("{}: supported values: VirtualMachine", in_words(target.kind)));
}

void source_is_there(const Case& judged, Causes& causes) {
  if (!reference(judged, "source").present)
    causes.invalid("spec.Source",
                   phrases::missing("name the VirtualMachine or VirtualMachineSnapshot to clone in spec.source"));
}

void source_has_group(const Case& judged, Causes& causes) {
  const auto source = reference(judged, "source");
  if (source.present && source.group.empty())
    causes.invalid("spec.Source.APIGroup", phrases::missing("for example kubevirt.io"));
}

void source_has_kind(const Case& judged, Causes& causes) {
  const auto source = reference(judged, "source");
  if (source.present && source.kind.empty())
    causes.invalid("spec.Source",
                   phrases::missing("spec.source.kind must be VirtualMachine or VirtualMachineSnapshot"));
}

void source_has_name(const Case& judged, Causes& causes) {
  const auto source = reference(judged, "source");
  if (source.present && source.name.empty())
    causes.invalid("spec.Source.Name", phrases::missing("spec.source.name must name the object to clone"));
}

void target_is_another(const Case& judged, Causes& causes) {
  const auto source = reference(judged, "source"), target = reference(judged, "target");
  if (!source.present || !target.present || source.kind != machine_kind || target.kind != machine_kind) return;
  if (source.name == target.name)
    causes.invalid("spec.target.name",
                   fmt::format("{}: a VM cannot be cloned onto itself; choose another name", in_words(source.name)));
}

void macs_are_macs(const Case& judged, Causes& causes) {
  constexpr std::size_t mac_bytes = 6;
  for (const auto [name, text] : api::Map<string_view>(spec(judged).get("newMacAddresses"))) {
    if (text.empty()) continue;
    const auto mac = parse_mac(text);
    if (mac && mac->size() <= mac_bytes) continue;
    causes.invalid(
        name.empty() ? "spec.newMacAddresses[]" : fmt::format("spec.newMacAddresses.{}", name),
        fmt::format("interface {}: the MAC address must have six octets, for example 02:00:00:00:00:01, not {}", name,
                    in_words(text)));
  }
}

void patches_are_json(const Case& judged, Causes& causes) {
  std::size_t index = 0;
  for (const string_view patch : api::List<string_view>(spec(judged).get("patches"))) {
    if (const auto read = json::Document::parse(patch); !read)
      causes.invalid(fmt::format("spec.patches[{}]", index),
                     fmt::format("a patch must be JSON such as {{\"op\":\"remove\",\"path\":\"/spec/x\"}}: {}",
                                 read.error().message));
    ++index;
  }
}

constexpr Rule clone_rule_table[] = {
    {"CL05", "a filter must be a name with an optional ! before it and an optional * after it", "",
     filters_are_patterns},
    {"CL08", "the source must be a VirtualMachine or a VirtualMachineSnapshot", "spec.Source.Kind",
     source_kind_is_known},
    {"CL09", "the target must be a VirtualMachine", "spec.Target.Kind", target_kind_is_known},
    {"CL10", "spec.source is required", "spec.Source", source_is_there},
    {"CL11", "spec.source.apiGroup is required", "spec.Source.APIGroup", source_has_group},
    {"CL12", "spec.source.kind is required", "spec.Source", source_has_kind},
    {"CL13", "spec.source.name is required", "spec.Source.Name", source_has_name},
    {"CL14", "a VM must not be cloned onto itself", "spec.target.name", target_is_another},
    {"CL15", "new MAC addresses must be valid", "spec.newMacAddresses", macs_are_macs},
    {"CL16", "patches must be JSON", "spec.patches", patches_are_json},
};

}  // namespace

std::span<const Rule> clone_rules() { return clone_rule_table; }

}  // namespace vg::admission
