// Any document and any patch of each kind: applied completely or refused without a trace, and the outcome is a document
// like any other. Input: a letter for the kind of patch, the document, a line with "---", the patch.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "json/document.h"
#include "json/patch.h"
#include "json/strategic_patch.h"
#include "json/write.h"

namespace {

using vg::Result;
using vg::json::apply_json_patch;
using vg::json::apply_merge_patch;
using vg::json::apply_strategic_patch;
using vg::json::Document;
using vg::json::MergeRule;
using vg::json::MergeRules;
using vg::json::to_text;
using vg::json::Value;

void require(bool holds) {
  if (!holds) std::abort();
}

// Every list merges: by "name" in fields that start with an "o", as scalars in others; "r..." is replaced.
class FuzzRules : public MergeRules {
 public:
  MergeRule field(std::string_view name) const override {
    if (name.starts_with('r')) return {.strategy = MergeRule::Strategy::replace, .inside = this};
    return {.strategy = MergeRule::Strategy::merge, .merge_key = name.starts_with('o') ? "name" : "", .inside = this};
  }
};

Result<void> apply(char kind, Value& document, const Value& patch) {
  if (kind == 'j') return apply_json_patch(document, patch);
  if (kind == 'm') return apply_merge_patch(document, patch);
  return apply_strategic_patch(document, patch, FuzzRules());
}

bool mentions_directive(std::string_view text) {
  return text.find("\"$patch\":") != text.npos || text.find("\"$retainKeys\":") != text.npos ||
         text.find("\"$setElementOrder") != text.npos || text.find("\"$deleteFromPrimitiveList") != text.npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr std::string_view separator = "\n---\n";
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t split = input.find(separator);
  if (split == 0 || split == input.npos) return 0;
  auto document = Document::parse(input.substr(1, split - 1));
  const auto patch = Document::parse(input.substr(split + separator.size()));
  if (!document || !patch) return 0;

  const std::string before = to_text(document->root());
  const std::string patch_before = to_text(patch->root());
  const auto result = apply(input.front(), document->root(), patch->root());
  const std::string after = to_text(document->root());
  require(to_text(patch->root()) == patch_before);
  if (!result) {
    require(after == before);
    require(result.error().code == 400 || result.error().code == 413 || result.error().code == 422);
    return 0;
  }
  const auto again = Document::parse(after);
  require(again.has_value());
  require(to_text(again->root()) == after);
  if (input.front() == 's') require(mentions_directive(before) || !mentions_directive(after));
  return 0;
}
