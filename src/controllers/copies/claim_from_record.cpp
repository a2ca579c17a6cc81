#include "controllers/copies/claim_from_record.h"

#include "base/quantity.h"
#include "controllers/copies/names.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers::copies {

std::optional<ImageRecord> find_record(const Turn& turn, std::string_view volume_snapshot) {
  return turn.world.disks().record(record_name(turn.key.ns, volume_snapshot));
}

json::Value claim_from_record(const Turn& turn, const json::Object& saved_claim, std::string_view volume_snapshot,
                              const ImageRecord& record) {
  json::Value made({{"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}}, turn.storage);
  json::Object& spec = json::ensure_object(made.get_object(), "spec");
  const json::Object* saved = vm::spec_of(saved_claim);
  for (const std::string_view member : {"accessModes", "resources", "storageClassName", "volumeMode"})
    if (const json::Value* value = saved ? json::find(*saved, member) : nullptr) spec[member] = *value;
  const auto size = vm::quantity_at(&spec, {"resources", "requests", "storage"});
  const Quantity least = Quantity::from_int(record.virtual_size, Quantity::Format::binary_si);
  if (!size || *size < least)
    vm::edit::set_quantity(json::ensure_path(spec, {"resources", "requests"}), "storage", least);
  for (const std::string_view member : {"dataSource", "dataSourceRef"})
    spec[member] = json::Value(
        {{"apiGroup", "snapshot.storage.k8s.io"}, {"kind", "VolumeSnapshot"}, {"name", volume_snapshot}}, turn.storage);
  return made;
}

}  // namespace vg::controllers::copies
