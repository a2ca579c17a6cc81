#include "offline/warnings.h"

#include <algorithm>

#include "json/access.h"
#include "offline/warnings/tables.h"

namespace vg::offline {
namespace {

std::vector<Warning> all_tables() {
  std::vector<Warning> all;
  for (const auto table : {guest_data_warnings(), migration_warnings(), running_warnings(), gitops_warnings(),
                           resource_warnings(), device_warnings(), cluster_warnings()})
    all.insert(all.end(), table.begin(), table.end());
  std::ranges::sort(all, {}, &Warning::id);
  return all;
}

}  // namespace

Manifest manifest_of(const json::Object& object, std::string_view ns, const ObjectStore& beside) {
  return {.object = object,
          .kind = json::get_string_or(object, "kind"),
          .ns = ns,
          .machine = machine_in(object),
          .beside = beside};
}

std::span<const Warning> warnings() {
  static const std::vector<Warning> all = all_tables();
  return all;
}

}  // namespace vg::offline
