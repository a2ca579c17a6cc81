#include "controllers/storage/record_fill.h"

#include <fmt/format.h>

#include "base/controller_limits.h"
#include "base/names.h"
#include "controllers/common/owners.h"
#include "controllers/copies/names.h"
#include "controllers/storage/facts.h"
#include "json/access.h"

namespace vg::controllers::storage {
namespace {

// The volume snapshot that the claim is made of; empty: another source, or none.
std::string_view volume_snapshot_of(const json::Object& claim) {
  const json::Object* spec = spec_of(claim);
  for (const std::string_view member : {"dataSourceRef", "dataSource"}) {
    const json::Object* source = spec ? json::get_object(*spec, member) : nullptr;
    if (!source || json::get_string_or(*source, "kind") != "VolumeSnapshot") continue;
    if (json::get_string_or(*source, "apiGroup") != "snapshot.storage.k8s.io") continue;
    // Of this namespace alone: a record of another one is somebody else's data.
    return json::get_string_or(*source, "namespace").empty() ? json::get_string_or(*source, "name")
                                                             : std::string_view();
  }
  return {};
}

}  // namespace

std::string unknown_source(const json::Object& claim) {
  if (!volume_snapshot_of(claim).empty()) return {};
  const json::Object* spec = spec_of(claim);
  for (const std::string_view member : {"dataSourceRef", "dataSource"}) {
    const json::Object* source = spec ? json::get_object(*spec, member) : nullptr;
    const std::string_view kind = source ? json::get_string_or(*source, "kind") : std::string_view();
    if (!kind.empty())
      return fmt::format(
          "spec.{} names {} \"{}\", from which nothing is filled here but from a VolumeSnapshot of the same namespace; "
          "delete the claim, and create a DataVolume whose spec.source names the source",
          member, kind, json::get_string_or(*source, "name"));
  }
  return {};
}

bool waits_for_record(Pass& pass, const Turn& turn, const json::Object& claim, const DiskClaim& disk) {
  const std::string_view source = volume_snapshot_of(claim);
  if (source.empty()) return false;
  const std::string id = fmt::format("restore-{}", metadata_text(claim, "uid"));
  if (disk.filled_by == id) return false;
  const std::string record = copies::record_name(turn.key.ns, source);
  const auto found = dns1123_subdomain_defects(source).empty() && !copies::is_staged_name(source)
                         ? turn.world.disks().record(record)
                         : std::nullopt;
  if (!found || !found->ready) {
    pass.look_again(limits::snapshot_retry);
    return true;
  }
  if (const auto status = turn.world.disks().job(id); status && status->state == DiskJobState::failed)
    pass.tell(EventType::warning, "ProvisioningFailed", status->message);
  // RST-71: a copy that was made beforehand is only moved.
  const std::string staged = copies::staged_name(record);
  const auto ready = turn.world.disks().record(staged);
  const bool adopt = ready && ready->ready;
  ask(pass, turn,
      {.identity = Identity::own(),
       .job = {.id = id,
               .claim = {.ns = turn.key.ns, .name = turn.key.name},
               .claim_uid = std::string(metadata_text(claim, "uid")),
               .work = CopyFromRecord{.record = adopt ? staged : record, .size = disk.capacity, .adopt = adopt}}});
  return true;
}

}  // namespace vg::controllers::storage
