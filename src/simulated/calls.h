// What the handler of a simulated node is asked (spec subresources 3.6), decided: VMI and question in, answer and what
// becomes of the VMI out.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "controllers/pass.h"
#include "controllers/world.h"
#include "json/value.h"
#include "ports/node_link.h"

namespace vg::simulated {

struct Asked {
  const json::Object& vmi;
  std::string_view what;  // "pause"
  std::string_view body;
  controllers::Time now;
  json::StoragePtr storage;
};

struct Answered {
  NodeAnswer answer;
  std::optional<json::Object> vmi = {};  // to be written before it is answered
  std::vector<controllers::Told> told = {};
};

Answered answer_call(const Asked& asked);

// "/v1/namespaces/NS/virtualmachineinstances/NAME/pause?query" taken apart; all empty when it is none.
struct CallTarget {
  std::string_view ns, name, what;
};
CallTarget read_target(std::string_view target);

}  // namespace vg::simulated
