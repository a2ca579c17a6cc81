// What must be allowed for a request to the aggregated API (spec server 4.3 and 4.6). Pure.
#pragma once

#include <string>
#include <string_view>

#include "ports/authorizer.h"

namespace vg::kube {

enum class AccessNeed {
  none,     // everybody may
  allowed,  // whoever the API server allows it to
  refused,  // nobody: this is nothing that could be allowed
};

struct AccessQuestion {
  AccessNeed need = AccessNeed::refused;
  std::string problem;          // why it is refused
  AccessAttributes attributes;  // views into the path
};

// Documents that every client may read, and the profiler, which has a switch of its own.
bool is_open_path(std::string_view path);

// `path` is the decoded one, `sent_path` as it came. A path with an empty, "." or ".." segment or an encoded slash
// means one thing here and another in front of us, so it is refused.
AccessQuestion access_question(std::string_view method, std::string_view path, std::string_view sent_path);

}  // namespace vg::kube
