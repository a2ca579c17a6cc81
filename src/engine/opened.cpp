#include "engine/opened.h"

#include <algorithm>
#include <utility>

#include "base/controller_limits.h"
#include "objects/draft.h"

namespace vg::engine {

OpenedPtr Opened::open(const StoredObject& object) {
  const auto found = by_version_.find({object.revision(), object.resource(), object.ns(), object.name()});
  if (found != by_version_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return found->second->document;
  }
  const std::size_t bytes = object.json().size();
  // Values take about four times the bytes of their text.
  auto document = std::make_shared<json::Document>(std::clamp<std::size_t>(4 * bytes, 1024, 1024 * 1024));
  document->root() = resources::load_object(object, document->storage());
  if (bytes <= limits::opened_object_bytes_max) keep(object, document, bytes);
  return document;
}

void Opened::keep(const StoredObject& object, OpenedPtr document, std::size_t bytes) {
  recent_.push_front({.resource = std::string(object.resource()),
                      .ns = std::string(object.ns()),
                      .name = std::string(object.name()),
                      .revision = object.revision(),
                      .document = std::move(document),
                      .bytes = bytes});
  by_version_.emplace(version_of(recent_.front()), recent_.begin());
  bytes_ += bytes;
  while (bytes_ > limits::opened_bytes_max) {
    bytes_ -= recent_.back().bytes;
    by_version_.erase(version_of(recent_.back()));
    recent_.pop_back();
  }
}

}  // namespace vg::engine
