// What the query of a request (and the body of a deletion) asks for besides the object. Reading is pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/selector.h"
#include "base/status.h"
#include "json/value.h"
#include "objects/write_options.h"
#include "ports/stored_object.h"

namespace vg::resources {

// The query's parameters, decoded once; at most limits::query_parameters_max of them.
class Query {
 public:
  explicit Query(std::string_view raw_query);
  const std::string* find(std::string_view name) const;  // the first of that name; null when absent
  std::vector<std::string_view> all(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

// CreateOptions, UpdateOptions and PatchOptions.
// `kind` names the options in refusals: "CreateOptions", ...
Result<WriteOptions> read_write_options(const Query& query, std::string_view kind);

// `body` is the posted DeleteOptions, or null. As in Kubernetes a body, when there is one, stands for the query.
Result<DeleteOptions> read_delete_options(const Query& query, const json::Value* body);

enum class VersionMatch : std::uint8_t { unset, not_older_than, exact };

struct ListOptions {
  LabelSelector labels;
  FieldSelector fields;
  std::size_t limit = 0;  // 0: none
  std::string continue_token;
  std::string resource_version;  // as given; empty and "0" have meanings of their own
  Revision revision = 0;         // the same as a number
  VersionMatch match = VersionMatch::unset;
  bool bookmarks = false;
  std::optional<bool> send_initial_events;
  std::optional<std::chrono::seconds> timeout;
};
Result<ListOptions> read_list_options(const Query& query, bool watch);

}  // namespace vg::resources
