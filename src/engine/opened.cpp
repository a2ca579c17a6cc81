#include "engine/opened.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "base/controller_limits.h"
#include "catalog/own_text.h"
#include "json/access.h"
#include "json/parse.h"
#include "objects/scan.h"

namespace vg::engine {
namespace {

// Without managedFields, which no controller looks at: of a VMI they are half of the text. An update without them
// leaves them as they are.
std::string without_owners(std::string_view text) {
  static constexpr std::array<std::string_view, 2> path = {"metadata", "managedFields"};
  static constexpr std::string_view name = R"("managedFields":)";
  const auto owners = resources::scan_value(text, path);
  if (!owners) return std::string(text);
  std::size_t begin = static_cast<std::size_t>(owners->data() - text.data()) - name.size();
  std::size_t end = begin + name.size() + owners->size();
  // With one of the commas around it.
  if (end < text.size() && text[end] == ',')
    ++end;
  else if (text[begin - 1] == ',')
    --begin;
  std::string rest(text.substr(0, begin));
  rest += text.substr(end);
  return rest;
}

// The text was written by this program: only a damaged store can make this fail.
json::Value read(const StoredObject& object, std::string_view text, const json::StoragePtr& storage) {
  auto parsed = json::parse(text, storage, resources::own_text);
  if (!parsed || !parsed->is_object())
    throw std::runtime_error(
        fmt::format("the stored object {} {}/{} cannot be read", object.resource(), object.ns(), object.name()));
  json::ensure_object(parsed->get_object(), "metadata")["resourceVersion"] = fmt::to_string(object.revision());
  return std::move(*parsed);
}

}  // namespace

OpenedPtr Opened::open(const StoredObject& object) {
  const auto found = by_version_.find({object.revision(), object.resource(), object.ns(), object.name()});
  if (found != by_version_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return found->second->document;
  }
  const std::string text = without_owners(object.json());
  const std::size_t bytes = text.size();
  // Values take about four times the bytes of their text.
  auto document = std::make_shared<json::Document>(std::clamp<std::size_t>(4 * bytes, 1024, 1024 * 1024));
  document->root() = read(object, text, document->storage());
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
