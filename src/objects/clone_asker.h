// Who asked for data of another namespace stands on the object that it is copied for, and nobody but the server writes
// it (admission/asker.h): a DataVolume or DataImportCron says so once its maker was asked about, a claim in any case.
// The clone controller reads it from the claim, and the engine asks whether that user may have the data when the copy
// would begin.
#pragma once

#include "json/value.h"
#include "objects/object_request.h"

namespace vg::resources {

// Drops what was sent, and puts back what stands in `old`; null: there is nothing yet. Whoever writes.
void keep_asker(const ObjectRequest& request, json::Object& object, const json::Object* old);

// Of a new object, right before it is stored: nothing unless it names data of another namespace, or may come to do so.
void write_down_asker(const ObjectRequest& request, json::Object& object);

}  // namespace vg::resources
