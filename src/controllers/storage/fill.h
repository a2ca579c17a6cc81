// What fills a claim: imports, uploads and clones, asked for by annotations of the claim, whoever wrote them (spec
// storage 3.3, 5, 6, 7). A DataVolume only writes the claim, and reads from it how it goes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controllers/controller.h"

namespace vg::controllers {

Controller import_controller();
Controller upload_controller();
Controller clone_controller();

namespace storage {

// The id of the job that fills the claim; empty: nothing does.
std::string filling_job(const json::Object& claim);

// The size of the image of an upload, and what it is: for whoever receives the bytes. The CDIConfig may be null.
ImageTarget upload_target_of(const json::Object& claim, const DiskClaim& disk, const json::Object* cdi_config);

}  // namespace storage
}  // namespace vg::controllers
