// Whether a DataImportCron may be made or changed (spec storage 9), where this server is its CDI.
#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "objects/object_request.h"

namespace vg::resources {

inline constexpr std::string_view data_import_crons_key = "cdi.kubevirt.io/dataimportcrons";

// Pure: the first rule that is broken, if any.
std::optional<StatusCause> find_import_cron_defect(std::string_view name, const json::Object& cron);

// The same, and whether the user may have the data of the namespace that the template names (DV-25). They are written
// down (clone_asker.h), since the DataVolumes are made for them.
Task<Result<void>> check_new_import_cron(ObjectRequest& request, std::string_view name, json::Object& object);
Result<void> check_changed_import_cron(const ObjectRequest& request, const json::Object& old,
                                       const json::Object& wanted);

}  // namespace vg::resources
