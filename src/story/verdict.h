// Why is it so, and what comes next: one sentence each, from a table whose order is the order of importance.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "story/facts.h"

namespace vg::story {

struct Telling {
  std::string says;  // what is so, and why
  std::string next;  // what happens by itself, or what to do
};

struct Row {
  std::string_view id;
  std::optional<Telling> (*tell)(const Facts& facts);
};

struct Verdict {
  std::string_view id;
  Telling telling;
};

enum class Subject : std::uint8_t { vm, vmi, migration };

std::span<const Row> rows(Subject subject);
// All that apply, the one that explains most first. Never empty: the last row of each table always applies.
std::vector<Verdict> judge(Subject subject, const Facts& facts);

}  // namespace vg::story
