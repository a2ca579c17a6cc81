// What is written down of a request on its way, for the journal: names, states, numbers, never what was sent.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace vg::record {

struct Cause {
  std::string rule = {};   // its id, for virtgate explain
  std::string field = {};  // which field it found fault with
  bool operator==(const Cause&) const = default;
};

struct Touched {
  std::string what = {};    // "was created", "was changed", "called the node"
  std::string object = {};  // GROUP/VERSION/namespaces/NS/PLURAL/NAME, or the path at the node that was called
  std::string uid = {}, version = {};
  bool operator==(const Touched&) const = default;
};

// An object that the decision was made from.
struct Seen {
  std::string object = {};   // "kubevirt.io/virtualmachines NS/NAME"
  std::string state = {};    // "Stopped, run strategy Manual, version 42", "not found"
  std::uint32_t age_ms = 0;  // of what was known of it; 0: it was read for this request
  bool operator==(const Seen&) const = default;
};

// A field that is not what it was.
struct Change {
  std::string field = {};  // names of the schema alone: keys of maps are the user's
  std::string value = {};  // of numbers, switches and words of a fixed set; of all others empty
  bool operator==(const Change&) const = default;
};

// Where the time goes, in microseconds.
enum class Part : std::uint8_t { access, look_ups, decision, write, count };
using Times = std::array<std::uint32_t, static_cast<std::size_t>(Part::count)>;

// Gives the time since the last lap to a part.
class Stopwatch {
 public:
  Stopwatch(const Clock& clock, Times& times) : clock_(clock), times_(times), last_(clock.steady_now()) {}
  void lap(Part part) {
    const auto now = clock_.steady_now();
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(now - last_).count();
    times_[static_cast<std::size_t>(part)] += static_cast<std::uint32_t>(took);
    last_ = now;
  }

 private:
  const Clock& clock_;
  Times& times_;
  Clock::Steady last_;
};

// What all parts of the program add to.
struct Details {
  std::string decided_by = {};  // the action, or the rule that ended it
  std::vector<Cause> causes = {};
  std::vector<Touched> touched = {};
  std::vector<Seen> seen = {};
  std::vector<Change> changes = {};
  Times times = {};
  bool operator==(const Details&) const = default;
};

}  // namespace vg::record
