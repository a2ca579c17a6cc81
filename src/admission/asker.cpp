#include "admission/asker.h"

#include "json/access.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::admission {

std::string print_asker(const User& user, std::string_view from) {
  json::Document document;
  json::Array groups(document.storage());
  for (const std::string& group : user.groups) groups.emplace_back(group);
  json::Value record({{"user", user.name}, {"groups", std::move(groups)}}, document.storage());
  if (!from.empty()) record.get_object()["from"] = from;
  return json::to_text(record);
}

std::optional<User> asker_of(const json::Object& object, std::string_view from) {
  const json::Object* metadata = json::get_object(object, "metadata");
  const json::Object* annotations = metadata ? json::get_object(*metadata, "annotations") : nullptr;
  const std::string_view text = annotations ? json::get_string_or(*annotations, asker_annotation) : std::string_view();
  if (text.empty()) return std::nullopt;
  json::Document document;
  const auto record = json::parse(text, document.storage());
  if (!record || !record->is_object() || json::get_string_or(*record, "from") != from) return std::nullopt;
  User user{.name = std::string(json::get_string_or(*record, "user")), .uid = {}, .groups = {}, .extra = {}};
  if (const json::Array* groups = json::get_array(record->get_object(), "groups"))
    for (const json::Value& group : *groups) user.groups.emplace_back(json::as_string(&group).value_or(""));
  return user.name.empty() ? std::nullopt : std::optional(std::move(user));
}

}  // namespace vg::admission
