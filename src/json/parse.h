// Text to values, with the semantics that Kubernetes' decoders have.
//
// Strict JSON: no comments, no trailing commas, no byte order mark, nothing after the document. Where JSON leaves a
// choice, we choose as Go's decoder does, because the objects we read also pass through kube-apiserver:
// - Integers become int64, else uint64, else double; other numbers become the nearest double; a number that no finite
//   double can hold is refused.
// - Bytes in strings that are no UTF-8, and halves of surrogate pairs, become U+FFFD instead of a refusal.
// - Of members with the same name the last one wins, at the place of the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::json {

struct ParseOptions {
  std::size_t bytes_max = limits::body_bytes_max;
  std::size_t depth_max = limits::json_depth_max;
  // Members and elements in all. What was taken once must be readable for ever, so only requests have a bound.
  std::size_t values_max = SIZE_MAX;
  // Where to put the paths of members that occur more than once, such as `spec.template.x` or `spec.disks[2].name`, in
  // the order of the text, each once, at most `duplicates_max`. Null when nobody asks. Asking costs one walk over the
  // values; the names are only looked for when that walk finds fewer members than the text had.
  std::vector<std::string>* duplicate_fields = nullptr;

  static constexpr std::size_t duplicates_max = limits::json_duplicates_told_max;
};

// The value lives in `storage`, which must outlive it. Take it out of the result by moving: a copy of a Value goes to
// the heap. Refusals: 400 with line and column, 413 when the text is longer or has more values than allowed.
Result<Value> parse(std::string_view text, StoragePtr storage, const ParseOptions& options = {});

}  // namespace vg::json
