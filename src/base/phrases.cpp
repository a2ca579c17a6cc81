#include "base/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace vg::phrases {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> type_words = {{
    {"FieldValueInvalid", "Invalid value"},
    {"FieldValueRequired", "Required value"},
    {"FieldValueNotSupported", "Unsupported value"},
    {"FieldValueForbidden", "Forbidden"},
    {"FieldValueDuplicate", "Duplicate value"},
    {"FieldValueNotFound", "Not found"},
    {"FieldValueTooLong", "Too long"},
    {"FieldValueTooMany", "Too many"},
    {"FieldValueTypeInvalid", "Invalid value"},
}};

bool begins_with_type_word(std::string_view text) {
  return std::ranges::any_of(type_words, [&](const auto& row) {
    if (!text.starts_with(row.second)) return false;
    const std::string_view rest = text.substr(row.second.size());
    return rest.empty() || rest.starts_with(':');
  });
}

// "spec.runStrategy: Required value": a path, and a type word behind it.
bool names_a_field(std::string_view message) {
  const auto end = message.find(": ");
  return end != std::string_view::npos && message.substr(0, end).find(' ') == std::string_view::npos &&
         begins_with_type_word(message.substr(end + 2));
}

}  // namespace

std::string qualified(std::string_view group, std::string_view resource) {
  return group.empty() ? std::string(resource) : fmt::format("{}.{}", resource, group);
}

std::string not_found(std::string_view group, std::string_view resource, std::string_view name) {
  return fmt::format("{} \"{}\" not found", qualified(group, resource), name);
}

std::string already_exists(std::string_view group, std::string_view resource, std::string_view name) {
  return fmt::format("{} \"{}\" already exists", qualified(group, resource), name);
}

std::string forbidden(std::string_view group, std::string_view resource, std::string_view name, std::string_view why) {
  if (resource.empty()) return fmt::format("forbidden: {}", why);
  if (name.empty()) return fmt::format("{} is forbidden: {}", qualified(group, resource), why);
  return fmt::format("{} \"{}\" is forbidden: {}", qualified(group, resource), name, why);
}

std::string conflict(std::string_view group, std::string_view resource, std::string_view name, std::string_view why) {
  return fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", qualified(group, resource), name, why);
}

std::string modified(std::string_view now_at, std::string_view sent) {
  return fmt::format("{} (now at {}, you sent {}); fetch it again and retry", object_modified, now_at, sent);
}

std::string another_uid(std::string_view now, std::string_view sent) {
  return fmt::format("the object was deleted and created again (its UID is {}, you sent {}); fetch it again", now,
                     sent);
}

std::string namespace_terminating(std::string_view ns) {
  return fmt::format("unable to create new content in namespace {} because it is being terminated", ns);
}

std::string exceeded_quota(std::string_view quota, std::string_view requested, std::string_view used,
                           std::string_view limited) {
  return fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}", quota, requested, used, limited);
}

std::string too_old_version(std::string_view asked, std::string_view oldest) {
  return fmt::format("{}: {} ({}); list again and watch from the version of that list", version_too_old, asked, oldest);
}

std::string too_large_version(std::string_view asked, std::string_view newest) {
  return fmt::format("{}: {}, current: {}; try again, or leave the version out", version_too_large, asked, newest);
}

std::string denied(std::string_view webhook, std::string_view why) {
  return fmt::format("admission webhook \"{}\" denied the request: {}", webhook, why);
}

std::string denied_by_policy(std::string_view policy, std::string_view binding, std::string_view why) {
  if (binding.empty()) return fmt::format("ValidatingAdmissionPolicy '{}' denied request: {}", policy, why);
  return fmt::format("ValidatingAdmissionPolicy '{}' with binding '{}' denied request: {}", policy, binding, why);
}

std::string policy_warning(std::string_view policy, std::string_view binding, std::string_view why) {
  return fmt::format("Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}", policy, binding,
                     why);
}

std::string no_overload(std::string_view function, std::string_view arguments) {
  return fmt::format("found no matching overload for '{}' applied to '{}'", function, arguments);
}

std::string undeclared(std::string_view name) { return fmt::format("undeclared reference to '{}'", name); }

std::string undefined_field(std::string_view name) { return fmt::format("undefined field '{}'", name); }

std::string_view type_word(std::string_view cause_reason) {
  const auto* row = std::ranges::find(type_words, cause_reason, &std::pair<std::string_view, std::string_view>::first);
  return row == type_words.end() ? std::string_view() : row->second;
}

std::string missing(std::string_view why) { return fmt::format("{}: {}", type_word("FieldValueRequired"), why); }

std::string not_permitted(std::string_view why) { return fmt::format("{}: {}", type_word("FieldValueForbidden"), why); }

std::string missing_field(std::string_view field, std::string_view why) {
  return fmt::format("{}: {}", field, missing(why));
}

std::string immutable(std::string_view advice) { return fmt::format("{}; {}", field_immutable, advice); }

std::string updates_forbidden(std::string_view member) { return fmt::format("updates to {} are forbidden.", member); }

std::string cause_message(std::string_view reason, std::string_view detail) {
  std::string_view word = type_word(reason);
  // What lists the values it supports says so in its first word too, whatever reason upstream gives it.
  if (word == "Invalid value" && detail.find(": supported values: ") != std::string_view::npos)
    word = "Unsupported value";
  if (word.empty() || begins_with_type_word(detail) || names_a_field(detail)) return std::string(detail);
  return detail.empty() ? std::string(word) : fmt::format("{}: {}", word, detail);
}

std::string with_field(std::string_view field, std::string_view message) {
  if (field.empty() || names_a_field(message)) return std::string(message);
  return fmt::format("{}: {}", field, message);
}

std::string unsupported(std::string_view printed_value, std::string_view supported) {
  return fmt::format("{}: supported values: {}", printed_value, supported);
}

}  // namespace vg::phrases
