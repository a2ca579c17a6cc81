#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

void validate_controller_revision(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                                  std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  check_not_negative(causes, top("revision"), json::get_int_or(object, "revision", 0));
  const auto* data = json::find(object, "data");
  if (old) {
    // Controllers roll back to what a revision holds, so it holds one thing for ever, down to the last empty list.
    const auto* before = json::find(*old, "data");
    const bool unchanged = data && before ? *data == *before : !data == !before;
    if (!unchanged) causes.invalid(top("data"), cannot_change);
  } else if (!data || !data->is_object()) {
    causes.required(top("data"), "data must be a JSON object");
  }
}

}  // namespace

constinit const Strategy controller_revision_strategy = {
    .group = "apps", .kind = "ControllerRevision", .validate = validate_controller_revision};

}  // namespace vg::resources::core_kinds
