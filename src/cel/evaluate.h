// Running an expression. Pure: what it is told comes from an Activation, and what it may take is bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cel/program.h"
#include "cel/value.h"

namespace vg::cel {

// What an expression can name. Values must stay valid as long as the memory.
class Activation {
 public:
  virtual ~Activation() = default;
  // A variable such as `object`, or one with a dot that was bound as such; nothing where there is none.
  virtual std::optional<Value> find(std::string_view name) = 0;
  // The answer to a question with that verb. May throw to have it asked first.
  virtual AccessAnswer ask(const AccessCheck& check, std::string_view verb) = 0;
};

// What may be taken together by several expressions that are evaluated for one purpose.
struct Budget {
  std::uint64_t cost_left;
  Meter::Tick tick = nullptr;
};

struct Outcome {
  Value value;                 // an error where it came to none
  bool out_of_budget = false;  // nothing is left for any other expression either
};

Outcome run(const Program& program, Activation& activation, Memory& memory, Budget& budget);

}  // namespace vg::cel
