#include "guests/migration_request.h"

#include <algorithm>
#include <array>

#include "controllers/nodes.h"
#include "guests/moving.h"
#include "guests/vmi_lists.h"
#include "json/access.h"

namespace vg::guests {
namespace {

using json::Array;
using json::Object;
using json::Value;
using std::string_view;

constexpr std::int64_t mebibyte = 1024 * 1024;

// RUN-MIG-05
bool is_on_shared_storage(const Object& vmi, const Value& volume) {
  if (entry_with(list_at(vmi, "status", {"migratedVolumes"}), "volumeName", json::get_string_or(volume, "name")))
    return false;
  const Object* host = json::get_object(volume, "hostDisk");
  return json::find(volume, "persistentVolumeClaim") || json::find(volume, "dataVolume") ||
         (host && json::get_bool_or(*host, "shared", false));
}

bool is_generated(const Value& volume) {
  static constexpr std::array sources =
      std::to_array<string_view>({"configMap", "secret", "downwardAPI", "serviceAccount", "cloudInitNoCloud",
                                  "cloudInitConfigDrive", "containerDisk", "sysprep"});
  return std::ranges::any_of(sources, [&](string_view source) { return json::find(volume, source) != nullptr; });
}

void replace_all(std::string& text, string_view from, string_view to) {
  if (from.empty()) return;
  std::string made;
  std::size_t at = 0;
  for (std::size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    made.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  text = made.append(text, at);
}

}  // namespace

std::vector<std::string> copied_disks(const Object& vmi, const DomainFacts& facts) {
  const Array& volumes = list_at(vmi, "spec", {"volumes"});
  std::vector<std::string> targets;
  for (const DiskFact& disk : facts.disks) {
    if (disk.device == "cdrom" || disk.source.empty()) continue;
    const Value* volume = entry_with(volumes, "name", disk.alias);
    if (!volume || is_on_shared_storage(vmi, *volume)) continue;
    if (!disk.is_read_only || is_generated(*volume)) targets.push_back(disk.target);
  }
  return targets;
}

std::string moved_document(std::string document, const NodePaths& from, const NodePaths& to) {
  replace_all(document, from.state + "/", to.state + "/");
  replace_all(document, from.sockets + "/", to.sockets + "/");
  return document;
}

hypervisor::MigrationRequest migration_request(const Case& one) {
  hypervisor::MigrationRequest request;
  const Object* options = options_of(*one.vmi);
  const auto is_set = [&](string_view name) { return options && json::get_bool_or(*options, name, false); };
  const Object* status = json::get_object(*one.vmi, "status");
  if (one.facts) request.disks = copied_disks(*one.vmi, *one.facts);
  request.non_shared_inc =
      !request.disks.empty() && status && json::get_string_or(*status, "migrationMethod") == "BlockMigration";
  if (!request.non_shared_inc) request.disks.clear();
  request.unsafe = is_set("unsafeMigrationOverride");
  request.auto_converge = is_set("allowAutoConverge");
  request.postcopy = is_set("allowPostCopy");
  request.paused = one.is_paused("User");
  const Value* bandwidth = options ? json::find(*options, "bandwidthPerMigration") : nullptr;
  const std::int64_t bytes = bandwidth ? controllers::amount_of("memory", *bandwidth) : 0;
  if (bytes > 0)
    request.bandwidth_mib = static_cast<std::uint64_t>(std::max((bytes + mebibyte / 2) / mebibyte, std::int64_t{1}));
  return request;
}

}  // namespace vg::guests
