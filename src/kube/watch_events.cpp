#include "kube/watch_events.h"

#include <array>
#include <utility>

#include "base/limits.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/parse.h"
#include "json/status.h"
#include "json/write.h"
#include "kube/answer.h"

namespace vg::kube {
namespace {

// An object and its envelope, with room for what escapes add.
constexpr std::size_t line_bytes_max = limits::body_bytes_max;

std::optional<EventType> type_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, EventType>, 5> types{{{"ADDED", EventType::put},
                                                                         {"MODIFIED", EventType::put},
                                                                         {"DELETED", EventType::removed},
                                                                         {"BOOKMARK", EventType::bookmark},
                                                                         {"ERROR", EventType::error}}};
  for (const auto& [known, type] : types)
    if (known == name) return type;
  return std::nullopt;
}

}  // namespace

Result<CachedObject> read_object(json::Value& value) {
  json::Object* metadata = json::get_object(value, "metadata");
  if (!metadata) return fail(Status::internal_error("the API server sent an object without metadata"));
  json::erase(*metadata, "managedFields");
  return CachedObject{.ns = std::string(json::get_string_or(*metadata, "namespace")),
                      .name = std::string(json::get_string_or(*metadata, "name")),
                      .resource_version = std::string(json::get_string_or(*metadata, "resourceVersion")),
                      .json = json::to_text(value)};
}

Result<WatchEvent> read_event(std::string_view line) {
  json::Arena arena;
  auto document = json::parse(line, arena.storage(), {.bytes_max = line_bytes_max});
  if (!document) return fail(Status::internal_error("a watch event is not JSON: " + document.error().message));
  const auto type = type_named(json::get_string_or(*document, "type"));
  json::Value* object = json::find(*document, "object");
  if (!type || !object) return fail(Status::internal_error("a watch event has an unknown type or no object"));
  WatchEvent event{.type = *type, .object = {}, .error = {}};
  if (*type == EventType::error) {
    event.error = json::read_status(*object, static_cast<int>(json::get_int_or(*object, "code", 500)));
    return event;
  }
  auto read = read_object(*object);
  if (!read) return fail(std::move(read.error()));
  event.object = std::move(*read);
  return event;
}

bool LineSplitter::add(std::string_view bytes) {
  buffer_.erase(0, at_);
  searched_ -= at_;
  at_ = 0;
  if (bytes.size() > line_bytes_max - std::min(buffer_.size(), line_bytes_max)) return false;
  buffer_ += bytes;
  return true;
}

std::optional<std::string_view> LineSplitter::next() {
  for (;;) {
    // From where the last search ended: a long line that comes in small pieces is gone over once.
    const auto end = buffer_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = buffer_.size();
      return std::nullopt;
    }
    const std::string_view line = std::string_view(buffer_).substr(at_, end - at_);
    at_ = searched_ = end + 1;
    if (!line.empty() && line != "\r") return line;
  }
}

}  // namespace vg::kube
