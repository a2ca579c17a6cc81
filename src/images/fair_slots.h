// Places for work that takes long, shared by namespaces: whoever has the fewest gets the next one, and nobody keeps
// more than a share while others wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vg::images {

class FairSlots {
 public:
  using Id = std::uint64_t;
  explicit FairSlots(std::size_t slots) : slots_(slots) {}

  void wait(Id id, std::string ns);
  // Done, or not wanted any more.
  void leave(Id id);
  // Who begins now; nothing: nobody waits, or no place is free.
  std::optional<Id> next();
  // Who should end, the last that began of a namespace with more than its share, for one that waits and has less. It is
  // told once, and the next one when it has left.
  std::optional<Id> surplus();

  bool is_running(Id id) const;
  std::size_t running_of(std::string_view ns) const;

 private:
  enum class State : std::uint8_t { waiting, running, ending };
  struct Entry {
    Id id = 0;
    std::string ns = {};
    State state = State::waiting;
    std::uint64_t began = 0;  // the how manieth
  };
  using Counts = std::map<std::string_view, std::size_t>;
  Counts counts() const;
  std::size_t running() const;

  const std::size_t slots_;
  std::vector<Entry> entries_ = {};  // in the order in which they came
  std::uint64_t begun_ = 0;
};

}  // namespace vg::images
