// The cells of one row, written as JSON while they are found; and the words in which tables speak.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time_rfc3339.h"
#include "json/value.h"

namespace vg::resources {

// How long ago `then` was, as kubectl shows it: "45s", "5m12s", "3d4h", "2y". A time in the future is "<invalid>", but
// for two seconds by which clocks may differ.
std::string human_age(Timestamp then, Timestamp now);
// The same for a time in an object; "<unknown>" when there is none or it cannot be read.
std::string human_age(const json::Value* time, Timestamp now);

class Cells {
 public:
  Cells(std::string& out, Timestamp now) : out_(out), now_(now) {}

  void text(std::string_view value);
  // `otherwise` when the value is empty.
  void text_or(std::string_view value, std::string_view otherwise) { text(value.empty() ? otherwise : value); }
  void number(std::int64_t value);
  void boolean(bool value);
  void none();  // null
  void age(const json::Value* time) { text(human_age(time, now_)); }
  Timestamp now() const { return now_; }

 private:
  void next();

  std::string& out_;
  Timestamp now_;
  bool first_ = true;
};

}  // namespace vg::resources
