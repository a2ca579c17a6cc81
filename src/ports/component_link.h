// The abstract side of "the components of KubeVirt": pods that answer questions about themselves.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/task.h"
#include "ports/node_link.h"

namespace vg {

struct Component {
  std::string name;     // of the pod
  std::string address;  // without brackets; empty when it has none
};

// What is asked of all of them.
struct ComponentQuestion {
  std::string_view target;           // of a GET: "/start-profiler"
  std::size_t answer_bytes_max = 0;  // a longer answer is an error
};

class ComponentLink {
 public:
  virtual ~ComponentLink() = default;

  // What one of them answered, whatever its status; an error means that there was no answer. `index` is its place in
  // the list. False: no more are to be asked.
  using Take = std::function<bool(std::size_t index, Result<NodeAnswer> answer)>;

  // The same question to all of them, several at a time; `take` hears of each as soon as it answers. 429 when too many
  // such rounds are under way.
  virtual Task<Result<void>> ask_all(Core& core, std::span<const Component> components, ComponentQuestion question,
                                     Take take) = 0;
};

}  // namespace vg
