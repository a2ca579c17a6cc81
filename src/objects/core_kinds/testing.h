// For tests: sends an object the way a write takes, from the text of a client to causes.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/canonical.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "objects/strategy.h"

namespace vg::resources::core_kinds {

using CauseList = std::vector<std::pair<std::string, std::string>>;  // reason (without "FieldValue") and field

struct Outcome {
  json::Document object;
  CauseList causes;

  // A value as JSON, by its JSON pointer; empty when there is none.
  std::string at(std::string_view pointer) const {
    const json::Value* value = &object.root();
    for (std::string_view rest = pointer; value && !rest.empty();) {
      rest.remove_prefix(1);
      std::string name(rest.substr(0, rest.find('/')));
      rest.remove_prefix(name.size());
      if (const auto escaped = name.find("~1"); escaped != std::string::npos) name.replace(escaped, 2, "/");
      const auto* list = value->if_array();
      value = list ? list->if_contains(std::stoul(name)) : json::find(*value, name);
    }
    return value ? json::to_text(*value, {.sort_keys = true}) : std::string();
  }
  std::string whole() const { return json::to_text(object.root(), {.sort_keys = true}); }
};

inline const api::Kind& kind_of(const json::Value& object) {
  const std::string_view api_version = json::get_string_or(object, "apiVersion");
  const std::size_t slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  const api::Kind* kind = api::find_kind(group, "", json::get_string_or(object, "kind"));
  if (!kind) throw std::invalid_argument("no such kind: " + json::to_text(object));
  return *kind;
}

inline json::Document read(std::string_view text) {
  auto document = json::Document::parse(text);
  if (!document) throw std::invalid_argument(document.error().message);
  const auto canonical = api::canonicalize(document->root(), *kind_of(document->root()).type);
  if (!canonical) throw std::invalid_argument(canonical.error().message);
  return std::move(*document);
}

inline CauseList short_causes(const std::vector<StatusCause>& causes) {
  CauseList list;
  for (const StatusCause& cause : causes) {
    EXPECT_FALSE(cause.message.empty()) << cause.field;
    EXPECT_TRUE(cause.reason.starts_with("FieldValue")) << cause.reason;
    list.emplace_back(cause.reason.substr(std::string_view("FieldValue").size()), cause.field);
  }
  return list;
}

// `old` is null for a create.
inline Outcome write_object(std::string_view text, const json::Document* old, std::string_view subresource = "") {
  Outcome outcome{.object = read(text), .causes = {}};
  const api::Kind& kind = kind_of(outcome.object.root());
  const WriteContext context{
      .now_rfc3339 = "2026-01-02T03:04:05Z", .user = "jane", .subresource = subresource, .kind = &kind};
  const Strategy* strategy = find_strategy(kind.group, kind.kind);
  if (!strategy) return outcome;
  json::Object& object = outcome.object.root().as_object();
  const json::Object* before = old ? &old->root().as_object() : nullptr;
  if (strategy->defaults) strategy->defaults(object, context);
  // What the resource layer does for every kind before its strategy has its turn.
  if (before && kind.status_subresource && subresource.empty()) object["status"] = *json::find(*before, "status");
  if (const auto* generation = before ? json::find(*json::find(*before, "metadata"), "generation") : nullptr)
    json::ensure_object(object, "metadata")["generation"] = *generation;
  if (!before && strategy->prepare_create) strategy->prepare_create(object, context);
  if (before && strategy->prepare_update) strategy->prepare_update(object, *before, context);
  std::vector<StatusCause> causes;
  if (strategy->validate) strategy->validate(object, before, context, causes);
  outcome.causes = short_causes(causes);
  return outcome;
}

inline Outcome create(std::string_view text) { return write_object(text, nullptr); }

// Creates the first object and then writes the second over it.
inline Outcome update(std::string_view first, std::string_view second, std::string_view subresource = "") {
  Outcome old = create(first);
  EXPECT_EQ(old.causes, CauseList()) << first;
  return write_object(second, &old.object, subresource);
}

inline CauseList one(std::string_view reason, std::string_view field) {
  return {{std::string(reason), std::string(field)}};
}

}  // namespace vg::resources::core_kinds
