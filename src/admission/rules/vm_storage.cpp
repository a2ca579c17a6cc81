#include "admission/rules/vm_storage.h"

#include <fmt/format.h>

#include <string_view>

#include "admission/semantic_equal.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "base/phrases.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using api::View;
using std::string_view;

string_view text_below(const json::Value& in, std::initializer_list<string_view> path) {
  return json::as_string(json::find_path(in, path)).value_or("");
}

// --- data volume templates ---

void old_machine_is_readable(const Case& judged, Causes& causes) {
  if (!judged.old_object)
    causes.unexpected("",
                      "the old VM cannot be read, so the change cannot be validated; send it in "
                      "oldObject");
}

void templates_stay_in_the_namespace(const Case& judged, Causes& causes) {
  if (judged.update() && unchanged(judged, {"spec", "dataVolumeTemplates"})) return;
  const string_view own = text_below(*judged.object, {"metadata", "namespace"});
  const string_view wanted = own.empty() ? judged.review.name_space : own;
  const api::List<View> templates(json::find_path(*judged.object, {"spec", "dataVolumeTemplates"}));
  for (std::size_t i = 0; i < templates.size(); ++i) {
    const string_view given = api::Read<string_view>::or_zero(View(templates[i].get("metadata")).get("namespace"));
    if (!given.empty() && given != wanted)
      causes.invalid(fmt::format("spec.dataVolumeTemplates[{}]", i),
                     fmt::format("{1}: a DataVolume must be in the namespace of its VM ({0}); remove "
                                 "metadata.namespace from the template",
                                 api::in_words(wanted), api::in_words(given)));
  }
}

// --- what must not change while a snapshot is taken, or restored ---

bool is_set(const Case& judged, string_view member) {
  return json::find_path(*judged.object, {"status", member}) != nullptr;
}

// A machine without template, which upstream cannot bear here, has no volumes to keep.
bool same_volumes(const Case& judged) {
  const auto has_template = [](const json::Value& machine) {
    return static_cast<bool>(View(json::find_path(machine, {"spec", "template"})));
  };
  return has_template(*judged.object) && has_template(*judged.old_object) &&
         unchanged(judged, {"spec", "template", "spec", "volumes"});
}

void snapshot_keeps_volumes(const Case& judged, Causes& causes) {
  if (judged.old_object && is_set(judged, "snapshotInProgress") && !same_volumes(judged))
    causes.not_supported(
        "spec", phrases::not_permitted("a snapshot is in progress; volumes cannot be changed until it completes"));
}

bool same_run_state(const Case& judged) {
  for (const string_view member : {string_view("running"), string_view("runStrategy")}) {
    const json::Value* after = json::find_path(*judged.object, {"spec", member});
    const json::Value* before = json::find_path(*judged.old_object, {"spec", member});
    if (after && before) return *after == *before;
  }
  return false;
}

void snapshot_keeps_run_state(const Case& judged, Causes& causes) {
  if (judged.old_object && is_set(judged, "snapshotInProgress") && !same_run_state(judged))
    causes.not_supported(
        "spec", phrases::not_permitted(
                    "a snapshot is in progress; running and runStrategy cannot be changed until it completes"));
}

// What the machine is meant to do; empty when it says so in both ways.
string_view effective_run_strategy(const json::Value& machine) {
  const auto running = json::as_bool(json::find_path(machine, {"spec", "running"}));
  const auto strategy = json::as_string(json::find_path(machine, {"spec", "runStrategy"}));
  if (running && strategy) return "";
  if (running) return *running ? "Always" : "Halted";
  return strategy.value_or("Halted");
}

void restore_keeps_run_state(const Case& judged, Causes& causes) {
  if (!judged.old_object || !is_set(judged, "restoreInProgress") || unchanged(judged, {"spec"})) return;
  if (effective_run_strategy(*judged.object) != effective_run_strategy(*judged.old_object))
    causes.not_supported(
        "spec",
        phrases::not_permitted("a restore is in progress; the run strategy cannot be changed until it completes"));
}

constexpr Rule template_rows[] = {
    Rule{"DVT-02", "the old VM must be readable", "", old_machine_is_readable}.on(When::update).stops(),
    Rule{"DVT-01", "DataVolume templates must be in the namespace of the VM", "spec.dataVolumeTemplates[]",
         templates_stay_in_the_namespace}
        .stops(),
};
constexpr Rule snapshot_rows[] = {
    Rule{"VMST-01", "volumes must not change during a snapshot", "spec", snapshot_keeps_volumes}
        .on(When::update)
        .stops(),
    Rule{"VMST-02", "the run strategy must not change during a snapshot", "spec", snapshot_keeps_run_state}
        .on(When::update)
        .stops(),
    Rule{"VMST-03", "the run strategy must not change during a restore", "spec", restore_keeps_run_state}
        .on(When::update)
        .stops(),
};

void list(std::span<const Rule> rules, std::vector<RuleInfo>& out) {
  for (const Rule& rule : rules)
    out.push_back({.id = rule.id, .holds = rule.holds, .field = rule.field, .gate = rule.gate});
}

}  // namespace

void check_vm_storage(const Case& judged, Causes& causes) {
  ask_rules(template_rows, judged, causes);
  if (causes.empty()) check_snapshot_and_restore(judged, causes);
}

void list_vm_storage_rules(std::vector<RuleInfo>& out) {
  list(template_rows, out);
  list_snapshot_and_restore_rules(out);
}

void check_snapshot_and_restore(const Case& judged, Causes& causes) { ask_rules(snapshot_rows, judged, causes); }

void list_snapshot_and_restore_rules(std::vector<RuleInfo>& out) { list(snapshot_rows, out); }

}  // namespace vg::admission
