// Which FlowSchema and PriorityLevelConfiguration a request belongs to: all schemas in the order in which they are
// asked, with what answers say of them. Immutable: it is made anew when one of the objects changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/published.h"
#include "flowcontrol/schema.h"
#include "ports/authorizer.h"

namespace vg::flowcontrol {

inline constexpr std::string_view catch_all = "catch-all";  // the schema of what no other one takes

// What kube-apiserver shares out between the levels unless it is told otherwise: 400 requests that read at once, and
// 200 that change something.
inline constexpr std::int64_t seats_in_all = 600;

class Table {
 public:
  struct NominalLimit {
    std::string level;
    std::int64_t seats = 0;
  };

  // The fields of an answer that name schema and level, as they are sent; empty when there are none for it.
  std::string_view headers_for(const User& user, const AccessAttributes& request) const;
  // What each level has of the seats, by name.
  std::span<const NominalLimit> nominal_limits() const { return nominal_limits_; }

 private:
  friend class TableBuilder;
  struct Row {
    Schema schema;
    std::string headers;
  };
  std::vector<Row> rows_;
  std::string otherwise_;  // the headers of catch-all
  std::vector<NominalLimit> nominal_limits_;
};

// Takes objects in any order. Beyond the limits those that are asked last are left out.
class TableBuilder {
 public:
  void add(Level level);
  void add(Schema schema);
  bool left_some_out() const { return left_some_out_; }
  // A schema whose level does not exist takes nothing.
  std::shared_ptr<const Table> build() &&;

 private:
  struct AskedBefore {
    bool operator()(const Schema& one, const Schema& other) const {
      return std::tie(one.precedence, one.name) < std::tie(other.precedence, other.name);
    }
  };
  const Level* level_of(const Schema& schema) const;
  std::vector<Table::NominalLimit> nominal_limits() const;

  std::map<std::string, Level, std::less<>> levels_;
  std::set<Schema, AskedBefore> schemas_;
  std::size_t texts_ = 0;
  Schema catch_all_;
  bool left_some_out_ = false;
};

// The table that counts now.
using Classification = Published<Table>;

}  // namespace vg::flowcontrol
