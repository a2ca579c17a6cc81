// Why the rules of the server are there: one sentence a subject, which is what the letters of a rule's id stand for.
#pragma once

#include <string_view>

namespace vg::offline {

// For the id of a rule: "MEM-01". Empty where nobody has written one.
std::string_view reason_of(std::string_view id);

}  // namespace vg::offline
