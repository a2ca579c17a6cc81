// A Kubernetes Status, read from its document. Writing one is base/status.h's.
#pragma once

#include "base/status.h"
#include "json/value.h"

namespace vg::json {

// `code` is that of the answer: documents may leave it out.
Status read_status(const Value& document, int code);

}  // namespace vg::json
