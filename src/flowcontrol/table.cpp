#include "flowcontrol/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/controller_limits.h"

namespace vg::flowcontrol {
namespace {

std::string headers_of(const Schema& schema, const Level& level) {
  return fmt::format("X-Kubernetes-PF-FlowSchema-UID: {}\r\nX-Kubernetes-PF-PriorityLevel-UID: {}\r\n", schema.uid,
                     level.uid);
}

}  // namespace

std::string_view Table::headers_for(const User& user, const AccessAttributes& request) const {
  const Asking asking(user);
  const auto row = std::ranges::find_if(rows_, [&](const Row& one) { return one.schema.takes(asking, request); });
  return row == rows_.end() ? otherwise_ : row->headers;
}

void TableBuilder::add(Level level) {
  std::string name = level.name;
  if (levels_.size() < limits::priority_levels_max)
    levels_.insert_or_assign(std::move(name), std::move(level));
  else
    left_some_out_ = true;
}

void TableBuilder::add(Schema schema) {
  if (schema.name == catch_all)
    catch_all_ = {.name = schema.name, .uid = schema.uid, .level = schema.level, .precedence = schema.precedence};
  texts_ += schema.texts;
  schemas_.insert(std::move(schema));
  while (texts_ > limits::flow_schema_texts_max) {
    const auto last = std::prev(schemas_.end());
    texts_ -= last->texts;
    schemas_.erase(last);
    left_some_out_ = true;
  }
}

const Level* TableBuilder::level_of(const Schema& schema) const {
  const auto found = levels_.find(schema.level);
  return found == levels_.end() ? nullptr : &found->second;
}

// Rounded up, so that the sum may be a few more than there are.
std::vector<Table::NominalLimit> TableBuilder::nominal_limits() const {
  std::int64_t all = 0;
  for (const auto& [name, level] : levels_) all += level.shares;
  std::vector<Table::NominalLimit> made;
  for (const auto& [name, level] : levels_)
    made.push_back({.level = name, .seats = all > 0 ? (seats_in_all * level.shares + all - 1) / all : 0});
  return made;
}

std::shared_ptr<const Table> TableBuilder::build() && {
  auto table = std::make_shared<Table>();
  table->nominal_limits_ = nominal_limits();
  if (const Level* level = level_of(catch_all_)) table->otherwise_ = headers_of(catch_all_, *level);
  while (!schemas_.empty()) {
    Schema schema = std::move(schemas_.extract(schemas_.begin()).value());
    const Level* level = level_of(schema);
    if (!level) continue;
    std::string headers = headers_of(schema, *level);
    table->rows_.push_back({.schema = std::move(schema), .headers = std::move(headers)});
  }
  return table;
}

}  // namespace vg::flowcontrol
