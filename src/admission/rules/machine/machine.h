// What is asked of a machine, wherever it stands: a VMI, or the template of a VM, of a replica set, of a pool. A family
// is the rules of one subject in one file; families.cpp puts them in the order of causes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "admission/rule.h"
#include "api/views/vmi.h"
#include "json/value.h"

namespace vg::admission {

// A machine and the places that its causes name. Everything is in canonical form.
struct Machine {
  const Case& judged;
  api::kubevirt::VirtualMachineInstanceSpec spec;
  const json::Value* metadata;  // null where there is none
  const Place& place;           // of the spec: "spec", "spec.template.spec", ...
  const Place& metadata_place;

  const config::ClusterConfig& config() const { return judged.context.config; }
  bool enabled(config::Gate gate) const { return judged.enabled(gate); }
  // What the machine will run as: its own word, else the cluster's.
  std::string_view architecture() const {
    return spec.architecture().empty() ? config().default_architecture() : spec.architecture();
  }
};

// A rule about some part of a machine: about the machine itself, one of its disks, one of its interfaces.
template <class Subject>
struct RuleOn {
  std::string_view id;     // as in the specification
  std::string_view holds;  // what must hold, as a sentence
  std::string_view field;  // where a cause points, from the spec on: "domain.memory.guest", "volumes[].name"
  void (*check)(const Subject&, Causes&);
  std::optional<config::Gate> gate = {};  // that the rule is about

  constexpr RuleOn of_gate(config::Gate which) const {
    RuleOn changed = *this;
    changed.gate = which;
    return changed;
  }
  constexpr RuleInfo info() const { return {.id = id, .holds = holds, .field = field, .gate = gate}; }
};
using MachineRule = RuleOn<Machine>;

struct MachineFamily {
  void (*check)(const Machine&, Causes&);
  void (*list)(std::vector<RuleInfo>&);
};

// For families whose rows are asked in order, with nothing around them:
//   const MachineFamily memory_family = family_of<rows>;
template <auto& rows, class Subject>
void ask_all(const Subject& subject, Causes& causes) {
  for (const auto& rule : rows) ask(rule, subject, causes);
}
// For rows that end a scope: asks up to the first that is broken, and says whether all hold.
template <auto& rows, class Subject>
bool ask_until_broken(const Subject& subject, Causes& causes) {
  for (const auto& rule : rows) {
    const std::size_t before = causes.size();
    ask(rule, subject, causes);
    if (causes.size() != before) return false;
  }
  return true;
}
template <auto&... tables>
void list_rows(std::vector<RuleInfo>& out) {
  const auto list = [&out](const auto& rows) {
    for (const auto& rule : rows) out.push_back(rule.info());
  };
  (list(tables), ...);
}
template <auto& rows>
inline constexpr MachineFamily family_of = {.check = ask_all<rows, Machine>, .list = list_rows<rows>};

// The rules of a machine's spec, in the order of causes (spec vmi-compute 1.5).
std::span<const MachineFamily* const> spec_families();
void check_machine_spec(const Machine& machine, Causes& causes);
void list_spec_rules(std::vector<RuleInfo>& out);

}  // namespace vg::admission
