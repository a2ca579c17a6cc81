// /migration-mutate-create (spec work-objects 2.1).
#include "admission/defaults/completion.h"
#include "admission/defaults/edit.h"

namespace vg::admission {

// The label is what finds the migrations of a machine, so it always says what the spec says; the finalizer lets the
// controller end the work before the object goes. Neither the operation nor an earlier finalizer is looked at.
Verdict complete_migration(const Case& judged) {
  json::Object& migration = judged.object->get_object();
  const json::Object* spec = json::get_object(migration, "spec");
  const std::string name(spec ? json::get_string_or(*spec, "vmiName") : std::string_view());
  json::Object& metadata = json::ensure_object(migration, "metadata");
  edit::set_text(json::ensure_object(metadata, "labels"), "kubevirt.io/vmi-name", name);
  edit::append_text(json::ensure_array(metadata, "finalizers"), "kubevirt.io/migrationJobFinalize");
  return replace_members(judged, {"/metadata"});
}

}  // namespace vg::admission
