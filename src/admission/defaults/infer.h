// A VM may let one of its volumes say which instance type or preference it takes (spec vm-instancetype 2.4).
#pragma once

#include <optional>

#include "admission/context.h"
#include "admission/defaults/instancetype_lookup.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::admission {

// What a volume says about the matcher of one family.
struct Inference {
  bool changes = false;                 // without inferFromVolume nothing does
  std::optional<json::Object> matcher;  // what comes in its place; nothing: the VM names none any more
  bool drops_memory = false;            // the VM's own
};

// Looks up and changes nothing. Refusals are 400.
Result<Inference> infer_matcher(const json::Object& vm, const Family& family, const Context& context);
void apply_inference(json::Object& vm, const Family& family, Inference inference);

}  // namespace vg::admission
