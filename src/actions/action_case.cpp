#include "actions/action_case.h"

#include <fmt/format.h>

#include "api/views/subresources.h"
#include "base/phrases.h"
#include "json/access.h"

namespace vg::actions {
namespace {

template <class Conditions>
bool any_condition(const Conditions& conditions, std::string_view type, bool only_true) {
  for (const auto condition : conditions)
    if (condition.type() == type && (!only_true || condition.status() == "True")) return true;
  return false;
}

// Every kind of options names the member alike.
auto dry_run_words(const ActionCase& asked) { return asked.options<api::kubevirt::StartOptions>().dry_run(); }

bool is_write(const Effect& effect) {
  return std::holds_alternative<PatchObject>(effect) || std::holds_alternative<CreateObject>(effect);
}

}  // namespace

std::string_view printed_phase(std::string_view phase) { return phase.empty() ? "not set" : phase; }

bool has_condition(const VirtualMachineInstance& vmi, std::string_view type) {
  return any_condition(vmi.status().conditions(), type, false);
}

bool is_true(const VirtualMachineInstance& vmi, std::string_view type) {
  return any_condition(vmi.status().conditions(), type, true);
}

bool is_true(const VirtualMachine& vm, std::string_view type) {
  return any_condition(vm.status().conditions(), type, true);
}

Result<std::string_view> run_strategy(const ActionCase& asked) {
  const auto spec = asked.vm().spec();
  const auto running = spec.running();
  const auto strategy = spec.run_strategy();
  if (running && strategy)
    return fail(Status::internal_error(fmt::format(
        "VM \"{}\" has both spec.running and spec.runStrategy, which are mutually exclusive; remove running",
        asked.name)));
  if (strategy) return *strategy;
  return running.value_or(false) ? "Always" : "Halted";
}

Status not_found(std::string_view kind, std::string_view name) {
  return Status::not_found(std::string(kubevirt_group), std::string(kind), std::string(name));
}

Status conflict(std::string_view kind, std::string_view name, std::string_view why) {
  return Status::conflict(std::string(kubevirt_group), std::string(kind), std::string(name), std::string(why));
}

Status forbidden(std::string_view kind, std::string_view name, std::string_view why) {
  return Status::forbidden(std::string(kubevirt_group), std::string(kind), std::string(name), std::string(why));
}

Status not_running(const ActionCase& asked, std::string_view refused) {
  return instance_conflict(asked,
                           fmt::format("{}: the {} (phase {}); wait for phase Running, or start "
                                       "the VM with `virtctl start {}`",
                                       refused, phrases::vmi_not_running, printed_phase(asked.phase()), asked.name));
}

bool says_dry_run(const ActionCase& asked) { return !dry_run_words(asked).empty(); }

bool begins_with_dry_run(const ActionCase& asked) { return says_dry_run(asked) && dry_run_words(asked)[0] == "All"; }

Decision pass_dry_run_on(const ActionCase& asked, Decision decision) {
  if (!decision || decision->empty() || !is_write(decision->front())) return decision;
  for (const std::string_view word : dry_run_words(asked))
    if (word != "All")
      return fail(Status::internal_error(
          fmt::format("dryRun must be \"All\", not \"{}\"; nothing was done, remove dryRun to make the change", word)));
  return decision;
}

json::Value copy_of(const json::Value* value, const ActionCase& asked) {
  return value ? json::Value(*value, asked.storage) : json::Value(asked.storage);
}

json::Value text_of(std::string_view text, const ActionCase& asked) {
  return json::Value(boost::json::string_view(text), asked.storage);
}

}  // namespace vg::actions
