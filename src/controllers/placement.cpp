#include "controllers/placement.h"

#include <fmt/format.h>

#include "api/views/vmi.h"
#include "api/views/vmi_status.h"
#include "base/random.h"
#include "controllers/affinity.h"
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

std::vector<Placed> placements_of(const json::Object& vmi, const config::ClusterConfig& config) {
  std::vector<Placed> found;
  const json::Object* metadata = json::get_object(vmi, "metadata");
  const json::Object* status = json::get_object(vmi, "status");
  const json::Object* active = status ? json::get_object(*status, "activePods") : nullptr;
  if (!metadata || !active || is_final(json::get_string_or(*status, "phase"))) return found;
  for (const auto& [uid, value] : *active) {
    const std::string_view node = json::as_string(&value).value_or("");
    if (node.empty()) continue;
    Placed placed{.uid = uid,
                  .ns = std::string(json::get_string_or(*metadata, "namespace")),
                  .vmi = std::string(json::get_string_or(*metadata, "name")),
                  .node = std::string(node),
                  .requests = placement_requests(vmi, config),
                  .labels = {}};
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
