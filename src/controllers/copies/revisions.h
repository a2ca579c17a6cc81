// Copies of the revisions that instance types and preferences of a VM are kept in (spec copies SNAP-34, RST-39).
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "controllers/common/owners.h"
#include "controllers/pass.h"
#include "json/value.h"

namespace vg::controllers::copies {

struct MatcherRef {
  std::string_view member;     // of a VM's spec
  std::string_view reference;  // of its status
};
inline constexpr std::array<MatcherRef, 2> matchers{{{.member = "instancetype", .reference = "instancetypeRef"},
                                                     {.member = "preference", .reference = "preferenceRef"}}};

// The revision that a VM's spec or status names; empty for none, and for a spec without that matcher.
std::string_view revision_in_use(const json::Object& spec, const json::Object& vm, const MatcherRef& matcher);
// The name with the first `from` in it replaced by `to`, no longer than names may be.
std::string renamed_revision(std::string_view name, std::string_view from, std::string_view to);
// Creates a copy for `identity`; one that is there already is fine.
Effect revision_copy(const Turn& turn, const json::Object& revision, const std::string& name, const Owner& owner,
                     Identity identity);

}  // namespace vg::controllers::copies
