// Entries as the API shows them: Request objects of trace.virtgate.io/v1, and rows of a table.
#pragma once

#include <string>
#include <string_view>

#include "journal/follow.h"
#include "journal/journal.h"
#include "json/value.h"

namespace vg::journal {

inline constexpr std::string_view api_group = "trace.virtgate.io";
inline constexpr std::string_view api_version = "trace.virtgate.io/v1";

// Requests are where their target is; those about objects of the whole cluster where its events are.
std::string_view namespace_of(const Entry& entry);

struct View {
  const Kept& kept;
  const Outcome& outcome;
  bool shows_user = false;  // others are named to those alone who may know
};

json::Value to_object(const View& view, const json::StoragePtr& storage);
// "update virtualmachines/start demo"
std::string what_text(const Entry& entry);

// meta.k8s.io/v1 Table: the definitions of the columns, and one row. The row's object is its metadata.
json::Array columns(const json::StoragePtr& storage);
json::Value to_row(const View& view, Timestamp now, const json::StoragePtr& storage);

}  // namespace vg::journal
