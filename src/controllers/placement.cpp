#include "controllers/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "api/views/vmi.h"
#include "api/views/vmi_status.h"
#include "base/quantity.h"
#include "base/random.h"
#include "controllers/affinity.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

using api::kubevirt::VirtualMachineInstance;

bool is_final(std::string_view phase) { return phase == "Succeeded" || phase == "Failed"; }

// FNV-1a, then mixed so that every bit of the text moves every bit of the number. Names are no secrets.
std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t value = 0xcbf29ce484222325 ^ seed;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccd;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53;
  return value ^ (value >> 33);
}

std::string amount_text(std::string_view resource, std::int64_t amount) {
  return (resource == "cpu" ? Quantity::from_milli(amount) : Quantity::from_int(amount, Quantity::Format::binary_si))
      .canonical();
}

}  // namespace

std::string placement_uid(std::string_view owner_uid) {
  std::array<std::uint8_t, 16> bytes{};
  for (const std::size_t half : {0U, 8U}) {
    std::uint64_t bits = hash(owner_uid, half);
    for (std::size_t i = 0; i < 8; ++i, bits >>= 8) bytes[half + i] = static_cast<std::uint8_t>(bits);
  }
  return format_uuid_v4(bytes);
}

std::string name_suffix(std::string_view text, std::size_t length) {
  static constexpr std::string_view letters =
      "bcdfghjklmnpqrstvwxz2456789";  // those of Kubernetes: they spell no words
  std::string suffix;
  for (std::uint64_t bits = hash(text, 0); suffix.size() < length; bits /= letters.size())
    suffix += letters[bits % letters.size()];
  return suffix;
}

std::string placement_name(std::string_view vmi_name, std::string_view placement_uid) {
  return fmt::format("virt-launcher-{}-{}", vmi_name, name_suffix(placement_uid));
}

bool waits_for_room(const json::Object& vmi) {
  const json::Object* status = json::get_object(vmi, "status");
  return std::ranges::any_of(std::array<std::string_view, 2>{"HotVCPUChange", "HotMemoryChange"},
                             [&](std::string_view type) { return condition_reason(status, type) == no_room_reason; });
}

// Of what can become more while a guest runs; the rest it has.
std::string missing_room(const json::Object& vmi, const Nodes& nodes, const config::ClusterConfig& config) {
  const VirtualMachineInstance view(&vmi);
  const NodeInfo* node = nodes.find(view.status().node_name());
  if (!node) return {};
  Amounts used = nodes.used(node->name);
  for (const Placed* placed : nodes.on(node->name))
    if (placed->ns == metadata_text(vmi, "namespace") && placed->vmi == metadata_text(vmi, "name"))
      for (const auto& [name, amount] : placed->requests) used[name] -= amount;
  std::vector<std::string> missing;
  for (const auto& [name, amount] : placement_requests(vmi, config)) {
    if (name != "cpu" && name != "memory" && !name.starts_with("hugepages-")) continue;
    const auto offered = node->allocatable.find(name);
    const std::int64_t more = used[name] + amount - (offered == node->allocatable.end() ? 0 : offered->second);
    if (more > 0) missing.push_back(fmt::format("Insufficient {} ({} missing)", name, amount_text(name, more)));
  }
  if (missing.empty()) return {};
  return fmt::format("node {} has no room for the VMI as it is to be: {}; it can get it on a node that has room",
                     node->name, fmt::join(missing, ", "));
}

std::vector<Placed> placements_of(const json::Object& vmi, const config::ClusterConfig& config) {
  std::vector<Placed> found;
  const json::Object* metadata = json::get_object(vmi, "metadata");
  const json::Object* status = json::get_object(vmi, "status");
  const json::Object* active = status ? json::get_object(*status, "activePods") : nullptr;
  if (!metadata || !active || is_final(json::get_string_or(*status, "phase"))) return found;
  const bool waits = waits_for_room(vmi);
  for (const auto& [uid, value] : *active) {
    const std::string_view node = json::as_string(&value).value_or("");
    if (node.empty()) continue;
    Placed placed{.uid = uid,
                  .ns = std::string(json::get_string_or(*metadata, "namespace")),
                  .vmi = std::string(json::get_string_or(*metadata, "name")),
                  .node = std::string(node),
                  .requests = {},
                  .labels = {}};
    // What a guest waits for it does not take from its node; the target of a migration has it already.
    const bool has_less = waits && node == json::get_string_or(*status, "nodeName");
    placed.requests = has_less ? present_requests(vmi, config) : placement_requests(vmi, config);
    if (const json::Object* labels = json::get_object(*metadata, "labels"))
      for (const auto& [name, text] : *labels)
        if (const auto label = json::as_string(&text)) placed.labels.emplace(name, *label);
    const VirtualMachineInstance view(&vmi);
    placed.keeps_away = required_anti_affinity(view.spec().affinity<api::View>().object(), placed.ns);
    placed.cid = view.status().vsockcid();
    if (const auto frequency = view.status().topology_hints().tsc_frequency(); frequency && *frequency > 0)
      placed.tsc_frequency = frequency;
    found.push_back(std::move(placed));
  }
  return found;
}

}  // namespace vg::controllers
