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
auto dry_run_words(const ActionCase& about) { return about.options<api::kubevirt::StartOptions>().dry_run(); }

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

Result<std::string_view> run_strategy(const ActionCase& about) {
  const auto spec = about.vm().spec();
  const auto running = spec.running();
  const auto strategy = spec.run_strategy();
  if (running && strategy)
    return fail(Status::internal_error(fmt::format(
        "VM \"{}\" has both spec.running and spec.runStrategy, which are mutually exclusive; remove running",
        about.name)));
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

Status not_running(const ActionCase& about, std::string_view refused) {
  return instance_conflict(about,
                           fmt::format("{}: the {} (phase {}); wait for phase Running, or start "
                                       "the VM with `virtctl start {}`",
                                       refused, phrases::vmi_not_running, printed_phase(about.phase()), about.name));
}

bool says_dry_run(const ActionCase& about) { return !dry_run_words(about).empty(); }

bool begins_with_dry_run(const ActionCase& about) { return says_dry_run(about) && dry_run_words(about)[0] == "All"; }

Decision pass_dry_run_on(const ActionCase& about, Decision decision) {
  if (!decision || decision->empty() || !is_write(decision->front())) return decision;
  for (const std::string_view word : dry_run_words(about))
    if (word != "All")
      return fail(Status::internal_error(
          fmt::format("dryRun must be \"All\", not \"{}\"; nothing was done, remove dryRun to make the change", word)));
  return decision;
}

json::Value copy_of(const json::Value* value, const ActionCase& about) {
  return value ? json::Value(*value, about.storage) : json::Value(about.storage);
}

json::Value text_of(std::string_view text, const ActionCase& about) {
  return json::Value(boost::json::string_view(text), about.storage);
}

}  // namespace vg::actions
