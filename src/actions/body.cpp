#include "actions/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "api/canonical.h"
#include "base/limits.h"
#include "json/parse.h"
#include "json/write.h"
#include "json/yaml.h"

namespace vg::actions {
namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  return first == text.npos ? std::string_view() : text.substr(first);
}

Status undecodable(const Status& why) {
  return Status::bad_request(fmt::format("the body is not valid for this action: {}", why.message));
}

// The end of the value that the text begins with: Go's decoder reads one and does not look behind it.
std::string_view first_value(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && (depth == 0 || --depth == 0)) return text.substr(0, i + 1);
  }
  return text;
}

// The first document of a stream ends at a line "---".
std::string_view first_document(std::string_view text) {
  const auto end = text.find("\n---");
  return end == text.npos ? text : text.substr(0, end + 1);
}

// Blanks, comments, and the line before a document.
bool says_nothing(std::string_view text) {
  while (!(text = trimmed(text)).empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!line.starts_with('#') && line.substr(0, line.find_last_not_of(blanks) + 1) != "---") return false;
    text.remove_prefix(line.size());
  }
  return true;
}

// What a double holds exactly.
constexpr double whole_double_max = 9007199254740992.0;

bool is_embedded(const api::Type& type, const api::Field& field) {
  const auto at = &field - type.fields.data();
  return std::ranges::any_of(
      type.embeds, [&](const api::Embed& embed) { return at >= embed.first && at < embed.first + embed.count; });
}

// What a member of this name is meant to be. Upstream's reader does not look into structures that Go embeds.
const api::Node* expected_member(const api::Node& node, std::string_view name) {
  if (node.shape != api::Shape::structure) return node.element;
  const api::Field* field = node.type->find_fold(name);
  return field && !is_embedded(*node.type, *field) ? field : nullptr;
}

// As YAML is read: where a string is meant, 5 is "5" and true is "true", and elsewhere 5.0 is 5.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
void read_scalars_loosely(json::Value& value, const api::Node& node) {
  if (node.shape == api::Shape::string && (value.is_number() || value.is_bool())) {
    value = json::Value(boost::json::string_view(json::to_text(value)), value.storage());
  } else if (const double* number = value.if_double();
             number && std::trunc(*number) == *number && std::abs(*number) <= whole_double_max) {
    value = json::Value(static_cast<std::int64_t>(*number), value.storage());
  } else if (json::Object* object = value.if_object()) {
    for (auto& member : *object) {
      if (const api::Node* inner = expected_member(node, member.key())) read_scalars_loosely(member.value(), *inner);
    }
  } else if (json::Array* array = value.if_array(); array && node.element) {
    for (json::Value& item : *array) read_scalars_loosely(item, *node.element);
  }
}

Result<json::Value> shaped(json::Value value, const api::Type& type, const json::StoragePtr& storage) {
  if (value.is_null()) value = json::Value(json::Object(storage));
  if (!value.is_object()) return fail(Status::bad_request("it must be an object"));
  if (auto done = api::canonicalize(value, type); !done) return fail(std::move(done.error()));
  return value;
}

Result<json::Value> read_json(std::string_view text, const api::Type& type, const json::StoragePtr& storage) {
  auto value = json::parse(first_value(text), storage, {.bytes_max = limits::object_body_bytes_max});
  return value ? shaped(std::move(*value), type, storage) : std::move(value);
}

Result<json::Value> read_yaml(std::string_view text, const api::Type& type, const json::StoragePtr& storage) {
  auto value = json::parse_yaml(first_document(text), storage);
  if (!value) return value;
  api::Node node;
  node.shape = api::Shape::structure;
  node.type = &type;
  read_scalars_loosely(*value, node);
  return shaped(std::move(*value), type, storage);
}

}  // namespace

Result<json::Value> read_options(std::string_view body, const api::Type& type, const json::StoragePtr& storage) {
  if (says_nothing(body)) return shaped(json::Value(storage), type, storage);
  const std::string_view text = trimmed(body);
  std::optional<Status> json_problem;
  if (text.starts_with('{')) {
    auto value = read_json(text, type, storage);
    if (value) return value;
    json_problem = std::move(value.error());
  }
  auto value = read_yaml(body, type, storage);
  if (value) return value;
  return fail(undecodable(json_problem ? *json_problem : value.error()));
}

Result<json::Value> read_strict(std::string_view body, const json::StoragePtr& storage) {
  if (trimmed(body).empty()) return fail(Status::bad_request("the body is empty; send a VirtualMachine as JSON"));
  auto value = json::parse(body, storage, {.bytes_max = limits::object_body_bytes_max});
  if (!value) return fail(undecodable(value.error()));
  if (!value->is_object()) return fail(Status::bad_request("the body must be a VirtualMachine as a JSON object"));
  return value;
}

Result<json::Value> read_first(std::string_view body, const json::StoragePtr& storage) {
  const std::string_view text = trimmed(body);
  if (text.empty()) return fail(Status::bad_request("the body is empty; send a JSON object, at least {}"));
  auto value = json::parse(first_value(text), storage, {.bytes_max = limits::object_body_bytes_max});
  if (!value) return fail(undecodable(value.error()));
  return value;
}

Result<json::Value> read_body(const Action& action, std::string_view body, const json::StoragePtr& storage) {
  if (action.body == Body::none) return json::Value(storage);
  if (action.body == Body::strict) return read_strict(body, storage);
  if (action.body == Body::first) return read_first(body, storage);
  return read_options(body, *api::find_type(action.body_type), storage);
}

}  // namespace vg::actions
