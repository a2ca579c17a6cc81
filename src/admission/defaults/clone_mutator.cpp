// /vm-clone-mutate-create (spec work-objects 2.2).
#include <fmt/format.h>

#include "admission/defaults/completion.h"
#include "admission/defaults/edit.h"

namespace vg::admission {
namespace {

constexpr std::size_t suffix_characters = 5;

}  // namespace

Verdict complete_clone(const Case& judged) {
  json::Object& spec = json::ensure_object(judged.object->get_object(), "spec");
  const json::Object* target = edit::child(&spec, "target");
  if (target && !json::get_string_or(*target, "name").empty()) return {};
  // Upstream crashes on a clone of nothing (spec work-objects Q1).
  const json::Object* source = edit::child(&spec, "source");
  if (!source) return Verdict::error("spec.source is required: the VirtualMachine or VirtualMachineSnapshot to clone");
  const std::string name = fmt::format("clone-{}-{}", json::get_string_or(*source, "name"),
                                       judged.context.randomness.suffix(suffix_characters));
  const bool invented = !target;
  json::Object& into = json::ensure_object(spec, "target");
  if (invented) {
    edit::set_text(into, "apiGroup", "kubevirt.io");
    edit::set_text(into, "kind", "VirtualMachine");
  }
  edit::set_text(into, "name", name);
  return replace_members(judged, {"/spec"});
}

}  // namespace vg::admission
