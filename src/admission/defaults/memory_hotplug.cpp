#include "admission/defaults/memory_hotplug.h"

#include <fmt/format.h>

#include <cstdint>

#include "admission/defaults/edit.h"

namespace vg::admission {
namespace {

using json::Object;

constexpr std::int64_t mib_bytes = 1024 * 1024;
constexpr std::int64_t gib_bytes = 1024 * mib_bytes;

// The guest's memory grows in blocks of this size. Only the literal text makes it the larger one, as upstream has it.
std::int64_t block_bytes(const Object& domain) {
  const Object* hugepages = edit::descend(domain, {"memory", "hugepages"});
  return hugepages && json::get_string_or(*hugepages, "pageSize") == "1Gi" ? gib_bytes : 2 * mib_bytes;
}

// What cannot live together with memory that grows.
std::optional<std::string> feature_problem(const Object& domain) {
  const Object* cpu = edit::child(&domain, "cpu");
  if (edit::child(cpu, "realtime")) return "memory hotplug is not supported with realtime";
  if (cpu && edit::descend(*cpu, {"numa", "guestMappingPassthrough"}))
    return "memory hotplug is not supported with guestMappingPassthrough";
  if (edit::has(domain, "launchSecurity")) return "memory hotplug is not supported with launchSecurity";
  return std::nullopt;
}

std::optional<std::string> size_problem(const Quantity& guest, const Quantity& max_guest, std::int64_t block) {
  if (guest > max_guest)
    return fmt::format("memory.guest {} must not be more than maxGuest {}", guest.to_string(), max_guest.to_string());
  if (guest.value() % block != 0)
    return fmt::format("memory.guest {} must be a multiple of {} MiB", guest.to_string(), block / mib_bytes);
  if (max_guest.value() % block != 0)
    return fmt::format("maxGuest {} must be a multiple of {} MiB", max_guest.to_string(), block / mib_bytes);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> memory_hotplug_problem(const Object& spec, const Quantity& max_guest) {
  const Object* domain = edit::child(&spec, "domain");
  if (!domain) return "memory.guest is required";
  if (auto problem = feature_problem(*domain)) return problem;
  const auto guest = edit::quantity(edit::child(domain, "memory"), "guest");
  if (!guest) return "memory.guest is required";
  if (auto problem = size_problem(*guest, max_guest, block_bytes(*domain))) return problem;
  if (json::get_string_or(spec, "architecture") != "amd64") return "memory hotplug is supported only on amd64";
  if (guest->value() < gib_bytes) return "memory hotplug requires memory.guest of 1Gi or more";
  return std::nullopt;
}

}  // namespace vg::admission
