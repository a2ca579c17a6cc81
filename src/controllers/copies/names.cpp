#include "controllers/copies/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace vg::controllers::copies {
namespace {

constexpr std::size_t label_length = 63;
constexpr std::size_t hash_part = 10;  // "-" and eight digits, and another "-"

std::string hash(std::string_view text) {  // FNV-1a
  std::uint32_t sum = 2166136261;
  for (const char c : text) sum = (sum ^ static_cast<std::uint8_t>(c)) * 16777619;
  return fmt::format("{:08x}", sum);
}

}  // namespace

std::string joined_name(std::string_view base, std::string_view suffix) {
  std::string whole = fmt::format("{}-{}", base, suffix);
  if (whole.size() <= label_length) return whole;
  if (suffix.size() + hash_part < label_length)
    return fmt::format("{}-{}-{}", base.substr(0, label_length - hash_part - suffix.size()), hash(base), suffix);
  return fmt::format("{}-{}", base.substr(0, std::min(base.size(), label_length - hash_part + 1)), hash(whole));
}

std::string content_name(std::string_view snapshot_uid) { return fmt::format("vmsnapshot-content-{}", snapshot_uid); }

std::string volume_snapshot_name(std::string_view snapshot_uid, std::string_view volume) {
  return fmt::format("vmsnapshot-{}-volume-{}", snapshot_uid, volume);
}

std::string record_name(std::string_view ns, std::string_view volume_snapshot) {
  return fmt::format("{}.{}", ns, volume_snapshot);
}

std::string staged_name(std::string_view record) { return fmt::format("{}.staged", record); }
bool is_staged_name(std::string_view record) { return record.ends_with(".staged"); }

std::string state_volume_name(std::string_view vm) { return joined_name("persistent-state-for", vm); }

std::string label_value(std::string_view name) {
  if (name.size() <= label_length) return std::string(name);
  return fmt::format("{}-{}", name.substr(0, label_length - hash_part + 1), hash(name));
}

std::string export_service_name(std::string_view name) {
  constexpr std::size_t awkward = 53;  // one more than fits behind the shortest beginning
  std::string label(name.size() == awkward ? name.substr(0, awkward - 1) : name);
  std::ranges::replace(label, '.', '-');
  return joined_name("virt-export", label);
}

std::string export_token_name(std::string_view name) { return joined_name("export-token", name); }

}  // namespace vg::controllers::copies
