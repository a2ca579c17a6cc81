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
  if (edit::child(cpu, "realtime")) return "a realtime machine's memory cannot grow while it runs";
  if (cpu && edit::descend(*cpu, {"numa", "guestMappingPassthrough"}))
    return "memory that is laid out as the node's (guestMappingPassthrough) cannot grow while the machine runs";
  if (edit::has(domain, "launchSecurity"))
    return "encrypted memory (launchSecurity) cannot grow while the machine runs";
  return std::nullopt;
}

std::optional<std::string> size_problem(const Quantity& guest, const Quantity& max_guest, std::int64_t block) {
  if (guest > max_guest)
    return fmt::format("the guest's memory {} is above its maximum {}", guest.to_string(), max_guest.to_string());
  if (guest.value() % block != 0)
    return fmt::format("the guest's memory {} is no multiple of {} MiB", guest.to_string(), block / mib_bytes);
  if (max_guest.value() % block != 0)
    return fmt::format("the maximum {} is no multiple of {} MiB", max_guest.to_string(), block / mib_bytes);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> memory_hotplug_problem(const Object& spec, const Quantity& max_guest) {
  const Object* domain = edit::child(&spec, "domain");
  if (!domain) return "the guest's memory is not given";
  if (auto problem = feature_problem(*domain)) return problem;
  const auto guest = edit::quantity(edit::child(domain, "memory"), "guest");
  if (!guest) return "the guest's memory is not given";
  if (auto problem = size_problem(*guest, max_guest, block_bytes(*domain))) return problem;
  if (json::get_string_or(spec, "architecture") != "amd64")
    return "only on amd64 memory can grow while the machine runs";
  if (guest->value() < gib_bytes) return "memory can grow only for a guest that starts with 1Gi or more";
  return std::nullopt;
}

}  // namespace vg::admission
