// The subresource API: from an authorized request to its answer.
//
//   find the row -> media types -> gate -> gather -> decide -> execute
#pragma once

#include <string_view>

#include "actions/gather.h"
#include "base/task.h"
#include "server/router.h"

namespace vg::actions {

// The path of a request, taken apart and decoded.
struct Target {
  std::string_view version;
  std::string_view ns;
  std::string_view resource;
  std::string_view name;
  std::string_view subresource;  // everything behind the name
};

class Service {
 public:
  explicit Service(Parts parts) : parts_(parts) {}

  // The caller has made sure that this user may do it.
  Task<void> serve(server::Call& call, Target target) const;

 private:
  // The stream that is to be opened, if any; otherwise the call is answered.
  Task<std::optional<OpenStream>> act(server::Call& call, const Target& target, const Found& found) const;

  Parts parts_;
};

}  // namespace vg::actions
