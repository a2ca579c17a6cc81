#include "admission/instancetype/requirements.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "admission/instancetype/topology.h"
#include "api/canonical_words.h"
#include "api/views/vmi_domain.h"
#include "base/joined.h"
#include "base/quantity.h"

namespace vg::admission {
namespace {

using std::string_view;
using MachineSpec = api::kubevirt::VirtualMachineInstanceSpec;

constexpr string_view instancetype_field = "spec.instancetype";

// What is multiplied and, in this order, told: with "any" in another order than with "spread".
constexpr string_view sockets[] = {"sockets"}, cores[] = {"cores"}, threads[] = {"threads"};
constexpr string_view any[] = {"cores", "sockets", "threads"};
constexpr string_view sockets_cores[] = {"sockets", "cores"}, cores_threads[] = {"cores", "threads"};
constexpr string_view sockets_cores_threads[] = {"sockets", "cores", "threads"};

std::span<const string_view> spread_dimensions(Across across) {
  switch (across) {
    case Across::sockets_cores:
      return sockets_cores;
    case Across::cores_threads:
      return cores_threads;
    case Across::sockets_cores_threads:
      return sockets_cores_threads;
    case Across::unknown:
      return {};
  }
  return {};
}

std::span<const string_view> dimensions(const TopologyChoice& choice) {
  switch (choice.topology) {
    case Topology::sockets:
    case Topology::unknown:
      return sockets;
    case Topology::cores:
      return cores;
    case Topology::threads:
      return threads;
    case Topology::any:
      return any;
    case Topology::spread:
      return spread_dimensions(choice.across);
  }
  return {};
}

// In 32 bits, as upstream counts; what the machine leaves open is 0 (K21).
std::uint32_t product(const api::View& cpu, std::span<const string_view> names) {
  std::uint32_t vcpus = names.empty() ? 0 : 1;
  for (const string_view name : names) vcpus *= api::Read<std::uint32_t>::or_zero(cpu.get(name));
  return vcpus;
}

std::string cpu_fields(std::span<const string_view> names) {
  std::string fields;
  for (const string_view name : names)
    fields += fmt::format("{}spec.template.spec.domain.cpu.{}", fields.empty() ? "" : ", ", name);
  return fields;
}

Quantity amount(const api::QuantityView& view) { return Quantity::parse(view.text()).value_or(Quantity()); }

}  // namespace

std::optional<Unmet> unmet_cpu(const Chosen& chosen, const MachineSpec& machine) {
  const auto required = chosen.preference.requirements().cpu();
  if (!required) return std::nullopt;
  if (chosen.instancetype) {
    const auto vcpus = chosen.instancetype.cpu().guest();
    if (vcpus >= required.guest()) return std::nullopt;
    return Unmet{.field = std::string(instancetype_field),
                 .message = fmt::format("the preference requires {} vCPUs, the instance type has {}; choose a larger "
                                        "one",
                                        required.guest(), vcpus)};
  }
  const TopologyChoice choice = chosen_topology(chosen.preference);
  if (choice.topology == Topology::unknown) return std::nullopt;
  const auto names = dimensions(choice);
  const auto vcpus = product(machine.domain().cpu(), names);
  if (vcpus >= required.guest()) return std::nullopt;
  return Unmet{.field = cpu_fields(names),
               .message = fmt::format("the preference requires {} vCPUs, the VM has {} {}; "
                                      "increase them",
                                      required.guest(), vcpus, joined(names, " x "))};
}

std::optional<Unmet> unmet_memory(const Chosen& chosen, const MachineSpec& machine) {
  const auto required = chosen.preference.requirements().memory();
  if (!required) return std::nullopt;
  const Quantity least = amount(required.guest());
  const auto own = machine.domain().memory().guest();
  const Quantity given = amount(own || !chosen.instancetype ? own : chosen.instancetype.memory().guest());
  if (given >= least) return std::nullopt;
  return Unmet{.field = std::string(chosen.instancetype ? instancetype_field : "spec.template.spec.domain.memory"),
               .message = fmt::format("the preference requires {} of memory, the VM has {}; increase it",
                                      least.to_string(), given.to_string())};
}

std::optional<Unmet> unmet_architecture(const Chosen& chosen, const MachineSpec& machine) {
  const auto required = chosen.preference.requirements().architecture();
  if (!required || machine.architecture() == *required) return std::nullopt;
  return Unmet{.field = "spec.template.spec.architecture",
               .message = fmt::format("the preference requires architecture {}, the VM has {}; choose another "
                                      "preference, or another architecture",
                                      api::in_words(*required), api::in_words(machine.architecture()))};
}

}  // namespace vg::admission
