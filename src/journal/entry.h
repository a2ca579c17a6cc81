// One request as the journal keeps it: who asked for what, how it was decided, and what it touched. Never what was in
// it: bodies, values and the messages about them stay out, because they may hold secrets.
#pragma once

#include <cstdint>
#include <optional>
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

// With what the parts of the program noted on the way.
struct Entry : record::Details {
  std::string id;  // of the request, as its answer and the log have it
  Timestamp time = {};
  std::uint64_t microseconds = 0;  // from the first byte to the answer
  std::string user, impersonated_by;
  std::string credential;           // how it was known who asks: "certificate", "token", "front proxy", ...
  std::vector<std::string> groups;  // of the user
  std::string agent;                // the client, as it says itself
  std::string verb, group, version, resource, subresource, ns, name;
  std::string uid, resource_version;  // of the object that was written
  bool dry_run = false;
  bool allowed = true;
  std::string allowed_by;  // the role binding, or what was missing
  int code = 0;            // 0: nobody waited for the answer
  std::string reason;      // of a refusal: "Conflict"
  std::string message;     // of a refusal that speaks of states and names alone

  bool was_refused() const { return code >= 400 || !allowed; }
  bool operator==(const Entry&) const = default;
};

// One line of JSON without its end. Texts are cut to their limits.
std::string to_text(const Entry& entry);
// Nothing for a line that is damaged.
std::optional<Entry> from_text(std::string_view text);

// Stands for the object that a request is about, in the index.
std::uint32_t object_hash(std::string_view resource, std::string_view ns, std::string_view name);
std::uint32_t id_hash(std::string_view id);

}  // namespace vg::journal
