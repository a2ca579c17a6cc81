// PersistentVolumes of this machine: what is behind one is removed or retained once its claim is gone, however that
// went. Who may edit a claim may take its finalizers off, so they prove nothing.
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller volume_controller();

namespace storage {

bool is_retained(const json::Object* volume);
// Asks for the data to be removed, or put out of the way under the name of its volume where that is retained. Jobs that
// fill it are given up.
void remove_data(Pass& pass, const Turn& turn, const DiskClaimName& claim, std::string_view uid,
                 const json::Object* volume);
// What becomes of the volume then: it goes, or it says that it is free. Null: there is none.
void release_volume(Pass& pass, const Turn& turn, const json::Object* volume);

}  // namespace storage
}  // namespace vg::controllers
