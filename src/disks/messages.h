// What the server and its disk worker say to each other: one JSON object a message (helpers/channel.h).
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "disks/registry.h"
#include "ports/disk_agent.h"

namespace vg::disks {

// --- to the worker
struct Welcome {};  // the answer to Hello: what was sent before it was for another worker
struct Start {
  DiskJob job;
};
struct Cancel {
  std::string id;
};
// --- from the worker
struct Hello {};  // a new one: nothing that was told before counts
struct Ready {};  // all claims and records were told
struct ClaimIs {
  DiskClaimName name;
  std::optional<DiskClaim> claim;  // nothing: it is gone
};
struct RecordIs {
  std::string name;
  std::optional<ImageRecord> record;
};
struct JobProgress {
  std::string id;
  int progress = -1;
};
struct JobEnded {
  std::string id;
  std::optional<Failure> failure = {};
  Labels labels = {};
};

using Message = std::variant<Welcome, Start, Cancel, Hello, Ready, ClaimIs, RecordIs, JobProgress, JobEnded>;

// The job that it is about; empty for none.
std::string_view subject_of(const Message& message);
std::string write_message(const Message& message);
// Nothing for what is none.
std::optional<Message> read_message(std::string_view text);

}  // namespace vg::disks
