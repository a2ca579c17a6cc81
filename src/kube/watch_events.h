// The stream of a watch: bytes in, events out. Pure, no input or output of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace vg::kube {

// An object as a cache keeps it.
struct CachedObject {
  std::string ns, name;
  std::string resource_version;
  std::string json;  // without managedFields, which nobody here reads
};

enum class EventType { put, removed, bookmark, error };

struct WatchEvent {
  EventType type = EventType::put;
  CachedObject object;  // of a bookmark only the resource version
  Status error;         // 410: the place in the stream is gone
};

// What a cache keeps of this object, which must have metadata and is changed.
Result<CachedObject> read_object(json::Value& value);
Result<WatchEvent> read_event(std::string_view line);

// Cuts a stream into lines.
class LineSplitter {
 public:
  // False when a line is longer than any event can be.
  bool add(std::string_view bytes);
  // The next whole line, valid until the next add(); empty lines are skipped.
  std::optional<std::string_view> next();

 private:
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t searched_ = 0;  // no end of a line stands between at_ and here
};

}  // namespace vg::kube
