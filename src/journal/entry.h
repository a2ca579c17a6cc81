// One request as the journal keeps it: who asked for what, how it was decided, and what it touched. Never what was in
// it: bodies, values and the messages about them stay out, because they may hold secrets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/request_record.h"
#include "base/time_rfc3339.h"

namespace vg::journal {

using record::Cause;
using record::Change;
using record::Seen;
using record::Touched;

// What an entry says beside its texts.
struct EntryNumbers {
  Timestamp time = {};
  std::uint64_t microseconds = 0;  // from the first byte to the answer
  int code = 0;                    // 0: nobody waited for the answer
  bool dry_run = false;
  bool allowed = true;

  bool was_refused() const { return code >= 400 || !allowed; }
  bool operator==(const EntryNumbers&) const = default;
};

// The texts of an entry, as what is kept (Entry) or as what a request has while it is served (EntryView): recording
// copies none of them but into the journal.
template <class Text>
struct EntryTexts {
  Text id = {};  // of the request, as its answer and the log have it
  Text user = {}, impersonated_by = {};
  Text credential = {};  // how it was known who asks: "certificate", "token", "front proxy", ...
  Text agent = {};       // the client, as it says itself
  Text verb = {}, group = {}, version = {}, resource = {}, subresource = {}, ns = {}, name = {};
  Text uid = {}, resource_version = {};  // of the object that was written
  Text allowed_by = {};                  // the role binding, or what was missing
  Text reason = {};                      // of a refusal: "Conflict"
  Text message = {};                     // of a refusal that speaks of states and names alone
  bool operator==(const EntryTexts&) const = default;
};

// With what the parts of the program noted on the way.
struct Entry : record::Details, EntryNumbers, EntryTexts<std::string> {
  std::vector<std::string> groups = {};  // of the user
  bool operator==(const Entry&) const = default;
};

struct EntryView : EntryNumbers, EntryTexts<std::string_view> {
  std::span<const std::string> groups = {};
  const record::Details* details = nullptr;  // null: nothing was noted
};

// Lives as long as the entry.
EntryView view_of(const Entry& entry);

// Stands for the object that a request is about, in the index.
std::uint32_t object_hash(std::string_view resource, std::string_view ns, std::string_view name);
std::uint32_t id_hash(std::string_view id);

}  // namespace vg::journal
