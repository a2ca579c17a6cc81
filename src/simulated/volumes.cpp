#include "simulated/volumes.h"

#include <fmt/format.h>

#include <map>

#include "domain/disk_names.h"
#include "guests/vmi_lists.h"
#include "guests/volumes.h"
#include "json/access.h"

namespace vg::simulated {
namespace {

using controllers::vmi::Draft;
using json::Array;
using json::Object;
using json::Value;
using std::string_view;

string_view bus_of(const Value& disk) {
  for (const string_view kind : {"disk", "lun", "cdrom"})
    if (const Object* device = json::get_object(disk, kind)) {
      const string_view bus = json::get_string_or(*device, "bus");
      return !bus.empty() ? bus : kind == "cdrom" ? "sata" : "virtio";
    }
  return "virtio";
}

using Targets = std::map<string_view, std::string>;

Targets targets_of(const Object& vmi) {
  Targets targets;
  std::map<string_view, std::uint64_t> counts;
  for (const Value& disk : guests::list_at(vmi, "spec", {"domain", "devices", "disks"})) {
    const string_view prefix = domain::name_prefix(bus_of(disk));
    targets.emplace(json::get_string_or(disk, "name"),
                    fmt::format("{}{}", prefix, domain::letters_of(counts[prefix]++)));
  }
  return targets;
}

}  // namespace

void update_volumes(Draft& guest) {
  const Targets targets = targets_of(guest.stored);
  guests::update_volumes(guest, [&](string_view volume, string_view phase, bool is_wanted) -> guests::VolumeFacts {
    if (!is_wanted) return {};
    const auto target = targets.find(volume);
    const bool is_shown = phase != "AttachedToNode" && target != targets.end();
    return {.target = is_shown ? target->second : std::string(), .mounted = phase == "AttachedToNode", .dumped = true};
  });
}

}  // namespace vg::simulated
